//! One store under test, and the verbs as the cases speak them. Every verb is played twice (I12).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use domain::{
    ErrorClass, Millis, Partition, Rejection, Status, SubState, Task, TaskId, Tier, TimelineItem, Token,
    TypeSpec, check_task, check_timeline,
};

use super::Harness;
use super::new_task::{OTHER, POOL, TYPE, plain};
use crate::{
    Admitted, Claim, ClaimItem, Claimed, Dispatch, Dispatched, Failure, Finish, Heartbeat, NewTask, Nonce,
    Operation, Origin, PlanStore, Released, Reply, TaskView, Verdict,
};

/// The fleet's lease in every case.
pub(super) const LEASE_MS: i64 = 30_000;
/// Milliseconds of one step of [`World::pass`]: less than the silence that looks like an outage.
const STEP_MS: i64 = LEASE_MS / 4;
/// When the ids of the suite were made.
const MADE_AT: Millis = 1_764_460_800_000;

pub(super) struct World<'a> {
    harness: &'a dyn Harness,
    pub(super) store: Arc<dyn PlanStore>,
    pub(super) partition: Partition,
    serial: AtomicU64,
}

/// Plays a verb twice with one nonce.
macro_rules! twice {
    ($world:expr, $verb:ident($($arg:expr),*)) => {{
        let nonce = $world.nonce();
        let first = $world.store.$verb($world.partition, nonce, $($arg),*).await.unwrap();
        let again = $world.store.$verb($world.partition, nonce, $($arg),*).await.unwrap();
        assert_eq!(first, again, "{} played twice", stringify!($verb));
        first
    }};
}
pub(super) use twice;

pub(super) fn origin() -> Origin {
    Origin {
        actor: "suite".into(),
        node: "here".into(),
        reason: String::new(),
    }
}

impl<'a> World<'a> {
    pub(super) async fn new(harness: &'a dyn Harness) -> Self {
        let world = Self {
            harness,
            store: harness.fresh().await,
            partition: 1,
            serial: AtomicU64::new(1),
        };
        // A store that meets its server for the first time may guard leases for a while: let it see the server now.
        world.reclaim().await;
        world
    }

