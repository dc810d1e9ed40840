//! Payloads as an operator gives them.

use std::io::Read;

use anyhow::Context;

/// Reads `JSON`, `@FILE`, or `-` for standard input.
pub(crate) fn read(argument: &str) -> anyhow::Result<Vec<u8>> {
    match argument.strip_prefix('@') {
        Some(file) => std::fs::read(file).with_context(|| format!("{file} can't be read")),
        None if argument == "-" => {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes)?;
            Ok(bytes)
        }
        None => Ok(argument.as_bytes().to_vec()),
    }
}
