//! What a schedule does where an earlier task of it lives: decided by the store, from the tasks that live.

use domain::{ErrorClass, Overlap, Rejection, Status, Stop, SubState, TaskId, Token, TriggerOutcome};

use super::Harness;
use super::plan_world::{MINUTE, step_over};
use super::world::{LEASE_MS, World};
use crate::{Claimed, Firing, Heartbeat, NewTask, Operation, Plan, PutSchedule, Triggered};

const BLOCKED: (Status, Option<SubState>) = (Status::Pending, Some(SubState::Blocked));
const RETRY: Operation = Operation::Retry { max_retry: None };

/// A schedule whose first task runs.
async fn with_one_running(world: &World<'_>, overlap: Overlap) -> (Plan, TaskId, Token) {
    let plan = world.schedule(overlap).await;
    let id = fired(&world.fire_next(&plan.name).await);
    let token = world.start(id).await;
    (plan, id, token)
}

/// The task of a fire that must have happened.
fn fired(told: &Triggered) -> TaskId {
    assert_eq!(told.outcome, TriggerOutcome::Fired, "{told:?}");
    told.task.unwrap()
}

fn skipped<'a>(told: &'a Triggered, why: &str) -> &'a Triggered {
    assert_eq!(
        (told.outcome, told.reason.as_str(), told.task),
        (TriggerOutcome::Skipped, why, None)
    );
    told
}

/// `allow` fires whatever lives, and keeps no list.
pub async fn allow_fires_whatever_lives(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (plan, ..) = with_one_running(&world, Overlap::Allow).await;
    let second = fired(&world.fire_next(&plan.name).await);
    assert_eq!(world.status(second).await.1, Some(SubState::Ready));
    assert_eq!(world.live(&plan.name).await, []);
}

/// `skip` fires only where nothing lives, whether it runs, waits, or retries.
pub async fn skip_fires_only_where_nothing_lives(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Skip).await;
    let first = fired(&world.fire_next(&plan.name).await);
    assert_eq!(world.live(&plan.name).await, [(first, false)]);
    skipped(&world.fire_next(&plan.name).await, "overlap");
    let token = world.start(first).await;
    skipped(&world.fire_next(&plan.name).await, "overlap");
    world.beat(&[(first, token)]).await;
    world.fail(first, token, ErrorClass::Transient, 0).await.unwrap();
    skipped(&world.fire_next(&plan.name).await, "overlap");
    let token = world.start(first).await;
    world.complete(first, token).await.unwrap();
    assert_eq!(world.live(&plan.name).await, []);
    let second = fired(&world.fire_next(&plan.name).await);
    assert_eq!(world.live(&plan.name).await, [(second, false)]);
    let after = world.plan(&plan.name).await;
    assert_eq!((after.fires, world.records(&plan.name).await.len()), (2, 5));
    let outcomes: Vec<_> = world.history(&plan.name, plan.cursor).await;
    assert!(
        outcomes[1..4]
            .iter()
            .all(|(_, outcome, why)| *outcome == TriggerOutcome::Skipped && why == "overlap")
    );
}

/// `queue` blocks up to `queue_max` tasks behind the live one, each in its turn, and skips the instants beyond.
pub async fn queue_blocks_as_many_as_it_may(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let draft = PutSchedule {
        queue_max: 2,
        ..world.draft(1, Overlap::Queue).await
    };
    let plan = world.put(&draft).await.unwrap().plan;
    let first = fired(&world.fire_next(&plan.name).await);
    let second = world.fire_next(&plan.name).await;
    assert!(second.blocked && second.hint == crate::Hint::None, "{second:?}");
    let second = fired(&second);
    let third = fired(&world.fire_next(&plan.name).await);
    skipped(&world.fire_next(&plan.name).await, "queue full");
    assert_eq!(
        world.live(&plan.name).await,
        [(first, false), (second, true), (third, true)]
    );
    assert_eq!(world.status(second).await, BLOCKED);
    world.pass(MINUTE).await;
    world.release().await;
    assert_eq!(
        world.dispatch(64).await,
        [first],
        "what is blocked is in no queue"
    );
    assert_eq!(world.claim(second).await, Claimed::Refused(Rejection::Moved));
    let Claimed::Run { task, .. } = world.claim(first).await else {
        panic!("the first can run")
    };
    world.complete(first, task.lease_token.unwrap()).await.unwrap();
    assert_eq!(world.live(&plan.name).await, [(second, false), (third, true)]);
    assert_eq!(world.status(second).await.1, Some(SubState::Ready));
    let token = world.start(second).await;
    assert_eq!(world.status(third).await, BLOCKED);
    fired(&world.fire_next(&plan.name).await);
    world.complete(second, token).await.unwrap();
    world.start(third).await;
}

