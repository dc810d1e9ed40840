//! An exhaustive model of claim, lease, fence and reclaim (I3, I4): one task, two executors, every order of events.
//!
//! Time has no numbers here: a lease that is not renewed may end at any moment, and whoever holds it may learn of that
//! late or never. The real rules must pass, and two broken ones must be caught.
mod model;

use model::{Claims, Fence};
use stateright::{Checker, Model};

/// States that are enough to say that the model is no toy.
const STATES_MIN: usize = 1_000;

fn check(claims: Claims) -> impl Checker<Claims> {
    claims.checker().spawn_bfs().join()
}

#[test]
fn a_fresh_token_for_every_claim_keeps_the_invariants() {
    let checked = check(Claims {
        fence: Fence::FreshToken,
    });
    checked.assert_properties();
    eprintln!("{} states", checked.unique_state_count());
    assert!(checked.unique_state_count() > STATES_MIN);
}

#[test]
fn the_attempt_as_a_token_lets_a_late_write_through() {
    let checked = check(Claims {
        fence: Fence::AttemptNumber,
    });
    let path = checked.discovery("only the holder of the lease ends the run");
    assert!(
        path.is_some(),
        "nothing was found in {} states",
        checked.unique_state_count()
    );
}

#[test]
fn reclaim_without_a_fence_lets_a_late_write_through() {
    let checked = check(Claims { fence: Fence::None });
    let path = checked.discovery("only the holder of the lease ends the run");
    assert!(
        path.is_some(),
        "nothing was found in {} states",
        checked.unique_state_count()
    );
}
