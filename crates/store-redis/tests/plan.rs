//! The plan table on a real Redis: indices that somebody broke are mended (I9), and what waits costs nothing.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::{Overlap, Partition, SubState, TaskId, TriggerOutcome, schedule_partition};
use gengfu_integration_tests::RedisServer;
use gengfu_store_redis::{Config, RedisStore};
use store::suite::new_task::plain;
use store::{
    Firing, NewTask, NewTrigger, Nonce, Operation, Origin, Plan, PlanStore, PutSchedule, TaskStore, Triggered,
};

const MINUTE: i64 = 60_000;
const PARTITIONS: u16 = 4;

struct Town {
    redis: RedisServer,
    store: Arc<RedisStore>,
    serial: AtomicU64,
}

impl Town {
    async fn start() -> Self {
        let redis = RedisServer::start_new().unwrap();
        let config = Config {
            url: redis.url(),
            partitions: PARTITIONS,
            outbox_max: 1_000,
            ..Config::default()
        };
        let store = RedisStore::open(&config).await.unwrap();
        Self {
            redis,
            store,
            serial: AtomicU64::new(1),
        }
    }

    fn next(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }

    fn nonce(&self) -> Nonce {
        u128::from(self.next()).to_be_bytes()
    }

    async fn connection(&self) -> redis::aio::MultiplexedConnection {
        let client = redis::Client::open(self.redis.url()).unwrap();
        client.get_multiplexed_async_connection().await.unwrap()
    }

    /// What a person with a Redis client does.
    async fn meddle(&self, words: &[&str]) {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command
            .query_async::<redis::Value>(&mut self.connection().await)
            .await
            .unwrap();
    }

    async fn put(&self, name: &str, overlap: Overlap, in_ms: i64) -> Plan {
        let now = self.store.ping().await.unwrap();
        let item = PutSchedule {
            name: name.into(),
            spec: "every minute".into(),
            overlap,
            queue_max: 9,
            max_fires: 0,
            seen: None,
            anchor: now - MINUTE / 2,
            next: now + in_ms,
            due: now + in_ms,
            owed: Vec::new(),
        };
        let partition = schedule_partition(name, PARTITIONS);
        let put = self
            .store
            .put_schedules(partition, self.nonce(), &Origin::default(), &[item])
            .await
            .unwrap();
        put[0].clone().unwrap().plan
    }

    fn task(&self, plan: &Plan, planned_at: i64) -> NewTask {
        let number = self.next();
        NewTask {
            task_type: "a.b".into(),
            pool: "default".into(),
            payload: "{}".into(),
            payload_sha256: [7; 32],
            idempotency_key: format!("{}/{}@{planned_at}-{number}", plan.name, plan.incarnation),
            max_retry: 1,
            run_timeout_ms: 1_000,
            schedule_id: plan.name.clone(),
            planned_at,
            ..plain(TaskId::scheduled(
                1_764_460_800_000 + i64::try_from(number).unwrap(),
                [0; 10],
                &plan.name,
            ))
        }
    }

    /// Fires an instant by hand.
    async fn trigger(&self, plan: &Plan) -> Triggered {
        let record = NewTrigger {
            planned_at: 0,
            to: 0,
            count: 1,
            outcome: TriggerOutcome::Fired,
            reason: "manual".into(),
            task: Some(self.task(plan, 0)),
            manual: true,
        };
        let partition = schedule_partition(&plan.name, PARTITIONS);
        let (name, incarnation) = (plan.name.as_str(), plan.incarnation);
        let origin = Origin::default();
        let mut reply = self
            .store
            .record_triggers(partition, self.nonce(), &origin, name, incarnation, &[record])
            .await
            .unwrap();
        reply.items.remove(0).unwrap()
    }

    async fn sweep(&self, partition: Partition) -> u64 {
        let mended = self.store.sweep(partition, self.nonce()).await.unwrap();
        mended.iter().map(|(_, count)| count).sum()
    }

    async fn live(&self, name: &str) -> Vec<(TaskId, bool)> {
        let live = self.store.schedule(name).await.unwrap().unwrap().live;
        live.iter().map(|task| (task.id, task.blocked)).collect()
    }
}

fn tag(partition: Partition, tail: &str) -> String {
    format!("{{gf:{partition:02}}}:{tail}")
}

