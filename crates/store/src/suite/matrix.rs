//! Every status by every verb, legal or not, against `domain::decide` (I2).

use domain::{
    Act, ErrorClass, Event, Outcome, Rejection, Status, SubState, Task, TaskId, Tier, TimelineItem, Token,
    decide,
};

use super::Harness;
use super::new_task::TYPE;
use super::world::{LEASE_MS, World};
use crate::{Claimed, NewTask, Operation, PartitionStats, TaskView, Verdict};

const CANCEL: Operation = Operation::Cancel;
const RESET: Operation = Operation::Reset { max_retry: None };
/// Longer than any wait of these cases.
const LATER_MS: i64 = 3_600_000;

/// Where a task can rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stance {
    Delayed,
    Ready,
    Dispatched,
    Running,
    CancelAsked,
    ResetAsked,
    Success,
    RetryingLater,
    RetryingReady,
    RetryingDispatched,
    Dead,
    Cancelled,
}

const STANCES: [Stance; 12] = [
    Stance::Delayed,
    Stance::Ready,
    Stance::Dispatched,
    Stance::Running,
    Stance::CancelAsked,
    Stance::ResetAsked,
    Stance::Success,
    Stance::RetryingLater,
    Stance::RetryingReady,
    Stance::RetryingDispatched,
    Stance::Dead,
    Stance::Cancelled,
];

/// What is done to it.
#[derive(Debug, Clone, Copy)]
enum Action {
    Claim,
    Complete,
    Fail(ErrorClass),
    Reclaim,
    HandBack,
    Stopped,
    Operate(Operation),
}

/// All that can be seen of a store with one task.
#[derive(Debug, Clone, PartialEq)]
struct Look {
    view: TaskView,
    timeline: Vec<TimelineItem>,
    stats: PartitionStats,
    ready: u64,
    events: Vec<(u32, Option<Status>, Status)>,
}

async fn look(world: &World<'_>, id: TaskId) -> Look {
    let mut stats = world.store.stats(world.partition).await.unwrap();
    stats.now = 0;
    stats.by_type.retain(|_, count| *count > 0);
    let events = world.events().await;
    Look {
        view: world.view(id).await,
        timeline: world.timeline(id).await,
        stats,
        ready: world.ready().await.0,
        events: events
            .iter()
            .map(|event| (event.version, event.from, event.to))
            .collect(),
    }
}

/// A task that rests there, and the newest token that it ever had.
async fn bring(world: &World<'_>, stance: Stance) -> (TaskId, Token) {
    use Stance::{CancelAsked, Cancelled, Dead, Delayed, Dispatched, Ready, ResetAsked, RetryingDispatched};
    use Stance::{RetryingLater, RetryingReady, Running, Success};
    let delay_ms = if stance == Delayed { LATER_MS } else { 0 };
    let id = world
        .create(NewTask {
            delay_ms,
            ..world.task()
        })
        .await;
    match stance {
        Delayed | Ready => return (id, Token([1; 16])),
        Dispatched => {
            world.dispatch(1).await;
            return (id, Token([1; 16]));
        }
        Cancelled => {
            world.operate(id, CANCEL).await.unwrap();
            return (id, Token([1; 16]));
        }
        Running | CancelAsked | ResetAsked | Success | RetryingLater | RetryingReady | RetryingDispatched
        | Dead => {}
    }
    let token = world.start(id).await;
    let retry = |ms| world.fail(id, token, ErrorClass::Transient, ms);
    match stance {
        CancelAsked => world.operate(id, CANCEL).await.unwrap(),
        ResetAsked => world.operate(id, RESET).await.unwrap(),
        Success => world.complete(id, token).await.unwrap(),
        Dead => world.fail(id, token, ErrorClass::Deterministic, 0).await.unwrap(),
        RetryingLater => retry(LATER_MS).await.unwrap(),
        RetryingReady | RetryingDispatched => retry(0).await.unwrap(),
        Running | Delayed | Ready | Dispatched | Cancelled => (Status::Running, 2),
    };
    if matches!(stance, RetryingReady | RetryingDispatched) {
        world.release().await;
    }
    if stance == RetryingDispatched {
        world.dispatch(1).await;
    }
    (id, token)
}

/// The verdict; none where a reclaim left the task alone.
async fn act(world: &World<'_>, action: Action, id: TaskId, token: Token) -> Option<Verdict> {
    Some(match action {
        Action::Claim => match world.claim(id).await {
            Claimed::Run { task, .. } => Ok((task.status, task.version)),
            Claimed::Expired => panic!("{id} has no end"),
            Claimed::Refused(why) => Err(why),
        },
        Action::Complete => world.complete(id, token).await,
        Action::Fail(class) => world.fail(id, token, class, LATER_MS).await,
        Action::HandBack => world.hand_back(id, token).await,
        Action::Stopped => world.stopped(id, token).await,
        Action::Operate(operation) => world.operate(id, operation).await,
        Action::Reclaim => return world.reclaim().await.pop().map(|(_, verdict)| Ok(verdict)),
    })
}

