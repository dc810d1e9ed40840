//! The live tasks of schedules, by which overlap is decided. Those that wait for their turn are blocked.

use domain::{Event, Overlap, TaskId};

use super::super::shard::{Place, Shard};
use crate::{LIVE_MAX, Origin, Plan};

/// What a fire may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Now,
    Blocked,
    Skip(&'static str),
}

impl Shard {
    pub(super) fn is_blocked(&self, id: TaskId) -> bool {
        self.records
            .get(&id)
            .is_some_and(|record| record.place == Place::Blocked)
    }

    /// Live tasks of a schedule, and how many of them wait for their turn.
    fn live_counts(&self, name: &str) -> (usize, usize) {
        let Some(ids) = self.lives.get(name) else {
            return (0, 0);
        };
        (ids.len(), ids.iter().filter(|id| self.is_blocked(**id)).count())
    }

    /// What a planned fire may do now; earlier tasks are stopped where the policy says so.
    pub(super) fn turn(&mut self, origin: &Origin, plan: &Plan) -> Turn {
        if plan.overlap == Overlap::CancelPrevious {
            self.stop_previous(origin, &plan.name);
        }
        let (live, blocked) = self.live_counts(&plan.name);
        match plan.overlap {
            Overlap::Allow => Turn::Now,
            Overlap::Skip | Overlap::Queue | Overlap::CancelPrevious if live == 0 => Turn::Now,
            Overlap::Skip => Turn::Skip("overlap"),
            Overlap::Queue | Overlap::CancelPrevious if live >= LIVE_MAX => Turn::Skip("queue full"),
            Overlap::Queue if blocked >= usize::from(plan.queue_max) => Turn::Skip("queue full"),
            Overlap::Queue | Overlap::CancelPrevious => Turn::Blocked,
        }
    }

    /// What a fire by hand may do: it is never skipped. None where too many wait.
    pub(super) fn turn_by_hand(&self, plan: &Plan) -> Option<Turn> {
        let (live, _) = self.live_counts(&plan.name);
        match plan.overlap {
            Overlap::Allow => Some(Turn::Now),
            Overlap::Skip | Overlap::Queue | Overlap::CancelPrevious if live == 0 => Some(Turn::Now),
            Overlap::Skip | Overlap::Queue | Overlap::CancelPrevious => {
                (live < LIVE_MAX).then_some(Turn::Blocked)
            }
        }
    }

    fn stop_previous(&mut self, origin: &Origin, name: &str) {
        let mut origin = origin.clone();
        if origin.reason.is_empty() {
            "overlap".clone_into(&mut origin.reason);
        }
        for id in self.lives.get(name).cloned().unwrap_or_default() {
            let stopping = self
                .records
                .get(&id)
                .is_some_and(|record| record.task.stop == Some(domain::Stop::Cancel));
            if !stopping {
                // A live task is pending, retrying or running: each can be cancelled.
                let _ = self.apply(id, &Event::Cancel, &origin, 0);
            }
        }
    }

    /// A task that was fired is live from now on, but where tasks may overlap.
    pub(super) fn join_live(&mut self, plan: &Plan, id: TaskId) {
        if plan.overlap != Overlap::Allow {
            self.lives.entry(plan.name.clone()).or_default().push(id);
        }
    }

    /// Keeps the live tasks true to a transition of a task of a schedule.
    pub(in super::super) fn follow_live(&mut self, id: TaskId, event: &Event) {
        let Some(task) = self.records.get(&id).map(|record| &record.task) else {
            return;
        };
        if task.schedule_id.is_empty() {
            return;
        }
        let name = task.schedule_id.clone();
        let ended = task.status.is_terminal();
        if ended {
            self.leave_live(&name, id);
        } else if matches!(event, Event::Retry { .. }) && task.parent_id.is_none() {
            self.rejoin_live(&name, id);
        }
    }

    fn leave_live(&mut self, name: &str, id: TaskId) {
        let Some(ids) = self.lives.get_mut(name) else {
            return;
        };
        ids.retain(|other| *other != id);
        if ids.is_empty() {
            self.lives.remove(name);
            return;
        }
        let first = ids[0];
        let (live, blocked) = self.live_counts(name);
        if live == blocked {
            let due = self
                .records
                .get(&first)
                .map_or(0, |record| record.task.next_run_time);
            self.shift(first, Place::Due(due.max(self.now)));
        }
    }

    /// A person's retry runs at once, whatever lives; those that come later see it.
    fn rejoin_live(&mut self, name: &str, id: TaskId) {
        let Some(plan) = self.plans.get(name).map(|known| known.plan.clone()) else {
            return;
        };
        if self.live_counts(name).0 < LIVE_MAX {
            self.join_live(&plan, id);
        }
    }
}
