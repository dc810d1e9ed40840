//! Schedules are created, changed, paused, removed, found.

use domain::{Overlap, TriggerOutcome};

use super::Harness;
use super::plan_world::{MINUTE, passed_over, step_over};
use super::world::{World, origin};
use crate::{Error, Plan, PlanRefusal, PlanState, PutHow, PutSchedule, Seen};

/// A change of a schedule that was seen just now.
async fn change(world: &World<'_>, plan: &Plan, spec: &'static str) -> PutSchedule {
    PutSchedule {
        spec: spec.into(),
        seen: Some(plan.seen()),
        ..world.draft(1, plan.overlap).await
    }
}

/// A new schedule has every field of its put, no past, and is due at its time.
pub async fn a_put_creates_a_schedule(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let draft = PutSchedule {
        queue_max: 3,
        max_fires: 9,
        due: world.now().await + 2 * MINUTE,
        ..world.draft(1, Overlap::Queue).await
    };
    let put = world.put(&draft).await.unwrap();
    assert_eq!(put.how, PutHow::Created);
    let view = world.look_at(&draft.name).await.unwrap();
    assert_eq!(
        (&view.plan, &view.spec, view.live.len()),
        (&put.plan, &draft.spec, 0)
    );
    let plan = view.plan;
    assert_eq!(
        (plan.version, plan.cursor, plan.next, plan.due),
        (1, draft.anchor, draft.next, draft.due)
    );
    assert_eq!(
        (plan.overlap, plan.queue_max, plan.max_fires),
        (Overlap::Queue, 3, 9)
    );
    assert_eq!(
        (plan.fires, plan.pause.clone(), plan.last.clone(), plan.last_fired),
        (0, None, None, None)
    );
    assert!(plan.incarnation > 0 && plan.created_at >= draft.anchor && plan.changed_at == plan.created_at);
    assert_eq!(plan.state(), PlanState::Active);
    world.pass(MINUTE + 5_000).await;
    assert!(world.due().await.is_empty(), "its spread has not passed");
    world.pass(MINUTE).await;
    assert_eq!(world.due().await, [draft.name]);
}

/// Applying the same definition again changes nothing, whatever the caller saw.
pub async fn the_same_definition_keeps_the_cursor(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let first = world.schedule(Overlap::Skip).await;
    world.pass(MINUTE).await;
    let fired = world.fire(&step_over(&first)).await.unwrap().plan;
    world.pass(MINUTE).await;
    for seen in [None, Some(first.seen())] {
        let draft = PutSchedule {
            seen,
            ..world.draft(1, Overlap::Skip).await
        };
        let put = world.put(&draft).await.unwrap();
        assert_eq!((put.how, put.plan), (PutHow::Unchanged, fired.clone()));
    }
}

/// Another definition, or another limit, is a new version that goes on from the anchor; what the old one owed is
/// written, and what the schedule was stays.
pub async fn a_changed_definition_anchors_at_now(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let first = world.schedule(Overlap::Skip).await;
    world.fire_next(&first.name).await;
    let fired = world.plan(&first.name).await;
    world.pass(3 * MINUTE).await;
    let owed = passed_over(fired.next, 3, TriggerOutcome::Skipped, "changed");
    let draft = PutSchedule {
        owed: vec![owed],
        ..change(&world, &fired, "every hour").await
    };
    let put = world.put(&draft).await.unwrap();
    assert_eq!(put.how, PutHow::Changed);
    let plan = put.plan;
    assert_eq!(
        (plan.incarnation, plan.version, plan.fires),
        (first.incarnation, 2, 1)
    );
    assert_eq!((plan.cursor, plan.next), (draft.anchor, draft.next));
    assert_eq!(
        (plan.created_at, plan.last_fired),
        (first.created_at, fired.last_fired)
    );
    assert!(plan.changed_at >= draft.anchor);
    let view = world.look_at(&first.name).await.unwrap();
    assert_eq!((view.plan.clone(), view.spec), (plan.clone(), draft.spec));
    let told = world.records(&first.name).await;
    assert_eq!(
        (told.len(), told[1].count, told[1].to),
        (2, 3, fired.next + 2 * MINUTE)
    );
    assert_eq!(
        world.due().await,
        [""; 0],
        "the old instants are none of the new definition's"
    );
    let limit = PutSchedule {
        max_fires: 7,
        ..change(&world, &plan, "every hour").await
    };
    let put = world.put(&limit).await.unwrap();
    assert_eq!(
        (put.how, put.plan.version, put.plan.max_fires),
        (PutHow::Changed, 3, 7)
    );
}

