//! Members of indices that name no task (I9).

use std::collections::BTreeSet;

use domain::{Partition, TaskId, Tier};
use store::{BATCH_MAX, Place};

use crate::{Audit, Error, report::Report};

/// Looks through the indices of a partition.
pub(crate) async fn look(audit: &Audit, partition: Partition, report: &mut Report) -> Result<(), Error> {
    for index in Place::INDICES {
        let (mut skip, mut told) = (0, BTreeSet::new());
        loop {
            let (orphans, more) = audit.store.orphans(partition, index, skip).await?;
            tell(index.as_str(), orphans, &mut told, report);
            if !more {
                break;
            }
            skip += BATCH_MAX;
        }
    }
    let (_, types) = audit.store.types().await?;
    for spec in &types {
        for tier in Tier::ALL {
            let (line, mut skip, mut told) = ((&*spec.pool, tier, &*spec.name), 0, BTreeSet::new());
            loop {
                let (orphans, more) = audit.store.queue_orphans(partition, line, skip).await?;
                tell("queue", orphans, &mut told, report);
                if !more {
                    break;
                }
                skip += BATCH_MAX;
            }
        }
    }
    Ok(())
}

/// What moves while it is looked through may come twice.
fn tell(index: &str, orphans: Vec<TaskId>, told: &mut BTreeSet<TaskId>, report: &mut Report) {
    for id in orphans {
        if told.insert(id) {
            report.exception(
                "I9",
                id,
                format!("it stands in the index {index}, and there is no such task"),
            );
        }
    }
}
