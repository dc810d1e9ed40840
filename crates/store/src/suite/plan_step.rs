//! Steps of random sequences that concern schedules. Their planned instants lie 10 s past every multiple of 20 s, and
//! cursors and anchors on the multiples.

use domain::{Overlap, TriggerOutcome};
use proptest::collection::vec;
use proptest::prelude::*;

use super::step::{Draft, draft};

/// Schedules of a sequence.
pub(super) const SCHEDULES: u8 = 3;
/// From one planned instant to the next.
pub(super) const EVERY_MS: i64 = 20_000;
/// From a multiple to the planned instant after it.
pub(super) const OFFSET_MS: i64 = 10_000;

/// What a caller says that it saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    Right,
    /// No schedule; for a firing another version.
    Unseen,
    /// An older cursor.
    Stale,
    /// Another incarnation.
    Stranger,
}

/// A schedule to put.
#[derive(Debug, Clone)]
pub(super) struct PutDraft {
    pub(super) schedule: u8,
    pub(super) spec: u8,
    pub(super) overlap: Overlap,
    pub(super) queue_max: u16,
    pub(super) max_fires: u64,
    pub(super) sight: Sight,
    /// Whether the anchor is another host's.
    pub(super) astray: bool,
    pub(super) owes: bool,
}

/// A cursor to move, by an instant for each record.
#[derive(Debug, Clone)]
pub(super) struct FireDraft {
    pub(super) schedule: u8,
    pub(super) sight: Sight,
    pub(super) records: Vec<(TriggerOutcome, Draft)>,
    /// How many instants a range at the end stands for; 0: none.
    pub(super) range: u8,
    /// Whether no instant comes after it.
    pub(super) ends: bool,
    pub(super) decision: u8,
}

/// A record by hand: of a planned instant by its number, or of now by its key.
#[derive(Debug, Clone)]
pub(super) enum HandDraft {
    Backfill(u8, Draft),
    Manual(u8, Draft),
}

/// One step.
#[derive(Debug, Clone)]
pub(super) enum PlanStep {
    Put(Vec<PutDraft>),
    Remove(Vec<u8>),
    Pause(Vec<u8>),
    Resume(Vec<u8>),
    Fire(Vec<FireDraft>),
    ByHand {
        schedule: u8,
        stranger: bool,
        records: Vec<HandDraft>,
    },
    /// Removes records that were written long ago.
    Retain,
}

fn sight() -> impl Strategy<Value = Sight> {
    prop_oneof![
        12 => Just(Sight::Right),
        1 => Just(Sight::Unseen),
        1 => Just(Sight::Stale),
        1 => Just(Sight::Stranger),
    ]
}

fn overlap() -> impl Strategy<Value = Overlap> {
    prop_oneof![
        1 => Just(Overlap::Allow),
        2 => Just(Overlap::Skip),
        3 => Just(Overlap::Queue),
        3 => Just(Overlap::CancelPrevious),
    ]
}

fn outcome() -> impl Strategy<Value = TriggerOutcome> {
    prop_oneof![
        8 => Just(TriggerOutcome::Fired),
        1 => Just(TriggerOutcome::Skipped),
        1 => Just(TriggerOutcome::Missed),
    ]
}

fn put() -> impl Strategy<Value = PutDraft> {
    let what = (
        0..2_u8,
        overlap(),
        0..3_u16,
        prop_oneof![4 => Just(0_u64), 1 => Just(2)],
    );
    let how = (sight(), prop::bool::weighted(0.05), any::<bool>());
    (0..SCHEDULES, what, how).prop_map(|(schedule, what, how)| PutDraft {
        schedule,
        spec: what.0,
        overlap: what.1,
        queue_max: what.2,
        max_fires: what.3,
        sight: how.0,
        astray: how.1,
        owes: how.2,
    })
}

fn fire() -> impl Strategy<Value = FireDraft> {
    let records = vec((outcome(), draft()), 0..4);
    let end = (
        prop_oneof![4 => Just(0_u8), 1 => 2..5_u8],
        prop::bool::weighted(0.05),
        prop_oneof![6 => Just(0_u8), 1 => 1..3_u8],
    );
    (0..SCHEDULES, sight(), records, end).prop_map(|(schedule, sight, records, end)| FireDraft {
        schedule,
        sight,
        records,
        range: end.0,
        ends: end.1,
        decision: end.2,
    })
}

fn by_hand() -> impl Strategy<Value = HandDraft> {
    prop_oneof![
        3 => (0..10_u8, draft()).prop_map(|(instant, draft)| HandDraft::Backfill(instant, draft)),
        2 => (0..6_u8, draft()).prop_map(|(key, draft)| HandDraft::Manual(key, draft)),
    ]
}

/// A step.
pub(super) fn plan_step() -> impl Strategy<Value = PlanStep> {
    let some = || vec(0..SCHEDULES, 1..3);
    let records = (0..SCHEDULES, prop::bool::weighted(0.05), vec(by_hand(), 1..4));
    prop_oneof![
        4 => vec(put(), 1..3).prop_map(PlanStep::Put),
        1 => some().prop_map(PlanStep::Remove),
        1 => some().prop_map(PlanStep::Pause),
        2 => some().prop_map(PlanStep::Resume),
        8 => vec(fire(), 1..3).prop_map(PlanStep::Fire),
        3 => records.prop_map(|(schedule, stranger, records)| PlanStep::ByHand {
            schedule,
            stranger,
            records,
        }),
        1 => Just(PlanStep::Retain),
    ]
}