/// A change by somebody who saw another version, another cursor, or another incarnation does nothing.
pub async fn a_change_of_what_moved_is_refused(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let first = world.schedule(Overlap::Skip).await;
    world.pass(MINUTE).await;
    world.fire(&step_over(&first)).await.unwrap();
    let plan = world.plan(&first.name).await;
    let strangers = [
        None,
        Some(first.seen()),
        Some(Seen {
            version: 2,
            ..plan.seen()
        }),
        Some(Seen {
            incarnation: 1,
            ..plan.seen()
        }),
    ];
    for seen in strangers {
        let draft = PutSchedule {
            seen,
            ..change(&world, &plan, "every hour").await
        };
        assert_eq!(world.put(&draft).await, Err(PlanRefusal::Moved), "{seen:?}");
    }
    let behind = PutSchedule {
        anchor: plan.cursor - 1,
        ..change(&world, &plan, "every hour").await
    };
    assert_eq!(
        world.put(&behind).await,
        Err(PlanRefusal::Moved),
        "it would fire again what fired"
    );
    assert_eq!(world.plan(&first.name).await, plan);
    let gone = PutSchedule {
        seen: Some(plan.seen()),
        ..world.draft(2, Overlap::Skip).await
    };
    assert_eq!(world.put(&gone).await, Err(PlanRefusal::Missing));
    assert_eq!(world.look_at(&gone.name).await, None);
}

/// An anchor that is not the store's clock is refused: it is another host's.
pub async fn an_anchor_is_the_stores_clock(harness: &dyn Harness) {
    let world = World::new(harness).await;
    for away in [
        -crate::CLOCK_TOLERANCE_MS - 30_000,
        crate::CLOCK_TOLERANCE_MS + 30_000,
    ] {
        let mut draft = world.draft(1, Overlap::Skip).await;
        draft.anchor += away;
        draft.next += away;
        draft.due += away;
        assert_eq!(world.put(&draft).await, Err(PlanRefusal::Clock), "{away}");
    }
    assert_eq!(world.look_at(&world.name(1)).await, None);
}

/// A removed schedule is gone and never due again; its records stay.
pub async fn a_removed_schedule_never_fires_again(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Skip).await;
    world.fire_next(&plan.name).await;
    let before = world.plan(&plan.name).await;
    assert_eq!(world.remove(&plan.name).await, Ok(before.clone()));
    world.pass(5 * MINUTE).await;
    assert!(world.due().await.is_empty() && world.look_at(&plan.name).await.is_none());
    assert_eq!(
        world.fire(&world.next_fire(&before)).await,
        Err(PlanRefusal::Missing)
    );
    assert_eq!(world.remove(&plan.name).await, Err(PlanRefusal::Missing));
    assert_eq!(world.records(&plan.name).await.len(), 1);
}

/// A new schedule of an old name is another: it starts anew, and nobody takes it for the old one.
pub async fn a_new_one_of_the_same_name_is_a_new_incarnation(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let mut incarnations = Vec::new();
    for _ in 0..3 {
        let plan = world.schedule(Overlap::Skip).await;
        incarnations.push(plan.incarnation);
        world.remove(&plan.name).await.unwrap();
    }
    assert!(
        incarnations.windows(2).all(|pair| pair[0] < pair[1]),
        "{incarnations:?}"
    );
    let new = world.schedule(Overlap::Skip).await;
    world.pass(MINUTE).await;
    let old = Plan {
        incarnation: incarnations[2],
        ..new.clone()
    };
    assert_eq!(
        world.fire(&world.next_fire(&old)).await,
        Err(PlanRefusal::Missing)
    );
    let fired = world.fire(&world.next_fire(&new)).await.unwrap();
    assert_eq!((fired.plan.fires, fired.plan.version), (1, 1));
}