/// However a task ends, the next one gets its turn; while it only retries, it does not.
pub async fn every_end_lets_the_next_one_go(harness: &dyn Harness) {
    for end in 0..7 {
        let world = World::new(harness).await;
        let (plan, id, token) = with_one_running(&world, Overlap::Queue).await;
        let next = fired(&world.fire_next(&plan.name).await);
        world.beat(&[(id, token)]).await;
        assert_eq!(world.status(next).await, BLOCKED);
        match end {
            0 => drop(world.complete(id, token).await.unwrap()),
            1 => drop(world.fail(id, token, ErrorClass::Deterministic, 0).await.unwrap()),
            2 => {
                world.operate(id, Operation::Cancel).await.unwrap();
                assert_eq!(world.status(next).await, BLOCKED, "the run has not ended yet");
                world.stopped(id, token).await.unwrap();
            }
            3 => {
                world.operate(id, Operation::Cancel).await.unwrap();
                world.hand_back(id, token).await.unwrap();
            }
            4 => {
                world.operate(id, Operation::Cancel).await.unwrap();
                world.pass(LEASE_MS + 1_000).await;
                world.reclaim().await;
            }
            5 => {
                world
                    .fail(id, token, ErrorClass::Transient, 10_000_000)
                    .await
                    .unwrap();
                assert_eq!(world.status(next).await, BLOCKED, "it only retries");
                world.operate(id, Operation::Cancel).await.unwrap();
            }
            _ => {
                world.hand_back(id, token).await.unwrap();
                assert_eq!(world.status(next).await, BLOCKED, "it only waits again");
                let token = world.start(id).await;
                world.fail(id, token, ErrorClass::Deterministic, 0).await.unwrap();
            }
        }
        assert!(world.record(id).await.status.is_terminal(), "end {end}");
        assert_eq!(world.live(&plan.name).await, [(next, false)], "end {end}");
        world.start(next).await;
    }
}

/// A task that is claimed too late has ended; so has one that is poison.
pub async fn expiry_and_poison_are_ends(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Queue).await;
    world.pass(2 * MINUTE).await;
    let short_lived = |task: &mut NewTask| (task.expire_after_ms, task.max_lost) = (20_000, 1);
    let at = |n: i64| plan.next + n * MINUTE;
    let mut firing = Firing {
        cursor: at(1),
        next: at(9),
        due: at(9),
        records: vec![world.fired_at(&plan, at(0)), world.fired_at(&plan, at(1))],
        ..step_over(&plan)
    };
    firing.records[0].task.as_mut().map(short_lived).unwrap();
    firing.records[1].task.as_mut().unwrap().max_lost = 1;
    let told = world.fire(&firing).await.unwrap().records;
    let (first, second) = (fired(&told[0]), fired(&told[1]));
    world.pass(21_000).await;
    world.dispatch(64).await;
    assert_eq!(world.claim(first).await, Claimed::Expired);
    assert_eq!(world.live(&plan.name).await, [(second, false)]);
    world.start(second).await;
    world.pass(LEASE_MS + 1_000).await;
    assert_eq!(world.reclaim().await, [(second, (Status::Dead, 4))]);
    assert_eq!(world.live(&plan.name).await, []);
}

