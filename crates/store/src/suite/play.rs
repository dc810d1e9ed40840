//! A sequence's calls on one store, with answers in which only what must be equal is left.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::sync::Arc;

use domain::{Millis, Partition, TaskId, Token, TypeSpec};

use super::plan_play::PlanCall;
use super::snapshot::Rounding;
use super::step::{LEASE_MS, Say};
use super::world::failure;
use crate::{
    Claim, ClaimItem, Claimed, Dispatch, Error, Finish, Heartbeat, NewTask, Nonce, Operation, Origin,
    PlanStore, Reply, Retention, Verdict,
};

/// A call, the same for every store but for the tokens.
#[derive(Debug, Clone)]
pub(super) enum Call {
    Admit(Vec<NewTask>),
    Dispatch(Dispatch),
    Claim(Vec<TaskId>),
    Undispatch(Vec<TaskId>),
    Say(Say, Vec<(TaskId, bool)>),
    Operate(Operation, Vec<TaskId>),
    Release,
    Reclaim,
    Put(Box<TypeSpec>),
    Record,
    Retain,
    Sweep,
    Plan(Box<PlanCall>),
}

/// One store in a sequence.
pub(super) struct Player {
    pub(super) store: Arc<dyn PlanStore>,
    pub(super) partition: Partition,
    pub(super) rounding: Rounding,
    tokens: HashMap<TaskId, Vec<Token>>,
    /// Ids of the newest dispatch.
    pub(super) hinted: Vec<TaskId>,
    position: u64,
    pub(super) start: Millis,
    /// The incarnations of each schedule, in the order in which they were seen.
    pub(super) incarnations: BTreeMap<String, Vec<u64>>,
}

/// Plays a verb twice and compares.
macro_rules! both {
    ($call:expr) => {{
        let (first, again) = ($call.await?, $call.await?);
        if first != again {
            return Ok(format!("played twice: {first:?} then {again:?}"));
        }
        first
    }};
}
pub(super) use both;

impl Player {
    pub(super) fn new(store: Arc<dyn PlanStore>, partition: Partition, start: Millis) -> Self {
        Self {
            store,
            partition,
            rounding: Rounding::since(start),
            tokens: HashMap::new(),
            hinted: Vec::new(),
            position: 0,
            start,
            incarnations: BTreeMap::new(),
        }
    }

    /// What the store answered, or that it answered a repeat in another way.
    pub(super) async fn play(&mut self, call: &Call, nonce: Nonce) -> Result<String, Error> {
        let (store, partition, origin) = (Arc::clone(&self.store), self.partition, Origin::default());
        Ok(match call {
            Call::Admit(tasks) => text(&both!(store.admit(partition, nonce, &origin, tasks)).items),
            Call::Dispatch(ask) => self.dispatch(ask, nonce).await?,
            Call::Claim(ids) => self.claim(ids, nonce).await?,
            Call::Undispatch(ids) => text(&both!(store.undispatch(partition, nonce, ids)).count),
            Call::Say(say, picks) => self.say(*say, picks, nonce).await?,
            Call::Operate(operation, ids) => {
                text(&both!(store.operate(partition, nonce, &origin, *operation, ids)).items)
            }
            Call::Release => {
                let released = both!(store.release_due(partition, nonce));
                text(&(released.count, released.more))
            }
            Call::Reclaim => {
                let reply = both!(store.reclaim(partition, nonce, &origin, LEASE_MS));
                let mut taken: Vec<_> = reply
                    .items
                    .into_iter()
                    .filter(|(_, verdict)| verdict.is_ok())
                    .collect();
                taken.sort_by_key(|(id, _)| *id);
                text(&taken)
            }
            Call::Put(spec) => text(&store.put_types(std::slice::from_ref(spec.as_ref())).await?),
            Call::Record => self.record().await?,
            Call::Sweep => text(&both!(store.sweep(partition, nonce))),
            Call::Plan(call) => self.play_plan(call, nonce).await?,
            // What was recorded in part may stay or go, in any order: here all is recorded first.
            Call::Retain => {
                self.record().await?;
                let ms = 30_000;
                let retention = Retention {
                    success_ms: ms,
                    cancelled_ms: ms,
                    dead_ms: ms,
                    count: 1_000_000,
                };
                text(&both!(store.retain(partition, nonce, &retention)).tasks)
            }
        })
    }

