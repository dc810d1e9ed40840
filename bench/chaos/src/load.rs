//! The load: mixed tasks at a steady pace, each submitted until some gateway has answered.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use gengfu_chaos::act::{Act, How};
use gengfu_chaos::ledger;
use gengfu_integration_tests::Api;
use serde_json::json;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::random::Random;

/// Submissions that may wait for an answer at a time.
const WAITING_MAX: usize = 512;
const AGAIN_AFTER: Duration = Duration::from_millis(100);
/// How long a submission is tried: no cell leaves both gateways without Redis for so long.
const SUBMIT_LIMIT: Duration = Duration::from_secs(90);

/// A kind of task, and how many of 100 are of it.
struct Kind {
    name: &'static str,
    share: usize,
    how: How,
    ms: (usize, usize),
    /// How its tasks end.
    end: &'static str,
}

const KINDS: [Kind; 8] = [
    Kind {
        name: "quick",
        share: 38,
        how: How::Succeed,
        ms: (10, 300),
        end: "success",
    },
    Kind {
        name: "slow",
        share: 14,
        how: How::Succeed,
        ms: (2_500, 5_000),
        end: "success",
    },
    Kind {
        name: "transient",
        share: 13,
        how: How::Transient,
        ms: (10, 300),
        end: "success",
    },
    Kind {
        name: "deterministic",
        share: 6,
        how: How::Deterministic,
        ms: (10, 100),
        end: "dead",
    },
    Kind {
        name: "panic",
        share: 10,
        how: How::Panic,
        ms: (10, 200),
        end: "success",
    },
    Kind {
        name: "too-slow",
        share: 4,
        how: How::Succeed,
        ms: (600_000, 600_001),
        end: "dead",
    },
    Kind {
        name: "command",
        share: 11,
        how: How::Succeed,
        ms: (50, 2_000),
        end: "success",
    },
    Kind {
        name: "too-slow-command",
        share: 4,
        how: How::Succeed,
        ms: (600_000, 600_001),
        end: "dead",
    },
];

/// A submission that a gateway accepted.
#[derive(Debug, Clone)]
pub(crate) struct Accepted {
    pub(crate) id: String,
    /// How the task must end.
    pub(crate) end: &'static str,
    /// When it was accepted, by the ledger's clock.
    pub(crate) at: Duration,
}

/// The load while it goes on.
pub(crate) struct Load {
    accepted: Arc<Mutex<Vec<Accepted>>>,
    stop: watch::Sender<bool>,
    submitting: JoinSet<Result<()>>,
}

impl Load {
    /// Begins to submit so many tasks a second to these gateways.
    pub(crate) fn start(apis: Vec<Api>, rate: u32, seed: u64) -> Self {
        let accepted: Arc<Mutex<Vec<Accepted>>> = Arc::default();
        let (stop, stopped) = watch::channel(false);
        let mut submitting = JoinSet::new();
        submitting.spawn(submit_for_ever(apis, rate, seed, Arc::clone(&accepted), stopped));
        Self {
            accepted,
            stop,
            submitting,
        }
    }

    /// Submits nothing new, and waits until what was begun is answered.
    ///
    /// # Errors
    /// A submission was refused, or nobody answered it.
    pub(crate) async fn stop(mut self) -> Result<Vec<Accepted>> {
        self.stop.send_replace(true);
        while let Some(ended) = self.submitting.join_next().await {
            ended??;
        }
        Ok(std::mem::take(
            &mut *self.accepted.lock().unwrap_or_else(PoisonError::into_inner),
        ))
    }
}

async fn submit_for_ever(
    apis: Vec<Api>,
    rate: u32,
    seed: u64,
    accepted: Arc<Mutex<Vec<Accepted>>>,
    mut stop: watch::Receiver<bool>,
) -> Result<()> {
    let mut pace = tokio::time::interval(Duration::from_secs(1) / rate.max(1));
    pace.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let (mut random, waiting) = (Random::new(seed ^ 0x10AD), Arc::new(Semaphore::new(WAITING_MAX)));
    let mut submitting = JoinSet::new();
    for number in 0_usize.. {
        tokio::select! {
            _ = pace.tick() => {}
            _ = stop.wait_for(|stop| *stop) => break,
        }
        let Ok(place) = Arc::clone(&waiting).acquire_owned().await else {
            break;
        };
        let (kind, act) = draw(&mut random);
        let (apis, accepted) = (apis.clone(), Arc::clone(&accepted));
        submitting.spawn(async move {
            let one = submit(&apis, kind, &act, number).await?;
            accepted.lock().unwrap_or_else(PoisonError::into_inner).push(one);
            drop(place);
            anyhow::Ok(())
        });
        while let Some(ended) = submitting.try_join_next() {
            ended??;
        }
    }
    while let Some(ended) = submitting.join_next().await {
        ended??;
    }
    Ok(())
}

fn draw(random: &mut Random) -> (&'static Kind, Act) {
    let mut left = random.below(100);
    let mut kind = &KINDS[0];
    for one in &KINDS {
        kind = one;
        if left < one.share {
            break;
        }
        left -= one.share;
    }
    let (least, most) = kind.ms;
    let ms = least + random.below(most - least);
    let act = Act {
        how: kind.how,
        ms: ms as u64,
    };
    (kind, act)
}

/// Asks one gateway after the other with the same key, until one answers.
async fn submit(apis: &[Api], kind: &Kind, act: &Act, number: usize) -> Result<Accepted> {
    let body =
        json!({ "task_type": kind.name, "payload": act, "idempotency_key": format!("chaos-{number}") });
    let began = tokio::time::Instant::now();
    let mut last;
    for api in apis.iter().cycle().skip(number % apis.len()) {
        match api.post("/api/v1/tasks", &body).await {
            Ok(answer) if answer.status.is_success() => {
                let id = answer.json()["task_id"].as_str().unwrap_or_default().to_owned();
                return Ok(Accepted {
                    id,
                    end: kind.end,
                    at: ledger::now(),
                });
            }
            Ok(answer) if answer.status.is_client_error() => {
                anyhow::bail!("submission {number}: {}", answer.text())
            }
            Ok(answer) => last = answer.text(),
            Err(error) => last = error.to_string(),
        }
        ensure!(
            began.elapsed() < SUBMIT_LIMIT,
            "submission {number} got no answer within {SUBMIT_LIMIT:?}: {last}"
        );
        tokio::time::sleep(AGAIN_AFTER).await;
    }
    anyhow::bail!("there is no gateway")
}