    fn next(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn nonce(&self) -> Nonce {
        let mut nonce = [0x5a; 16];
        nonce[8..].copy_from_slice(&self.next().to_be_bytes());
        nonce
    }

    /// A new id in the partition under test, later than those before it.
    pub(super) fn id(&self) -> TaskId {
        let number = self.next();
        let mut random = [0; 10];
        random[8..].copy_from_slice(&self.partition.to_be_bytes());
        TaskId::new(MADE_AT + Millis::try_from(number).unwrap(), random)
    }

    pub(super) fn task(&self) -> NewTask {
        plain(self.id())
    }

    /// A submission with a key that lives in the partition under test.
    pub(super) fn keyed(&self, task_type: &str, key: &str, window_ms: i64) -> NewTask {
        let partitions = self.store.partitions();
        let key = (0..)
            .map(|tail| format!("{key}-{tail}"))
            .find(|key| TaskId::keyed(0, [0; 10], task_type, key).partition(partitions) == self.partition)
            .unwrap();
        let made = MADE_AT + Millis::try_from(self.next()).unwrap();
        NewTask {
            task_type: task_type.into(),
            idempotency_key: key.clone(),
            key_window_ms: window_ms,
            ..plain(TaskId::keyed(made, [0; 10], task_type, &key))
        }
    }

    /// An outage: time passes and nobody calls.
    pub(super) async fn outage(&self, ms: i64) {
        self.harness.advance(ms).await;
    }

    /// All data goes.
    pub(super) async fn lose(&self) {
        self.harness.lose().await;
    }

    /// Time passes while somebody calls all along.
    pub(super) async fn pass(&self, ms: i64) {
        let mut left = ms;
        while left > 0 {
            let step = left.min(STEP_MS);
            self.harness.advance(step).await;
            self.beat(&[]).await;
            left -= step;
        }
    }

    pub(super) async fn admit_all(&self, tasks: &[NewTask]) -> Vec<Admitted> {
        twice!(self, admit(&origin(), tasks)).items
    }

    pub(super) async fn admit(&self, task: NewTask) -> Admitted {
        self.admit_all(&[task]).await.remove(0)
    }

    /// Admits a task that must be new.
    pub(super) async fn create(&self, task: NewTask) -> TaskId {
        let id = task.id;
        let answer = self.admit(task).await;
        assert!(
            matches!(answer, Admitted::Created { id: new, .. } if new == id),
            "{answer:?}"
        );
        id
    }

    pub(super) fn ask(limit: usize) -> Dispatch {
        Dispatch {
            pool: POOL.into(),
            tier: Tier::Normal,
            limit,
            oldest: false,
            types: vec![TYPE.into(), OTHER.into()],
        }
    }

    pub(super) async fn dispatch_by(&self, ask: &Dispatch) -> Dispatched {
        let nonce = self.nonce();
        let first = self.store.dispatch(self.partition, nonce, ask).await.unwrap();
        let mut again = self.store.dispatch(self.partition, nonce, ask).await.unwrap();
        if first.tasks.is_empty() {
            again.now = first.now; // what took nothing need not be remembered
        }
        assert_eq!(first, again, "dispatch played twice");
        first
    }

    /// Takes up to `limit` tasks out of the queue of the normal tier.
    pub(super) async fn dispatch(&self, limit: usize) -> Vec<TaskId> {
        let reply = self.dispatch_by(&Self::ask(limit)).await;
        reply.tasks.into_iter().map(|(id, ..)| id).collect()
    }

    pub(super) async fn claim_all(&self, ids: &[TaskId]) -> Reply<Claimed> {
        let item = |id: &TaskId| ClaimItem {
            id: *id,
            effective_tier: Tier::High,
            random: self.next().to_be_bytes(),
        };
        let claim = Claim {
            executor_id: "executor-1".into(),
            lease_ms: LEASE_MS,
            items: ids.iter().map(item).collect(),
        };
        twice!(self, claim(&origin(), &claim))
    }

    pub(super) async fn claim(&self, id: TaskId) -> Claimed {
        self.claim_all(&[id]).await.items.remove(0)
    }

    /// Dispatches whatever waits and claims `id`, which must run then.
    pub(super) async fn start(&self, id: TaskId) -> Token {
        self.release().await;
        self.dispatch(64).await;
        match self.claim(id).await {
            Claimed::Run { task, .. } => task.lease_token.unwrap(),
            other => panic!("{id} should run, but {other:?}"),
        }
    }

    /// A new task that runs.
    pub(super) async fn running(&self) -> (TaskId, Token) {
        self.running_as(self.task()).await
    }

    pub(super) async fn running_as(&self, task: NewTask) -> (TaskId, Token) {
        let id = self.create(task).await;
        (id, self.start(id).await)
    }

    pub(super) async fn beat(&self, leases: &[(TaskId, Token)]) -> Vec<Heartbeat> {
        twice!(self, heartbeat(LEASE_MS, leases))
    }

    pub(super) async fn complete(&self, id: TaskId, token: Token) -> Verdict {
        let end = Finish {
            id,
            token,
            result: Bytes::from_static(b"done"),
            output: Bytes::from_static(b"printed"),
        };
        twice!(self, complete(&origin(), std::slice::from_ref(&end)))
            .items
            .remove(0)
    }

    pub(super) async fn fail(&self, id: TaskId, token: Token, class: ErrorClass, delay_ms: i64) -> Verdict {
        let end = failure(id, token, class, delay_ms);
        twice!(self, fail(&origin(), std::slice::from_ref(&end)))
            .items
            .remove(0)
    }

    pub(super) async fn hand_back(&self, id: TaskId, token: Token) -> Verdict {
        twice!(self, hand_back(&origin(), &[(id, token)])).items.remove(0)
    }

    pub(super) async fn stopped(&self, id: TaskId, token: Token) -> Verdict {
        twice!(self, stopped(&origin(), &[(id, token)])).items.remove(0)
    }

    pub(super) async fn operate(&self, id: TaskId, operation: Operation) -> Verdict {
        twice!(self, operate(&origin(), operation, &[id])).items.remove(0)
    }

    pub(super) async fn release(&self) -> Released {
        twice!(self, release_due())
    }

    /// The tasks that were reclaimed; what was looked at and left alone is not of interest.
    pub(super) async fn reclaim(&self) -> Vec<(TaskId, (Status, u32))> {
        let reply = twice!(self, reclaim(&origin(), LEASE_MS));
        let items = reply.items.into_iter();
        items
            .filter_map(|(id, verdict)| Some((id, verdict.ok()?)))
            .collect()
    }

    pub(super) async fn view(&self, id: TaskId) -> TaskView {
        self.store.get(id).await.unwrap().unwrap()
    }

    pub(super) async fn record(&self, id: TaskId) -> Task {
        self.view(id).await.task
    }

    pub(super) async fn status(&self, id: TaskId) -> (Status, Option<SubState>) {
        let view = self.view(id).await;
        (view.task.status, view.sub_state)
    }

    /// The timeline, checked: dense, legal, and ending where the record stands (I2).
    pub(super) async fn timeline(&self, id: TaskId) -> Vec<TimelineItem> {
        let (items, task) = (self.store.timeline(id).await.unwrap(), self.record(id).await);
        assert_eq!(check_timeline(&items), []);
        assert_eq!(check_task(&task), []);
        let last = items.last().unwrap();
        assert_eq!((last.version, last.to), (task.version, task.status));
        items
    }

    /// The statuses through which a task went.
    pub(super) async fn path(&self, id: TaskId) -> Vec<Status> {
        self.timeline(id).await.iter().map(|item| item.to).collect()
    }

    pub(super) async fn now(&self) -> Millis {
        self.store.stats(self.partition).await.unwrap().now
    }

    /// How many tasks wait in the queue of the normal tier, and since when the oldest.
    pub(super) async fn ready(&self) -> (u64, Millis) {
        let queues = self.store.queues(self.partition, &[POOL.into()]).await.unwrap();
        queues
            .iter()
            .find(|queue| queue.tier == Tier::Normal)
            .map_or((0, 0), |queue| (queue.ready, queue.oldest))
    }

    pub(super) async fn put_type(&self, name: &str, paused: bool) -> u64 {
        self.store.put_types(&[spec(name, paused)]).await.unwrap()
    }
}

pub(super) fn spec(name: &str, paused: bool) -> TypeSpec {
    let text = format!(r#"{{"name":"{name}","handler":"echo","pool":"{POOL}","paused":{paused}}}"#);
    serde_json::from_str(&text).unwrap()
}

pub(super) fn failure(id: TaskId, token: Token, class: ErrorClass, delay_ms: i64) -> Failure {
    Failure {
        id,
        token,
        class,
        code: "refused".into(),
        error: "connection refused".into(),
        output: Bytes::from_static(b"stderr"),
        delay_ms,
    }
}

/// What a task that is still as it was answers to a lost executor.
pub(super) const FENCED: Verdict = Err(Rejection::Fenced);
