//! Triggers by hand and backfills: records that move no cursor.

use domain::{Overlap, Status, SubState, TriggerOutcome};

use super::Harness;
use super::plan_world::{MINUTE, passed_over, step_over};
use super::world::{World, origin};
use crate::{Error, Firing, NewTrigger, Plan, PlanRefusal, Triggered};

use TriggerOutcome::{Fired, Missed, Skipped};

/// A schedule past whose first instants the cursor went, as `records` say; and when it began.
async fn settled(world: &World<'_>, overlap: Overlap, records: &[(u32, TriggerOutcome)]) -> (Plan, i64) {
    let plan = world.schedule(overlap).await;
    let count: u32 = records.iter().map(|(count, _)| count).sum();
    world.pass((i64::from(count) + 1) * MINUTE).await;
    let mut at = plan.next;
    let mut written = Vec::new();
    for (count, outcome) in records {
        written.push(match outcome {
            Fired => world.fired_at(&plan, at),
            Skipped | Missed => passed_over(at, *count, *outcome, "off"),
        });
        at += i64::from(*count) * MINUTE;
    }
    let firing = Firing {
        cursor: at - MINUTE,
        next: at + 99 * MINUTE,
        due: at + 99 * MINUTE,
        records: written,
        ..step_over(&plan)
    };
    let plan_after = world.fire(&firing).await.unwrap().plan;
    (plan_after, plan.cursor)
}

fn backfill(world: &World<'_>, plan: &Plan, planned_at: i64) -> NewTrigger {
    NewTrigger {
        reason: "backfill".into(),
        ..world.fired_at(plan, planned_at)
    }
}

fn ok(answers: &[Result<Triggered, PlanRefusal>]) -> Vec<Triggered> {
    answers.iter().map(|answer| answer.clone().unwrap()).collect()
}

/// A trigger by hand is of now, moves no cursor, counts as no planned fire, and works while the schedule is paused.
pub async fn a_trigger_by_hand_is_of_now(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Skip).await;
    let paused = world.pause(&plan.name).await.unwrap();
    let before = world.now().await;
    let told = ok(&world.by_hand(&plan, &[world.manual(&plan, "a")]).await).remove(0);
    assert!(told.planned_at >= before && told.fresh);
    assert_eq!((told.outcome, told.reason.as_str()), (Fired, "manual"));
    let id = told.task.unwrap();
    assert_eq!(world.record(id).await.planned_at, told.planned_at);
    assert_eq!(world.live(&plan.name).await, [(id, false)]);
    let after = world.plan(&plan.name).await;
    assert_eq!(
        (after.seen(), after.fires, after.next),
        (plan.seen(), 0, plan.next)
    );
    assert_eq!(after.last_fired.unwrap().task, id);
    assert_eq!(after.pause, paused.pause);
    let kept = world.records(&plan.name).await.remove(0);
    assert!(kept.manual && kept.planned_at == told.planned_at && kept.task == Some(id));
    let token = world.start(id).await;
    world.complete(id, token).await.unwrap();
}

/// The same key by hand is the same task, and one record.
pub async fn a_trigger_by_hand_with_the_same_key_is_one(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Allow).await;
    let first = ok(&world.by_hand(&plan, &[world.manual(&plan, "a")]).await).remove(0);
    world.pass(1_000).await;
    let again = ok(&world.by_hand(&plan, &[world.manual(&plan, "a")]).await).remove(0);
    assert_eq!(
        (again.task, again.planned_at, again.fresh),
        (first.task, first.planned_at, false)
    );
    let other = ok(&world.by_hand(&plan, &[world.manual(&plan, "b")]).await).remove(0);
    assert!(other.task != first.task && other.fresh);
    assert_eq!(world.records(&plan.name).await.len(), 2);
}

/// By hand nothing is skipped: where a task lives the next waits, whatever the policy; without one it goes.
pub async fn by_hand_tasks_wait_their_turn(harness: &dyn Harness) {
    for overlap in [Overlap::Skip, Overlap::Queue, Overlap::CancelPrevious] {
        let world = World::new(harness).await;
        let plan = world.schedule(overlap).await;
        let records = ["a", "b", "c"].map(|key| world.manual(&plan, key));
        let told = ok(&world.by_hand(&plan, &records).await);
        let blocked: Vec<_> = told.iter().map(|it| it.blocked).collect();
        assert_eq!(blocked, [false, true, true], "{overlap:?}");
        for it in &told {
            let id = it.task.unwrap();
            let token = world.start(id).await;
            world.complete(id, token).await.unwrap();
        }
    }
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Allow).await;
    let records = ["a", "b"].map(|key| world.manual(&plan, key));
    assert!(
        ok(&world.by_hand(&plan, &records).await)
            .iter()
            .all(|it| !it.blocked)
    );
}

