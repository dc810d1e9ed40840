//! A schedule ends with its last fire or its last instant.

use domain::{Overlap, TriggerOutcome};

use super::Harness;
use super::plan_world::{MINUTE, step_over};
use super::world::World;
use crate::{Firing, PlanRefusal, PlanState, PutSchedule};

/// With its last fire a schedule has finished: no more of the slice is written, and it is never due again.
pub async fn the_last_fire_ends_the_schedule(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let draft = PutSchedule {
        max_fires: 2,
        ..world.draft(1, Overlap::Allow).await
    };
    let plan = world.put(&draft).await.unwrap().plan;
    world.pass(4 * MINUTE).await;
    let at = |n: i64| plan.next + n * MINUTE;
    let firing = Firing {
        cursor: at(3),
        next: at(4),
        due: at(4),
        records: (0..4).map(|n| world.fired_at(&plan, at(n))).collect(),
        ..step_over(&plan)
    };
    let fired = world.fire(&firing).await.unwrap();
    let told: Vec<_> = fired
        .records
        .iter()
        .map(|it| (it.outcome, it.reason.as_str(), it.fresh))
        .collect();
    let (yes, no) = (
        (TriggerOutcome::Fired, "", true),
        (TriggerOutcome::Skipped, "finished", false),
    );
    assert_eq!(told, [yes, yes, no, no]);
    assert_eq!(
        (fired.plan.next, fired.plan.due, fired.plan.state()),
        (0, 0, PlanState::Finished)
    );
    assert_eq!(world.records(&plan.name).await.len(), 2);
    assert_eq!(world.ready().await.0, 2);
    world.pass(2 * MINUTE).await;
    assert!(world.due().await.is_empty());
    let again = world.next_fire(&crate::Plan {
        next: at(4),
        ..fired.plan
    });
    assert_eq!(world.fire(&again).await, Err(PlanRefusal::Finished));
}

/// More fires may be given to a schedule that has used up its own.
pub async fn a_finished_schedule_may_be_given_more_fires(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let mut draft = PutSchedule {
        max_fires: 1,
        ..world.draft(1, Overlap::Allow).await
    };
    world.put(&draft).await.unwrap();
    world.fire_next(&draft.name).await;
    for (max_fires, state) in [(1, PlanState::Finished), (2, PlanState::Active)] {
        draft = PutSchedule {
            max_fires,
            spec: format!("up to {max_fires}").into(),
            seen: Some(world.plan(&draft.name).await.seen()),
            ..world.draft(1, Overlap::Allow).await
        };
        let plan = world.put(&draft).await.unwrap().plan;
        assert_eq!((plan.state(), plan.fires), (state, 1));
    }
}

/// A schedule whose calendar gives no further instant has finished, and may be given one again.
pub async fn a_schedule_without_a_next_instant_has_finished(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Allow).await;
    world.pass(MINUTE).await;
    let last = Firing {
        next: 0,
        due: 0,
        ..world.next_fire(&plan)
    };
    let finished = world.fire(&last).await.unwrap().plan;
    assert_eq!((finished.state(), finished.fires), (PlanState::Finished, 1));
    world.pass(MINUTE).await;
    assert!(world.due().await.is_empty());
    let replanned = Firing {
        cursor: finished.cursor,
        next: plan.next + MINUTE,
        due: plan.next + MINUTE,
        ..step_over(&finished)
    };
    assert_eq!(
        world.fire(&replanned).await.unwrap().plan.state(),
        PlanState::Active
    );
    assert_eq!(world.due().await, [plan.name]);
}
