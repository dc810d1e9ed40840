//! Fires schedules whose time has come: one step of the store writes records, tasks and cursors (I7).
//!
//! Any number of schedulers may do so at once: whoever comes second is told that the cursor moved.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use domain::Partition;
use runtime::fault_point;
use store::{BATCH_MAX, DueSchedules, Fired, Nonce, PlanRefusal, Reply, playing::nonce};

use crate::{
    Town,
    bad_schedules::{BadSchedules, Kind},
    beat::{Duty, Next},
    call::in_time,
    error::Error,
    firing::{Ready, Tables, put_off, ready, share},
    hints::Hints,
    plans::Plans,
    trigger_line,
    wakes::Wakes,
};

/// Most payload bytes of one call (DESIGN section 6).
const CALL_BYTES: usize = 512 * 1024;

/// The duty in one partition.
pub(crate) struct Fire {
    partition: Partition,
    plans: Plans,
    bad: BadSchedules,
    hints: Hints,
    wakes: Wakes,
    /// Calls without an answer yet: played again with the same nonce.
    owed: VecDeque<Call>,
}

/// One call of the store.
struct Call {
    nonce: Nonce,
    items: Vec<Ready>,
}

impl Call {
    fn of(items: Vec<Ready>) -> Self {
        Self {
            nonce: nonce(),
            items,
        }
    }
}

impl Fire {
    pub(crate) fn new(town: &Arc<Town>, partition: Partition) -> Self {
        Self {
            partition,
            plans: Plans::default(),
            bad: BadSchedules::default(),
            hints: Hints::new(town.parts.bus.publisher(), partition),
            wakes: Wakes::default(),
            owed: VecDeque::new(),
        }
    }

    /// Looks what is due, and decides about it. Whether the look was full.
    async fn look(&mut self, town: &Town) -> Result<bool, Error> {
        let store = &town.parts.store;
        let due = in_time(store.due_schedules(self.partition, BATCH_MAX)).await?;
        self.wakes.now(due.now);
        if due.items.is_empty() {
            return Ok(false);
        }
        let types = in_time(town.parts.types.refresh()).await?;
        let calendars = town.calendars.refresh(store.as_ref()).await?;
        let tables = Tables {
            types: &types,
            limits: &town.config.limits,
            calendars: &calendars,
            now: due.now,
            bounds: share(due.items.len()),
        };
        let items = self.decide(town, &due, &tables);
        self.owed.extend(calls(items).into_iter().map(Call::of));
        Ok(due.items.len() >= BATCH_MAX)
    }

    /// One bad schedule never stops the others.
    fn decide(&mut self, town: &Town, due: &DueSchedules, tables: &Tables<'_>) -> Vec<Ready> {
        let mut items = Vec::with_capacity(due.items.len());
        for view in &due.items {
            let name = &view.plan.name;
            if let Some(wait) = self.bad.waits(name) {
                items.push(put_off(view, due.now + crate::ms(wait)));
                continue;
            }
            items.push(match ready(view, &mut self.plans, tables) {
                Ok(ready) => ready,
                Err((kind, error)) => {
                    let wait = self.bad.add(name, kind, error, &town.parts.metrics);
                    put_off(view, due.now + crate::ms(wait))
                }
            });
        }
        items
    }

    /// Plays the first call that is owed; whether its schedules have more to do.
    async fn play(&mut self, town: &Town) -> Result<bool, Error> {
        let Some(call) = self.owed.pop_front() else {
            return Ok(false);
        };
        fault_point::reach("fire.before_script").await;
        let firings: Vec<_> = call.items.iter().map(|item| item.firing.clone()).collect();
        let play = town
            .parts
            .store
            .fire(self.partition, call.nonce, &town.origin, &firings);
        match in_time(play).await {
            Ok(reply) => {
                fault_point::reach("fire.after_script").await;
                Ok(self.answered(town, &call, reply))
            }
            Err(Error::Store(store::Error::Corrupt(error))) => {
                self.part(town, call, &error);
                Ok(true)
            }
            Err(error) => {
                self.owed.push_front(call);
                Err(error)
            }
        }
    }

    fn answered(&mut self, town: &Town, call: &Call, reply: Reply<Result<Fired, PlanRefusal>>) -> bool {
        let mut more = false;
        self.wakes.now(reply.now);
        for (item, answer) in call.items.iter().zip(&reply.items) {
            match answer {
                Ok(fired) => {
                    more |= item.more;
                    if item.firing.cursor != item.firing.seen.cursor {
                        self.bad.mended(&item.firing.name);
                    }
                    self.hints.owe(trigger_line::tell(town, item, fired, reply.now));
                    self.wakes.add(fired.plan.due);
                }
                // Another scheduler or a person was first; what is still due is looked at anew.
                Err(refusal) => {
                    let schedule = &item.firing.name;
                    tracing::debug!(schedule, refusal = refusal.as_str(), "firing refused");
                }
            }
        }
        town.parts.announcer.announce(reply.outbox);
        more
    }

    /// The store takes no part of such a call: each schedule is played alone, so that only the bad one is left.
    fn part(&mut self, town: &Town, call: Call, error: &str) {
        if let [one] = call.items.as_slice() {
            let name = &one.firing.name;
            self.bad
                .add(name, Kind::Store, error.to_owned(), &town.parts.metrics);
            return;
        }
        for item in call.items.into_iter().rev() {
            self.owed.push_front(Call::of(vec![item]));
        }
    }
}

impl Duty for Fire {
    const NAME: &'static str = "fire";

    fn every(&self, town: &Town) -> Duration {
        town.turns.pace(self.partition, town.config.fire_every)
    }

    async fn step(&mut self, town: &Town) -> Result<Next, Error> {
        if fault_point::is_off("fire") {
            return Ok(Next::Later);
        }
        let mut more = false;
        if self.owed.is_empty() {
            more = self.look(town).await?;
        }
        let mut played = Ok(false);
        while !self.owed.is_empty() && played.is_ok() {
            played = self.play(town).await;
            more |= matches!(played, Ok(true));
        }
        self.hints.send().await;
        played?;
        Ok(
            match self.wakes.next().filter(|_| town.turns.has(self.partition)) {
                _ if more => Next::Now,
                Some(wait) => Next::Within(wait),
                None => Next::Later,
            },
        )
    }
}

/// Calls of bounded records and bytes; the order stays.
fn calls(items: Vec<Ready>) -> Vec<Vec<Ready>> {
    let mut calls: Vec<Vec<Ready>> = Vec::new();
    let (mut records, mut bytes) = (0, 0);
    for item in items {
        records += item.firing.records.len();
        bytes += item.bytes();
        match calls.last_mut() {
            Some(call) if records <= BATCH_MAX && bytes <= CALL_BYTES => call.push(item),
            _ => {
                (records, bytes) = (item.firing.records.len(), item.bytes());
                calls.push(vec![item]);
            }
        }
    }
    calls
}
