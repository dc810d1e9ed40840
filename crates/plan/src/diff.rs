//! What changing a schedule changes: which of the coming fires go, which come, which stay.

use domain::Millis;

use crate::Plan;

/// How far ahead is looked, where a caller has no other wish: days.
pub const DAYS: u32 = 30;
/// The most instants that are looked at; of more, `until` says how far that went.
const STEPS: u64 = 100_000;
/// How many instants of a side are named.
const NAMED: usize = 5;
const DAY_MS: i64 = 86_400_000;

/// Some instants: how many, and the first few.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Side {
    /// How many.
    pub count: u64,
    /// The first five at most.
    pub first: Vec<Millis>,
}

/// The fires of two definitions, compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// Only of the old one.
    pub go: Side,
    /// Only of the new one.
    pub come: Side,
    /// Of both.
    pub stay: Side,
    /// Up to here both were looked at; excluded.
    pub until: Millis,
}

impl Side {
    fn add(&mut self, at: Millis) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(at);
        }
    }
}

/// Compares the fires after `from` within so many days. None stands for a schedule that is not there; `fires` is how
/// often it fired so far, which `max_fires` counts on.
#[must_use]
pub fn diff(old: Option<&Plan>, new: Option<&Plan>, fires: u64, from: Millis, days: u32) -> Diff {
    let until = from.saturating_add(i64::from(days) * DAY_MS);
    let old = old.map(|plan| plan.coming(fires, from, until));
    let new = new.map(|plan| plan.coming(fires, from, until));
    let (mut old, mut new) = (
        old.into_iter().flatten().peekable(),
        new.into_iter().flatten().peekable(),
    );
    let mut diff = Diff {
        until,
        ..Diff::default()
    };
    for _ in 0..STEPS {
        let at = match (old.peek(), new.peek()) {
            (None, None) => return diff,
            (Some(old), Some(new)) => *old.min(new),
            (Some(one), None) | (None, Some(one)) => *one,
        };
        let (goes, comes) = (old.next_if_eq(&at).is_some(), new.next_if_eq(&at).is_some());
        match (goes, comes) {
            (true, false) => diff.go.add(at),
            (false, true) => diff.come.add(at),
            (true, true) | (false, false) => diff.stay.add(at),
        }
    }
    if let Some(at) = old.peek().copied().into_iter().chain(new.peek().copied()).min() {
        diff.until = at;
    }
    diff
}

impl Plan {
    /// The fires after an instant, up to another and up to `max_fires`.
    fn coming(&self, fires: u64, from: Millis, until: Millis) -> impl Iterator<Item = Millis> {
        let most = self.schedule().max_fires;
        let left = most.map_or(u64::MAX, |most| most.saturating_sub(fires));
        self.between(from.saturating_add(1), until)
            .take(usize::try_from(left).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schedule;

    /// 2026-03-01T00:00:00Z.
    const FROM: Millis = 1_772_323_200_000;

    fn plan(fields: &str) -> Plan {
        let text = format!(r#"{{"name":"a","type":"t","zone":"UTC",{fields}}}"#);
        Schedule::parse(&text).unwrap().plan(|_| None).unwrap()
    }

    fn counts(diff: &Diff) -> (u64, u64, u64) {
        (diff.go.count, diff.come.count, diff.stay.count)
    }

    #[test]
    fn fires_go_come_and_stay() {
        let (old, new) = (
            plan(r#""cron":"0 9,10 * * *""#),
            plan(r#""cron":"0 10,11 * * *""#),
        );
        let told = diff(Some(&old), Some(&new), 0, FROM, 30);
        assert_eq!(counts(&told), (30, 30, 30));
        assert_eq!(told.go.first[..2], [FROM + 9 * 3_600_000, FROM + 33 * 3_600_000]);
        assert_eq!(told.go.first.len(), 5);
        assert_eq!(told.until, FROM + 30 * DAY_MS);
        assert_eq!(counts(&diff(None, Some(&new), 0, FROM, 30)), (0, 60, 0));
        assert_eq!(counts(&diff(Some(&old), None, 0, FROM, 1)), (2, 0, 0));
    }

    #[test]
    fn fires_that_max_fires_ends_do_not_come() {
        let limited = plan(r#""cron":"0 9 * * *","max_fires":10"#);
        assert_eq!(counts(&diff(None, Some(&limited), 7, FROM, 30)), (0, 3, 0));
        assert_eq!(
            counts(&diff(
                Some(&plan(r#""cron":"0 9 * * *""#)),
                Some(&limited),
                0,
                FROM,
                30
            )),
            (20, 0, 10)
        );
    }

    #[test]
    fn a_schedule_that_fires_all_the_time_is_compared_as_far_as_it_goes() {
        let every = plan(r#""every":"1s""#);
        let told = diff(Some(&every), Some(&every), 0, FROM, 30);
        assert_eq!(counts(&told), (0, 0, STEPS));
        assert_eq!(told.until, FROM + 100_001_000);
    }
}
