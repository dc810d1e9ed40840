//! What every handler works with.

use std::{sync::Arc, time::Duration};

use admission::{Limits, TypeTable, Types};
use axum::{extract::FromRequestParts, http::request::Parts};
use messaging::{Announcer, Bus, Publisher};
use runtime::Health;
use store::{Origin, PlanStore};
use telemetry::Metrics;
use tokio::sync::{Semaphore, SetOnce};

use crate::{body::Room, credit::Credit, refusal::Refusal};

/// The header that says who acts.
const ACTOR: &str = "gengfu-actor";
/// Longest time from the store's first answer, when `/readyz` says that all is well, to a gate.
const SOON: Duration = Duration::from_secs(1);
/// Longest name of an actor, in bytes.
const ACTOR_BYTES: usize = 100;

/// The store and the ways out of it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) store: Arc<dyn PlanStore>,
    pub(crate) types: Types,
    pub(crate) announcer: Announcer,
    pub(crate) bus: Bus,
    pub(crate) publisher: Publisher,
    pub(crate) credit: Credit,
    pub(crate) limits: Limits,
    pub(crate) metrics: Metrics,
    pub(crate) node: Arc<str>,
    /// Held while an audit goes on: one at a time reads all there is.
    pub(crate) auditing: Arc<Semaphore>,
}

/// The gate as soon as there is one: the API answers before the store does. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Entrance {
    pub(crate) gate: Arc<SetOnce<Gate>>,
    /// What all bodies that are worked on may take.
    pub(crate) room: Room,
    /// Why there is no gate yet.
    pub(crate) health: Health,
}

impl Entrance {
    async fn gate(&self) -> Result<Gate, Refusal> {
        if let Some(gate) = self.gate.get() {
            return Ok(gate.clone());
        }
        // Who was told that all is well finds the gate open.
        if self.health.is_ready()
            && let Ok(gate) = tokio::time::timeout(SOON, self.gate.wait()).await
        {
            return Ok(gate.clone());
        }
        Err(self.waits())
    }

    /// The store does not answer yet, or is lost.
    fn waits(&self) -> Refusal {
        let not_ready = self.health.not_ready();
        let store = not_ready.iter().find(|dependency| dependency.name == "redis");
        match store.map(|store| store.reason.as_str()) {
            Some(lost) if lost.starts_with("store_lost") => Refusal::lost(lost),
            Some(_) | None => Refusal::unavailable("the store does not answer yet; see /readyz"),
        }
    }
}

impl FromRequestParts<Entrance> for Gate {
    type Rejection = Refusal;

    async fn from_request_parts(_: &mut Parts, entrance: &Entrance) -> Result<Self, Refusal> {
        let gate = entrance.gate().await?;
        match gate.store.condemned() {
            Some(why) => Err(store::Error::Lost(why).into()),
            None => Ok(gate),
        }
    }
}

impl Gate {
    /// Who acts through this gateway, and why.
    pub(crate) fn origin(&self, actor: Actor, reason: String) -> Origin {
        Origin {
            actor: actor.0,
            node: self.node.to_string(),
            reason,
        }
    }

    /// The types, read for the first time if need be.
    pub(crate) async fn types(&self) -> Result<Arc<TypeTable>, store::Error> {
        let table = self.types.table();
        if table.version() == 0 {
            self.types.refresh().await
        } else {
            Ok(table)
        }
    }
}

/// Who acts: the header `Gengfu-Actor`, else `api`.
#[derive(Debug, Clone)]
pub(crate) struct Actor(pub(crate) String);

impl<S: Sync> FromRequestParts<S> for Actor {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let Some(value) = parts.headers.get(ACTOR) else {
            return Ok(Self("api".into()));
        };
        let name = value
            .to_str()
            .ok()
            .filter(|name| !name.is_empty() && name.len() <= ACTOR_BYTES);
        let refuse = || Refusal::malformed(ACTOR, "is no name", "give 1 to 100 visible ASCII characters");
        name.map(|name| Self(name.to_owned())).ok_or_else(refuse)
    }
}
