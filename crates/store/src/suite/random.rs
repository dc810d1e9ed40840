//! Random sequences of verbs, played on the model and on the store: every answer and every state must be equal.

use std::fmt::Write as _;
use std::sync::Arc;

use domain::{TaskId, Tier};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::Harness;
use super::new_task::{POOL, plain};
use super::plan_play::PlanCall;
use super::plan_step::{HandDraft, PlanStep};
use super::play::{Call, Player};
use super::step::{ADVANCE_MS, Draft, Step, Will, sequence};
use super::world::spec;
use crate::{Clock, Dispatch, Error, Model, NewTask, Nonce, Operation, PlanStore};

const PARTITION: u16 = 1;
const TYPES: [&str; 3] = ["c.c", "a.a", "b.b"];
/// Sequences without `PROPTEST_CASES`.
const CASES: u32 = 32;
/// Most tries to make a failing sequence smaller.
const SHRINK_MAX: usize = 300;

/// Turns steps into calls: gives ids, resolves numbers to tasks.
struct Script {
    start: i64,
    partitions: u16,
    ids: Vec<TaskId>,
    nonces: u64,
    /// Time that passed, without the milliseconds between the calls.
    elapsed: i64,
}

impl Script {
    fn id(&self, random: [u8; 8]) -> TaskId {
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&random);
        bytes[8..].copy_from_slice(&PARTITION.to_be_bytes());
        TaskId::new(self.start + self.ids.len() as i64, bytes)
    }

    fn batch(&self) -> TaskId {
        TaskId::new(self.start, [5; 10])
    }

    fn nonce(&mut self) -> Nonce {
        self.nonces += 1;
        u128::from(self.nonces).to_be_bytes()
    }

    /// The text of a key that belongs to the partition under test.
    fn key(&self, task_type: &str, number: u8) -> String {
        (0..)
            .map(|tail| format!("{number}-{tail}"))
            .find(|key| TaskId::keyed(0, [0; 10], task_type, key).partition(self.partitions) == PARTITION)
            .unwrap_or_default()
    }

    fn submission(&mut self, draft: &Draft) -> NewTask {
        let task_type = TYPES[usize::from(draft.task_type)];
        let mut id = self.id([0; 8]);
        let mut idempotency_key = String::new();
        if let Some(number) = draft.key {
            idempotency_key = self.key(task_type, number);
            id = TaskId::keyed(id.made_at(), [0; 10], task_type, &idempotency_key);
        }
        self.ids.push(id);
        NewTask {
            task_type: task_type.into(),
            tier: draft.tier,
            payload: vec![draft.payload].into(),
            payload_sha256: [draft.payload; 32],
            idempotency_key,
            key_window_ms: draft.key_window_ms,
            delay_ms: draft.delay_ms,
            at: draft.at.map_or(0, |at| self.start + at),
            expire_after_ms: draft.expire_after_ms,
            max_retry: draft.max_retry,
            max_lost: draft.max_lost,
            batch_id: draft.batch.then(|| self.batch()),
            rejected: draft.rejected.then(|| "no".into()),
            direct: draft.direct,
            ..plain(id)
        }
    }

    /// The tasks of these numbers, each once; an unknown one where there are none yet.
    fn tasks(&self, numbers: impl Iterator<Item = u8>) -> Vec<TaskId> {
        let mut tasks = Vec::new();
        for number in numbers {
            let at = usize::from(number) % self.ids.len().max(1);
            let id = self.ids.get(at).copied().unwrap_or_else(|| self.id([9; 8]));
            if !tasks.contains(&id) {
                tasks.push(id);
            }
        }
        tasks
    }

    /// The call of a step; none for a move of time alone.
    fn call(&mut self, step: &Step, hinted: &[TaskId]) -> Option<Call> {
        Some(match step {
            Step::Admit(drafts) => Call::Admit(drafts.iter().map(|draft| self.submission(draft)).collect()),
            Step::Dispatch { tier, limit, oldest } => Call::Dispatch(ask(*tier, *limit, *oldest)),
            Step::ClaimHinted => Call::Claim(hinted.to_vec()),
            Step::Claim(numbers) => Call::Claim(self.tasks(numbers.iter().copied())),
            Step::Undispatch(numbers) => Call::Undispatch(self.tasks(numbers.iter().copied())),
            Step::Say(say, picks) => {
                let ids = self.tasks(picks.iter().map(|(number, _)| *number));
                let stale = picks.iter().map(|(_, stale)| *stale);
                Call::Say(*say, ids.into_iter().zip(stale).collect())
            }
            Step::Operate(will, numbers) => {
                Call::Operate(self.operation(*will), self.tasks(numbers.iter().copied()))
            }
            Step::Release => Call::Release,
            Step::Reclaim => Call::Reclaim,
            Step::Pause { task_type, paused } => {
                Call::Put(Box::new(spec(TYPES[usize::from(*task_type)], *paused)))
            }
            Step::Record => Call::Record,
            Step::Retain => Call::Retain,
            Step::Sweep => Call::Sweep,
            Step::Plan(step) => Call::Plan(Box::new(self.plan_call(step))),
            Step::Advance(_) => return None,
        })
    }

    fn plan_call(&mut self, step: &PlanStep) -> PlanCall {
        let drafts: Vec<&Draft> = match step {
            PlanStep::Fire(firings) => firings
                .iter()
                .flat_map(|firing| firing.records.iter().map(|(_, draft)| draft))
                .collect(),
            PlanStep::ByHand { records, .. } => records
                .iter()
                .map(|(HandDraft::Backfill(_, draft) | HandDraft::Manual(_, draft))| draft)
                .collect(),
            PlanStep::Put(_)
            | PlanStep::Remove(_)
            | PlanStep::Pause(_)
            | PlanStep::Resume(_)
            | PlanStep::Retain => Vec::new(),
        };
        PlanCall {
            tasks: drafts.into_iter().map(|draft| self.submission(draft)).collect(),
            step: step.clone(),
            elapsed: self.elapsed,
        }
    }

    fn operation(&self, will: Will) -> Operation {
        match will {
            Will::Cancel => Operation::Cancel,
            Will::Retry(max_retry) => Operation::Retry { max_retry },
            Will::Reset(max_retry) => Operation::Reset { max_retry },
            Will::Set(max_retry, at) => Operation::Set {
                max_retry,
                next_run_time: at.map(|at| self.start + at),
                run_timeout_ms: None,
            },
        }
    }
}