#[tokio::test]
async fn broken_indices_of_schedules_are_mended() {
    let town = Town::start().await;
    let plan = town.put("nightly", Overlap::Skip, 1).await;
    let paused = town.put("nightly-1", Overlap::Skip, 1).await;
    let partition = schedule_partition(&plan.name, PARTITIONS);
    assert_eq!(schedule_partition(&paused.name, PARTITIONS), partition);
    let names = [paused.name.clone()];
    town.store
        .pause_schedules(partition, town.nonce(), &Origin::default(), &names)
        .await
        .unwrap();
    assert_eq!(town.sweep(partition).await, 0, "all is right");
    let (due, named) = (tag(partition, "plandue"), tag(partition, "planname"));
    town.meddle(&["ZREM", &due, "nightly"]).await;
    town.meddle(&["ZADD", &due, "1", "nightly-1"]).await;
    town.meddle(&["ZADD", &due, "1", "ghost"]).await;
    town.meddle(&["ZREM", &named, "nightly"]).await;
    assert_eq!(town.sweep(partition).await, 3);
    assert_eq!(town.sweep(partition).await, 0);
    let found = town.store.due_schedules(partition, 9).await.unwrap();
    let found: Vec<_> = found.items.into_iter().map(|view| view.plan).collect();
    assert_eq!(found, std::slice::from_ref(&plan));
    let listed = town.store.schedules(partition, None, 9).await.unwrap();
    assert_eq!(listed.len(), 2);
    town.meddle(&["ZADD", &due, "99999999999999", "nightly"]).await;
    assert_eq!(town.sweep(partition).await, 1, "due, but not at its time");
    assert_eq!(
        town.store.due_schedules(partition, 9).await.unwrap().items.len(),
        1
    );
}

#[tokio::test]
async fn broken_lists_of_live_tasks_are_mended() {
    let town = Town::start().await;
    let plan = town.put("nightly", Overlap::Queue, MINUTE).await;
    let partition = schedule_partition(&plan.name, PARTITIONS);
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(town.trigger(&plan).await.task.unwrap());
    }
    assert_eq!(town.sweep(partition).await, 0, "all is right");
    let gone = [tag(partition, "t:").as_bytes(), ids[0].as_bytes()].concat();
    redis::cmd("DEL")
        .arg(gone)
        .query_async::<()>(&mut town.connection().await)
        .await
        .unwrap();
    assert!(
        town.sweep(partition).await >= 1,
        "the first is gone, and the second goes"
    );
    assert_eq!(
        town.live(&plan.name).await,
        [(ids[1], false), (ids[2], true), (ids[3], true)]
    );
    town.store.release_due(partition, town.nonce()).await.unwrap();
    assert_eq!(town.sweep(partition).await, 0);
    redis::cmd("ZADD")
        .arg(tag(partition, "due"))
        .arg(1)
        .arg(ids[2].as_bytes())
        .query_async::<()>(&mut town.connection().await)
        .await
        .unwrap();
    assert_eq!(
        town.sweep(partition).await,
        1,
        "what stands in an index is not blocked"
    );
    assert_eq!(
        town.live(&plan.name).await,
        [(ids[1], false), (ids[2], false), (ids[3], true)]
    );
}

#[tokio::test]
async fn a_blocked_task_without_its_list_goes() {
    let town = Town::start().await;
    let plan = town.put("nightly", Overlap::Skip, MINUTE).await;
    let partition = schedule_partition(&plan.name, PARTITIONS);
    let first = town.trigger(&plan).await.task.unwrap();
    let second = town.trigger(&plan).await.task.unwrap();
    town.meddle(&["HDEL", &tag(partition, "live"), &plan.name]).await;
    assert_eq!(town.sweep(partition).await, 1);
    assert_eq!(town.live(&plan.name).await, [(second, false)]);
    let view = town.store.get(second).await.unwrap().unwrap();
    assert_eq!(view.sub_state, Some(SubState::Ready));
    let origin = Origin::default();
    let ended = town
        .store
        .operate(
            partition,
            town.nonce(),
            &origin,
            Operation::Cancel,
            &[first, second],
        )
        .await
        .unwrap();
    assert!(ended.items.iter().all(Result::is_ok));
    assert_eq!(town.live(&plan.name).await, []);
    assert_eq!(town.sweep(partition).await, 0);
}

/// What fires while tasks that have to stop are new to the caller is refused, and is right the next time.
#[tokio::test]
async fn a_task_that_the_caller_did_not_see_is_not_passed_over() {
    let town = Town::start().await;
    let plan = town.put("nightly", Overlap::CancelPrevious, -1_000).await;
    let partition = schedule_partition(&plan.name, PARTITIONS);
    let first = town.trigger(&plan).await.task.unwrap();
    let firing = |overlap| Firing {
        name: plan.name.clone(),
        seen: plan.seen(),
        overlap,
        cursor: plan.next,
        next: plan.next + MINUTE,
        due: plan.next + MINUTE,
        decision: "".into(),
        records: vec![NewTrigger {
            planned_at: plan.next,
            to: plan.next,
            count: 1,
            outcome: TriggerOutcome::Fired,
            reason: String::new(),
            task: Some(town.task(&plan, plan.next)),
            manual: false,
        }],
    };
    let origin = Origin::default();
    let fire = async |overlap| {
        let firings = [firing(overlap)];
        let reply = town.store.fire(partition, town.nonce(), &origin, &firings).await;
        reply.unwrap().items.remove(0)
    };
    assert_eq!(fire(Overlap::Allow).await, Err(store::PlanRefusal::Moved));
    assert_eq!(town.live(&plan.name).await, [(first, false)]);
    let fired = fire(Overlap::CancelPrevious).await.unwrap();
    assert_eq!(
        town.live(&plan.name).await,
        [(fired.records[0].task.unwrap(), false)]
    );
}