fn event(action: Action, token: Token, after: &Task) -> Event {
    match action {
        Action::Claim => Event::Claim {
            token: after.lease_token.unwrap_or(token),
            executor_id: "executor-1".into(),
            dispatched_at: after.dispatched_at,
            effective_tier: Tier::High,
        },
        Action::Complete => Event::Complete { token },
        Action::Fail(ErrorClass::Timeout) => Event::Overrun {
            token,
            delay_ms: LATER_MS,
        },
        Action::Fail(class) => Event::Fail {
            token,
            class,
            code: "refused".into(),
            delay_ms: LATER_MS,
        },
        Action::Reclaim => Event::Reclaim,
        Action::HandBack => Event::HandBack { token },
        Action::Stopped => Event::Stopped { token },
        Action::Operate(operation) => crate::model::event(operation),
    }
}

/// What the domain says, and for a claim what the index says: only what is due and was dispatched can be claimed.
fn expected(before: &Look, action: Action, token: Token, after: &Task) -> Result<Outcome, Rejection> {
    let task = &before.view.task;
    let act = Act {
        now: after.update_time,
        actor: "suite".into(),
        node: "here".into(),
        reason: String::new(),
    };
    if let Action::Claim = action
        && task.status.is_claimable()
    {
        if task.next_run_time > task.update_time + LATER_MS / 2 {
            return Err(Rejection::NotDue);
        }
        if before.view.sub_state != Some(SubState::Dispatched) {
            return Err(Rejection::Moved);
        }
    }
    decide(task, &event(action, token, after), &act)
}

/// A task stands in one index, the right one (I9).
fn check_place(before: &Look, after: &Look, action: Action, what: &str) {
    let place = |look: &Look| {
        (
            look.stats.delayed,
            look.ready,
            look.stats.dispatched,
            look.stats.running,
        )
    };
    let (delayed, ready, dispatched, running) = place(after);
    let status = after.view.task.status;
    assert_eq!(running, u64::from(status == Status::Running), "{what}");
    assert_eq!(
        delayed + ready + dispatched,
        u64::from(status.is_claimable()),
        "{what}"
    );
    assert_eq!(after.view.sub_state.is_some(), status.is_claimable(), "{what}");
    if let Action::Operate(Operation::Set {
        next_run_time: None, ..
    }) = action
    {
        assert_eq!(place(after), place(before), "{what}");
    } else {
        assert_eq!(dispatched, 0, "{what}");
    }
}

fn check_texts(before: &Look, after: &Look, action: Action, what: &str) {
    let (was, is) = (&before.view, &after.view);
    assert_eq!(is.payload, was.payload, "{what}");
    match action {
        Action::Complete => assert_eq!(is.result, "done", "{what}"),
        Action::Fail(_) => assert_eq!(is.error, "connection refused", "{what}"),
        Action::Claim | Action::Reclaim | Action::HandBack | Action::Stopped | Action::Operate(_) => {
            assert_eq!((&is.result, &is.error), (&was.result, &was.error), "{what}");
        }
    }
}

async fn play(world: &World<'_>, stance: Stance, action: Action, wrong_token: bool) {
    let what = format!("{action:?} on {stance:?}");
    let (id, mut token) = bring(world, stance).await;
    if wrong_token {
        token.0[0] ^= 1;
    }
    if let Action::Reclaim = action {
        world.pass(LEASE_MS + 1_000).await;
    }
    let before = look(world, id).await;
    let verdict = act(world, action, id, token).await;
    let after = look(world, id).await;
    let outcome = match expected(&before, action, token, &after.view.task) {
        Ok(outcome) => outcome,
        Err(why) => {
            let refused = verdict.unwrap_or(Err(why));
            assert_eq!(refused, Err(why), "{what}");
            assert_eq!(after, before, "{what}");
            return;
        }
    };
    assert_eq!(
        verdict,
        Some(Ok((outcome.task.status, outcome.task.version))),
        "{what}"
    );
    assert_eq!(after.view.task, outcome.task, "{what}");
    assert_eq!(
        after.timeline,
        [before.timeline.clone(), outcome.steps.clone()].concat(),
        "{what}"
    );
    let told = outcome
        .steps
        .iter()
        .map(|step| (step.version, step.from, step.to));
    assert_eq!(
        after.events[before.events.len()..],
        told.collect::<Vec<_>>(),
        "{what}"
    );
    let counts: Vec<_> = after.stats.by_type.iter().collect();
    assert_eq!(counts, [(&(TYPE.to_owned(), outcome.task.status), &1)], "{what}");
    check_place(&before, &after, action, &what);
    check_texts(&before, &after, action, &what);
    check_due(world, &after, &what).await;
}

