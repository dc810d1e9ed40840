//! Looks back along a timetable that can only be walked forward.

use domain::Millis;

use crate::Plan;
use crate::plan::Step;

impl Plan {
    /// The first of the newest `count` planned instants after `after` and up to `until`; of fewer, the first there is.
    ///
    /// Windows from the end back grow until they hold enough, then the last one is halved. Costs about `count` steps,
    /// at most `count` times the logarithm of the time, however long ago `after` is.
    pub(crate) fn first_of_newest(&self, count: u32, after: Millis, until: Millis) -> Option<Millis> {
        let (after, mut high) = (after.div_euclid(1_000), until.div_euclid(1_000));
        let (mut need, mut width) = (count, 1);
        let mut low = loop {
            if need == 0 || high <= after {
                let first = self.instant_after(after * 1_000)?;
                return (first <= until).then_some(first);
            }
            let low = after.max(high.saturating_sub(width));
            let found = self.count_up_to(need, low, high);
            if found == need {
                break low;
            }
            (need, high, width) = (need - found, low, width.saturating_mul(2));
        };
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let found = self.count_up_to(need, middle, high);
            if found == need {
                low = middle;
            } else {
                (need, high) = (need - found, middle);
            }
        }
        Some(high * 1_000)
    }

    /// The newest instant after `after` that is due at or before `until`.
    pub(crate) fn newest_due(&self, after: Millis, until: Millis) -> Option<Step> {
        let first = self.step(self.first_of_newest(2, after, until)?);
        match first.following.filter(|second| *second <= until) {
            // An instant is due before the one after it is planned, so the first of two is due.
            Some(second) => Some(self.step(second))
                .filter(|second| second.due <= until)
                .or(Some(first)),
            None => Some(first).filter(|first| first.due <= until),
        }
    }

    /// How many instants lie after a second and up to another; counts no further than `most`.
    fn count_up_to(&self, most: u32, after: i64, until: i64) -> u32 {
        let (mut count, mut at) = (0, after * 1_000);
        while count < most {
            match self.instant_after(at) {
                Some(next) if next <= until * 1_000 => (count, at) = (count + 1, next),
                _ => break,
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::{Plan, Schedule};

    fn plan(cron: &str, spread: &str) -> Plan {
        let text = format!(
            r#"{{"name":"a","type":"t","zone":"America/New_York","cron":"{cron}","spread":"{spread}"}}"#
        );
        Schedule::parse(&text).unwrap().plan(|_| None).unwrap()
    }

    /// From 2026-03-06, over two days with 7 March's clock change.
    const BASE: i64 = 1_772_755_200_000;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn looking_back_agrees_with_walking_forward(
            cron in prop::sample::select(vec!["* * * * *", "*/7 * * * *", "0 2 * * *", "*/20 30 9 * * *", "15,16 9,10 * * *"]),
            spread in prop::sample::select(vec!["0s", "45s", "1h"]),
            count in 1_u32..40, after in 0_i64..200_000_000, length in 0_i64..200_000_000,
        ) {
            let plan = plan(cron, spread);
            let (after, until) = (BASE + after, BASE + after + length);
            let all: Vec<i64> = plan.between(after + 1, until + 1).collect();
            let first = all.len().checked_sub(count as usize).map_or(all.first(), |index| all.get(index));
            prop_assert_eq!(plan.first_of_newest(count, after, until), first.copied());
            let due = all.iter().map(|at| plan.step(*at)).rfind(|step| step.due <= until);
            let found = plan.newest_due(after, until).map(|step| step.planned_at);
            prop_assert_eq!(found, due.map(|step| step.planned_at));
        }
    }
}
