//! What happened: how each schedule's instants ended, and how many fires fell into each minute.

use std::collections::HashMap;

use domain::Millis;
use plan::{Record, TriggerOutcome};

const MINUTE_MS: i64 = 60_000;

/// One schedule's sums.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// Instants that fired.
    pub(crate) fires: u64,
    /// Those of them that a misfire policy let fire.
    pub(crate) caught_up: u64,
    /// Instants that were skipped.
    pub(crate) skipped: u64,
    /// Instants that were missed.
    pub(crate) missed: u64,
    /// The first planned instant that fired.
    pub(crate) first: Option<Millis>,
    /// The last one.
    pub(crate) last: Option<Millis>,
}

/// The sums of all.
#[derive(Debug)]
pub(crate) struct Books {
    pub(crate) lines: Vec<Line>,
    minutes: HashMap<i64, u64>,
}

impl Books {
    pub(crate) fn new(schedules: usize) -> Self {
        Self {
            lines: vec![Line::default(); schedules],
            minutes: HashMap::new(),
        }
    }

    /// Enters records of a schedule that were made at a moment.
    pub(crate) fn enter(&mut self, schedule: usize, now: Millis, records: &[Record]) {
        let line = &mut self.lines[schedule];
        for record in records {
            let count = u64::from(record.count);
            match record.outcome {
                TriggerOutcome::Fired => {
                    line.fires += count;
                    line.caught_up += u64::from(record.reason.is_some());
                    line.first.get_or_insert(record.planned_at);
                    line.last = Some(record.to);
                    *self.minutes.entry(now.div_euclid(MINUTE_MS)).or_default() += count;
                }
                TriggerOutcome::Skipped => line.skipped += count,
                TriggerOutcome::Missed => line.missed += count,
            }
        }
    }

    /// The minutes with the most fires, the busiest first: when each begins, and how many.
    pub(crate) fn busiest(&self, count: usize) -> Vec<(Millis, u64)> {
        let mut minutes: Vec<(i64, u64)> = self
            .minutes
            .iter()
            .map(|(minute, fires)| (minute * MINUTE_MS, *fires))
            .collect();
        minutes.sort_unstable_by_key(|(minute, fires)| (std::cmp::Reverse(*fires), *minute));
        minutes.truncate(count);
        minutes
    }
}
