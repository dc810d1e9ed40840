//! The planned instants of one schedule against the records of its ledger (I7). Pure.

use std::collections::BTreeMap;

use domain::{Millis, TriggerOutcome};
use store::Trigger;

/// What is wrong with the records of one incarnation: `instants` are all those after `after` up to `cursor`, in order;
/// `records` all that reach beyond `after`, without those by hand.
pub(crate) fn compare(
    instants: &[Millis],
    records: &[&Trigger],
    after: Millis,
    cursor: Millis,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut own: BTreeMap<Millis, u32> = BTreeMap::new();
    let mut ranges: Vec<&Trigger> = Vec::new();
    for record in records {
        if record.count == 1 && record.planned_at == record.to {
            *own.entry(record.planned_at).or_default() += 1;
        } else {
            ranges.push(record);
        }
        found.extend(outcome(record));
    }
    for (instant, times) in &own {
        if *times > 1 {
            found.push(format!("instant {} has {times} records", shown(*instant)));
        }
        if *instant <= cursor && *instant > after && instants.binary_search(instant).is_err() {
            found.push(format!(
                "there is a record of {}, which is no planned instant",
                shown(*instant)
            ));
        }
    }
    for instant in instants {
        let over = ranges
            .iter()
            .filter(|range| (range.planned_at..=range.to).contains(instant));
        match (own.contains_key(instant), over.count()) {
            (false, 0) => found.push(format!("instant {} has no record", shown(*instant))),
            (_, 0 | 1) => {}
            (_, many) => found.push(format!("instant {} lies in {many} ranges", shown(*instant))),
        }
    }
    let whole = |range: &&Trigger| range.planned_at > after && range.to <= cursor;
    found.extend(
        ranges
            .into_iter()
            .filter(whole)
            .filter_map(|range| miscounted(range, instants, &own)),
    );
    found
}

/// A fire has a task, and only a fire.
fn outcome(record: &Trigger) -> Option<String> {
    let at = shown(record.planned_at);
    match (record.outcome, record.task) {
        (TriggerOutcome::Fired, None) => Some(format!("instant {at} is recorded as fired, without a task")),
        (TriggerOutcome::Skipped | TriggerOutcome::Missed, Some(_)) => {
            Some(format!("instant {at} was passed over, and has a task"))
        }
        (TriggerOutcome::Fired, Some(_)) | (TriggerOutcome::Skipped | TriggerOutcome::Missed, None) => None,
    }
}

/// A range stands for the instants in it that have no record of their own.
fn miscounted(range: &Trigger, instants: &[Millis], own: &BTreeMap<Millis, u32>) -> Option<String> {
    let inside = instants
        .iter()
        .filter(|instant| (range.planned_at..=range.to).contains(*instant) && !own.contains_key(instant))
        .count();
    (inside != range.count as usize).then(|| {
        format!(
            "the record from {} to {} stands for {} instants, there are {inside}",
            shown(range.planned_at),
            shown(range.to),
            range.count
        )
    })
}

/// An instant as people read it.
pub(crate) fn shown(at: Millis) -> String {
    calendar::Timestamp::from_millisecond(at)
        .unwrap_or_default()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::TaskId;

    fn record(from: Millis, to: Millis, count: u32, outcome: TriggerOutcome) -> Trigger {
        Trigger {
            incarnation: 1,
            planned_at: from,
            to,
            count,
            outcome,
            reason: String::new(),
            at: to,
            task: (outcome == TriggerOutcome::Fired).then(|| TaskId::new(from, [1; 10])),
            manual: false,
        }
    }

    fn fired(at: Millis) -> Trigger {
        record(at, at, 1, TriggerOutcome::Fired)
    }

    fn faults(records: &[Trigger]) -> Vec<String> {
        let records: Vec<_> = records.iter().collect();
        compare(&[10, 20, 30, 40], &records, 0, 45)
    }

    #[test]
    fn one_record_for_each_instant_is_right() {
        assert_eq!(
            faults(&[fired(10), fired(20), fired(30), fired(40)]),
            Vec::<String>::new()
        );
        let skipped = record(10, 30, 2, TriggerOutcome::Skipped);
        assert_eq!(faults(&[skipped, fired(20), fired(40)]), Vec::<String>::new());
    }

    #[test]
    fn what_is_missing_twice_or_miscounted_is_found() {
        for (records, told) in [
            (vec![fired(10), fired(20), fired(40)], "has no record"),
            (
                vec![fired(10), fired(20), fired(20), fired(30), fired(40)],
                "has 2 records",
            ),
            (
                vec![fired(10), fired(20), fired(30), fired(35), fired(40)],
                "no planned instant",
            ),
            (
                vec![record(10, 30, 2, TriggerOutcome::Missed), fired(40)],
                "stands for 2 instants, there are 3",
            ),
            (
                vec![
                    record(10, 30, 3, TriggerOutcome::Missed),
                    record(20, 40, 2, TriggerOutcome::Missed),
                ],
                "lies in 2 ranges",
            ),
            (
                vec![
                    Trigger {
                        task: None,
                        ..fired(10)
                    },
                    fired(20),
                    fired(30),
                    fired(40),
                ],
                "without a task",
            ),
        ] {
            let found = faults(&records);
            assert!(found.iter().any(|text| text.contains(told)), "{told}: {found:?}");
        }
    }
}
