//! Schedules (I7): every planned instant once, and no fire before its time.

use domain::{Millis, TriggerOutcome};
use plan::Plan;
use store::{Fired, PlanRefusal, Trigger};

use super::Check;
use crate::store::Play;

impl Check {
    /// No instant fires early or twice.
    pub(crate) fn fired(&mut self, play: Play, items: &[Result<Fired, PlanRefusal>]) {
        for fired in items.iter().flatten() {
            for record in &fired.records {
                if record.planned_at > play.now {
                    let early = record.planned_at - play.now;
                    self.say("I7", format!("{} fired {early} ms early", fired.plan.name));
                }
                let Some(task) = record.task.filter(|_| record.fresh) else {
                    continue;
                };
                let at = (fired.plan.name.clone(), record.planned_at);
                if let Some(first) = self.fires.insert(at, task) {
                    self.say(
                        "I7",
                        format!(
                            "{} fired {} twice: {first}, {task}",
                            fired.plan.name, record.planned_at
                        ),
                    );
                }
            }
        }
    }

    /// The ledger of a schedule names every instant from its anchor to its cursor, each once.
    pub(crate) fn ledger(
        &mut self,
        plan: &Plan,
        anchor: Millis,
        cursor: Millis,
        now: Millis,
        records: &[Trigger],
    ) {
        let name = plan.schedule().name.clone();
        let mut at = anchor;
        let mut left = records.iter();
        while let Some(next) = plan.next_after(at) {
            if next.planned_at > cursor {
                break;
            }
            let Some(record) = left.next() else {
                self.say("I7", format!("{name} has no record of {}", next.planned_at));
                return;
            };
            if record.planned_at != next.planned_at {
                self.say(
                    "I7",
                    format!(
                        "{name} has a record of {}, {} was due",
                        record.planned_at, next.planned_at
                    ),
                );
                return;
            }
            if (record.outcome == TriggerOutcome::Fired) != record.task.is_some() {
                self.say(
                    "I7",
                    format!("{name} has a fire without a task, or a task without a fire"),
                );
            }
            at = record.to;
        }
        if left.next().is_some() {
            self.say(
                "I7",
                format!("{name} has records of instants that were not planned"),
            );
        }
        // Whatever was due some seconds ago must have its record by now.
        if plan
            .next_after(cursor)
            .is_some_and(|next| next.planned_at + 5_000 < now)
        {
            self.say(
                "I7",
                format!("{name} stands at {cursor}, {} ms ago", now - cursor),
            );
        }
    }
}
