//! Which task goes next: tiers by weight, types by turns, and a share for those that waited too long (I8).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::{Millis, Tier};
use proto::{WorkHint, WorkItem};
use runtime::Shutdown;
use store::{Dispatch, Dispatched};

use crate::Dispatcher;
use crate::waiting::Line;

/// How often the queues are looked at, whatever hint was lost (I5).
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long the duty of a pool is held.
const DUTY_TTL_MS: i64 = 2_000;
/// How often it is renewed.
const DUTY_EVERY: Duration = Duration::from_millis(700);
/// Most tasks of one hint.
const PACK_MAX: usize = 32;
/// How long a dispatch is tried.
const DISPATCH_LIMIT: Duration = Duration::from_secs(5);
/// One start in so many goes to a task that waited too long.
const AGED_EVERY: usize = 10;

/// What the loop keeps of a pool.
#[derive(Default)]
struct Pool {
    held: bool,
    asked: Option<Instant>,
    spent: HashMap<Tier, u64>,
    turn: HashMap<Tier, usize>,
    since_aged: usize,
}

pub(crate) async fn run(dispatcher: Arc<Dispatcher>, shutdown: Shutdown) {
    shutdown.or_stop(order_for_ever(&dispatcher)).await;
}

async fn order_for_ever(dispatcher: &Dispatcher) {
    let mut pools: HashMap<String, Pool> = HashMap::new();
    let mut looked = None;
    let mut clock = (Instant::now(), 0);
    loop {
        if looked.is_none_or(|at: Instant| at.elapsed() > LOOK_EVERY) {
            look(dispatcher, &mut clock).await;
            looked = Some(Instant::now());
        }
        for name in dispatcher.waiting.pools() {
            let pool = pools.entry(name.clone()).or_default();
            pool.hold(dispatcher, &name).await;
            if pool.held {
                pool.serve(dispatcher, &name, clock).await;
            }
        }
        let _ = tokio::time::timeout(LOOK_EVERY, dispatcher.waiting.woken()).await;
    }
}

/// Looks at every queue of every known pool, and reads the store's clock.
async fn look(dispatcher: &Dispatcher, clock: &mut (Instant, Millis)) {
    let store = &dispatcher.parts.store;
    if let Ok(now) = store.ping().await {
        *clock = (Instant::now(), now);
    }
    if let Err(error) = dispatcher.parts.types.refresh().await {
        tracing::debug!(%error, "types could not be read");
    }
    let table = dispatcher.parts.types.table();
    let mut pools: Vec<String> = table.specs().map(|spec| spec.pool.clone()).collect();
    pools.sort();
    pools.dedup();
    for partition in 0..store.partitions() {
        let Ok(queues) = store.queues(partition, &pools).await else {
            return;
        };
        for queue in queues.into_iter().filter(|queue| queue.ready > 0) {
            dispatcher.waiting.looked_up(
                Line {
                    pool: queue.pool,
                    tier: queue.tier,
                    partition,
                },
                queue.oldest,
            );
        }
    }
}

impl Pool {
    /// One dispatcher orders a pool at a time; two at once would do no harm.
    async fn hold(&mut self, dispatcher: &Dispatcher, name: &str) {
        if self.asked.is_some_and(|at| at.elapsed() < DUTY_EVERY) {
            return;
        }
        let duty = format!("order-{name}");
        self.held = dispatcher
            .parts
            .store
            .hold(&duty, &dispatcher.config.id, DUTY_TTL_MS)
            .await
            .unwrap_or(false);
        self.asked = Some(Instant::now());
    }

    /// Sends as much as the pool can take.
    async fn serve(&mut self, dispatcher: &Dispatcher, name: &str, (read, store_now): (Instant, Millis)) {
        loop {
            let credit = dispatcher.slots.credit(name, Instant::now());
            if credit == 0 {
                return;
            }
            let now = store_now + i64::try_from(read.elapsed().as_millis()).unwrap_or(0);
            let Some((line, aged)) = self.next(dispatcher, name, now) else {
                return;
            };
            let limit = if aged {
                credit.min(self.since_aged / AGED_EVERY).max(1)
            } else {
                credit
            };
            let Some(sent) = send(dispatcher, &line, limit.min(store::BATCH_MAX), aged).await else {
                return;
            };
            self.since_aged = if aged { 0 } else { self.since_aged + sent };
            *self.spent.entry(line.tier).or_default() += sent as u64 * 1_000 / u64::from(line.tier.weight());
        }
    }

