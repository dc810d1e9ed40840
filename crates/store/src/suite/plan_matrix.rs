//! Every state of a schedule by every verb, against a table; a refusal changes nothing.

use domain::Overlap;

use super::Harness;
use super::plan_world::{MINUTE, step_over};
use super::world::World;
use crate::{Firing, Plan, PlanRefusal, PlanState, PutHow, PutSchedule, ScheduleView, Seen, Trigger};

use PlanRefusal::{Finished, Missing, Moved, NotDue, Paused};

/// Where a schedule can stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stance {
    Absent,
    Waiting,
    Due,
    Paused,
    Resumed,
    WithoutNext,
    UsedUp,
    UsedUpAndPaused,
    Removed,
    MadeAgain,
}

const STANCES: [Stance; 10] = [
    Stance::Absent,
    Stance::Waiting,
    Stance::Due,
    Stance::Paused,
    Stance::Resumed,
    Stance::WithoutNext,
    Stance::UsedUp,
    Stance::UsedUpAndPaused,
    Stance::Removed,
    Stance::MadeAgain,
];

/// What is done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    PutUnseen,
    PutSame,
    PutOther,
    PutStale,
    Remove,
    Pause,
    Resume,
    Fire,
    FireStale,
    FireOldVersion,
    StepOver,
    ByHand,
    Backfill,
}

const ACTIONS: [Action; 13] = [
    Action::PutUnseen,
    Action::PutSame,
    Action::PutOther,
    Action::PutStale,
    Action::Remove,
    Action::Pause,
    Action::Resume,
    Action::Fire,
    Action::FireStale,
    Action::FireOldVersion,
    Action::StepOver,
    Action::ByHand,
    Action::Backfill,
];

/// All that can be seen of a store with one schedule.
#[derive(Debug, Clone, PartialEq)]
struct Look {
    view: Option<ScheduleView>,
    records: Vec<Trigger>,
    due: Vec<String>,
    listed: usize,
    events: usize,
    ready: u64,
}

async fn look(world: &World<'_>) -> Look {
    let name = world.name(1);
    let listed = world.store.schedules(world.partition, None, 9).await.unwrap();
    Look {
        view: world.look_at(&name).await,
        records: world.records(&name).await,
        due: world.due().await,
        listed: listed.len(),
        events: world.events().await.len(),
        ready: world.ready().await.0,
    }
}

/// A schedule that stands there, or the last that did, and its instant that is next or would be.
async fn bring(world: &World<'_>, stance: Stance) -> (Plan, i64) {
    let draft = PutSchedule {
        max_fires: if matches!(stance, Stance::UsedUp | Stance::UsedUpAndPaused) {
            1
        } else {
            0
        },
        ..world.draft(1, Overlap::Allow).await
    };
    let plan = world.put(&draft).await.unwrap().plan;
    let name = plan.name.as_str();
    if stance == Stance::Waiting {
        return (plan.clone(), plan.next);
    }
    match stance {
        Stance::Paused | Stance::Resumed => drop(world.pause(name).await.unwrap()),
        Stance::Absent | Stance::Removed | Stance::MadeAgain => drop(world.remove(name).await.unwrap()),
        Stance::Waiting | Stance::Due | Stance::WithoutNext | Stance::UsedUp | Stance::UsedUpAndPaused => {}
    }
    world.pass(MINUTE).await;
    match stance {
        Stance::Resumed => drop(world.resume(name).await.unwrap()),
        Stance::MadeAgain => drop(world.put(&world.draft(1, Overlap::Allow).await).await.unwrap()),
        Stance::WithoutNext => {
            let last = Firing {
                next: 0,
                due: 0,
                ..step_over(&plan)
            };
            world.fire(&last).await.unwrap();
        }
        Stance::UsedUp | Stance::UsedUpAndPaused => {
            world.fire(&world.next_fire(&plan)).await.unwrap();
        }
        Stance::Absent | Stance::Waiting | Stance::Due | Stance::Paused | Stance::Removed => {}
    }
    if stance == Stance::UsedUpAndPaused {
        world.pause(name).await.unwrap();
    }
    world.pass(MINUTE).await;
    let plan = world.look_at(name).await.map_or(plan, |view| view.plan);
    let next = if plan.next == 0 {
        plan.cursor + MINUTE
    } else {
        plan.next
    };
    (plan, next)
}

type Answer = Result<Option<PutHow>, PlanRefusal>;

async fn put(world: &World<'_>, action: Action, plan: &Plan) -> Answer {
    let mut draft = PutSchedule {
        max_fires: plan.max_fires,
        seen: Some(plan.seen()),
        ..world.draft(1, Overlap::Allow).await
    };
    if action != Action::PutSame {
        draft.spec = "other".into();
    }
    if action == Action::PutUnseen {
        draft.seen = None;
    } else if action == Action::PutStale {
        draft.seen = Some(Seen {
            version: 9,
            ..plan.seen()
        });
    }
    world.put(&draft).await.map(|put| Some(put.how))
}

