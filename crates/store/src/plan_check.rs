//! Calls of the plan table that no store may accept, whatever it holds: faults of the caller, not races.

use domain::{Partition, TriggerOutcome, schedule_partition};

use crate::{BATCH_MAX, DECISION_BYTES, Error, Firing, NewTrigger, PutSchedule};

type Checked = Result<(), Error>;

/// Refuses names of another partition, and too many of them.
///
/// # Errors
/// [`Error::Corrupt`], with the name.
pub fn names<'a>(
    partition: Partition,
    partitions: u16,
    names: impl ExactSizeIterator<Item = &'a str>,
) -> Checked {
    if names.len() > BATCH_MAX {
        return fault(format!("{} schedules in one call", names.len()));
    }
    for name in names {
        if schedule_partition(name, partitions) != partition {
            return fault(format!("schedule {name} is not of partition {partition}"));
        }
    }
    Ok(())
}

/// Refuses schedules of another partition, and owed records that are fires or out of order.
///
/// # Errors
/// [`Error::Corrupt`], with the name and what is wrong.
pub fn puts(partition: Partition, partitions: u16, items: &[PutSchedule]) -> Checked {
    names(partition, partitions, items.iter().map(|item| item.name.as_str()))?;
    let owed = items.iter().map(|item| item.owed.len()).sum();
    count(owed)?;
    for item in items {
        next(&item.name, item.anchor, item.next, item.due)?;
        let after = item.seen.map_or(item.anchor, |seen| seen.cursor);
        in_order(&item.name, after, item.anchor, &item.owed)?;
        for record in &item.owed {
            kind(&item.name, record)?;
            if record.task.is_some() || record.manual {
                return fault(format!("schedule {} owes a task", item.name));
            }
        }
    }
    Ok(())
}

/// Refuses firings of another partition, cursors that go back, and records that are not of the instants in between.
///
/// # Errors
/// [`Error::Corrupt`], with the name and what is wrong.
pub fn firings(partition: Partition, partitions: u16, firings: &[Firing]) -> Checked {
    names(
        partition,
        partitions,
        firings.iter().map(|firing| firing.name.as_str()),
    )?;
    count(firings.iter().map(|firing| firing.records.len()).sum())?;
    for firing in firings {
        next(&firing.name, firing.cursor, firing.next, firing.due)?;
        if firing.cursor < firing.seen.cursor {
            return fault(format!("the cursor of schedule {} goes back", firing.name));
        }
        if firing.decision.len() > DECISION_BYTES {
            return fault(format!("the decision of schedule {} is too long", firing.name));
        }
        in_order(&firing.name, firing.seen.cursor, firing.cursor, &firing.records)?;
        for record in &firing.records {
            record_of(&firing.name, partition, partitions, record)?;
            if record.manual {
                return fault(format!("schedule {} fires by hand in a scan", firing.name));
            }
        }
    }
    Ok(())
}

/// Refuses records of another partition's schedule, and ranges or instants that are none.
///
/// # Errors
/// [`Error::Corrupt`], with the name and what is wrong.
pub fn records(partition: Partition, partitions: u16, name: &str, records: &[NewTrigger]) -> Checked {
    names(partition, partitions, [name].into_iter())?;
    count(records.len())?;
    for record in records {
        record_of(name, partition, partitions, record)?;
        if record.task.is_none() || (record.planned_at <= 0 && !record.manual) {
            return fault(format!("a record of schedule {name} by hand fires one instant"));
        }
    }
    Ok(())
}

fn fault(why: String) -> Checked {
    Err(Error::Corrupt(why))
}

fn count(records: usize) -> Checked {
    if records > BATCH_MAX {
        return fault(format!("{records} records in one call"));
    }
    Ok(())
}

fn next(name: &str, cursor: i64, next: i64, due: i64) -> Checked {
    if next != 0 && (next <= cursor || due < next) {
        return fault(format!(
            "the next instant of schedule {name} is not after its cursor"
        ));
    }
    Ok(())
}

fn in_order(name: &str, after: i64, until: i64, records: &[NewTrigger]) -> Checked {
    let mut last = after;
    for record in records {
        if record.planned_at <= last || record.to > until {
            return fault(format!(
                "the record of {} is not between the cursors of schedule {name}, or out of order",
                record.planned_at
            ));
        }
        last = record.to;
    }
    Ok(())
}

/// One instant, or a range of several; a task exactly for a fire.
fn kind(name: &str, record: &NewTrigger) -> Checked {
    let one = record.to == record.planned_at && record.count == 1;
    let range = record.to > record.planned_at && record.count > 0;
    let fires = record.outcome == TriggerOutcome::Fired;
    if fires != record.task.is_some() || !(one || range && !fires) {
        return fault(format!(
            "the record of {} of schedule {name} is neither one instant nor a range without a task",
            record.planned_at
        ));
    }
    Ok(())
}

fn record_of(name: &str, partition: Partition, partitions: u16, record: &NewTrigger) -> Checked {
    kind(name, record)?;
    let Some(task) = &record.task else { return Ok(()) };
    if task.id.partition(partitions) != partition || task.schedule_id != name {
        return fault(format!("task {} is not of schedule {name}", task.id));
    }
    Ok(())
}