fn ask(tier: Tier, limit: usize, oldest: bool) -> Dispatch {
    Dispatch {
        pool: POOL.into(),
        tier,
        limit,
        oldest,
        types: TYPES.map(Into::into).to_vec(),
    }
}

fn differing(ours: &[String], theirs: &[String]) -> String {
    let mut text = String::new();
    for line in ours.iter().filter(|line| !theirs.contains(line)) {
        let _ = writeln!(text, "  model: {line}");
    }
    for line in theirs.iter().filter(|line| !ours.contains(line)) {
        let _ = writeln!(text, "  store: {line}");
    }
    text
}

/// Plays one sequence on both; where they part.
async fn compare(harness: &dyn Harness, steps: &[Step]) -> Result<(), String> {
    let store = harness.fresh().await;
    let failed = |error: Error| format!("a call failed: {error} ({error:?})");
    let start = store.ping().await.map_err(failed)?;
    let model = Arc::new(Model::new(store.partitions(), Clock::standing(start)));
    let clock = model.clock().clone();
    let mut script = Script {
        start,
        partitions: store.partitions(),
        ids: Vec::new(),
        nonces: 0,
        elapsed: 0,
    };
    let mut ours = Player::new(model as Arc<dyn PlanStore>, PARTITION, start);
    let mut theirs = Player::new(store, PARTITION, start);
    let steps = std::iter::once(&Step::Reclaim).chain(steps);
    for (at, step) in steps.enumerate() {
        // The millisecond keeps the order of tasks that fell due in two calls the same on both.
        let ms = if let Step::Advance(times) = step {
            ADVANCE_MS * i64::from(*times)
        } else {
            0
        };
        script.elapsed += ms;
        clock.advance(ms + 1);
        harness.advance(ms + 1).await;
        let Some(call) = script.call(step, &ours.hinted) else {
            continue;
        };
        let nonce = script.nonce();
        let our_answer = ours.play(&call, nonce).await.map_err(failed)?;
        let their_answer = theirs.play(&call, nonce).await.map_err(failed)?;
        if our_answer != their_answer {
            return Err(format!(
                "step {at} {call:?}\n  model: {our_answer}\n  store: {their_answer}"
            ));
        }
        let our_state = ours.snapshot(script.batch()).await.map_err(failed)?;
        let their_state = theirs.snapshot(script.batch()).await.map_err(failed)?;
        if our_state != their_state {
            return Err(format!(
                "after step {at} {call:?}\n{}",
                differing(&our_state, &their_state)
            ));
        }
    }
    Ok(())
}

/// Makes a failing sequence smaller, as proptest would: it can't, as a store's calls wait.
async fn shrink<T>(harness: &dyn Harness, mut tree: T, mut why: String) -> (Vec<Step>, String)
where
    T: ValueTree<Value = Vec<Step>>,
{
    let mut smallest = tree.current();
    let mut moved = tree.simplify();
    for _ in 0..SHRINK_MAX {
        if !moved {
            break;
        }
        let steps = tree.current();
        moved = match compare(harness, &steps).await {
            Err(reason) => {
                (smallest, why) = (steps, reason);
                tree.simplify()
            }
            Ok(()) => tree.complicate(),
        };
    }
    (smallest, why)
}

/// Random sequences of verbs give the same answers and the same states as the model. The sequences are the same in every
/// run; `PROPTEST_CASES` asks for more of them.
pub async fn random_sequences(harness: &dyn Harness) {
    let asked = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|text| text.parse().ok());
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    for case in 0..asked.unwrap_or(CASES) {
        let tree = sequence().new_tree(&mut runner).unwrap();
        if let Err(why) = compare(harness, &tree.current()).await {
            let (steps, why) = shrink(harness, tree, why).await;
            panic!("sequence {case} parts from the model: {why}\nsteps: {steps:#?}");
        }
    }
}
