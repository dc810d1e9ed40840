//! Instants become records, and fires become tasks, each exactly once (I7).

use domain::{Overlap, Status, SubState, TriggerOutcome};

use super::Harness;
use super::plan_world::{MINUTE, passed_over, step_over};
use super::world::{World, origin};
use crate::{Error, Firing, Hint, LastFired, LastTrigger, NewTask, NewTrigger, PlanRefusal};
use crate::{PutSchedule, Seen, Trigger};

/// A fire is a record, a task, and a cursor that moved, all of one call.
pub async fn a_fire_is_a_record_and_a_task(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Allow).await;
    world.pass(MINUTE).await;
    let firing = world.next_fire(&plan);
    let reply = world.fire_all(std::slice::from_ref(&firing)).await;
    let fired = reply.items[0].clone().unwrap();
    let id = firing.records[0].task.as_ref().unwrap().id;
    let told = &fired.records[0];
    assert_eq!(
        (told.planned_at, told.outcome, told.task),
        (plan.next, TriggerOutcome::Fired, Some(id))
    );
    assert_eq!((told.hint, told.blocked, told.fresh), (Hint::Ready, false, true));
    let after = fired.plan;
    assert_eq!(
        (after.cursor, after.next, after.due, after.fires),
        (plan.next, firing.next, firing.due, 1)
    );
    assert_eq!(world.plan(&plan.name).await, after);
    let task = world.record(id).await;
    assert_eq!(
        (task.schedule_id.as_str(), task.planned_at),
        (plan.name.as_str(), plan.next)
    );
    assert_eq!(world.status(id).await, (Status::Pending, Some(SubState::Ready)));
    let event = &reply.outbox.unwrap().events[0];
    assert_eq!(
        (event.task_id, event.to, event.schedule_id.as_str()),
        (id, Status::Pending, plan.name.as_str())
    );
    let token = world.start(id).await;
    assert_eq!(world.complete(id, token).await, Ok((Status::Success, 3)));
}

/// The record of a fire says when and what, and the plan shows it as its last.
pub async fn a_fire_is_seen_in_ledger_and_plan(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Allow).await;
    world.pass(MINUTE).await;
    let firing = world.next_fire(&plan);
    let reply = world.fire_all(std::slice::from_ref(&firing)).await;
    let (planned_at, at) = (plan.next, reply.now);
    let (outcome, reason) = (TriggerOutcome::Fired, String::new());
    let task = firing.records[0].task.as_ref().unwrap().id;
    let record = Trigger {
        incarnation: plan.incarnation,
        planned_at,
        to: planned_at,
        count: 1,
        outcome,
        reason: reason.clone(),
        at,
        task: Some(task),
        manual: false,
    };
    assert_eq!(world.records(&plan.name).await, [record]);
    let last = LastTrigger {
        planned_at,
        at,
        outcome,
        reason,
    };
    let last_fired = LastFired { planned_at, at, task };
    let after = world.plan(&plan.name).await;
    assert_eq!((after.last, after.last_fired), (Some(last), Some(last_fired)));
}

/// Of two schedulers with one cursor one fires; the other is refused, and does nothing.
pub async fn two_schedulers_with_one_cursor_fire_once(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Allow).await;
    world.pass(MINUTE).await;
    let (one, two) = (world.next_fire(&plan), world.next_fire(&plan));
    let (partition, who) = (world.partition, origin());
    let (one, two) = ([one], [two]);
    let (first, second) = tokio::join!(
        world.store.fire(partition, world.nonce(), &who, &one),
        world.store.fire(partition, world.nonce(), &who, &two),
    );
    let answers = [first.unwrap().items.remove(0), second.unwrap().items.remove(0)];
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    assert!(answers.contains(&Err(PlanRefusal::Moved)), "{answers:?}");
    assert_eq!(world.records(&plan.name).await.len(), 1);
    assert_eq!(world.ready().await.0, 1);
    assert_eq!(world.plan(&plan.name).await.fires, 1);
}

