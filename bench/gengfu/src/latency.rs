//! When runs began and ended, from the executor's log: the claim was answered, the completion was stored.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader, Seek, SeekFrom},
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use jiff::Timestamp;
use serde::Deserialize;

/// How long lines are waited for.
const LIMIT: Duration = Duration::from_secs(10);

/// Microseconds since the epoch at which a run began and ended; 0 where the log has no line.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Run {
    pub(crate) begin_us: i64,
    pub(crate) end_us: i64,
}

#[derive(Deserialize)]
struct Line<'a> {
    ts: &'a str,
    stage: Option<&'a str>,
    task_id: Option<&'a str>,
}

/// How long the log is now, to read on from there.
pub(crate) fn mark(log: &Path) -> Result<u64> {
    Ok(std::fs::metadata(log)?.len())
}

/// The `count` runs that the log tells of since `mark`, by task id. Its lines are written behind the work, so the last
/// ones are waited for.
pub(crate) async fn runs(log: &Path, mark: u64, count: usize) -> Result<HashMap<String, Run>> {
    let since = Instant::now();
    loop {
        let runs = read(log, mark)?;
        if runs.len() >= count {
            return Ok(runs);
        }
        ensure!(
            since.elapsed() < LIMIT,
            "the log tells of {} runs, {count} were made",
            runs.len()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn read(log: &Path, mark: u64) -> Result<HashMap<String, Run>> {
    let mut file = File::open(log)?;
    file.seek(SeekFrom::Start(mark))?;
    let mut runs: HashMap<String, Run> = HashMap::new();
    for line in BufReader::new(file).lines() {
        let line = line?;
        let Ok(Line {
            ts,
            stage: Some(stage),
            task_id: Some(task),
        }) = serde_json::from_str(&line)
        else {
            continue;
        };
        let at = ts.parse::<Timestamp>()?.as_microsecond();
        let run = runs.entry(task.to_owned()).or_default();
        match stage {
            "begin" => run.begin_us = at,
            "end" => run.end_us = at,
            _ => {}
        }
    }
    runs.retain(|_, run| run.begin_us > 0 && run.end_us > 0);
    Ok(runs)
}

/// The value below which a share of the values lies, by the nearest rank.
pub(crate) fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank is small and positive"
    )]
    let rank = ((values.len() as f64 * share).ceil() as usize).clamp(1, values.len().max(1));
    values.get(rank - 1).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rank() {
        let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(
            [0.5, 0.95, 0.99, 1.0].map(|share| percentile(&mut values, share)),
            [50.0, 95.0, 99.0, 100.0]
        );
        assert!(percentile(&mut [], 0.5).is_nan());
    }
}