    /// The next line, and whether it goes by age.
    fn next(&mut self, dispatcher: &Dispatcher, name: &str, now: Millis) -> Option<(Line, bool)> {
        if self.since_aged >= AGED_EVERY
            && let Some(line) = dispatcher.waiting.aged(name, now).into_iter().next()
        {
            return Some((line, true));
        }
        let lines = dispatcher.waiting.lines_of(name);
        let active = |tier: &Tier| lines.iter().any(|line| line.tier == *tier);
        let lowest = Tier::ALL
            .iter()
            .filter(|tier| active(tier))
            .filter_map(|tier| self.spent.get(tier))
            .min()
            .copied();
        let tier = Tier::ALL.into_iter().filter(active).min_by_key(|tier| {
            // A tier that comes anew starts beside the others.
            self.spent
                .get(tier)
                .copied()
                .unwrap_or(0)
                .max(lowest.unwrap_or(0))
        })?;
        let spent = self.spent.entry(tier).or_default();
        *spent = (*spent).max(lowest.unwrap_or(0));
        let mine: Vec<_> = lines.into_iter().filter(|line| line.tier == tier).collect();
        let turn = self.turn.entry(tier).or_default();
        *turn = turn.wrapping_add(1);
        mine.get(*turn % mine.len()).cloned().map(|line| (line, false))
    }
}

/// Dispatches from one line and publishes the hints; how many. None where the store does not answer.
async fn send(dispatcher: &Dispatcher, line: &Line, limit: usize, aged: bool) -> Option<usize> {
    let known = dispatcher.waiting.known(line);
    let ask = Dispatch {
        pool: line.pool.clone(),
        tier: line.tier,
        limit,
        oldest: aged,
        types: known.types.into_iter().collect(),
    };
    let call = |nonce| dispatcher.parts.store.dispatch(line.partition, nonce, &ask);
    let dispatched = match store::playing::answered(DISPATCH_LIMIT, call).await {
        Ok(dispatched) => dispatched,
        Err(error) => {
            tracing::debug!(%error, "a dispatch got no answer");
            return None;
        }
    };
    // Where nothing comes although every type was named, the next look at the store tells why.
    let nothing = dispatched.tasks.is_empty() && dispatched.types.iter().all(|name| ask.types.contains(name));
    dispatcher.waiting.replace(
        line,
        if nothing {
            Vec::new()
        } else {
            dispatched.types.clone()
        },
    );
    let tier = if aged { Tier::Critical } else { line.tier };
    publish(dispatcher, line, tier, &dispatched).await;
    dispatcher
        .slots
        .sent(&line.pool, dispatched.tasks.len(), Instant::now());
    Some(dispatched.tasks.len())
}

async fn publish(dispatcher: &Dispatcher, line: &Line, tier: Tier, dispatched: &Dispatched) {
    let pack = dispatcher
        .slots
        .share(&line.pool, dispatched.tasks.len())
        .min(PACK_MAX);
    for tasks in dispatched.tasks.chunks(pack) {
        let item = |(id, task_type, _): &(domain::TaskId, String, Millis)| WorkItem {
            task_id: id.as_bytes().to_vec().into(),
            task_type: task_type.clone(),
            batch_id: bytes::Bytes::new(),
        };
        let hint = WorkHint {
            partition: line.partition.into(),
            pool: line.pool.clone(),
            tier: tier as u32,
            items: tasks.iter().map(item).collect(),
            dispatched_at_ms: dispatched.now,
        };
        // A hint that is lost is sent again when its dispatch lease ends.
        if let Err(error) = dispatcher.parts.bus.publisher().publish_work(&hint).await {
            tracing::debug!(%error, "a work hint could not be sent");
        }
    }
}
