//! The conformance suite: what every [`PlanStore`] must do, as small named cases.
//!
//! Each case takes a fresh store from a [`Harness`] and panics where the store differs. What a case does to the store is
//! done twice with the same nonce, and both answers must be equal (I12). [`crate::task_store_suite!`] makes a test of each
//! case; [`all`] runs them one after the other where a store is costly to start.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code that other crates run; a panic is its verdict"
)]

pub mod admit;
pub mod audit;
pub mod batches;
pub mod by_hand;
pub mod bytes;
pub mod clock;
pub mod counters;
pub mod dispatch;
pub mod due;
pub mod epochs;
pub mod fairness;
pub mod fences;
pub mod fires;
pub mod idempotency;
pub mod leases;
pub mod listing;
pub mod matrix;
pub mod operate;
pub mod outbox;
pub mod overlap;
pub mod paused;
pub mod plan_ends;
pub mod plan_matrix;
pub mod plan_pauses;
pub mod plans;
pub mod random;
pub mod record;
pub mod retain;
pub mod seals;
pub mod stop;
pub mod triggers;
pub mod watch;

mod cases;
mod look;
pub mod new_task;
mod plan_play;
mod plan_step;
mod plan_world;
mod play;
mod snapshot;
mod step;
mod world;

#[cfg(test)]
pub(crate) use new_task::plain;
use std::sync::Arc;

use async_trait::async_trait;

use crate::PlanStore;

/// Makes stores for the suite.
#[async_trait]
pub trait Harness: Send + Sync {
    /// A store that holds nothing, with at least two partitions. Earlier ones are not used any more.
    async fn fresh(&self) -> Arc<dyn PlanStore>;

    /// Moves the newest store's clock by `ms`, at once. A negative number plays a host whose clock is behind.
    async fn advance(&self, ms: i64);

    /// Takes everything out of the newest store, behind its back.
    async fn lose(&self);
}

/// Runs every case on one harness, one after the other.
pub async fn all(harness: &dyn Harness) {
    macro_rules! run {
        ([] $($module:ident { $($case:ident,)+ })+) => {
            $($(Box::pin($module::$case(harness)).await;)+)+
        };
    }
    crate::task_store_cases!({ run } []);
}