async fn fire(world: &World<'_>, action: Action, plan: &Plan, next: i64) -> Answer {
    let planned = Plan { next, ..plan.clone() };
    let mut firing = if action == Action::StepOver {
        step_over(&planned)
    } else {
        world.next_fire(&planned)
    };
    if action == Action::FireStale {
        firing.seen.cursor -= 1;
    } else if action == Action::FireOldVersion {
        firing.seen.version += 1;
    }
    world.fire(&firing).await.map(|_| None)
}

async fn act(world: &World<'_>, action: Action, plan: &Plan, next: i64) -> Answer {
    let name = plan.name.as_str();
    match action {
        Action::PutUnseen | Action::PutSame | Action::PutOther | Action::PutStale => {
            put(world, action, plan).await
        }
        Action::Fire | Action::FireStale | Action::FireOldVersion | Action::StepOver => {
            fire(world, action, plan, next).await
        }
        Action::Remove => world.remove(name).await.map(|_| None),
        Action::Pause => world.pause(name).await.map(|_| None),
        Action::Resume => world.resume(name).await.map(|_| None),
        Action::ByHand | Action::Backfill => {
            let record = if action == Action::ByHand {
                world.manual(plan, "k")
            } else {
                world.fired_at(plan, plan.cursor - MINUTE)
            };
            world.by_hand(plan, &[record]).await.remove(0).map(|_| None)
        }
    }
}

/// What the verb must answer.
fn expected(stance: Stance, action: Action) -> Answer {
    use Action::{Backfill, ByHand, Fire, FireOldVersion, FireStale, Pause, PutOther, PutSame, PutStale};
    use Action::{PutUnseen, Remove, Resume, StepOver};
    if matches!(stance, Stance::Absent | Stance::Removed) {
        return match action {
            PutUnseen => Ok(Some(PutHow::Created)),
            PutSame | PutOther | PutStale | Remove | Pause | Resume | Fire | FireStale | FireOldVersion
            | StepOver | ByHand | Backfill => Err(Missing),
        };
    }
    match action {
        PutUnseen | PutStale | FireStale | FireOldVersion => Err(Moved),
        PutSame => Ok(Some(PutHow::Unchanged)),
        PutOther => Ok(Some(PutHow::Changed)),
        Remove | Pause | Resume | ByHand | Backfill => Ok(None),
        Fire | StepOver => match stance {
            Stance::Waiting => Err(NotDue),
            Stance::Paused | Stance::UsedUpAndPaused => Err(Paused),
            Stance::UsedUp => Err(Finished),
            Stance::Due | Stance::Resumed | Stance::WithoutNext | Stance::MadeAgain => Ok(None),
            Stance::Absent | Stance::Removed => Err(Missing),
        },
    }
}

/// A schedule is due exactly where it is active and its time has come.
async fn check_due(world: &World<'_>, after: &Look, what: &str) {
    let now = world.now().await;
    let is_due = |view: &&ScheduleView| view.plan.state() == PlanState::Active && view.plan.due <= now;
    let due: Vec<_> = after
        .view
        .iter()
        .filter(is_due)
        .map(|view| view.plan.name.clone())
        .collect();
    assert_eq!(after.due, due, "{what}");
    assert_eq!(after.listed, after.view.iter().count(), "{what}");
    if let Some(view) = &after.view {
        assert!(view.plan.next == 0 || view.plan.next > view.plan.cursor, "{what}");
        assert!(!view.plan.is_used_up() || view.plan.next == 0, "{what}");
    }
}

/// Every verb on every state of a schedule.
pub async fn every_verb_on_every_state(harness: &dyn Harness) {
    for stance in STANCES {
        for action in ACTIONS {
            let what = format!("{action:?} on {stance:?}");
            let world = World::new(harness).await;
            let (plan, next) = bring(&world, stance).await;
            let before = look(&world).await;
            let answer = act(&world, action, &plan, next).await;
            let after = look(&world).await;
            assert_eq!(answer, expected(stance, action), "{what}");
            if answer.is_err() || answer == Ok(Some(PutHow::Unchanged)) {
                assert_eq!(after, before, "{what}");
            }
            check_due(&world, &after, &what).await;
            let fires = matches!(action, Action::Fire | Action::ByHand | Action::Backfill);
            let more = u64::from(answer.is_ok() && fires);
            assert_eq!(after.ready, before.ready + more, "{what}");
            assert_eq!(
                after.records.len() as u64,
                before.records.len() as u64 + more,
                "{what}"
            );
        }
    }
}
