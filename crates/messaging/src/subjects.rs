//! The names on the wire: one function for each subject, so that no other place spells one.

use domain::{Tier, valid_pool};

use crate::Error;

/// Requests that want tasks admitted, and an answer.
pub const ADMIT: &str = "gengfu.admit";
/// Nudges that the control state changed.
pub const CONTROL: &str = "gengfu.control";
/// Slot reports of all pools.
pub const SLOTS_ALL: &str = "gengfu.slots.*";

/// Questions to every process about itself.
pub const VITALS: &str = "gengfu.vitals";

/// Submissions without an answer.
#[must_use]
pub fn submit(tier: Tier) -> String {
    format!("gengfu.submit.{tier}")
}

/// Hints that a queue is not empty any more.
#[must_use]
pub fn ready(tier: Tier) -> String {
    format!("gengfu.ready.{tier}")
}

/// Hints that tasks may be claimed.
///
/// # Errors
/// The name can't be a pool's.
pub fn work(pool: &str, tier: Tier) -> Result<String, Error> {
    Ok(format!("gengfu.work.{}.{tier}", checked(pool)?))
}

/// What happened in a partition.
#[must_use]
pub fn events(partition: domain::Partition) -> String {
    format!("gengfu.events.{partition}")
}

/// Free slots of a pool's executors.
///
/// # Errors
/// The name can't be a pool's.
pub fn slots(pool: &str) -> Result<String, Error> {
    Ok(format!("gengfu.slots.{}", checked(pool)?))
}

/// Nudges to one executor. What can't stand in a subject's token is replaced by `_`.
#[must_use]
pub fn stop(executor_id: &str) -> String {
    format!("gengfu.stop.{}", token(executor_id))
}

/// Questions to one executor about its runs.
#[must_use]
pub fn probe(executor_id: &str) -> String {
    format!("gengfu.probe.{}", token(executor_id))
}

fn token(executor_id: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    executor_id
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect()
}

fn checked(pool: &str) -> Result<&str, Error> {
    if valid_pool(pool) {
        Ok(pool)
    } else {
        Err(Error::InvalidPool(pool.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_those_of_the_design() {
        assert_eq!(submit(Tier::Low), "gengfu.submit.low");
        assert_eq!(ready(Tier::Critical), "gengfu.ready.critical");
        assert_eq!(work("gpu-1", Tier::High).unwrap(), "gengfu.work.gpu-1.high");
        assert_eq!(events(15), "gengfu.events.15");
        assert_eq!(slots("default").unwrap(), "gengfu.slots.default");
    }

    #[test]
    fn a_pool_is_one_token() {
        for bad in ["", "a.b", "*", ">", "a b", "A", "-a", "池"] {
            assert!(work(bad, Tier::Low).is_err(), "{bad:?}");
            assert!(slots(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_executor_is_one_token() {
        assert_eq!(stop("node.example-7 *>"), "gengfu.stop.node_example-7___");
    }
}
