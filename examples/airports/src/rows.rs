//! The rows of the file, known by their first column.

use std::path::Path;

use anyhow::Context;

/// The file of the demo, as it lies in the repository.
pub(crate) const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/airports.csv");

/// The `iata` of every row, in the file's order.
pub(crate) fn read(file: &Path) -> anyhow::Result<Vec<String>> {
    let mut reader = csv::Reader::from_path(file).with_context(|| format!("reading {}", file.display()))?;
    reader
        .records()
        .map(|record| {
            let record = record.with_context(|| format!("reading {}", file.display()))?;
            record
                .get(0)
                .map(str::to_owned)
                .context("a row without a first column")
        })
        .collect()
}
