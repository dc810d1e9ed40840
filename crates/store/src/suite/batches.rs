//! Batches: their counts, and calls in which one task is bad.

use domain::{ErrorClass, Rejection, Status, TaskId, Token};

use super::Harness;
use super::world::{World, failure, origin, twice};
use crate::{Admitted, BatchCounts, Claimed, Finish, Heartbeat, NewTask, Operation, Verdict};

async fn counts(world: &World<'_>, batch: TaskId) -> BatchCounts {
    let mut counts = world.store.batch(batch).await.unwrap().unwrap();
    counts.by_status.retain(|_, count| *count > 0);
    counts
}

/// A batch counts its tasks by status, over all partitions, and is finished when all are terminal.
pub async fn a_batch_counts_its_tasks(harness: &dyn Harness) {
    let mut world = World::new(harness).await;
    let batch = TaskId::new(3, [9; 10]);
    let row = |world: &World<'_>, batch_row| NewTask {
        batch_id: Some(batch),
        batch_row,
        ..world.task()
    };
    assert_eq!(world.store.batch(batch).await.unwrap(), None);
    let bad = NewTask {
        rejected: Some("no".into()),
        ..row(&world, 1)
    };
    world.admit_all(&[bad, row(&world, 2), row(&world, 3)]).await;
    world.partition = 0;
    let far = world.create(row(&world, 4)).await;
    let before = counts(&world, batch).await;
    assert_eq!((before.total, before.finished()), (4, false));
    assert_eq!(
        before.by_status.into_iter().collect::<Vec<_>>(),
        [("dead", 1), ("pending", 3)]
    );
    world.operate(far, Operation::Cancel).await.unwrap();
    world.partition = 1;
    let ids = world.dispatch(64).await;
    for id in ids {
        let Claimed::Run { task, .. } = world.claim(id).await else {
            panic!("{id} does not run")
        };
        world.complete(id, task.lease_token.unwrap()).await.unwrap();
    }
    let after = counts(&world, batch).await;
    assert_eq!((after.total, after.finished()), (4, true));
    assert_eq!(
        after.by_status.into_iter().collect::<Vec<_>>(),
        [("cancelled", 1), ("dead", 1), ("success", 2)]
    );
}

/// A batch counts its tasks on when they were removed.
pub async fn a_batch_counts_what_was_removed(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let batch = TaskId::new(3, [9; 10]);
    let (id, token) = world
        .running_as(NewTask {
            batch_id: Some(batch),
            ..world.task()
        })
        .await;
    world.complete(id, token).await.unwrap();
    world.record_outbox(1).await;
    world.pass(2_000).await;
    assert_eq!(world.retain_after(1_000).await.tasks, 1);
    let counts = counts(&world, batch).await;
    assert_eq!((counts.total, counts.by_status["success"]), (1, 1));
}

/// Tasks that run, with a claim in one call that also names one that does not exist.
async fn running<const N: usize>(world: &World<'_>) -> [(TaskId, Token); N] {
    let new: Vec<_> = (0..N).map(|_| world.task()).collect();
    world.admit_all(&new).await;
    let mut ids: Vec<_> = new.iter().map(|task| task.id).collect();
    world.dispatch(N).await;
    ids.insert(1, world.id());
    let claimed = world.claim_all(&ids).await.items;
    assert_eq!(claimed[1], Claimed::Refused(Rejection::Missing));
    let leases = claimed.iter().filter_map(|claimed| match claimed {
        Claimed::Run { task, .. } => Some((task.id, task.lease_token?)),
        Claimed::Expired | Claimed::Refused(_) => None,
    });
    leases.collect::<Vec<_>>().try_into().unwrap()
}

const BAD: Token = Token([9; 16]);
const FENCED: Verdict = Err(Rejection::Fenced);
const MISSING: Verdict = Err(Rejection::Missing);
const ILLEGAL: Verdict = Err(Rejection::Illegal);

