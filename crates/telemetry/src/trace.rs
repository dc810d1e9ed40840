//! The identity of spans: ids that every service derives alike, so that a parent is known without being carried
//! (DESIGN section 4).

use std::fmt;

use domain::TaskId;
use thiserror::Error;

/// A station in the life of a task; each is a span below the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// A client handed the task in: the root.
    Submit,
    /// A schedule fired: the root, in the place of `Submit`.
    Trigger,
    /// The store took it in.
    Admit,
    /// The hint for this attempt went out.
    Dispatch,
    /// An executor claimed it.
    Claim,
    /// The handler ran.
    Run,
    /// The handler's own span, by its number within the run.
    Handler(u16),
    /// The recorder wrote the end of the attempt down.
    Record,
}

impl Stage {
    /// The name of the span.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Trigger => "trigger",
            Self::Admit => "admit",
            Self::Dispatch => "dispatch",
            Self::Claim => "claim",
            Self::Run => "run",
            Self::Handler(_) => "handler",
            Self::Record => "record",
        }
    }

    /// The stage above this one; none above a root.
    ///
    /// The children of an attempt hang below its own dispatch, and every dispatch below `admit`.
    #[must_use]
    pub const fn parent(self) -> Option<Self> {
        match self {
            Self::Submit | Self::Trigger => None,
            Self::Admit => Some(Self::Submit),
            Self::Dispatch => Some(Self::Admit),
            Self::Claim => Some(Self::Dispatch),
            Self::Run => Some(Self::Claim),
            Self::Handler(_) | Self::Record => Some(Self::Run),
        }
    }

    /// A number that never changes, for it goes into the ids. Both roots share one: who made the task is not
    /// known to those who only need its parent.
    const fn number(self) -> u64 {
        match self {
            Self::Submit | Self::Trigger => 1,
            Self::Admit => 2,
            Self::Dispatch => 3,
            Self::Claim => 4,
            Self::Run => 5,
            Self::Record => 6,
            Self::Handler(nth) => 0x100 + nth as u64,
        }
    }

    /// Whether the stage happens once for each attempt, and not once in the task's life.
    const fn repeats(self) -> bool {
        !matches!(self, Self::Submit | Self::Trigger | Self::Admit)
    }
}

/// The span id of a stage of an attempt (from 1; stages before the first dispatch have none, and ignore it).
///
/// Never 0, which would mean no span.
#[must_use]
pub fn span_id(task: TaskId, stage: Stage, attempt: u32) -> u64 {
    let attempt = if stage.repeats() { attempt } else { 0 };
    let step = stage.number() << 32 | u64::from(attempt);
    mix(fold(task) ^ mix(step)).max(1)
}

/// The span id of the stage above, if there is one.
#[must_use]
pub fn parent_span_id(task: TaskId, stage: Stage, attempt: u32) -> Option<u64> {
    stage.parent().map(|above| span_id(task, above, attempt))
}

/// Whether a task is traced, at a ratio of 0 to 1. Asked once, at admission, and kept over all retries.
///
/// The SDK's ratio sampler reads bytes that are not random in a `UUIDv7`, hence a hash of all of them.
#[must_use]
pub fn sampled(task: TaskId, ratio: f64) -> bool {
    // 53 bits are what a double holds exactly.
    let place = (mix(fold(task) ^ 0x5a4d_504c) >> 11) as f64 / (1u64 << 53) as f64;
    place < ratio
}

fn fold(task: TaskId) -> u64 {
    let id = task.trace_id();
    mix(mix((id >> 64) as u64) ^ id as u64)
}

/// The finalizer of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A span of any trace, as W3C Trace Context writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceParent {
    /// The trace.
    pub trace_id: u128,
    /// The span in it.
    pub span_id: u64,
    /// Whether its maker records it.
    pub sampled: bool,
}

/// Why a text is no `traceparent`.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("not a traceparent of W3C Trace Context, such as 00-<32 hex>-<16 hex>-01")]
pub struct TraceParentError;

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.sampled);
        write!(f, "00-{:032x}-{:016x}-{flags:02x}", self.trace_id, self.span_id)
    }
}

