//! One live lease a task, and nobody writes with another's token (I3).

use domain::{ErrorClass, Rejection, Status, Token};

use super::Harness;
use super::world::{FENCED, LEASE_MS, World};
use crate::{Claimed, Heartbeat};

/// Each verb of an executor is refused with a token that is not the lease's, and changes nothing.
pub async fn a_wrong_token_writes_nothing(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = world.running().await;
    let before = world.view(id).await;
    let mut wrong = token;
    wrong.0[15] ^= 1;
    assert_eq!(world.complete(id, wrong).await, FENCED);
    assert_eq!(world.fail(id, wrong, ErrorClass::Transient, 0).await, FENCED);
    assert_eq!(world.fail(id, wrong, ErrorClass::Timeout, 0).await, FENCED);
    assert_eq!(world.hand_back(id, wrong).await, FENCED);
    assert_eq!(world.stopped(id, wrong).await, FENCED);
    assert_eq!(
        world.beat(&[(id, wrong)]).await,
        [Heartbeat::Lost(Rejection::Fenced)]
    );
    assert_eq!(world.view(id).await, before);
    assert_eq!(world.complete(id, token).await, Ok((Status::Success, 3)));
}

/// After a reclaim the first executor's token is worthless, also once another runs the task.
pub async fn a_lost_lease_stays_lost(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, old) = world.running().await;
    world.pass(LEASE_MS + 1_000).await;
    assert_eq!(world.reclaim().await.len(), 1);
    assert_eq!(world.complete(id, old).await, Err(Rejection::Illegal));
    assert_eq!(
        world.beat(&[(id, old)]).await,
        [Heartbeat::Lost(Rejection::Illegal)]
    );
    let new = world.start(id).await;
    assert_eq!(world.complete(id, old).await, FENCED);
    assert_eq!(
        world.beat(&[(id, old)]).await,
        [Heartbeat::Lost(Rejection::Fenced)]
    );
    assert_eq!(world.complete(id, new).await, Ok((Status::Success, 6)));
    assert_eq!(world.view(id).await.result, "done");
}

/// The number in the tokens of a partition grows with each claim, and the caller's random bytes follow it.
pub async fn tokens_grow(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let mut last = 0;
    let ids = [world.create(world.task()).await, world.create(world.task()).await];
    world.dispatch(2).await;
    let mut tokens: Vec<Token> = Vec::new();
    for claimed in world.claim_all(&ids).await.items {
        let Claimed::Run { task, .. } = claimed else {
            panic!("{claimed:?}");
        };
        tokens.extend(task.lease_token);
    }
    tokens.push(world.running().await.1);
    for token in tokens {
        assert!(token.number() > last, "{token:?} after {last}");
        last = token.number();
        let random = u64::from_be_bytes(token.0[8..].try_into().unwrap());
        assert!(random < 1_000, "the suite counts in the random bytes: {token:?}");
    }
}

/// Who claims a task that another claimed first is refused.
pub async fn a_task_is_claimed_once(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, _) = world.running().await;
    assert_eq!(world.claim(id).await, Claimed::Refused(Rejection::Illegal));
}

/// Writes to what does not exist are refused.
pub async fn a_missing_task_is_missing(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = (world.id(), Token([1; 16]));
    let missing = Err(Rejection::Missing);
    assert_eq!(world.claim(id).await, Claimed::Refused(Rejection::Missing));
    assert_eq!(world.complete(id, token).await, missing);
    assert_eq!(world.fail(id, token, ErrorClass::Transient, 0).await, missing);
    assert_eq!(world.hand_back(id, token).await, missing);
    assert_eq!(world.stopped(id, token).await, missing);
    assert_eq!(world.operate(id, crate::Operation::Cancel).await, missing);
    assert_eq!(
        world.beat(&[(id, token)]).await,
        [Heartbeat::Lost(Rejection::Missing)]
    );
    assert_eq!(world.store.timeline(id).await.unwrap(), []);
    assert_eq!(world.store.output(id, None).await.unwrap(), None);
}
