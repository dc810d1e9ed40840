//! Schedules that can't fire as they stand: told once, tried again, in nobody's way.

use std::{collections::HashMap, time::Duration};

use telemetry::Metrics;
use tokio::time::Instant;

/// Schedules of a partition that are remembered; of more each try is told.
const KEPT_MAX: usize = 1_024;
/// The first wait; it doubles.
const FIRST: Duration = Duration::from_secs(1);
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(30);

/// Why a schedule can't fire: the values of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its definition, its calendar or its decision can't be read.
    Definition,
    /// Its type is not there, or not usable.
    Type,
    /// The store refuses what is made of it.
    Store,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Definition => "definition",
            Self::Type => "type",
            Self::Store => "store",
        }
    }
}

/// One that can't fire.
#[derive(Debug)]
struct Bad {
    kind: Kind,
    error: String,
    wait: Duration,
    /// When it may be tried again.
    until: Instant,
}

/// Those of one partition.
#[derive(Debug, Default)]
pub(crate) struct BadSchedules(HashMap<String, Bad>);

impl BadSchedules {
    /// It could not fire now; how long it waits until it is tried again.
    pub(crate) fn add(&mut self, name: &str, kind: Kind, error: String, metrics: &Metrics) -> Duration {
        metrics.bad_schedule(kind.as_str());
        let known = self.0.get_mut(name);
        if let Some(bad) = known {
            bad.wait = bad.wait.saturating_mul(2).min(LONGEST);
            bad.until = Instant::now() + bad.wait;
            bad.kind = kind;
            if bad.error != error {
                tell(name, kind, &error);
                bad.error = error;
            }
            return bad.wait;
        }
        tell(name, kind, &error);
        if self.0.len() < KEPT_MAX {
            let until = Instant::now() + FIRST;
            let wait = FIRST;
            self.0.insert(
                name.to_owned(),
                Bad {
                    kind,
                    error,
                    wait,
                    until,
                },
            );
        }
        FIRST
    }

    /// How long one still waits that the store refuses: it looks well until it is played. The others are put off in the
    /// store, and tried as soon as somebody mends them.
    pub(crate) fn waits(&self, name: &str) -> Option<Duration> {
        let bad = self.0.get(name).filter(|bad| bad.kind == Kind::Store)?;
        Some(bad.until.saturating_duration_since(Instant::now())).filter(|wait| !wait.is_zero())
    }

    /// It fired.
    pub(crate) fn mended(&mut self, name: &str) {
        if self.0.remove(name).is_some() {
            tracing::info!(schedule = name, "schedule fires again");
        }
    }
}

fn tell(name: &str, kind: Kind, error: &str) {
    tracing::error!(
        schedule = name,
        kind = kind.as_str(),
        error,
        "schedule can't fire"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_grow_and_end_with_a_fire() {
        let (mut bad, metrics) = (BadSchedules::default(), Metrics::new());
        let add = |bad: &mut BadSchedules| bad.add("a", Kind::Type, "gone".into(), &metrics).as_secs();
        let waits: Vec<_> = (0..7).map(|_| add(&mut bad)).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!((bad.waits("a"), bad.waits("b")), (None, None));
        bad.add("b", Kind::Store, "refused".into(), &metrics);
        assert_eq!(bad.waits("b"), Some(FIRST));
        tokio::time::advance(FIRST).await;
        assert_eq!(bad.waits("b"), None);
        bad.mended("a");
        assert_eq!(add(&mut bad), 1);
        assert!(
            metrics
                .render()
                .contains(r#"gengfu_bad_schedules_total{kind="type"} 8"#)
        );
    }
}