/// `cancel_previous` ends what waits at once, and the new task goes.
pub async fn cancel_previous_ends_what_waits(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::CancelPrevious).await;
    let first = fired(&world.fire_next(&plan.name).await);
    let second = world.fire_next(&plan.name).await;
    assert!(!second.blocked && second.hint == crate::Hint::Ready, "{second:?}");
    assert_eq!(world.status(first).await, (Status::Cancelled, None));
    assert_eq!(world.timeline(first).await.last().unwrap().reason, "overlap");
    assert_eq!(world.live(&plan.name).await, [(fired(&second), false)]);
    assert_eq!(world.ready().await.0, 1);
    let mut firing = world.next_fire(&world.plan(&plan.name).await);
    world.pass(MINUTE).await;
    firing.records[0].task.as_mut().unwrap().direct = true;
    let third = world.fire(&firing).await.unwrap().records.remove(0);
    assert_eq!(third.hint, crate::Hint::Work, "nothing waits any more");
    assert_eq!(world.status(fired(&third)).await.1, Some(SubState::Dispatched));
}

/// `cancel_previous` asks what runs to stop; the new task waits until it has, and the newest is the one that goes.
pub async fn cancel_previous_waits_for_what_runs(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (plan, first, token) = with_one_running(&world, Overlap::CancelPrevious).await;
    let second = fired(&world.fire_next(&plan.name).await);
    assert_eq!(
        world.beat(&[(first, token)]).await,
        [Heartbeat::Stop(Stop::Cancel)]
    );
    assert_eq!(world.status(second).await, BLOCKED);
    let asked = world.timeline(first).await;
    let third = fired(&world.fire_next(&plan.name).await);
    assert_eq!(world.status(second).await, (Status::Cancelled, None));
    assert_eq!(world.timeline(first).await, asked, "it is asked once");
    assert_eq!(world.live(&plan.name).await, [(first, false), (third, true)]);
    world.stopped(first, token).await.unwrap();
    assert_eq!(world.status(first).await, (Status::Cancelled, None));
    assert_eq!(world.live(&plan.name).await, [(third, false)]);
    world.start(third).await;
}

/// Two fires of one slice overlap as two fires of two slices would.
pub async fn fires_of_one_slice_overlap(harness: &dyn Harness) {
    for (overlap, outcomes) in [
        (Overlap::Skip, 1),
        (Overlap::Queue, 2),
        (Overlap::CancelPrevious, 3),
    ] {
        let world = World::new(harness).await;
        let plan = world.schedule(overlap).await;
        world.pass(3 * MINUTE).await;
        let at = |n: i64| plan.next + n * MINUTE;
        let firing = Firing {
            cursor: at(2),
            next: at(3),
            due: at(3),
            records: (0..3).map(|n| world.fired_at(&plan, at(n))).collect(),
            ..step_over(&plan)
        };
        let told = world.fire(&firing).await.unwrap().records;
        let made: Vec<_> = told.iter().filter_map(|it| it.task).collect();
        assert_eq!(made.len(), outcomes, "{overlap:?} {told:?}");
        let expected = match overlap {
            Overlap::Queue => vec![(made[0], false), (made[1], true)],
            Overlap::CancelPrevious => vec![(made[2], false)],
            Overlap::Allow | Overlap::Skip => vec![(made[0], false)],
        };
        assert_eq!(world.live(&plan.name).await, expected, "{overlap:?}");
        for id in &made[..made.len() - 1] {
            let cancelled = world.record(*id).await.status == Status::Cancelled;
            assert_eq!(cancelled, overlap == Overlap::CancelPrevious);
        }
    }
}

/// A task that a person runs again counts as live, and runs at once whatever lives.
pub async fn a_retried_task_lives_again(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (plan, first, token) = with_one_running(&world, Overlap::Skip).await;
    world
        .fail(first, token, ErrorClass::Deterministic, 0)
        .await
        .unwrap();
    let second = fired(&world.fire_next(&plan.name).await);
    world.operate(first, RETRY).await.unwrap();
    assert_eq!(world.live(&plan.name).await, [(second, false), (first, false)]);
    world.release().await;
    assert_eq!(world.dispatch(64).await.len(), 2);
    world.operate(second, Operation::Cancel).await.unwrap();
    skipped(&world.fire_next(&plan.name).await, "overlap");
    world.operate(first, Operation::Cancel).await.unwrap();
    fired(&world.fire_next(&plan.name).await);
    let stranger = world
        .create(NewTask {
            schedule_id: plan.name.clone(),
            parent_id: Some(first),
            ..world.task()
        })
        .await;
    world.operate(stranger, Operation::Cancel).await.unwrap();
    world.operate(stranger, RETRY).await.unwrap();
    assert_eq!(
        world.live(&plan.name).await.len(),
        1,
        "a task's child is none of the schedule's own"
    );
}

