//! Figures by name, their medians over the runs, a table, and one JSON object as the last line.

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::{latency::percentile, throughput::spent, town::Cost};

/// What was measured: each figure once a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    figures: Vec<(String, Vec<f64>)>,
}

impl Report {
    pub(crate) fn value(&mut self, name: String, value: f64) {
        match self.figures.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => self.figures.push((name, vec![value])),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of one measurement")]
    pub(crate) fn rate(&mut self, name: &str, count: usize, seconds: f64) {
        self.value(name.to_owned(), count as f64 / seconds);
    }

    pub(crate) fn cost(&mut self, name: &str, tasks: usize, before: &Cost, after: &Cost) {
        let spent = spent(tasks, before, after);
        self.value(format!("{name}: all"), spent.iter().map(|(_, used)| used).sum());
        for (process, used) in spent {
            self.value(format!("{name}: {process}"), used);
        }
    }

    pub(crate) fn memory(&mut self, name: &str, memory: Cost) {
        for (process, mib) in memory {
            self.value(format!("{name}, MiB: {process}"), mib);
        }
    }

    /// The rates and latencies of the last run, for a look while it goes on.
    pub(crate) fn last_line(&self) -> String {
        let of = |(name, values): &(String, Vec<f64>)| {
            let short = name.ends_with("/s") || name.ends_with(" ms") || name.ends_with(": all");
            values
                .last()
                .filter(|_| short)
                .map(|value| format!("{name} {value:.1}"))
        };
        self.figures.iter().filter_map(of).collect::<Vec<_>>().join(", ")
    }

    /// Prints medians with their range, then the JSON object, which begins with what was measured.
    pub(crate) fn print(mut self, of: &[(&str, usize)]) -> Result<()> {
        let given = of.iter().map(|(name, count)| ((*name).to_owned(), json!(count)));
        let mut object: Map<_, _> = given.collect();
        println!("{:<44} {:>12} {:>12} {:>12}", "", "median", "lowest", "highest");
        for (name, values) in &mut self.figures {
            let [median, lowest, highest] = [0.5, 0.0, 1.0].map(|share| percentile(values, share));
            println!("{name:<44} {median:>12.2} {lowest:>12.2} {highest:>12.2}");
            object.insert(name.clone(), json!((median * 100.0).round() / 100.0));
        }
        println!("{}", serde_json::to_string(&Value::Object(object))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_differences_a_task() {
        let mut report = Report::default();
        report.cost("cpu", 1_000, &vec![("a", 1.0)], &vec![("a", 1.5), ("b", 0.25)]);
        let figures: Vec<_> = report
            .figures
            .iter()
            .map(|(name, values)| (name.as_str(), values[0]))
            .collect();
        assert_eq!(
            figures,
            [("cpu: all", 750.0), ("cpu: a", 500.0), ("cpu: b", 250.0)]
        );
    }
}
