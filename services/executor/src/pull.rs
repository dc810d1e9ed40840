//! Where work comes from: hints, asked for only while slots are free, and claimed at once.

use std::sync::Arc;

use futures::FutureExt;
use messaging::{Idle, WorkMessage, WorkPuller};
use runtime::Shutdown;

use crate::{Executor, claim, end::Ends, tiers::Tiers};

/// Most messages of one pull.
const PULL_MAX: usize = 64;

/// The loop's own state.
struct Puller {
    executor: Arc<Executor>,
    work: WorkPuller,
    ends: Ends,
    tiers: Tiers,
    idle: Option<Idle>,
    /// Tasks that a message held lately, so that a pull asks for as many as there are slots.
    per_message: f64,
}

pub(crate) async fn run(executor: Arc<Executor>, work: WorkPuller, ends: Ends, shutdown: Shutdown) {
    let mut puller = Puller {
        executor,
        work,
        ends,
        tiers: Tiers::default(),
        idle: None,
        per_message: 1.0,
    };
    shutdown.or_stop(puller.pull_for_ever()).await;
}

impl Puller {
    async fn pull_for_ever(&mut self) {
        loop {
            let free = self.free_slots().await;
            let messages = self.next_messages(free).await;
            for message in &messages {
                self.tiers.heat(message.tier);
                self.tiers.spend(message.tier, message.hint.items.len());
                #[allow(clippy::cast_precision_loss)]
                let held = message.hint.items.len() as f64;
                self.per_message = (0.8 * self.per_message + 0.2 * held).max(1.0);
            }
            for together in of_one_call(messages) {
                claim::start(&self.executor, together, &self.ends);
            }
        }
    }

    /// Waits until a slot is free. While none is, no pull may wait: a hint is never held unclaimed.
    async fn free_slots(&mut self) -> usize {
        if self.executor.slots.available_permits() == 0 {
            self.idle = None;
            // It is closed only at the end of the process.
            drop(self.executor.slots.acquire().await);
        }
        self.executor.slots.available_permits().max(1)
    }

    async fn next_messages(&mut self, free: usize) -> Vec<WorkMessage> {
        // A tier that was quiet may have spoken up meanwhile.
        let mut early = Vec::new();
        while early.len() < PULL_MAX.min(free)
            && let Some(message) = self.idle.as_mut().and_then(|idle| idle.next().now_or_never())
        {
            early.push(message);
        }
        if !early.is_empty() {
            return early;
        }
        let Some(tier) = self.tiers.next() else {
            return vec![self.wait().await];
        };
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )]
        let count = ((free as f64 / self.per_message) as usize).clamp(1, PULL_MAX);
        let pulled = self.work.try_pull(tier, count).await.unwrap_or_default();
        if pulled.is_empty() {
            self.tiers.cool(tier);
        }
        pulled
    }

    async fn wait(&mut self) -> WorkMessage {
        if self.idle.is_none() {
            self.idle = Some(self.work.idle().await);
        }
        match self.idle.as_mut() {
            Some(idle) => idle.next().await,
            None => std::future::pending().await,
        }
    }
}

/// Groups messages of one partition and tier, up to what one claim takes.
fn of_one_call(messages: Vec<WorkMessage>) -> Vec<Vec<WorkMessage>> {
    let mut calls: Vec<Vec<WorkMessage>> = Vec::new();
    let tasks = |call: &[WorkMessage]| call.iter().map(|message| message.hint.items.len()).sum::<usize>();
    for message in messages {
        let fits = |call: &&mut Vec<WorkMessage>| {
            let first = &call[0];
            first.tier == message.tier
                && first.hint.partition == message.hint.partition
                && tasks(call) + message.hint.items.len() <= store::BATCH_MAX
        };
        match calls.iter_mut().find(fits) {
            Some(call) => call.push(message),
            None => calls.push(vec![message]),
        }
    }
    calls
}
