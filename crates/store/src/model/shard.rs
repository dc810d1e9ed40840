//! One partition: its records, its indices, its clock, and the one way in which a task changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;
use domain::{
    Act, DISPATCH_LEASE_MS, Event, Millis, Outcome, Partition, Rejection, RunTimes, Status, SubState, Task,
    TaskId, Tier, TimelineItem, decide,
};

use super::nonces::Nonces;
use super::plan::{Ledger, Schedule};
use super::queue::Line;
use crate::{Origin, OutboxEntry, Reply, Sealed, TIMELINE_MAX, TaskEvent, TaskView, Verdict};

/// The one index in which a task stands, with its score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Waits for a time.
    Due(Millis),
    /// Waits for its turn, since.
    Queue(Millis),
    /// A hint is on its way until.
    Dispatched(Millis),
    /// Under a lease until.
    Lease(Millis),
    /// Waits until earlier tasks of its schedule have ended.
    Blocked,
    /// Terminal.
    Ended,
}

/// A task with all that is kept of it.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) task: Task,
    pub(super) place: Place,
    pub(super) payload: Bytes,
    pub(super) result: Bytes,
    pub(super) error: String,
    pub(super) outputs: BTreeMap<u32, Bytes>,
    pub(super) timeline: Vec<TimelineItem>,
    /// Versions that the recorder has.
    pub(super) seen: BTreeSet<u32>,
}

/// What is kept under an idempotency key.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) id: TaskId,
    pub(super) sha: [u8; 32],
    pub(super) until: Millis,
    /// The last status, where the task is gone.
    pub(super) last: Option<Status>,
}

/// One partition.
#[derive(Debug, Default)]
pub(super) struct Shard {
    pub(super) partition: Partition,
    /// How long a dispatched task waits to be claimed.
    pub(super) dispatch_lease_ms: Millis,
    /// The store's clock at the last call; it never runs backward (I11).
    pub(super) now: Millis,
    /// (end, length) of silences in which nobody called, each longer than those after it.
    silences: Vec<(Millis, i64)>,
    pub(super) last_token: u64,
    /// Writes refused because their lease was lost.
    pub(super) refused: u64,
    pub(super) records: BTreeMap<TaskId, Record>,
    /// Ids in the order of their creation, by positions that no removal shifts.
    pub(super) order: BTreeMap<u64, TaskId>,
    pub(super) created: u64,
    pub(super) keys: HashMap<(String, String), Kept>,
    pub(super) due: BTreeSet<(Millis, TaskId)>,
    pub(super) dispatched: BTreeSet<(Millis, TaskId)>,
    pub(super) leases: BTreeSet<(Millis, TaskId)>,
    pub(super) lines: BTreeMap<(String, Tier), Line>,
    pub(super) paused: BTreeSet<String>,
    pub(super) outbox: BTreeMap<u64, Vec<TaskEvent>>,
    pub(super) outbox_last: u64,
    /// Events of the running call.
    pub(super) events: Vec<TaskEvent>,
    pub(super) nonces: Nonces,
    /// Tasks of a batch that were removed, by their last status.
    pub(super) batch_gone: BTreeMap<(TaskId, Status), u64>,
    /// When the last task of a batch was removed here, or when it was last looked whether the batch can be forgotten.
    pub(super) batch_left: BTreeMap<TaskId, Millis>,
    /// What was said of the batches that are at home here.
    pub(super) seals: BTreeMap<TaskId, Sealed>,
    pub(super) recorded: (i64, u64),
    pub(super) hours: BTreeMap<(Millis, String), u64>,
    /// The most attempts of one task, by type and day.
    pub(super) attempts_max: BTreeMap<(String, Millis), u32>,
    /// How long successful runs took, by type and day.
    pub(super) run_times: BTreeMap<(String, Millis), RunTimes>,
    /// The fleet's lease, as reclaim was last told.
    pub(super) lease_ms: i64,
    pub(super) plans: BTreeMap<String, Schedule>,
    /// Tasks of schedules that have not ended, in the order in which they run.
    pub(super) lives: BTreeMap<String, Vec<TaskId>>,
    pub(super) ledgers: BTreeMap<String, Ledger>,
}

