//! The store as a process reaches it: every call takes time, may be lost, or its answer may. What the store does is
//! checked right after, whether its answer arrives or not.

use std::collections::hash_map::DefaultHasher;
use std::fmt::{self, Debug, Write};
use std::hash::Hasher;
use std::sync::Arc;
use std::time::Duration;

use domain::{TaskId, Token};
use store::{Error, Nonce, OutboxEntry, Reply, TaskStore};

use crate::mutation::Mutation;
use crate::world::{Who, World};

/// How long a client waits for an answer that does not come.
const TIMEOUT_US: i64 = 800_000;

/// One process's way to the store.
#[derive(Clone)]
pub(crate) struct SimStore {
    pub(crate) world: Arc<World>,
    pub(crate) who: Who,
}

/// How a call will go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fate {
    back_us: i64,
    reply_lost: bool,
}

/// A call with a nonce, as the store saw it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Play {
    pub(crate) nonce: Nonce,
    /// It was played before.
    pub(crate) again: bool,
    pub(crate) now: i64,
}

struct Digest(DefaultHasher);

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

fn digest(value: &impl Debug) -> u64 {
    let mut digest = Digest(DefaultHasher::new());
    // A hasher takes everything.
    let _ = write!(digest, "{value:?}");
    digest.0.finish()
}

async fn pass(us: i64) {
    if us > 0 {
        tokio::time::sleep(Duration::from_micros(us.unsigned_abs())).await;
    }
}

fn lost(what: &str) -> Error {
    Error::Unavailable(format!("{what} was lost").into())
}

impl SimStore {
    pub(crate) fn has(&self, mutation: Mutation) -> bool {
        self.world.mutation == Some(mutation)
    }

    /// The way to the store.
    pub(crate) async fn sent(&self, verb: &'static str) -> Result<Fate, Error> {
        let (forth_us, request_lost, fate) = self.fate();
        if request_lost {
            self.world.step(self.who, verb, 1);
            self.world
                .trace(|| format!("{}: {verb} does not arrive", self.world.names[self.who]));
            pass(forth_us).await;
            return Err(lost("the call"));
        }
        pass(forth_us).await;
        if self.is_cut() {
            return Err(lost("the call"));
        }
        Ok(fate)
    }

    fn is_cut(&self) -> bool {
        let weather = self.world.weather();
        weather.down || weather.cut.contains(&self.who)
    }

    fn fate(&self) -> (i64, bool, Fate) {
        let cut = self.is_cut();
        let (slow, lost) = {
            let weather = self.world.weather();
            (weather.slow, weather.lost)
        };
        let mut rng = self.world.rng();
        let mut way_us = || {
            if rng.chance(slow) {
                rng.range(1, 300) * 1_000
            } else {
                rng.range(-2, 2).max(0) * 1_000
            }
        };
        let (forth_us, back_us) = (way_us(), way_us());
        if cut || rng.chance(lost) {
            // Refused at once, or never answered.
            let wait_us = *rng.pick(&[5_000, TIMEOUT_US]);
            return (
                wait_us,
                true,
                Fate {
                    back_us,
                    reply_lost: false,
                },
            );
        }
        let reply_lost = rng.chance(lost);
        (forth_us, false, Fate { back_us, reply_lost })
    }

    /// The way back.
    pub(crate) async fn back<T: Debug>(
        &self,
        verb: &'static str,
        fate: Fate,
        answer: Result<T, Error>,
    ) -> Result<T, Error> {
        let (world, who) = (&self.world, self.who);
        world.step(
            who,
            verb,
            u64::from(fate.reply_lost) * 2 + u64::from(answer.is_err()) * 4,
        );
        world.trace(|| {
            let end = if fate.reply_lost {
                ", and its answer is lost"
            } else {
                ""
            };
            format!("{}: {verb} -> {answer:?}{end}", world.names[who])
        });
        if fate.reply_lost {
            pass(TIMEOUT_US).await;
            return Err(lost("the answer"));
        }
        pass(fate.back_us).await;
        answer
    }