/// What is due can be dispatched, at the latest after a release.
async fn check_due(world: &World<'_>, after: &Look, what: &str) {
    let task = &after.view.task;
    let due = task.next_run_time <= task.update_time;
    if task.status.is_claimable() && due && after.stats.dispatched == 0 {
        world.release().await;
        assert_eq!(world.ready().await.0, 1, "{what}: what is due can be dispatched");
    }
}

async fn on_every_status(harness: &dyn Harness, action: Action, wrong_token: bool) {
    for stance in STANCES {
        let world = World::new(harness).await;
        play(&world, stance, action, wrong_token).await;
    }
}

/// `claim` on every status.
pub async fn claim_on_every_status(harness: &dyn Harness) {
    on_every_status(harness, Action::Claim, false).await;
}

/// `complete` on every status, with the lease's token and with another.
pub async fn complete_on_every_status(harness: &dyn Harness) {
    on_every_status(harness, Action::Complete, false).await;
    on_every_status(harness, Action::Complete, true).await;
}

/// `fail` on every status, transient and deterministic, with the lease's token and with another.
pub async fn fail_on_every_status(harness: &dyn Harness) {
    on_every_status(harness, Action::Fail(ErrorClass::Transient), false).await;
    on_every_status(harness, Action::Fail(ErrorClass::Deterministic), false).await;
    on_every_status(harness, Action::Fail(ErrorClass::Transient), true).await;
}

/// `fail` by an overrun on every status, with the lease's token and with another.
pub async fn overrun_on_every_status(harness: &dyn Harness) {
    on_every_status(harness, Action::Fail(ErrorClass::Timeout), false).await;
    on_every_status(harness, Action::Fail(ErrorClass::Timeout), true).await;
}

/// `reclaim` on every status, long after the lease.
pub async fn reclaim_on_every_status(harness: &dyn Harness) {
    on_every_status(harness, Action::Reclaim, false).await;
}

/// `hand_back` on every status, with the lease's token and with another.
pub async fn hand_back_on_every_status(harness: &dyn Harness) {
    on_every_status(harness, Action::HandBack, false).await;
    on_every_status(harness, Action::HandBack, true).await;
}

/// `stopped` on every status, with the lease's token and with another.
pub async fn stopped_on_every_status(harness: &dyn Harness) {
    on_every_status(harness, Action::Stopped, false).await;
    on_every_status(harness, Action::Stopped, true).await;
}

/// `cancel` on every status.
pub async fn cancel_on_every_status(harness: &dyn Harness) {
    on_every_status(harness, Action::Operate(CANCEL), false).await;
}

/// `retry` on every status, with the old and a new limit.
pub async fn retry_on_every_status(harness: &dyn Harness) {
    for max_retry in [None, Some(0)] {
        on_every_status(harness, Action::Operate(Operation::Retry { max_retry }), false).await;
    }
}

/// `reset` on every status, with the old and a new limit.
pub async fn reset_on_every_status(harness: &dyn Harness) {
    for max_retry in [None, Some(9)] {
        on_every_status(harness, Action::Operate(Operation::Reset { max_retry }), false).await;
    }
}

/// `set` on every status, of fields and of the due time.
pub async fn set_on_every_status(harness: &dyn Harness) {
    for next_run_time in [None, Some(1_000), Some(4_102_444_800_000)] {
        let set = Operation::Set {
            max_retry: Some(9),
            next_run_time,
            run_timeout_ms: Some(77),
        };
        on_every_status(harness, Action::Operate(set), false).await;
    }
}

/// No retries left: a failure and an overrun end in `dead`.
pub async fn without_retries_left_a_failure_is_dead(harness: &dyn Harness) {
    for class in [ErrorClass::Transient, ErrorClass::Timeout] {
        let world = World::new(harness).await;
        let (id, token) = world
            .running_as(NewTask {
                max_retry: 0,
                ..world.task()
            })
            .await;
        let before = look(&world, id).await;
        let action = Action::Fail(class);
        let verdict = act(&world, action, id, token).await;
        let after = look(&world, id).await;
        let outcome = expected(&before, action, token, &after.view.task).unwrap();
        assert_eq!(verdict, Some(Ok((Status::Dead, 4))));
        assert_eq!(after.view.task, outcome.task);
        assert_eq!(after.timeline[2..], outcome.steps);
    }
}