/// A blocked task is cancelled at once, and stays blocked through a reset and a new due time, which it keeps.
pub async fn a_blocked_task_obeys_a_person(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let draft = PutSchedule {
        queue_max: 3,
        ..world.draft(1, Overlap::Queue).await
    };
    let plan = world.put(&draft).await.unwrap().plan;
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(fired(&world.fire_next(&plan.name).await));
    }
    world.operate(ids[1], Operation::Cancel).await.unwrap();
    assert_eq!(world.status(ids[1]).await, (Status::Cancelled, None));
    world
        .operate(ids[2], Operation::Reset { max_retry: Some(9) })
        .await
        .unwrap();
    assert_eq!(world.status(ids[2]).await, BLOCKED);
    let later = world.now().await + 5 * MINUTE;
    let set = Operation::Set {
        max_retry: None,
        next_run_time: Some(later),
        run_timeout_ms: None,
    };
    world.operate(ids[2], set).await.unwrap();
    assert_eq!(world.status(ids[2]).await, BLOCKED);
    assert_eq!(
        world.live(&plan.name).await,
        [(ids[0], false), (ids[2], true), (ids[3], true)]
    );
    world.operate(ids[0], Operation::Cancel).await.unwrap();
    assert_eq!(world.status(ids[2]).await.1, Some(SubState::Delayed));
    assert_eq!(world.release().await.count, 0, "its own time has not come");
    world.pass(5 * MINUTE).await;
    let token = world.start(ids[2]).await;
    assert_eq!(world.status(ids[3]).await, BLOCKED);
    world.complete(ids[2], token).await.unwrap();
    world.start(ids[3]).await;
}

/// One call that ends several of them lets exactly one go: the first that is left.
pub async fn one_call_may_end_several(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let draft = PutSchedule {
        queue_max: 3,
        ..world.draft(1, Overlap::Queue).await
    };
    let plan = world.put(&draft).await.unwrap().plan;
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(fired(&world.fire_next(&plan.name).await));
    }
    let origin = super::world::origin();
    let ends = [ids[0], ids[1]];
    let reply = super::world::twice!(world, operate(&origin, Operation::Cancel, &ends));
    assert!(reply.items.iter().all(Result::is_ok));
    assert_eq!(world.live(&plan.name).await, [(ids[2], false), (ids[3], true)]);
    world.release().await;
    assert_eq!(world.dispatch(64).await, [ids[2]]);
}

/// The tasks of a removed schedule go on, and its blocked ones get their turn; a new one of the name sees them.
pub async fn a_name_keeps_its_live_tasks(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (plan, first, token) = with_one_running(&world, Overlap::Queue).await;
    let second = fired(&world.fire_next(&plan.name).await);
    world.remove(&plan.name).await.unwrap();
    assert_eq!(world.status(second).await, BLOCKED);
    let again = world.schedule(Overlap::Queue).await;
    assert_eq!(world.live(&again.name).await, [(first, false), (second, true)]);
    skipped(&world.fire_next(&again.name).await, "queue full");
    world.beat(&[(first, token)]).await;
    world.remove(&again.name).await.unwrap();
    world.complete(first, token).await.unwrap();
    let token = world.start(second).await;
    world.complete(second, token).await.unwrap();
    let last = world.schedule(Overlap::Queue).await;
    assert_eq!(world.live(&last.name).await, []);
    assert!(
        world
            .store
            .sweep(world.partition, world.nonce())
            .await
            .unwrap()
            .is_empty()
    );
}

/// A changed overlap policy holds from the next fire on.
pub async fn a_changed_policy_holds_from_the_next_fire(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (plan, first, _) = with_one_running(&world, Overlap::Skip).await;
    let seen = Some(world.plan(&plan.name).await.seen());
    let draft = PutSchedule {
        seen,
        ..world.draft(1, Overlap::Queue).await
    };
    world.put(&draft).await.unwrap();
    let second = fired(&world.fire_next(&plan.name).await);
    assert_eq!(world.live(&plan.name).await, [(first, false), (second, true)]);
    let due = world.store.due_schedules(world.partition, 9).await.unwrap();
    assert!(due.items.is_empty());
}
