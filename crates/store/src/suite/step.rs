//! Random sequences of verbs, as proptest makes and shrinks them: small numbers that a play turns into calls.
//!
//! Every length of time here is 0 or 10 s past a multiple of 20 s, and time moves in steps of 20 s. So no decision of a
//! store hangs on the milliseconds that a real one spends between two calls.

use domain::{ErrorClass, Tier};
use proptest::collection::vec;
use proptest::prelude::*;

use super::plan_step::{PlanStep, plan_step};

/// One move of time.
pub(super) const ADVANCE_MS: i64 = 20_000;
/// The fleet's lease in random sequences.
pub(super) const LEASE_MS: i64 = 70_000;
/// What times are rounded to before they are compared.
pub(super) const GRAIN_MS: i64 = 10_000;

/// A task by its number among those submitted, and whether an older token than its newest is used.
pub(super) type Pick = (u8, bool);

/// A submission.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) task_type: u8,
    pub(super) tier: Tier,
    pub(super) key: Option<u8>,
    pub(super) payload: u8,
    pub(super) delay_ms: i64,
    /// From the start of the sequence.
    pub(super) at: Option<i64>,
    pub(super) expire_after_ms: i64,
    pub(super) key_window_ms: i64,
    pub(super) max_retry: u16,
    pub(super) max_lost: u16,
    pub(super) batch: bool,
    pub(super) rejected: bool,
    pub(super) direct: bool,
}

/// How a run ends, or goes on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Say {
    Heartbeat,
    Complete,
    Fail(ErrorClass, i64),
    HandBack,
    Stopped,
}

/// What an operator does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Will {
    Cancel,
    Retry(Option<u16>),
    Reset(Option<u16>),
    /// A new limit, a due time from the start of the sequence.
    Set(Option<u16>, Option<i64>),
}

/// One step of a sequence.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Admit(Vec<Draft>),
    Dispatch {
        tier: Tier,
        limit: usize,
        oldest: bool,
    },
    /// Claims what was dispatched and is not claimed yet.
    ClaimHinted,
    Claim(Vec<u8>),
    Undispatch(Vec<u8>),
    Say(Say, Vec<Pick>),
    Operate(Will, Vec<u8>),
    Release,
    Reclaim,
    Pause {
        task_type: u8,
        paused: bool,
    },
    /// Records what waits in the outbox, and removes it there.
    Record,
    /// Records, and removes what ended long ago.
    Retain,
    /// Looks for what does not fit: there is nothing.
    Sweep,
    Plan(PlanStep),
    Advance(u8),
}

fn tier() -> impl Strategy<Value = Tier> {
    prop_oneof![3 => Just(Tier::Normal), 1 => Just(Tier::Low)]
}

fn wait_ms() -> impl Strategy<Value = i64> {
    prop_oneof![4 => Just(0), 1 => Just(10_000), 1 => Just(30_000)]
}

fn instant() -> impl Strategy<Value = Option<i64>> {
    prop::option::weighted(0.2, prop_oneof![Just(10_000), Just(50_000), Just(130_000)])
}

fn limit() -> impl Strategy<Value = Option<u16>> {
    prop::option::of(0..3_u16)
}

pub(super) fn draft() -> impl Strategy<Value = Draft> {
    let where_to = (0..3_u8, tier(), prop::option::weighted(0.3, 0..3_u8), 0..2_u8);
    let when = (
        wait_ms(),
        instant(),
        prop_oneof![4 => Just(0), 1 => Just(30_000), 1 => Just(90_000)],
        prop_oneof![1 => Just(0), 2 => Just(70_000)],
    );
    let limits = (0..3_u16, 1..3_u16);
    let flags = (
        any::<bool>(),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.3),
    );
    (where_to, when, limits, flags).prop_map(
        |((task_type, tier, key, payload), (delay_ms, at, expire_after_ms, key_window_ms), limits, flags)| {
            Draft {
                task_type,
                tier,
                key,
                payload,
                delay_ms,
                at,
                expire_after_ms,
                key_window_ms,
                max_retry: limits.0,
                max_lost: limits.1,
                batch: flags.0,
                rejected: flags.1,
                direct: flags.2,
            }
        },
    )
}

fn say() -> impl Strategy<Value = Say> {
    let class = prop_oneof![
        4 => Just(ErrorClass::Transient),
        1 => Just(ErrorClass::Deterministic),
        2 => Just(ErrorClass::Timeout),
        1 => Just(ErrorClass::Lost),
    ];
    prop_oneof![
        2 => Just(Say::Heartbeat),
        2 => Just(Say::Complete),
        3 => (class, wait_ms()).prop_map(|(class, delay)| Say::Fail(class, delay)),
        1 => Just(Say::HandBack),
        1 => Just(Say::Stopped),
    ]
}

fn will() -> impl Strategy<Value = Will> {
    prop_oneof![
        2 => Just(Will::Cancel),
        2 => limit().prop_map(Will::Retry),
        2 => limit().prop_map(Will::Reset),
        1 => (limit(), instant()).prop_map(|(limit, at)| Will::Set(limit, at)),
    ]
}

fn pick() -> impl Strategy<Value = Pick> {
    (any::<u8>(), prop::bool::weighted(0.1))
}

fn step() -> impl Strategy<Value = Step> {
    let some = || vec(any::<u8>(), 1..4);
    prop_oneof![
        5 => vec(draft(), 1..4).prop_map(Step::Admit),
        4 => (tier(), 1..6_usize, any::<bool>())
            .prop_map(|(tier, limit, oldest)| Step::Dispatch { tier, limit, oldest }),
        5 => Just(Step::ClaimHinted),
        1 => some().prop_map(Step::Claim),
        1 => some().prop_map(Step::Undispatch),
        6 => (say(), vec(pick(), 1..5)).prop_map(|(say, picks)| Step::Say(say, picks)),
        3 => (will(), some()).prop_map(|(will, ids)| Step::Operate(will, ids)),
        3 => Just(Step::Release),
        2 => Just(Step::Reclaim),
        1 => (0..3_u8, any::<bool>()).prop_map(|(task_type, paused)| Step::Pause { task_type, paused }),
        1 => Just(Step::Record),
        1 => Just(Step::Retain),
        1 => Just(Step::Sweep),
        10 => plan_step().prop_map(Step::Plan),
        4 => (1..5_u8).prop_map(Step::Advance),
    ]
}

/// Sequences of steps.
pub(super) fn sequence() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..80)
}
