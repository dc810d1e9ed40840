//! A store that lost its data, or was replaced, does nothing more for who knew the old one.

use domain::Overlap;

use super::Harness;
use super::world::{LEASE_MS, World, origin, spec};
use crate::{Claim, Epoch, Error, Finish, Operation, PutSchedule, Standing};

/// That a call did nothing because the store is another.
macro_rules! lost {
    ($call:expr) => {{
        let answer = $call.await;
        assert!(
            matches!(answer, Err(Error::Lost(_))),
            "{}: {answer:?}",
            stringify!($call)
        );
    }};
}

async fn epoch_of(world: &World<'_>) -> Epoch {
    match world.store.standing().await.unwrap() {
        Standing::Whole(epoch) => epoch,
        other => panic!("{other:?}"),
    }
}

/// The first word on a store's epoch stands.
pub async fn a_new_store_has_an_epoch_and_keeps_it(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let epoch = epoch_of(&world).await;
    let late = world.store.found(&Epoch::new([9; 8])).await.unwrap();
    assert_eq!((late, epoch_of(&world).await), (epoch.clone(), epoch));
    assert_eq!(world.store.condemned(), None);
}

/// No verb of who knew the old life does anything to an empty store.
pub async fn a_store_that_lost_its_data_does_nothing_more(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = world.running().await;
    let new = world.task();
    let (store, partition, by) = (&world.store, world.partition, origin());
    let ends = [Finish {
        id,
        token,
        result: "".into(),
        output: "".into(),
    }];
    let claim = Claim {
        executor_id: "e".into(),
        lease_ms: LEASE_MS,
        items: Vec::new(),
    };
    let schedule = PutSchedule {
        name: "nightly".into(),
        spec: "s".into(),
        overlap: Overlap::Allow,
        queue_max: 1,
        max_fires: 0,
        seen: None,
        anchor: store.ping().await.unwrap(),
        next: 0,
        due: 0,
        owed: Vec::new(),
    };
    let home = domain::schedule_partition("nightly", store.partitions());
    world.lose().await;
    assert_eq!(store.standing().await.unwrap(), Standing::New);
    lost!(store.admit(partition, world.nonce(), &by, std::slice::from_ref(&new)));
    lost!(store.claim(partition, world.nonce(), &by, &claim));
    lost!(store.heartbeat(partition, world.nonce(), LEASE_MS, &[(id, token)]));
    lost!(store.complete(partition, world.nonce(), &by, &ends));
    lost!(store.operate(partition, world.nonce(), &by, Operation::Cancel, &[id]));
    lost!(store.reclaim(partition, world.nonce(), &by, LEASE_MS));
    lost!(store.put_schedules(home, world.nonce(), &by, std::slice::from_ref(&schedule)));
    lost!(store.put_types(&[spec("a.b", false)]));
    lost!(store.put_calendars(&[("c".into(), "{}".into())]));
    assert_eq!(
        store.standing().await.unwrap(),
        Standing::New,
        "nothing was written"
    );
}

/// A store that began anew is used only by who took its epoch.
pub async fn another_epoch_is_not_taken_for_the_old_one(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let first = epoch_of(&world).await;
    world.lose().await;
    let second = world.store.found(&Epoch::new([9; 8])).await.unwrap();
    assert!(second != first && epoch_of(&world).await == second);
    let new = world.task();
    lost!(world.store.admit(
        world.partition,
        world.nonce(),
        &origin(),
        std::slice::from_ref(&new)
    ));
    world.store.adopt(&second);
    world.create(new).await;
}

/// What the watch said shows on every look, until it takes it back.
pub async fn what_is_said_to_be_lost_is_not_ready(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let epoch = epoch_of(&world).await;
    world.store.condemn("it is gone");
    assert_eq!(world.store.condemned().as_deref(), Some("it is gone"));
    let said = world.store.ping().await.unwrap_err().to_string();
    assert!(
        said.contains("store_lost") && said.contains("gengfu restore"),
        "{said}"
    );
    world.store.adopt(&epoch);
    assert_eq!(world.store.condemned(), None);
    world.store.ping().await.unwrap();
}