/// A firing that is refused does nothing, and those beside it in the call are done.
pub async fn a_refused_firing_leaves_the_others_alone(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let mut plans = Vec::new();
    for number in 1..=3 {
        let draft = world.draft(number, Overlap::Skip).await;
        plans.push(world.put(&draft).await.unwrap().plan);
    }
    world.pass(MINUTE).await;
    let mut firings: Vec<_> = plans.iter().map(|plan| world.next_fire(plan)).collect();
    firings[1].seen = Seen {
        version: 7,
        ..firings[1].seen
    };
    let answers = world.fire_all(&firings).await.items;
    assert_eq!(answers[1], Err(PlanRefusal::Moved));
    assert!(answers[0].is_ok() && answers[2].is_ok(), "{answers:?}");
    let fires = [1, 0, 1];
    for (plan, count) in plans.iter().zip(fires) {
        assert_eq!(world.plan(&plan.name).await.fires, count);
        assert_eq!(world.records(&plan.name).await.len() as u64, count);
    }
    let refused = firings[1].records[0].task.as_ref().unwrap().id;
    assert_eq!(world.store.get(refused).await.unwrap(), None);
    assert_eq!(world.ready().await.0, 2);
}

/// A cursor past the store's clock is refused, whatever the caller's clock says (I11).
pub async fn a_fire_past_the_clock_is_refused(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Allow).await;
    assert_eq!(
        world.fire(&world.next_fire(&plan)).await,
        Err(PlanRefusal::NotDue)
    );
    assert_eq!(
        (world.plan(&plan.name).await, world.records(&plan.name).await),
        (plan, Vec::new())
    );
}

/// A decision stays until a firing changes it or the definition does; nobody changes it who did not see it.
pub async fn a_decision_is_kept_until_it_is_carried_out(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Allow).await;
    world.pass(2 * MINUTE).await;
    let decide = |plan: &crate::Plan, decision: &'static [u8]| Firing {
        cursor: plan.cursor,
        next: plan.next,
        due: plan.due,
        decision: decision.into(),
        ..step_over(plan)
    };
    let decided = world.fire(&decide(&plan, b"skip\0\xff")).await.unwrap().plan;
    assert_eq!(
        (decided.decision.as_ref(), decided.decisions),
        (b"skip\0\xff".as_slice(), 1)
    );
    assert_eq!(
        (decided.cursor, decided.next, decided.due),
        (plan.cursor, plan.next, plan.due)
    );
    assert_eq!(world.plan(&plan.name).await, decided);
    assert_eq!(world.fire(&world.next_fire(&plan)).await, Err(PlanRefusal::Moved));
    let fired = world.fire(&world.next_fire(&decided)).await.unwrap().plan;
    assert_eq!((fired.decision.clone(), fired.decisions), (decided.decision, 1));
    let done = world.fire(&decide(&fired, b"")).await.unwrap().plan;
    assert_eq!((done.decision.len(), done.decisions), (0, 2));
    let again = world.fire(&decide(&done, b"fire once")).await.unwrap().plan;
    let other = PutSchedule {
        spec: "other".into(),
        seen: Some(again.seen()),
        ..world.draft(1, Overlap::Allow).await
    };
    let stale = PutSchedule {
        seen: Some(done.seen()),
        ..other.clone()
    };
    assert_eq!(world.put(&stale).await, Err(PlanRefusal::Moved));
    assert_eq!(world.put(&other).await.unwrap().plan.decision.len(), 0);
    let too_long = Firing {
        decision: vec![b'x'; crate::DECISION_BYTES + 1].into(),
        ..decide(&again, b"")
    };
    let answer = world
        .store
        .fire(world.partition, world.nonce(), &origin(), &[too_long])
        .await;
    assert!(matches!(answer, Err(Error::Corrupt(_))), "{answer:?}");
}

/// Where the instant's key has a task already, that one is the fire's: never two.
pub async fn a_known_key_makes_no_second_task(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Skip).await;
    let before = world.create(world.planned_task(&plan, plan.next)).await;
    world.pass(MINUTE).await;
    let mut firing = world.next_fire(&plan);
    firing.records[0].task.as_mut().unwrap().payload_sha256 = [8; 32];
    let told = world.fire(&firing).await.unwrap().records.remove(0);
    assert_eq!(
        (told.outcome, told.task, told.hint),
        (TriggerOutcome::Fired, Some(before), Hint::None)
    );
    assert_eq!(world.records(&plan.name).await[0].task, Some(before));
    assert_eq!(world.ready().await.0, 1);
}