impl Shard {
    pub(super) fn new(partition: Partition) -> Self {
        Self {
            partition,
            dispatch_lease_ms: DISPATCH_LEASE_MS,
            ..Self::default()
        }
    }

    /// Reads the clock at the start of a verb and notes how long nobody had called.
    pub(super) fn begin(&mut self, clock: Millis) -> Millis {
        let now = clock.max(self.now);
        let silence = now - self.now;
        if self.now > 0 && silence > 0 {
            while self.silences.last().is_some_and(|(_, length)| *length <= silence) {
                self.silences.pop();
            }
            self.silences.push((now, silence));
        }
        self.now = now;
        now
    }

    /// Whether an outage is so recent that nothing may be reclaimed (I4).
    pub(super) fn guarded(&self, lease_ms: i64) -> bool {
        self.silences
            .iter()
            .any(|(end, length)| length * 2 > lease_ms && self.now < end + lease_ms)
    }

    fn index(&mut self, place: Place) -> Option<&mut BTreeSet<(Millis, TaskId)>> {
        match place {
            Place::Due(_) => Some(&mut self.due),
            Place::Dispatched(_) => Some(&mut self.dispatched),
            Place::Lease(_) => Some(&mut self.leases),
            Place::Queue(_) | Place::Blocked | Place::Ended => None,
        }
    }

    /// The line of a task, with its type and whether that is paused.
    fn line(&mut self, id: TaskId) -> Option<(&mut Line, String, bool)> {
        let task = &self.records.get(&id)?.task;
        let name = task.task_type.clone();
        let paused = self.paused.contains(&name);
        let line = self.lines.entry((task.pool.clone(), task.tier)).or_default();
        Some((line, name, paused))
    }

    /// Takes a task out of its index.
    pub(super) fn leave(&mut self, id: TaskId) {
        let Some(place) = self.records.get(&id).map(|record| record.place) else {
            return;
        };
        if let Place::Queue(since) = place {
            if let Some((line, name, paused)) = self.line(id) {
                line.remove(&name, since, id, paused);
            }
        } else if let Place::Due(at) | Place::Dispatched(at) | Place::Lease(at) = place
            && let Some(index) = self.index(place)
        {
            index.remove(&(at, id));
        }
    }

    /// Puts a task into an index; whether that was a queue in which its type had none before.
    pub(super) fn enter(&mut self, id: TaskId, place: Place) -> bool {
        let mut woke = false;
        if let Place::Queue(since) = place {
            if let Some((line, name, paused)) = self.line(id) {
                woke = line.add(&name, since, id, paused);
            }
        } else if let Place::Due(at) | Place::Dispatched(at) | Place::Lease(at) = place
            && let Some(index) = self.index(place)
        {
            index.insert((at, id));
        }
        if let Some(record) = self.records.get_mut(&id) {
            record.place = place;
        }
        woke
    }

    pub(super) fn shift(&mut self, id: TaskId, place: Place) -> bool {
        self.leave(id);
        self.enter(id, place)
    }

    /// Does `event` to a task, as `decide` says; `lease_ms` is that of a claim.
    pub(super) fn apply(&mut self, id: TaskId, event: &Event, origin: &Origin, lease_ms: i64) -> Verdict {
        let record = self.records.get_mut(&id).ok_or(Rejection::Missing)?;
        let act = Act {
            now: self.now,
            actor: origin.actor.clone(),
            node: origin.node.clone(),
            reason: origin.reason.clone(),
        };
        let outcome = decide(&record.task, event, &act)?;
        let place = place_after(record, &outcome.task, event, self.now + lease_ms);
        let verdict = (outcome.task.status, outcome.task.version);
        self.events.extend(events_of(&record.task, &outcome));
        record.keep(outcome);
        if let Some(place) = place {
            self.shift(id, place);
        }
        self.follow_live(id, event);
        Ok(verdict)
    }

    /// Ends a call: its events become one entry of the outbox.
    pub(super) fn reply<T>(&mut self, items: Vec<T>) -> Reply<T> {
        let events = std::mem::take(&mut self.events);
        let outbox = (!events.is_empty()).then(|| {
            self.outbox_last += 1;
            self.outbox.insert(self.outbox_last, events.clone());
            self.entry(self.outbox_last, events)
        });
        Reply {
            items,
            now: self.now,
            outbox,
        }
    }

