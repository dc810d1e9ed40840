//! The ledger: listed by instant, kept for a time.

use domain::{Millis, Overlap, TriggerOutcome};

use super::Harness;
use super::plan_world::{MINUTE, passed_over, step_over};
use super::world::World;
use crate::{Error, Firing, NewTrigger, Page, Plan, TriggerRange};

/// A schedule with a record of each of `count` instants, oldest first.
async fn with_records(world: &World<'_>, count: u32) -> Plan {
    let plan = world.schedule(Overlap::Allow).await;
    world.pass(i64::from(count) * MINUTE).await;
    write(world, &plan, count).await;
    plan
}

/// Writes the next `count` instants, a record each.
async fn write(world: &World<'_>, plan: &Plan, count: u32) {
    let mut plan = world.plan(&plan.name).await;
    let mut left = count;
    while left > 0 {
        let part = left.min(64);
        let at = |n: u32| plan.next + i64::from(n) * MINUTE;
        let firing = Firing {
            cursor: at(part - 1),
            next: at(part),
            due: at(part),
            records: (0..part)
                .map(|n| passed_over(at(n), 1, TriggerOutcome::Missed, ""))
                .collect(),
            ..step_over(&plan)
        };
        plan = world.fire(&firing).await.unwrap().plan;
        left -= part;
    }
}

async fn page(world: &World<'_>, name: &str, range: TriggerRange, limit: usize) -> Vec<Vec<Millis>> {
    let mut page = Page { limit, cursor: None };
    let mut pages = Vec::new();
    loop {
        let part = world.store.triggers(name, &range, &page).await.unwrap();
        pages.push(part.items.iter().map(|it| it.planned_at).collect());
        let Some(next) = part.next else { return pages };
        assert!(pages.len() < 100, "a list of {name} never ends");
        page.cursor = Some(next);
    }
}

/// Records come by instant, from either end, within bounds, in pages without a gap or a repeat.
pub async fn records_are_listed_by_instant(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = with_records(&world, 7).await;
    let all: Vec<_> = (0..7).map(|n| plan.next + n * MINUTE).collect();
    let mut backward = all.clone();
    backward.reverse();
    let newest_first = TriggerRange {
        newest_first: true,
        ..TriggerRange::default()
    };
    let pages = page(&world, &plan.name, TriggerRange::default(), 3).await;
    assert_eq!(pages, [&all[..3], &all[3..6], &all[6..]]);
    let pages = page(&world, &plan.name, newest_first, 3).await;
    assert_eq!(pages, [&backward[..3], &backward[3..6], &backward[6..]]);
    for newest_first in [false, true] {
        let range = TriggerRange {
            since: Some(all[2]),
            until: Some(all[5]),
            newest_first,
        };
        let mut found = page(&world, &plan.name, range, 2).await.concat();
        found.sort_unstable();
        assert_eq!(found, all[2..5], "from the first on, up to but without the last");
    }
    assert!(
        page(&world, &world.name(9), newest_first, 3)
            .await
            .concat()
            .is_empty()
    );
    let made_up = Page {
        limit: 1,
        cursor: Some("nonsense".into()),
    };
    let answer = world.store.triggers(&plan.name, &newest_first, &made_up).await;
    assert!(matches!(answer, Err(Error::Corrupt(_))), "{answer:?}");
}

/// Several records of one instant are each shown once, also where a page ends between them.
pub async fn records_of_one_instant_are_each_shown(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = with_records(&world, 2).await;
    let beside: Vec<_> = (0..5)
        .map(|n| NewTrigger {
            planned_at: plan.next,
            to: plan.next,
            ..world.manual(&plan, &format!("{n}"))
        })
        .collect();
    assert!(world.by_hand(&plan, &beside).await.iter().all(Result::is_ok));
    for newest_first in [false, true] {
        let range = TriggerRange {
            newest_first,
            ..TriggerRange::default()
        };
        for limit in [1, 2, 4] {
            let found = page(&world, &plan.name, range, limit).await.concat();
            let first = found.iter().filter(|at| **at == plan.next).count();
            assert_eq!((found.len(), first), (7, 6), "{limit}");
        }
    }
    let mut tasks: Vec<_> = world
        .records(&plan.name)
        .await
        .iter()
        .filter_map(|it| it.task)
        .collect();
    tasks.sort();
    tasks.dedup();
    assert_eq!(tasks.len(), 5);
}

/// Records leave some time after they were written, whatever their instant, and whether or not the schedule is there.
pub async fn records_leave_by_age(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = with_records(&world, 3).await;
    world.pass(10 * MINUTE).await;
    write(&world, &plan, 2).await;
    let old = world.fired_at(&plan, plan.next - 99 * MINUTE);
    assert!(world.by_hand(&plan, &[old]).await[0].is_ok());
    assert_eq!(world.retain_records(11 * MINUTE).await.tasks, 0);
    world.remove(&plan.name).await.unwrap();
    let removed = world.retain_records(9 * MINUTE).await;
    assert_eq!((removed.tasks, removed.more), (3, false));
    let left: Vec<_> = world
        .records(&plan.name)
        .await
        .iter()
        .map(|it| it.planned_at)
        .collect();
    let at = |n: i64| plan.next + n * MINUTE;
    assert_eq!(left, [at(-99), at(3), at(4)], "a backfill of long ago is young");
    world.pass(9 * MINUTE).await;
    assert_eq!(world.retain_records(9 * MINUTE).await.tasks, 3);
    assert!(world.records(&plan.name).await.is_empty());
    assert_eq!(world.retain_records(0).await.tasks, 0);
}

/// A retention takes at most one batch a call, and says that there is more.
pub async fn a_retention_of_records_is_bounded(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = with_records(&world, 100).await;
    world.pass(MINUTE).await;
    let first = world.retain_records(1_000).await;
    assert_eq!((first.tasks, first.more), (64, true));
    assert_eq!(world.records(&plan.name).await.len(), 36);
    let mut left = 36;
    while left > 0 {
        let removed = world.retain_records(1_000).await.tasks;
        assert!(removed > 0, "{left} are left");
        left -= removed;
    }
    assert!(world.records(&plan.name).await.is_empty());
}

/// Of one schedule the newest records are kept, and not more than the bound.
pub async fn the_newest_records_are_kept(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let surplus = 20;
    let most = u32::try_from(crate::TRIGGERS_MAX).unwrap();
    let plan = world.schedule(Overlap::Allow).await;
    world.outage(i64::from(most + surplus) * MINUTE).await;
    write(&world, &plan, most + surplus).await;
    let kept = world.records(&plan.name).await;
    assert_eq!(kept.len(), crate::TRIGGERS_MAX);
    assert_eq!(kept[0].planned_at, plan.next + i64::from(surplus) * MINUTE);
}
