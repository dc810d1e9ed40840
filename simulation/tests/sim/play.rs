//! The handler of the simulated tasks: their payload says how a run goes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use handler::{HandlerError, TaskContext, TaskHandler, async_trait};

use crate::check::end::result_of;
use crate::rng::Rng;
use crate::world::World;

/// How a run goes; the first byte of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Quick,
    /// Longer than a heartbeat, or than a lease.
    Slow,
    /// Fails at first, so many times as the second byte says.
    Transient,
    Deterministic,
    /// Does not end in its time at first.
    TooSlow,
    /// No answer came from outside.
    Unknown,
}

impl Part {
    pub(crate) const ALL: [Self; 6] = [
        Self::Quick,
        Self::Slow,
        Self::Transient,
        Self::Deterministic,
        Self::TooSlow,
        Self::Unknown,
    ];
}

/// A payload of such a run, with bytes that are no text.
pub(crate) fn payload(part: Part, rng: &mut Rng) -> Bytes {
    let mut bytes = vec![
        part as u8,
        u8::try_from(rng.range(0, 3)).unwrap_or(0),
        0,
        0xff,
        0xfe,
    ];
    bytes.extend(rng.next().to_be_bytes());
    bytes.extend_from_slice("9007199254740993 \u{1f3ee}".as_bytes());
    bytes.into()
}

/// The handler.
pub(crate) struct Play {
    world: Arc<World>,
}

impl Play {
    pub(crate) const fn new(world: Arc<World>) -> Self {
        Self { world }
    }
}

#[async_trait]
impl TaskHandler for Play {
    async fn run(&self, ctx: &TaskContext, payload: Bytes) -> Result<Bytes, HandlerError> {
        *self.world.check().effects.entry(ctx.task_id()).or_default() += 1;
        // A payload of a schedule is a text; its first byte is none of the parts.
        let first = payload.first().map_or(0, |byte| usize::from(*byte));
        let part = Part::ALL.get(first).copied().unwrap_or(Part::Quick);
        let mut rng = Rng(payload
            .iter()
            .fold(7_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(*byte)));
        let fails = u32::from(payload.get(1).copied().unwrap_or(0) % 4);
        let (low, high) = match part {
            Part::Slow => (500, 4_000),
            Part::TooSlow if ctx.attempt() <= 1 => (60_000, 60_000),
            Part::Quick | Part::Transient | Part::Deterministic | Part::TooSlow | Part::Unknown => (0, 60),
        };
        let wait = Duration::from_millis(rng.range(low, high).unsigned_abs());
        tokio::time::sleep(wait).await;
        match part {
            Part::Transient if ctx.attempt() <= fails => Err(HandlerError::transient("busy", "come later")),
            Part::Unknown if ctx.attempt() <= fails => {
                let mut error = HandlerError::transient("no_answer", "no answer came");
                error.unknown_outcome = true;
                Err(error)
            }
            Part::Deterministic => Err(HandlerError::deterministic("bad_row", "it will never do")),
            Part::Quick | Part::Slow | Part::Transient | Part::TooSlow | Part::Unknown => {
                Ok(result_of(&payload))
            }
        }
    }

    fn stop_grace(&self) -> Duration {
        Duration::from_millis(200)
    }
}