    async fn dispatch(&mut self, ask: &Dispatch, nonce: Nonce) -> Result<String, Error> {
        let first = self.store.dispatch(self.partition, nonce, ask).await?;
        let mut again = self.store.dispatch(self.partition, nonce, ask).await?;
        if first.tasks.is_empty() {
            again.now = first.now;
        }
        if first != again {
            return Ok(format!("played twice: {first:?} then {again:?}"));
        }
        self.hinted = first.tasks.iter().map(|(id, ..)| *id).collect();
        let tasks: Vec<_> = first
            .tasks
            .iter()
            .map(|(id, name, due)| (id, name, self.rounding.time(*due)))
            .collect();
        Ok(text(&(tasks, &first.types, first.left)))
    }

    async fn claim(&mut self, ids: &[TaskId], nonce: Nonce) -> Result<String, Error> {
        let item = |id: &TaskId| ClaimItem {
            id: *id,
            effective_tier: domain::Tier::High,
            random: [3; 8],
        };
        let claim = Claim {
            executor_id: "executor-1".into(),
            lease_ms: LEASE_MS,
            items: ids.iter().map(item).collect(),
        };
        let reply: Reply<Claimed> =
            both!(
                self.store
                    .claim(self.partition, nonce, &Origin::default(), &claim)
            );
        let mut told = Vec::new();
        for claimed in reply.items {
            told.push(match claimed {
                Claimed::Run { mut task, payload } => {
                    self.tokens.entry(task.id).or_default().extend(task.lease_token);
                    self.rounding.task(&mut task);
                    text(&(task, payload))
                }
                other => text(&other),
            });
        }
        Ok(told.join("\n"))
    }

    /// The newest token of a task, or an older one, or one that it never had.
    fn token(&self, (id, stale): (TaskId, bool)) -> (TaskId, Token) {
        let known = self.tokens.get(&id).map_or(&[][..], Vec::as_slice);
        let back = if stale { 2 } else { 1 };
        let token = known.len().checked_sub(back).map(|at| known[at]);
        (id, token.unwrap_or(Token([0xee; 16])))
    }

    async fn say(&self, say: Say, picks: &[(TaskId, bool)], nonce: Nonce) -> Result<String, Error> {
        let (store, partition, origin) = (&self.store, self.partition, Origin::default());
        let leases: Vec<_> = picks.iter().map(|pick| self.token(*pick)).collect();
        let reply: Reply<Verdict> = match say {
            Say::Heartbeat => {
                let beats: Vec<Heartbeat> = both!(store.heartbeat(partition, nonce, LEASE_MS, &leases));
                return Ok(text(&beats));
            }
            Say::Complete => {
                let end = |(id, token)| Finish {
                    id,
                    token,
                    result: "done".into(),
                    output: "printed".into(),
                };
                let ends: Vec<_> = leases.iter().copied().map(end).collect();
                both!(store.complete(partition, nonce, &origin, &ends))
            }
            Say::Fail(class, delay_ms) => {
                let ends: Vec<_> = leases
                    .iter()
                    .map(|(id, token)| failure(*id, *token, class, delay_ms))
                    .collect();
                both!(store.fail(partition, nonce, &origin, &ends))
            }
            Say::HandBack => both!(store.hand_back(partition, nonce, &origin, &leases)),
            Say::Stopped => both!(store.stopped(partition, nonce, &origin, &leases)),
        };
        Ok(text(&reply.items))
    }

    async fn record(&mut self) -> Result<String, Error> {
        self.position += 1;
        let entries = self.store.outbox(self.partition, 0, 10_000).await?;
        let events: Vec<_> = entries.iter().flat_map(|entry| entry.events.clone()).collect();
        let recorded = self
            .store
            .record(self.partition, 1, self.position, &events)
            .await?;
        let ids: Vec<_> = entries.into_iter().map(|entry| entry.id).collect();
        self.store.outbox_remove(self.partition, &ids).await?;
        Ok(text(&recorded))
    }
}

pub(super) fn text(value: &impl Debug) -> String {
    format!("{value:?}")
}
