//! Faults that a simulation puts into an executor on purpose, to see that it finds them. Without the feature
//! `simulation` there is nothing here.

use crate::Executor;

/// A fault.
#[cfg(feature = "simulation")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    /// A hint is acked before its tasks are claimed.
    AckBeforeClaim,
    /// A run that ended never gives its slot back.
    ForgetSlot,
}

#[cfg(feature = "simulation")]
impl Executor {
    pub(crate) fn acks_first(&self) -> bool {
        self.mutation == Some(Mutation::AckBeforeClaim)
    }

    pub(crate) fn forgets_slots(&self) -> bool {
        self.mutation == Some(Mutation::ForgetSlot)
    }
}

#[cfg(not(feature = "simulation"))]
#[allow(clippy::unused_self)]
impl Executor {
    pub(crate) const fn acks_first(&self) -> bool {
        false
    }

    pub(crate) const fn forgets_slots(&self) -> bool {
        false
    }
}