/// Schedules come by name, a page at a time, each once.
pub async fn schedules_are_listed_by_name(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let mut names = Vec::new();
    for number in [5, 3, 1, 4, 2] {
        let draft = world.draft(number, Overlap::Skip).await;
        world.put(&draft).await.unwrap();
        names.push(draft.name);
    }
    names.sort();
    let list = async |after: Option<&str>, limit| {
        let views = world
            .store
            .schedules(world.partition, after, limit)
            .await
            .unwrap();
        views.into_iter().map(|view| view.plan.name).collect::<Vec<_>>()
    };
    assert_eq!(list(None, 10).await, names);
    assert_eq!(list(None, 2).await, names[..2]);
    assert_eq!(list(Some(&names[1]), 2).await, names[2..4]);
    assert_eq!(list(Some(&names[3]), 2).await, names[4..]);
    world.remove(&names[2]).await.unwrap();
    assert_eq!(
        list(Some(&names[1]), 9).await,
        names[3..],
        "what was removed is not listed"
    );
    let other = world.store.schedules(0, None, 10).await.unwrap();
    assert!(other.is_empty(), "another partition has none");
}

/// What is due comes oldest first and bounded, with its definition, by the store's clock.
pub async fn what_is_due_comes_oldest_first(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let mut names = Vec::new();
    for number in [1_u8, 2, 3] {
        let mut draft = world.draft(number, Overlap::Skip).await;
        draft.due = draft.anchor + MINUTE * (5 - i64::from(number));
        draft.spec = format!("spec {number}").into();
        world.put(&draft).await.unwrap();
        names.push(draft.name);
    }
    assert!(world.due().await.is_empty());
    world.pass(3 * MINUTE + 1_000).await;
    assert_eq!(world.due().await, [names[2].clone(), names[1].clone()]);
    let due = world.store.due_schedules(world.partition, 1).await.unwrap();
    assert_eq!(
        (due.items.len(), due.items[0].spec.as_ref()),
        (1, b"spec 3".as_slice())
    );
    assert!(due.now >= due.items[0].plan.due);
    assert_eq!(due.items[0], world.look_at(&names[2]).await.unwrap());
}

/// A schedule of another partition fails the whole call.
pub async fn a_call_for_another_partition_does_nothing(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let own = world.draft(1, Overlap::Skip).await;
    let mut other = own.clone();
    let partitions = world.store.partitions();
    while domain::schedule_partition(&other.name, partitions) == world.partition {
        other.name.push('x');
    }
    let (partition, nonce) = (world.partition, world.nonce());
    let items = [own.clone(), other.clone()];
    let answer = world
        .store
        .put_schedules(partition, nonce, &origin(), &items)
        .await;
    assert!(matches!(answer, Err(Error::Corrupt(_))), "{answer:?}");
    assert_eq!(world.look_at(&own.name).await, None);
    let names = [other.name];
    let answer = world
        .store
        .remove_schedules(partition, world.nonce(), &names)
        .await;
    assert!(matches!(answer, Err(Error::Corrupt(_))), "{answer:?}");
}

/// Calendars are kept under a version each, and one for all; the same body changes neither.
pub async fn calendars_have_versions(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let store = &world.store;
    assert_eq!(store.calendars().await.unwrap(), (0, Vec::new()));
    let put = async |name: &str, body: &'static [u8]| {
        store.put_calendars(&[(name.into(), body.into())]).await.unwrap()
    };
    assert_eq!(put("cn", b"\0\xff").await, 1);
    assert_eq!(put("cn", b"\0\xff").await, 1);
    assert_eq!(put("at", b"x").await, 2);
    assert_eq!(put("cn", b"y").await, 3);
    assert_eq!(store.calendars_version().await.unwrap(), 3);
    let (version, calendars) = store.calendars().await.unwrap();
    let told: Vec<_> = calendars
        .iter()
        .map(|it| (it.name.as_str(), it.version, it.body.as_ref()))
        .collect();
    assert_eq!(
        (version, told),
        (3, vec![("at", 1, b"x".as_slice()), ("cn", 2, b"y")])
    );
}