    /// Before a call with a nonce is played: what the store is told, and what it is.
    pub(crate) fn play(&self, nonce: Nonce) -> (Nonce, Play) {
        let now = self.world.tick();
        let again = !self.world.check().ran.insert(nonce);
        let told = if again && self.has(Mutation::ReplyLostWithoutNonce) {
            store::playing::nonce()
        } else {
            nonce
        };
        (told, Play { nonce, again, now })
    }

    /// A repeat must be answered as the first was; that is noted where the first answer is lost.
    pub(crate) fn repeats<T: Debug>(&self, verb: &'static str, fate: Fate, play: Play, items: &T) {
        let mut check = self.world.check();
        if play.again {
            check.repeated(verb, play.nonce, || digest(items));
        } else if fate.reply_lost {
            check.first_answers.insert(play.nonce, digest(items));
        }
    }

    /// What a call with events did to tasks.
    pub(crate) async fn changed(&self, play: Play, outbox: Option<&OutboxEntry>) {
        let Some(entry) = outbox else { return };
        self.world.check().events(play, entry);
        let mut ids: Vec<_> = entry.events.iter().map(|event| event.task_id).collect();
        ids.sort();
        ids.dedup();
        for id in ids {
            let view = self.world.model.get(id).await.ok().flatten();
            let timeline = self.world.model.timeline(id).await.unwrap_or_default();
            self.world.check().record(id, view.as_ref(), &timeline);
        }
    }

    pub(crate) async fn replied<T: Debug>(
        &self,
        verb: &'static str,
        fate: Fate,
        play: Play,
        answer: &Result<Reply<T>, Error>,
    ) {
        if let Ok(reply) = answer {
            self.repeats(verb, fate, play, &reply.items);
            self.changed(play, reply.outbox.as_ref()).await;
        }
    }

    pub(crate) async fn leases(&self, leases: &[(TaskId, Token)]) -> Vec<(TaskId, Token)> {
        let mut told = Vec::with_capacity(leases.len());
        for (id, token) in leases {
            told.push((*id, self.token(*id, *token).await));
        }
        told
    }

    /// The token that the store is told: the caller's, unless nothing is fenced.
    pub(crate) async fn token(&self, id: TaskId, token: Token) -> Token {
        if !self.has(Mutation::SkipFence) {
            return token;
        }
        let view = self.world.model.get(id).await.ok().flatten();
        view.and_then(|view| view.task.lease_token).unwrap_or(token)
    }
}

/// A call that writes nothing, or that may be repeated as it is.
macro_rules! plain {
    ($self:ident, $verb:literal, $call:expr) => {{
        let fate = $self.sent($verb).await?;
        $self.world.tick();
        let answer = $call.await;
        $self.back($verb, fate, answer).await
    }};
}

/// A call with a nonce whose answer holds no events.
macro_rules! once {
    ($self:ident, $verb:literal, $nonce:ident, $call:expr) => {{
        let fate = $self.sent($verb).await?;
        let (told, play) = $self.play($nonce);
        let answer = $call(told).await;
        if let Ok(answer) = &answer {
            $self.repeats($verb, fate, play, answer);
        }
        $self.back($verb, fate, answer).await
    }};
}

/// A call with a nonce whose answer holds events; `$look` sees the answer before they are counted.
macro_rules! told {
    ($self:ident, $verb:literal, $nonce:ident, $call:expr, $look:expr) => {{
        let fate = $self.sent($verb).await?;
        let (told, play) = $self.play($nonce);
        let answer = $call(told).await;
        if let Ok(reply) = &answer
            && !play.again
        {
            $look(play, &reply.items);
        }
        $self.replied($verb, fate, play, &answer).await;
        $self.back($verb, fate, answer).await
    }};
}
pub(crate) use {once, plain, told};
