//! What the demo prints: the table, and the one JSON line.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::time::Duration;

use jiff::Timestamp;

use crate::history::{History, Step};
use crate::verdict::Verdict;

/// Every status, in the order of a task's life.
const STATUSES: [&str; 8] = [
    "pending",
    "running",
    "failed",
    "retrying",
    "timeout",
    "success",
    "dead",
    "cancelled",
];

/// How many faults are spelled out.
const SHOWN: usize = 10;

/// The figures of one run.
#[derive(Debug)]
pub(crate) struct Report {
    statuses: BTreeMap<String, usize>,
    tasks: usize,
    retried: usize,
    retries: u64,
    most_retries: u32,
    waits: Vec<Duration>,
    runs: Vec<Duration>,
    calls: usize,
    took: Duration,
    verdict: Verdict,
}

impl Report {
    /// Takes the figures from what the town and the endpoint say.
    pub(crate) fn new(histories: &[History], calls: usize, took: Duration, verdict: Verdict) -> Self {
        let mut statuses = BTreeMap::new();
        for history in histories {
            *statuses.entry(history.task.status.clone()).or_default() += 1;
        }
        let retries = histories.iter().map(|history| history.task.retry_count);
        let mut waits: Vec<Duration> = histories
            .iter()
            .filter_map(|history| wait(&history.steps))
            .collect();
        let mut runs: Vec<Duration> = histories
            .iter()
            .flat_map(|history| attempts(&history.steps))
            .collect();
        waits.sort_unstable();
        runs.sort_unstable();
        Self {
            statuses,
            tasks: histories.len(),
            retried: retries.clone().filter(|count| *count > 0).count(),
            retries: retries.clone().map(u64::from).sum(),
            most_retries: retries.max().unwrap_or(0),
            waits,
            runs,
            calls,
            took,
            verdict,
        }
    }

    /// Whether nothing was lost or duplicated.
    pub(crate) fn is_clean(&self) -> bool {
        self.verdict.lost.is_empty() && self.verdict.duplicated.is_empty()
    }

    /// The last line of the output.
    pub(crate) fn json(&self) -> String {
        serde_json::json!({
            "tasks": self.tasks,
            "success": self.count("success"),
            "dead": self.count("dead"),
            "retried": self.retried,
            "lost": self.verdict.lost.len(),
            "duplicated": self.verdict.duplicated.len(),
            "seconds": (self.took.as_secs_f64() * 1_000.0).round() / 1_000.0,
        })
        .to_string()
    }

    fn count(&self, status: &str) -> usize {
        self.statuses.get(status).copied().unwrap_or(0)
    }
}

impl Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |out: &mut fmt::Formatter<'_>, name: &str, value: &dyn Display| {
            writeln!(out, "  {name:<22}{value}")
        };
        let seconds = self.took.as_secs_f64();
        writeln!(out, "\n{} tasks in {seconds:.1} s\n", self.tasks)?;
        for status in STATUSES.iter().filter(|status| self.count(status) > 0) {
            line(out, status, &self.count(status))?;
        }
        line(
            out,
            "retries",
            &format!(
                "{} on {} tasks, at most {}",
                self.retries, self.retried, self.most_retries
            ),
        )?;
        line(out, "wait to first start", &spread(&self.waits))?;
        line(out, "run of an attempt", &spread(&self.runs))?;
        line(
            out,
            "tasks a second",
            &format!("{:.0}", self.tasks as f64 / seconds.max(0.001)),
        )?;
        line(out, "calls at the endpoint", &self.calls)?;
        line(out, "lost", &self.verdict.lost.len())?;
        line(out, "duplicated", &self.verdict.duplicated.len())?;
        for fault in self
            .verdict
            .lost
            .iter()
            .chain(&self.verdict.duplicated)
            .take(SHOWN)
        {
            writeln!(out, "    {fault}")?;
        }
        Ok(())
    }
}

/// From acceptance to the first start.
fn wait(steps: &[Step]) -> Option<Duration> {
    let started = steps.iter().find(|step| step.to == "running")?;
    Some(between(steps.first()?.at, started.at))
}

/// From each start to what ended it.
fn attempts(steps: &[Step]) -> impl Iterator<Item = Duration> {
    steps
        .windows(2)
        .filter(|pair| pair[0].to == "running")
        .map(|pair| between(pair[0].at, pair[1].at))
}

fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

fn spread(sorted: &[Duration]) -> String {
    format!(
        "p50 {}, p95 {}",
        milliseconds(quantile(sorted, 50)),
        milliseconds(quantile(sorted, 95))
    )
}

fn milliseconds(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}

/// The smallest value that so many per cent do not exceed; zero of nothing.
fn quantile(sorted: &[Duration], per_cent: usize) -> Duration {
    let rank = (sorted.len() * per_cent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Task;

    fn step(to: &str, at_ms: i64, attempt: u32) -> Step {
        Step {
            to: to.to_owned(),
            at: Timestamp::from_millisecond(at_ms).unwrap(),
            attempt,
        }
    }

    fn one_retried() -> Vec<History> {
        let steps = vec![
            step("pending", 1_000, 0),
            step("running", 1_040, 1),
            step("failed", 1_050, 1),
            step("retrying", 1_050, 1),
            step("running", 1_300, 2),
            step("success", 1_320, 2),
        ];
        let task = Task {
            task_id: "1".to_owned(),
            status: "success".to_owned(),
            retry_count: 1,
            input_info: String::new(),
        };
        vec![History { task, steps }]
    }

    #[test]
    fn quantiles_are_values_that_occurred() {
        let times: Vec<Duration> = (1..=20).map(Duration::from_millis).collect();
        assert_eq!(quantile(&times, 50), Duration::from_millis(10));
        assert_eq!(quantile(&times, 95), Duration::from_millis(19));
        assert_eq!(quantile(&[], 95), Duration::ZERO);
    }

    #[test]
    fn the_wait_ends_at_the_first_start_and_every_attempt_counts_as_a_run() {
        let report = Report::new(&one_retried(), 2, Duration::from_secs(2), Verdict::default());
        assert_eq!(report.waits, [Duration::from_millis(40)]);
        assert_eq!(
            report.runs,
            [Duration::from_millis(10), Duration::from_millis(20)]
        );
    }

    #[test]
    fn the_json_line_has_the_promised_keys() {
        let report = Report::new(
            &one_retried(),
            2,
            Duration::from_millis(2_500),
            Verdict::default(),
        );
        assert_eq!(
            report.json(),
            r#"{"tasks":1,"success":1,"dead":0,"retried":1,"lost":0,"duplicated":0,"seconds":2.5}"#
        );
        assert!(report.is_clean());
        let verdict = Verdict {
            lost: vec!["A: no finished task".to_owned()],
            duplicated: Vec::new(),
        };
        let report = Report::new(&one_retried(), 2, Duration::from_secs(2), verdict);
        assert!(!report.is_clean());
        assert!(report.to_string().contains("A: no finished task"));
    }
}