/// A slice of as many records as a call takes, of all outcomes and a range.
pub async fn a_full_slice_passes(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Allow).await;
    world.pass(80 * MINUTE).await;
    let at = |n: i64| plan.next + n * MINUTE;
    let mut records: Vec<_> = (0..62).map(|n| world.fired_at(&plan, at(n))).collect();
    records.push(passed_over(at(62), 1, TriggerOutcome::Missed, "too late"));
    records.push(passed_over(at(63), 10, TriggerOutcome::Skipped, "paused"));
    let firing = Firing {
        cursor: at(72),
        next: at(73),
        due: at(73),
        records,
        ..step_over(&plan)
    };
    let fired = world.fire(&firing).await.unwrap();
    assert_eq!((fired.plan.fires, fired.records.len()), (62, 64));
    assert_eq!(world.ready().await.0, 62);
    let kept = world.records(&plan.name).await;
    assert_eq!(
        kept.iter().map(|record| record.count).sum::<u32>(),
        73,
        "one for each planned instant"
    );
    let range = kept.last().unwrap();
    assert_eq!(
        (range.planned_at, range.to, range.outcome),
        (at(63), at(72), TriggerOutcome::Skipped)
    );
    let last = fired.plan.last.unwrap();
    assert_eq!((last.planned_at, last.reason.as_str()), (at(72), "paused"));
    assert_eq!(fired.plan.last_fired.unwrap().planned_at, at(61));
}

/// A fire takes the short way where nothing waits, as an admission does; rejected input is dead at once.
pub async fn a_fire_is_admitted_as_any_task(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Queue).await;
    world.pass(2 * MINUTE).await;
    let with = |number: i64, how: fn(&mut NewTask)| {
        let mut record = world.fired_at(&plan, plan.next + number * MINUTE);
        record.task.as_mut().map(how).unwrap();
        record
    };
    let dead = with(0, |task| task.rejected = Some("no room_id".into()));
    let short = with(1, |task| task.direct = true);
    let firing = Firing {
        cursor: plan.next + MINUTE,
        next: plan.next + 9 * MINUTE,
        due: plan.next + 9 * MINUTE,
        records: vec![dead, short],
        ..step_over(&plan)
    };
    let told = world.fire(&firing).await.unwrap().records;
    assert_eq!((told[0].hint, told[1].hint), (Hint::None, Hint::Work));
    assert_eq!(world.status(told[0].task.unwrap()).await, (Status::Dead, None));
    let id = told[1].task.unwrap();
    assert_eq!(
        world.status(id).await,
        (Status::Pending, Some(SubState::Dispatched))
    );
    assert_eq!(
        world.live(&plan.name).await,
        [(id, false)],
        "the dead one does not live"
    );
}

/// What no scan can mean fails the whole call: cursors that go back, records outside them, fires without tasks.
pub async fn a_firing_that_makes_no_sense_is_an_error(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let plan = world.schedule(Overlap::Allow).await;
    world.pass(2 * MINUTE).await;
    let good = world.next_fire(&plan);
    let with = |how: &dyn Fn(&mut Firing)| {
        let mut firing = good.clone();
        how(&mut firing);
        firing
    };
    let bad = [
        with(&|firing| firing.cursor = plan.cursor - 1),
        with(&|firing| firing.next = firing.cursor),
        with(&|firing| firing.due = firing.next - 1),
        with(&|firing| firing.records[0].planned_at = plan.cursor),
        with(&|firing| firing.records[0].to = firing.cursor + 1),
        with(&|firing| firing.records.push(firing.records[0].clone())),
        with(&|firing| firing.records[0].task = None),
        with(&|firing| firing.records[0].outcome = TriggerOutcome::Missed),
        with(&|firing| firing.records[0].count = 2),
        with(&|firing| firing.records[0].manual = true),
        with(&|firing| firing.records[0].task.as_mut().unwrap().schedule_id.clear()),
        with(&|firing| firing.records[0].task.as_mut().unwrap().id = domain::TaskId::new(5, [0; 10])),
        with(&|firing| {
            firing.records = vec![NewTrigger {
                count: 0,
                ..passed_over(plan.next, 1, TriggerOutcome::Missed, "")
            }]
        }),
    ];
    for firing in bad {
        let nonce = world.nonce();
        let answer = world
            .store
            .fire(world.partition, nonce, &origin(), std::slice::from_ref(&firing))
            .await;
        assert!(matches!(answer, Err(Error::Corrupt(_))), "{firing:?} {answer:?}");
    }
    assert_eq!(world.plan(&plan.name).await, plan);
    assert!(world.fire(&good).await.is_ok());
}