/// Of one schedule only so many tasks wait; more are refused, and the others of the call are done.
pub async fn too_many_by_hand_are_refused(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Skip).await;
    for part in 0..4 {
        let records: Vec<_> = (0..64)
            .map(|n| world.manual(&plan, &format!("{part}-{n}")))
            .collect();
        ok(&world.by_hand(&plan, &records).await);
    }
    let more = [world.manual(&plan, "more")];
    assert_eq!(world.by_hand(&plan, &more).await, [Err(PlanRefusal::Full)]);
    let live = world.live(&plan.name).await;
    assert_eq!(live.len(), crate::LIVE_MAX);
    world.operate(live[7].0, crate::Operation::Cancel).await.unwrap();
    assert!(world.by_hand(&plan, &more).await[0].is_ok());
}

/// A backfill makes a fire of an instant that was skipped or missed, and leaves one that fired.
pub async fn a_backfill_fires_what_did_not(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (plan, start) = settled(&world, Overlap::Allow, &[(1, Fired), (1, Skipped), (1, Missed)]).await;
    let records: Vec<_> = (1..=3)
        .map(|n| backfill(&world, &plan, start + n * MINUTE))
        .collect();
    let told = ok(&world.by_hand(&plan, &records).await);
    assert_eq!(
        told.iter().map(|it| it.fresh).collect::<Vec<_>>(),
        [false, true, true]
    );
    let first = world.records(&plan.name).await[0].task;
    assert_eq!(told[0].task, first, "it fired before");
    let expected: Vec<_> = [(1, ""), (2, "backfill"), (3, "backfill")]
        .map(|(at, why)| (at, Fired, why.to_owned()))
        .to_vec();
    assert_eq!(world.history(&plan.name, start).await, expected);
    let again: Vec<_> = (1..=3)
        .map(|n| backfill(&world, &plan, start + n * MINUTE))
        .collect();
    let repeated = ok(&world.by_hand(&plan, &again).await);
    let same = |told: &[Triggered]| told.iter().map(|it| it.task).collect::<Vec<_>>();
    assert_eq!(same(&repeated), same(&told));
    assert!(repeated.iter().all(|it| !it.fresh));
    assert_eq!(world.history(&plan.name, start).await, expected);
    let after = world.plan(&plan.name).await;
    assert_eq!((after.fires, after.seen()), (1, plan.seen()));
}

/// An instant that stands twice in one call fires once.
pub async fn a_backfill_counts_once_within_a_call(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (plan, start) = settled(&world, Overlap::Allow, &[(1, Skipped)]).await;
    let keyless = || {
        let mut record = backfill(&world, &plan, start + MINUTE);
        record.task.as_mut().unwrap().idempotency_key.clear();
        record
    };
    let told = ok(&world.by_hand(&plan, &[keyless(), keyless()]).await);
    assert_eq!(
        (told[0].fresh, told[1].fresh, told[1].task),
        (true, false, told[0].task)
    );
    assert_eq!(
        (world.records(&plan.name).await.len(), world.ready().await.0),
        (1, 1)
    );
}

/// A backfill inside a range takes its instants out of the count; an empty range goes.
pub async fn a_backfill_takes_instants_out_of_a_range(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (plan, start) = settled(&world, Overlap::Allow, &[(1, Fired), (5, Missed), (2, Skipped)]).await;
    let at = |n: i64| start + n * MINUTE;
    let inside = [4, 2].map(|n| backfill(&world, &plan, at(n)));
    assert!(ok(&world.by_hand(&plan, &inside).await).iter().all(|it| it.fresh));
    let kept = world.records(&plan.name).await;
    let range = kept.iter().find(|it| it.outcome == Missed).unwrap();
    assert_eq!((range.count, range.planned_at, range.to), (3, at(2), at(6)));
    assert_eq!(
        kept.iter().map(|it| it.count).sum::<u32>(),
        8,
        "one for each planned instant"
    );
    let rest = [2, 3, 4, 5, 6].map(|n| backfill(&world, &plan, at(n)));
    let fresh: Vec<_> = ok(&world.by_hand(&plan, &rest).await)
        .iter()
        .map(|it| it.fresh)
        .collect();
    assert_eq!(fresh, [false, true, false, true, true]);
    let history = world.history(&plan.name, start).await;
    let minutes: Vec<_> = history.iter().map(|(at, outcome, _)| (*at, *outcome)).collect();
    let fired: Vec<_> = (1..=6).map(|at| (at, Fired)).chain([(7, Skipped)]).collect();
    assert_eq!(minutes, fired);
}

