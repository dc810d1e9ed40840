//! admit: submissions become tasks, exactly one each (I1).

use std::collections::{BTreeMap, BTreeSet};

use domain::{ErrorClass, Millis, Status, Task, TaskId, Tier, TimelineItem};

use super::shard::{Kept, Place, Record, Shard, event_of};
use crate::{Admitted, Error, Hint, NewTask, Origin};

/// Most entries that wait in an outbox before nothing new is admitted.
const OUTBOX_MAX: usize = 100_000;

/// Whether each queue was idle when this call first looked.
pub(super) type Idle = BTreeMap<(String, Tier), bool>;

impl Shard {
    pub(super) fn admit(&mut self, origin: &Origin, tasks: &[NewTask]) -> Result<Vec<Admitted>, Error> {
        self.refuse_full()?;
        let mut idle = Idle::new();
        let admit = |new: &NewTask| {
            self.known(new)
                .unwrap_or_else(|| self.create(origin, new, &mut idle))
        };
        Ok(tasks.iter().map(admit).collect())
    }

    pub(super) fn refuse_full(&self) -> Result<(), Error> {
        if self.outbox.len() < OUTBOX_MAX {
            return Ok(());
        }
        Err(Error::Full(
            "the outbox is full: the events stream is away or too slow".into(),
        ))
    }

    /// The answer where the key, or the very id, has a task already.
    pub(super) fn known(&self, new: &NewTask) -> Option<Admitted> {
        let key = (new.task_type.clone(), new.idempotency_key.clone());
        let kept = self.keys.get(&key).filter(|_| !new.idempotency_key.is_empty());
        let (id, sha, last) = match kept {
            Some(kept) if kept.last.is_none() || kept.until > self.now => (kept.id, kept.sha, kept.last),
            _ => {
                let task = &self.records.get(&new.id)?.task;
                (task.id, task.payload_sha256, None)
            }
        };
        if sha != new.payload_sha256 {
            return Some(Admitted::Conflict { id });
        }
        let living = self.records.get(&id).map(|record| record.task.status);
        let status = living.or(last)?;
        Some(Admitted::Existing { id, status })
    }

    fn create(&mut self, origin: &Origin, new: &NewTask, idle: &mut Idle) -> Admitted {
        let hint = self.create_at(origin, new, idle, false);
        let status = self
            .records
            .get(&new.id)
            .map_or(Status::Pending, |record| record.task.status);
        Admitted::Created {
            id: new.id,
            status,
            hint,
        }
    }

    /// Makes the task, which waits for its turn where it is blocked; what to send for it.
    pub(super) fn create_at(
        &mut self,
        origin: &Origin,
        new: &NewTask,
        idle: &mut Idle,
        blocked: bool,
    ) -> Hint {
        let now = self.now;
        let due = match (new.at, new.delay_ms) {
            (0, delay) => now + delay.max(0),
            (at, _) => at.max(now),
        };
        let status = if new.rejected.is_some() {
            Status::Dead
        } else {
            Status::Pending
        };
        let task = first_record(now, due, status, origin, new);
        let first = first_step(&task, origin);
        self.events.push(event_of(&task, &first));
        self.keep_key(new, task.key_until);
        self.order.insert(self.created, new.id);
        self.created += 1;
        let record = Record {
            task,
            place: Place::Ended,
            payload: new.payload.clone(),
            result: bytes::Bytes::new(),
            error: new.rejected.clone().unwrap_or_default(),
            outputs: BTreeMap::new(),
            timeline: vec![first],
            seen: BTreeSet::new(),
        };
        self.records.insert(new.id, record);
        if status == Status::Dead {
            return Hint::None;
        }
        if blocked {
            self.enter(new.id, Place::Blocked);
            return Hint::None;
        }
        self.place(new.id, due, new, idle)
    }

    fn keep_key(&mut self, new: &NewTask, until: Millis) {
        if new.idempotency_key.is_empty() {
            return;
        }
        let kept = Kept {
            id: new.id,
            sha: new.payload_sha256,
            until,
            last: None,
        };
        let key = (new.task_type.clone(), new.idempotency_key.clone());
        self.keys.insert(key, kept);
    }

    fn place(&mut self, id: TaskId, due: Millis, new: &NewTask, idle: &mut Idle) -> Hint {
        if due > self.now {
            self.enter(id, Place::Due(due));
            return Hint::None;
        }
        let at = (new.pool.clone(), new.tier);
        let line = self.lines.entry(at.clone()).or_default();
        let idle = *idle.entry(at).or_insert_with(|| line.is_idle());
        let alone = idle && !line.has(&new.task_type) && !self.paused.contains(&new.task_type);
        if new.direct && alone {
            self.enter(id, Place::Dispatched(self.now + self.dispatch_lease_ms));
            return Hint::Work;
        }
        if self.enter(id, Place::Queue(due)) {
            Hint::Ready
        } else {
            Hint::None
        }
    }
}

fn first_record(now: Millis, due: Millis, status: Status, origin: &Origin, new: &NewTask) -> Task {
    let dead = status == Status::Dead;
    Task {
        id: new.id,
        status,
        version: 1,
        task_type: new.task_type.clone(),
        pool: new.pool.clone(),
        tier: new.tier,
        effective_tier: new.tier,
        retry_count: 0,
        max_retry: new.max_retry,
        attempt: 0,
        losses: 0,
        max_lost: new.max_lost,
        loss_since: 0,
        run_timeout_ms: new.run_timeout_ms,
        create_time: now,
        update_time: now,
        next_run_time: if dead { now } else { due },
        expire_at: match new.expire_after_ms {
            ..=0 => 0,
            after => now + after,
        },
        ready_at: 0,
        dispatched_at: 0,
        claimed_at: 0,
        finished_at: if dead { now } else { 0 },
        deadline: 0,
        lease_token: None,
        executor_id: String::new(),
        error_class: dead.then_some(ErrorClass::Deterministic),
        error_code: if dead { "invalid_input" } else { "" }.to_owned(),
        payload_sha256: new.payload_sha256,
        idempotency_key: new.idempotency_key.clone(),
        key_until: now + new.key_window_ms,
        schedule_id: new.schedule_id.clone(),
        planned_at: new.planned_at,
        batch_id: new.batch_id,
        batch_row: new.batch_row,
        parent_id: new.parent_id,
        actor: origin.actor.clone(),
        stop: None,
        sampled: new.sampled,
        trace_link: new.trace_link.clone(),
    }
}

fn first_step(task: &Task, origin: &Origin) -> TimelineItem {
    let why = if task.status == Status::Dead {
        "invalid input"
    } else {
        ""
    };
    TimelineItem {
        version: 1,
        from: None,
        to: task.status,
        at: task.create_time,
        attempt: 0,
        actor: origin.actor.clone(),
        node: origin.node.clone(),
        reason: if origin.reason.is_empty() {
            why.to_owned()
        } else {
            origin.reason.clone()
        },
        error_class: task.error_class,
        error_code: task.error_code.clone(),
    }
}
