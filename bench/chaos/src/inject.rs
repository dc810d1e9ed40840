//! Hurts one part of the town, and heals it.

use std::time::Duration;

use anyhow::Result;
use gengfu_chaos::ledger;
use gengfu_integration_tests::Way;

use crate::cells::{Cell, Fault, Target};
use crate::random::Random;
use crate::town::{LEASE, Town};

/// A killed process is replaced after this long.
const ABSENT: Duration = Duration::from_secs(1);
const END_LIMIT: Duration = Duration::from_secs(60);

/// A fault that was there.
#[derive(Debug, Clone)]
pub(crate) struct Injected {
    pub(crate) cell: Cell,
    /// When it began, by the ledger's clock.
    pub(crate) began: Duration,
    /// When the next cell began, or the drain.
    pub(crate) ended: Duration,
    /// The executor that was hurt, as timelines name it.
    pub(crate) executor: Option<String>,
    /// Late writes that were refused meanwhile.
    pub(crate) refused: u64,
}

/// Longer than the lease, so that whatever runs under it is taken away.
fn beyond_the_lease() -> Duration {
    LEASE + LEASE / 2
}

/// Injects a fault, and heals it before it returns.
pub(crate) async fn inject(town: &mut Town, cell: Cell, random: &mut Random) -> Result<Injected> {
    let began = ledger::now();
    let way = if random.below(2) == 0 {
        Way::Cut
    } else {
        Way::Silent
    };
    let executor = match cell.target {
        Target::Nats | Target::Redis => {
            hurt_server(town, cell, way).await?;
            None
        }
        Target::Scheduler | Target::Dispatcher | Target::Executor | Target::Recorder | Target::Gateway => {
            let replicas = town.replicas_of(cell.target);
            let chosen = replicas[random.below(replicas.len())];
            let name = town.replicas[chosen].name();
            hurt_replica(town, chosen, cell.fault, way).await?;
            (cell.target == Target::Executor).then_some(name)
        }
    };
    Ok(Injected {
        cell,
        began,
        ended: began,
        executor,
        refused: 0,
    })
}

async fn hurt_replica(town: &mut Town, at: usize, fault: Fault, way: Way) -> Result<()> {
    let ledger = town.ledger();
    let replica = &mut town.replicas[at];
    match fault {
        Fault::Kill => {
            replica.process.kill();
            tokio::time::sleep(ABSENT).await;
            replica.start_again(&ledger)?;
        }
        Fault::Stop => {
            replica.process.pause();
            tokio::time::sleep(beyond_the_lease()).await;
            replica.process.resume();
        }
        Fault::Restart => {
            tokio::task::block_in_place(|| replica.process.terminate(END_LIMIT))?;
            replica.start_again(&ledger)?;
        }
        Fault::Cut => {
            replica.set_way(way);
            tokio::time::sleep(beyond_the_lease()).await;
            replica.set_way(Way::Open);
        }
    }
    Ok(())
}

async fn hurt_server(town: &mut Town, cell: Cell, way: Way) -> Result<()> {
    let redis = cell.target == Target::Redis;
    match cell.fault {
        Fault::Kill => {
            if redis {
                town.redis.kill()
            } else {
                town.nats.kill()
            }
            tokio::time::sleep(ABSENT).await;
            start(town, redis)
        }
        Fault::Stop => {
            if redis {
                town.redis.pause()
            } else {
                town.nats.pause()
            }
            tokio::time::sleep(beyond_the_lease()).await;
            if redis {
                town.redis.resume()
            } else {
                town.nats.resume()
            }
            Ok(())
        }
        Fault::Restart => {
            tokio::task::block_in_place(|| {
                if redis {
                    town.redis.stop()
                } else {
                    town.nats.stop()
                }
            })?;
            start(town, redis)
        }
        Fault::Cut => {
            town.set_way_to(cell.target, way);
            tokio::time::sleep(beyond_the_lease()).await;
            town.set_way_to(cell.target, Way::Open);
            Ok(())
        }
    }
}

fn start(town: &mut Town, redis: bool) -> Result<()> {
    Ok(tokio::task::block_in_place(|| {
        if redis {
            town.redis.start()
        } else {
            town.nats.start()
        }
    })?)
}