    pub(super) fn entry(&self, number: u64, events: Vec<TaskEvent>) -> OutboxEntry {
        OutboxEntry {
            partition: self.partition,
            id: format!("{number:020}"),
            events,
        }
    }

    /// The task as it is shown at `now`.
    pub(super) fn view(&self, id: TaskId, now: Millis) -> Option<TaskView> {
        let record = self.records.get(&id)?;
        Some(TaskView {
            task: record.task.clone(),
            sub_state: record.sub_state(now),
            payload: record.payload.clone(),
            result: record.result.clone(),
            error: record.error.clone(),
        })
    }
}

impl Record {
    fn keep(&mut self, outcome: Outcome) {
        self.task = outcome.task;
        self.timeline.extend(outcome.steps);
        let surplus = self.timeline.len().saturating_sub(TIMELINE_MAX);
        self.timeline.drain(..surplus);
    }

    /// A task whose time came but which was not moved yet counts as ready: its turn is what it waits for.
    fn sub_state(&self, now: Millis) -> Option<SubState> {
        match self.place {
            Place::Dispatched(_) => Some(SubState::Dispatched),
            Place::Blocked => Some(SubState::Blocked),
            Place::Due(_) | Place::Queue(_) if self.task.next_run_time > now => Some(SubState::Delayed),
            Place::Due(_) | Place::Queue(_) => Some(SubState::Ready),
            Place::Lease(_) | Place::Ended => None,
        }
    }

    /// Whether the recorder has every transition.
    pub(super) fn is_recorded(&self) -> bool {
        (1..=self.task.version).all(|version| self.seen.contains(&version))
    }
}

/// Where a task stands after an event; none: where it stood.
fn place_after(before: &Record, after: &Task, event: &Event, lease_end: Millis) -> Option<Place> {
    match after.status {
        Status::Pending | Status::Retrying => {
            let stays = matches!(
                event,
                Event::Set {
                    next_run_time: None,
                    ..
                }
            );
            (!stays && before.place != Place::Blocked).then_some(Place::Due(after.next_run_time))
        }
        Status::Running => before
            .task
            .status
            .is_claimable()
            .then_some(Place::Lease(lease_end)),
        // Failed and timeout are only passed through.
        Status::Success | Status::Dead | Status::Cancelled | Status::Failed | Status::Timeout => {
            Some(Place::Ended)
        }
    }
}

fn events_of(before: &Task, outcome: &Outcome) -> Vec<TaskEvent> {
    let last = outcome.steps.len().saturating_sub(1);
    let counts = |at: usize| if at == last { &outcome.task } else { before };
    let event = |(at, step): (usize, &TimelineItem)| {
        let mut event = event_of(&outcome.task, step);
        event.retry_count = counts(at).retry_count;
        event.max_retry = counts(at).max_retry;
        if step.from == Some(Status::Running) && step.to != Status::Running {
            event.run_ms = step.at - before.claimed_at;
        } else if step.from.is_some_and(Status::is_claimable) && step.to == Status::Running {
            event.wait_ms = step.at - before.next_run_time;
        } else if step.to == Status::Retrying && step.from != Some(Status::Retrying) {
            event.delay_ms = outcome.task.next_run_time - step.at;
        }
        event
    };
    outcome.steps.iter().enumerate().map(event).collect()
}

/// The event of one transition, without the times that only the call knows.
pub(super) fn event_of(task: &Task, item: &TimelineItem) -> TaskEvent {
    TaskEvent {
        task_id: task.id,
        version: item.version,
        from: item.from,
        to: item.to,
        at: item.at,
        attempt: item.attempt,
        actor: item.actor.clone(),
        node: item.node.clone(),
        reason: item.reason.clone(),
        error_class: item.error_class,
        error_code: item.error_code.clone(),
        task_type: task.task_type.clone(),
        pool: task.pool.clone(),
        tier: task.tier,
        batch_id: task.batch_id,
        retry_count: task.retry_count,
        max_retry: task.max_retry,
        wait_ms: 0,
        run_ms: 0,
        delay_ms: 0,
        sampled: task.sampled,
        schedule_id: task.schedule_id.clone(),
    }
}
