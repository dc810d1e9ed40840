//! Faults put in on purpose: each must be found.

/// One thing that is done wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutation {
    /// The store takes any token for that of the lease (I3).
    SkipFence,
    /// The executor acks a hint before it claims (rule 2 of the design).
    AckBeforeClaim,
    /// The store decides by the clock of the host that asks (I11).
    TrustHostClock,
    /// The executor never gives a slot back, so that its window closes (I5).
    ForgetSlot,
    /// The scheduler's reclaim heeds no outage (I4).
    ReclaimAfterOutage,
    /// A call that is played again looks like a new one (I12).
    ReplyLostWithoutNonce,
    /// A dispatched task whose hint is lost waits for ever (I5).
    DispatchWithoutLease,
}

impl Mutation {
    pub(crate) const ALL: [Self; 7] = [
        Self::SkipFence,
        Self::AckBeforeClaim,
        Self::TrustHostClock,
        Self::ForgetSlot,
        Self::ReclaimAfterOutage,
        Self::ReplyLostWithoutNonce,
        Self::DispatchWithoutLease,
    ];

    /// The invariants of which one must be seen broken.
    pub(crate) const fn breaks(self) -> &'static [&'static str] {
        match self {
            Self::SkipFence => &["I3"],
            Self::AckBeforeClaim => &["rule 2"],
            Self::TrustHostClock => &["I4", "I11"],
            Self::ForgetSlot | Self::DispatchWithoutLease => &["I5"],
            Self::ReclaimAfterOutage => &["I4"],
            Self::ReplyLostWithoutNonce => &["I12"],
        }
    }
}
