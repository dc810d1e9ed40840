//! Schedules that can't fire as they stand: told once, tried again, in nobody's way.

use std::{collections::HashMap, time::Duration};

use telemetry::Metrics;

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
    /// It asks for what this version does not do.
    Unserved,
    /// The store refuses what is made of it.
    Store,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Definition => "definition",
            Self::Type => "type",
            Self::Unserved => "unserved",
            Self::Store => "store",
        }
    }
}

/// One that can't fire.
#[derive(Debug)]
struct Bad {
    error: String,
    wait: Duration,
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
            if bad.error != error {
                tell(name, kind, &error);
                bad.error = error;
            }
            return bad.wait;
        }
        tell(name, kind, &error);
        if self.0.len() < KEPT_MAX {
            self.0.insert(name.to_owned(), Bad { error, wait: FIRST });
        }
        FIRST
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

    #[test]
    fn waits_grow_and_end_with_a_fire() {
        let (mut bad, metrics) = (BadSchedules::default(), Metrics::new());
        let add = |bad: &mut BadSchedules| bad.add("a", Kind::Type, "gone".into(), &metrics).as_secs();
        let waits: Vec<_> = (0..7).map(|_| add(&mut bad)).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
        bad.mended("a");
        assert_eq!(add(&mut bad), 1);
        assert!(
            metrics
                .render()
                .contains(r#"gengfu_bad_schedules_total{kind="type"} 8"#)
        );
    }
}