/// A new incarnation has instants of its own, whatever the old one made of the same.
pub async fn a_new_incarnation_has_instants_of_its_own(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (old, start) = settled(&world, Overlap::Allow, &[(1, Fired), (3, Missed)]).await;
    world.remove(&old.name).await.unwrap();
    let new = world.schedule(Overlap::Allow).await;
    let records = [1, 3].map(|n| backfill(&world, &new, start + n * MINUTE));
    assert!(ok(&world.by_hand(&new, &records).await).iter().all(|it| it.fresh));
    let kept = world.records(&new.name).await;
    let counts = |incarnation| {
        let mine = kept.iter().filter(|it| it.incarnation == incarnation);
        mine.map(|it| (it.outcome, it.count)).collect::<Vec<_>>()
    };
    assert_eq!(counts(old.incarnation), [(Fired, 1), (Missed, 3)]);
    assert_eq!(counts(new.incarnation), [(Fired, 1), (Fired, 1)]);
}

/// Of a call's backfills the store also takes instants from before the schedule was, but none that the scan has yet
/// to fire.
pub async fn a_backfill_keeps_to_the_past(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (plan, start) = settled(&world, Overlap::Allow, &[(1, Fired)]).await;
    let records = [
        backfill(&world, &plan, start - 5 * MINUTE),
        backfill(&world, &plan, plan.cursor + MINUTE),
        world.fired_at(&plan, start),
    ];
    let told = world.by_hand(&plan, &records).await;
    assert!(told[0].is_ok() && told[2].is_ok(), "{told:?}");
    assert_eq!(told[1], Err(PlanRefusal::NotDue));
    let ahead = NewTrigger {
        planned_at: world.now().await + MINUTE,
        to: world.now().await + MINUTE,
        ..world.manual(&plan, "ahead")
    };
    let ahead = NewTrigger {
        to: ahead.planned_at,
        ..ahead
    };
    assert_eq!(world.by_hand(&plan, &[ahead]).await, [Err(PlanRefusal::NotDue)]);
    let last = world.plan(&plan.name).await.last_fired.unwrap();
    assert_eq!(
        last.planned_at,
        start + MINUTE,
        "an older instant is not the latest"
    );
}

/// A trigger by hand at the very instant of a planned fire stands beside it.
pub async fn a_trigger_by_hand_is_no_planned_instant(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (plan, start) = settled(&world, Overlap::Allow, &[(1, Skipped)]).await;
    let at = start + MINUTE;
    let beside = NewTrigger {
        planned_at: at,
        to: at,
        ..world.manual(&plan, "a")
    };
    ok(&world.by_hand(&plan, &[beside]).await);
    let filled = ok(&world.by_hand(&plan, &[backfill(&world, &plan, at)]).await).remove(0);
    assert!(filled.fresh);
    let kept = world.records(&plan.name).await;
    let mut flags: Vec<_> = kept
        .iter()
        .map(|it| (it.planned_at, it.manual, it.outcome))
        .collect();
    flags.sort();
    assert_eq!(flags, [(at, false, Fired), (at, true, Fired)]);
}

/// Whoever means an older incarnation, or none, is refused; what makes no sense is an error.
pub async fn by_hand_calls_are_checked(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let old = world.schedule(Overlap::Allow).await;
    let records = [world.manual(&old, "a"), world.manual(&old, "b")];
    world.remove(&old.name).await.unwrap();
    let refused = [Err(PlanRefusal::Missing), Err(PlanRefusal::Missing)];
    assert_eq!(world.by_hand(&old, &records).await, refused);
    let new = world.schedule(Overlap::Allow).await;
    assert_eq!(world.by_hand(&old, &records).await, refused);
    let bad = [
        NewTrigger {
            manual: false,
            ..world.manual(&new, "c")
        },
        passed_over(new.cursor, 1, Skipped, "no"),
    ];
    for record in bad {
        let nonce = world.nonce();
        let answer = world
            .store
            .record_triggers(
                world.partition,
                nonce,
                &origin(),
                &new.name,
                new.incarnation,
                &[record],
            )
            .await;
        assert!(matches!(answer, Err(Error::Corrupt(_))), "{answer:?}");
    }
    assert!(world.records(&new.name).await.is_empty());
    assert_eq!(world.ready().await.0, 0);
}

/// A backfill behind a running task is blocked, and shows so.
pub async fn a_backfill_waits_behind_what_runs(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (plan, start) = settled(&world, Overlap::Skip, &[(1, Fired), (2, Missed)]).await;
    let records = [2, 3].map(|n| backfill(&world, &plan, start + n * MINUTE));
    let told = ok(&world.by_hand(&plan, &records).await);
    for it in &told {
        let status = world.status(it.task.unwrap()).await;
        assert_eq!(
            (it.blocked, status),
            (true, (Status::Pending, Some(SubState::Blocked)))
        );
    }
}