/// One bad task in a call of an executor fails alone, and the answers keep their order.
pub async fn one_bad_end_fails_alone(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let [a, b, c, d] = running::<4>(&world).await;
    let beats = world.beat(&[a, (b.0, BAD), c]).await;
    assert_eq!(beats[1], Heartbeat::Lost(Rejection::Fenced));
    assert_eq!((beats[0], beats[2]), (Heartbeat::Renewed, Heartbeat::Renewed));
    let end = |(id, token)| Finish {
        id,
        token,
        result: "r".into(),
        output: "".into(),
    };
    let ends = [end((a.0, BAD)), end((world.id(), BAD)), end(b)];
    let verdicts = twice!(world, complete(&origin(), &ends)).items;
    assert_eq!(verdicts, [FENCED, MISSING, Ok((Status::Success, 3))]);
    let ends = [b, c].map(|(id, token)| failure(id, token, ErrorClass::Transient, 0));
    let verdicts = twice!(world, fail(&origin(), &ends)).items;
    assert_eq!(verdicts, [ILLEGAL, Ok((Status::Retrying, 4))]);
    let verdicts = twice!(world, hand_back(&origin(), &[(a.0, BAD), d])).items;
    assert_eq!(verdicts, [FENCED, Ok((Status::Pending, 3))]);
    assert_eq!(world.complete(a.0, a.1).await, Ok((Status::Success, 3)));
}

/// One bad task in a call of an operator fails alone too.
pub async fn one_bad_operation_fails_alone(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let [a, b] = running::<2>(&world).await;
    world.complete(b.0, b.1).await.unwrap();
    let waits = world.create(world.task()).await;
    let ids = [b.0, world.id(), a.0, waits];
    let verdicts = twice!(world, operate(&origin(), Operation::Cancel, &ids)).items;
    assert_eq!(
        verdicts,
        [
            ILLEGAL,
            MISSING,
            Ok((Status::Running, 3)),
            Ok((Status::Cancelled, 2))
        ]
    );
    let verdicts = twice!(world, stopped(&origin(), &[(a.0, BAD), b, a])).items;
    assert_eq!(verdicts, [FENCED, ILLEGAL, Ok((Status::Cancelled, 4))]);
}

/// A full batch of the largest size passes through every verb.
pub async fn a_full_batch_passes(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let new: Vec<_> = (0..crate::BATCH_MAX).map(|_| world.task()).collect();
    let admitted = world.admit_all(&new).await;
    assert!(
        admitted
            .iter()
            .all(|answer| matches!(answer, Admitted::Created { .. }))
    );
    let ids = world.dispatch(crate::BATCH_MAX).await;
    assert_eq!(ids, new.iter().map(|task| task.id).collect::<Vec<_>>());
    let claimed = world.claim_all(&ids).await;
    assert_eq!(claimed.outbox.unwrap().events.len(), crate::BATCH_MAX);
    let end = |claimed: &Claimed| match claimed {
        Claimed::Run { task, .. } => Finish {
            id: task.id,
            token: task.lease_token.unwrap(),
            result: "r".into(),
            output: "".into(),
        },
        other => panic!("{other:?}"),
    };
    let ends: Vec<_> = claimed.items.iter().map(end).collect();
    let verdicts = twice!(world, complete(&origin(), &ends)).items;
    assert_eq!(verdicts, vec![Ok((Status::Success, 3)); crate::BATCH_MAX]);
}

/// A call without tasks is answered, and changes nothing.
pub async fn an_empty_call_is_answered(harness: &dyn Harness) {
    let world = World::new(harness).await;
    assert_eq!(world.admit_all(&[]).await, []);
    assert_eq!(world.claim_all(&[]).await.items, []);
    assert_eq!(world.beat(&[]).await, []);
    assert_eq!(twice!(world, complete(&origin(), &[])).items, []);
    assert_eq!(twice!(world, undispatch(&[])).count, 0);
    assert_eq!(world.store.outbox(world.partition, 0, 10).await.unwrap(), []);
    assert_eq!(twice!(world, sweep()), []);
}
