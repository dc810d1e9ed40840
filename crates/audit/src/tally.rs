//! Counters against what they count (I9).

use domain::Partition;

use crate::{Audit, Error, report::Report};

/// Looks at the counters of a partition.
pub(crate) async fn look(audit: &Audit, partition: Partition, report: &mut Report) -> Result<(), Error> {
    let Some(tally) = audit.store.tally(partition).await? else {
        report.in_flight("partitions whose counters changed while they were counted", 1);
        return Ok(());
    };
    report.count("counters", tally.counters.len() as u64);
    let keys = tally.counters.keys().chain(tally.tasks.keys());
    let mut keys: Vec<_> = keys.collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let (said, is) = (
            tally.counters.get(key).copied().unwrap_or(0),
            tally.tasks.get(key).copied().unwrap_or(0),
        );
        if said != is {
            let (task_type, status) = (&key.0, key.1.as_str());
            let text = format!("the counter of {task_type} in {status} says {said}, there are {is}");
            report.exception("I9", format!("partition {partition}"), text);
        }
    }
    Ok(())
}
