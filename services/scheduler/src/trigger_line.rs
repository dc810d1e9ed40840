//! What a firing leaves behind for people: a line a record, and the numbers.

use calendar::Timestamp;
use domain::{Millis, TriggerOutcome};
use store::{Fired, Hint, Triggered};

use crate::{Town, firing::Ready, hints::Queue};

/// Tells of what was written, and which queues have work now.
pub(crate) fn tell(town: &Town, item: &Ready, fired: &Fired, now: Millis) -> Vec<Queue> {
    let metrics = &town.parts.metrics;
    let mut queues = Vec::new();
    let sent = item.firing.records.iter().zip(&item.dues);
    for ((record, due), told) in sent.zip(&fired.records).filter(|(_, told)| told.fresh) {
        metrics.trigger_records(told.outcome.as_str(), u64::from(record.count));
        line(&item.firing.name, told, record.count, now - due);
        let Some(task) = record
            .task
            .as_ref()
            .filter(|_| told.outcome == TriggerOutcome::Fired)
        else {
            continue;
        };
        metrics.observe_lateness((now - due) as f64 / 1_000.0);
        metrics.submitted(&task.task_type, "schedule");
        if told.hint != Hint::None {
            queues.push((task.pool.clone(), task.tier, task.task_type.clone()));
        }
    }
    queues
}

fn line(schedule: &str, told: &Triggered, count: u32, late_ms: i64) {
    let planned_at = Timestamp::from_millisecond(told.planned_at).unwrap_or_default();
    tracing::info!(
        schedule,
        %planned_at,
        count,
        outcome = told.outcome.as_str(),
        reason = told.reason,
        task_id = told.task.map(tracing::field::display),
        blocked = told.blocked,
        late_ms,
        "trigger"
    );
}
