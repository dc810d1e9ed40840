//! The transitions of tasks (I2, I6) and their records.

use domain::{Status, TRANSITIONS, TaskId, TimelineItem, check_task, check_timeline};
use store::{OutboxEntry, TaskEvent, TaskView};

use super::{Check, Seen};
use crate::store::Play;

/// The one who may bring a terminal task back.
pub(crate) const OPERATOR: &str = "operator";

impl Check {
    /// The transitions of one call, in order.
    pub(crate) fn events(&mut self, play: Play, entry: &OutboxEntry) {
        for event in &entry.events {
            self.event(play, event);
        }
    }

    fn event(&mut self, play: Play, event: &TaskEvent) {
        let id = event.task_id;
        let (status, version) = self
            .tasks
            .get(&id)
            .map_or((None, 0), |seen| (Some(seen.status), seen.version));
        if event.version <= version {
            // The answer of a repeat holds what the first one did.
            if !play.again {
                self.say("I2", format!("{id} has version {} twice", event.version));
            }
            return;
        }
        if play.again {
            self.say("I12", format!("{id} changed by a call that was played again"));
        }
        if event.version != version + 1 {
            self.say(
                "I2",
                format!("{id} goes from version {version} to {}", event.version),
            );
        }
        if event.from != status {
            self.say(
                "I2",
                format!("{id} goes on from {:?}, it stood at {status:?}", event.from),
            );
        }
        if !TRANSITIONS
            .iter()
            .any(|row| row.from == event.from && row.to == event.to)
        {
            self.say(
                "I2",
                format!("{:?} to {:?} is not in the table", event.from, event.to),
            );
        }
        if status.is_some_and(Status::is_terminal) && event.actor != OPERATOR {
            self.say("I6", format!("{id} left {status:?} by {}", event.actor));
        }
        let seen = self.tasks.entry(id).or_insert_with(|| Seen {
            status: event.to,
            version: 0,
            task_type: event.task_type.clone(),
            lease: None,
            attempts: 0,
            due: 0,
            came: std::collections::BTreeMap::new(),
        });
        (seen.status, seen.version) = (event.to, event.version);
        *seen.came.entry(event.to).or_default() += 1;
        let waits = event.to == Status::Retrying;
        seen.due = if waits { event.at + event.delay_ms } else { 0 };
        if event.to != Status::Running {
            seen.lease = None;
        }
        self.changed = true;
    }

    /// The record and the timeline of a task that just changed.
    pub(crate) fn record(&mut self, id: TaskId, view: Option<&TaskView>, timeline: &[TimelineItem]) {
        let Some(view) = view else {
            self.say("I2", format!("{id} has transitions and no record"));
            return;
        };
        self.found.extend(check_task(&view.task));
        self.found.extend(check_timeline(timeline));
        let stands = (view.task.status, view.task.version);
        let last = timeline.last().map(|item| (item.to, item.version));
        let told = self.tasks.get(&id).map(|seen| (seen.status, seen.version));
        if told != Some(stands) || last != Some(stands) {
            self.say(
                "I2",
                format!("{id} stands at {stands:?}, its timeline ends at {last:?}, its events at {told:?}"),
            );
        }
    }

    /// What the recorder is given must have happened.
    pub(crate) fn read(&mut self, events: &[TaskEvent]) {
        for event in events {
            let known = self
                .tasks
                .get(&event.task_id)
                .is_some_and(|seen| seen.version >= event.version);
            if !known {
                self.say("I2", format!("{} was told of, and did not happen", event.task_id));
            }
            self.read.insert((event.task_id, event.version));
        }
    }
}