/// The `traceparent` that puts what follows below this stage of the task.
#[must_use]
pub fn traceparent(task: TaskId, stage: Stage, attempt: u32, sampled: bool) -> String {
    TraceParent {
        trace_id: task.trace_id(),
        span_id: span_id(task, stage, attempt),
        sampled,
    }
    .to_string()
}

/// Reads a caller's `traceparent`.
///
/// # Errors
/// When it breaks the rules of W3C Trace Context, section 3.2.
pub fn parse_traceparent(text: &str) -> Result<TraceParent, TraceParentError> {
    let mut parts = text.trim().split('-');
    let mut next = |digits: usize| {
        let part = parts
            .next()
            .filter(|part| part.len() == digits)
            .ok_or(TraceParentError)?;
        let lower_hex = part
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let value = lower_hex.then(|| u128::from_str_radix(part, 16).ok()).flatten();
        value.ok_or(TraceParentError)
    };
    let (version, trace_id, span_id, flags) = (next(2)?, next(32)?, next(16)?, next(2)?);
    // A later version may append fields; ours has exactly four.
    let surplus = version == 0 && parts.next().is_some();
    if version == 0xff || surplus || trace_id == 0 || span_id == 0 {
        return Err(TraceParentError);
    }
    let span_id = u64::try_from(span_id).map_err(|_| TraceParentError)?;
    Ok(TraceParent {
        trace_id,
        span_id,
        sampled: flags & 1 == 1,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn task(nth: u8) -> TaskId {
        TaskId::new(1_700_000_000_000, [nth; 10])
    }

    #[test]
    fn ids_are_the_same_in_every_version() {
        let task = TaskId::from_bytes(*b"0123456789abcdef");
        assert_eq!(span_id(task, Stage::Submit, 0), span_id(task, Stage::Trigger, 7));
        assert_eq!(span_id(task, Stage::Admit, 0), 0xef17_9dc8_bad5_77ce);
        assert_eq!(span_id(task, Stage::Run, 1), 0x5f34_54d6_274e_19a7);
    }

    #[test]
    fn no_two_stages_share_an_id() {
        let stages = [
            Stage::Dispatch,
            Stage::Claim,
            Stage::Run,
            Stage::Record,
            Stage::Handler(0),
            Stage::Handler(9),
        ];
        let mut seen = HashSet::new();
        for nth in 0..100 {
            assert!(seen.insert(span_id(task(nth), Stage::Submit, 0)));
            assert!(seen.insert(span_id(task(nth), Stage::Admit, 0)));
            for attempt in 1..20 {
                assert!(
                    stages
                        .iter()
                        .all(|stage| seen.insert(span_id(task(nth), *stage, attempt)))
                );
            }
        }
        assert!(!seen.contains(&0));
    }

    #[test]
    fn the_ratio_is_kept_by_ids_of_one_moment() {
        let count = |ratio| {
            let ids = (0..20_000u32).map(|nth| {
                let mut random = [0; 10];
                random[..4].copy_from_slice(&nth.to_be_bytes());
                TaskId::new(1_700_000_000_000, random)
            });
            ids.filter(|id| sampled(*id, ratio)).count()
        };
        assert_eq!((count(0.0), count(1.0)), (0, 20_000));
        assert!((1_800..2_200).contains(&count(0.1)), "{}", count(0.1));
    }

    #[test]
    fn a_traceparent_reads_back() {
        let text = traceparent(task(3), Stage::Run, 2, true);
        let read = parse_traceparent(&text).unwrap();
        assert_eq!(read.trace_id, task(3).trace_id());
        assert_eq!(read.span_id, span_id(task(3), Stage::Run, 2));
        assert!(read.sampled);
        assert_eq!(read.to_string(), text);
    }

    #[test]
    fn a_bad_traceparent_is_refused() {
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        assert!(parse_traceparent(&format!("cc-{trace}-{span}-01-later")).is_ok());
        for bad in [
            String::new(),
            format!("00-{trace}-{span}"),
            format!("00-{trace}-{span}-01-more"),
            format!("ff-{trace}-{span}-01"),
            format!("00-{}-{span}-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!("00-{}-{span}-01", trace.to_uppercase()),
            format!("00-{trace}-+7ad6b7169203331-01"),
        ] {
            assert_eq!(parse_traceparent(&bad), Err(TraceParentError), "{bad}");
        }
    }
}
