//! A pause of a schedule holds, is told, and ends.

use domain::{Overlap, TriggerOutcome};

use super::Harness;
use super::plan_world::{MINUTE, passed_over, step_over};
use super::world::{World, origin};
use crate::{PlanRefusal, PlanState};

/// While a schedule is paused it is not due and fires nothing, and it says who paused it and why.
pub async fn a_pause_holds_and_says_who(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Skip).await;
    let origin = crate::Origin {
        reason: "stocktaking".into(),
        ..origin()
    };
    let names = [plan.name.clone()];
    let nonce = world.nonce();
    let paused = world
        .store
        .pause_schedules(world.partition, nonce, &origin, &names)
        .await
        .unwrap();
    let paused = paused[0].clone().unwrap();
    let pause = paused.pause.clone().unwrap();
    assert_eq!(
        (pause.by.as_str(), pause.reason.as_str(), pause.until),
        ("suite", "stocktaking", 0)
    );
    assert!(pause.since >= plan.created_at);
    assert_eq!((paused.state(), paused.seen()), (PlanState::Paused, plan.seen()));
    world.pass(2 * MINUTE).await;
    assert!(world.due().await.is_empty());
    assert_eq!(
        world.fire(&world.next_fire(&plan)).await,
        Err(PlanRefusal::Paused)
    );
    assert_eq!(
        world.pause(&plan.name).await,
        Ok(paused),
        "a second pause keeps the first"
    );
    assert_eq!(world.pause(&world.name(2)).await, Err(PlanRefusal::Missing));
}

/// In a pause a decision may be made; it is carried out afterwards.
pub async fn a_pause_takes_a_decision_and_nothing_else(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Skip).await;
    world.pause(&plan.name).await.unwrap();
    world.pass(2 * MINUTE).await;
    let decide = crate::Firing {
        cursor: plan.cursor,
        next: plan.next,
        due: plan.due,
        decision: "skip".into(),
        ..step_over(&plan)
    };
    let decided = world.fire(&decide).await.unwrap().plan;
    assert_eq!(
        (decided.decision.as_ref(), decided.is_paused()),
        (b"skip".as_slice(), true)
    );
    assert!(
        world.due().await.is_empty(),
        "a decision is not carried out in a pause"
    );
    let moves = crate::Firing {
        decision: "other".into(),
        ..step_over(&decided)
    };
    assert_eq!(world.fire(&moves).await, Err(PlanRefusal::Paused));
    let resumed = world.resume(&plan.name).await.unwrap();
    assert_eq!(resumed.decision, decided.decision);
    assert_eq!(world.due().await, std::slice::from_ref(&plan.name));
}

/// A resume makes due at once what came in the pause, and says which instants that were.
pub async fn a_resume_makes_due_what_came_in_between(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Skip).await;
    let since = world.pause(&plan.name).await.unwrap().pause.unwrap().since;
    world.pass(2 * MINUTE).await;
    let resumed = world.resume(&plan.name).await.unwrap();
    let pause = resumed.pause.clone().unwrap();
    assert!(pause.since == since && pause.until >= since + 2 * MINUTE);
    assert_eq!(
        (resumed.state(), resumed.cursor),
        (PlanState::Active, plan.cursor)
    );
    assert_eq!(world.due().await, std::slice::from_ref(&plan.name));
    assert_eq!(
        world.resume(&plan.name).await,
        Ok(resumed.clone()),
        "there is nothing to resume"
    );
    let skipped = crate::Firing {
        records: vec![passed_over(plan.next, 1, TriggerOutcome::Skipped, "paused")],
        ..step_over(&resumed)
    };
    assert!(world.fire(&skipped).await.is_ok());
    let early = world.draft(2, Overlap::Skip).await;
    world.put(&early).await.unwrap();
    world.pause(&early.name).await.unwrap();
    world.resume(&early.name).await.unwrap();
    assert!(!world.due().await.contains(&early.name), "its time has not come");
}

/// Pauses between which no instant was settled count as one; else each is its own.
pub async fn pauses_without_records_between_count_as_one(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Skip).await;
    let first = world.pause(&plan.name).await.unwrap().pause.unwrap();
    world.pass(MINUTE).await;
    world.resume(&plan.name).await.unwrap();
    world.pass(MINUTE).await;
    let second = world.pause(&plan.name).await.unwrap().pause.unwrap();
    assert_eq!((second.since, second.until), (first.since, 0));
    world.resume(&plan.name).await.unwrap();
    let plan = world.plan(&plan.name).await;
    let settled = crate::Firing {
        cursor: world.now().await,
        next: plan.next + 9 * MINUTE,
        due: plan.next + 9 * MINUTE,
        ..step_over(&plan)
    };
    world.fire(&settled).await.unwrap();
    let third = world.pause(&plan.name).await.unwrap().pause.unwrap();
    assert!(third.since > first.since);
}
