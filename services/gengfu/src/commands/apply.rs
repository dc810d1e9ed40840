//! `gengfu apply`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::client::{Client, line};

/// What it takes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files of definitions (YAML).
    #[arg(short = 'f', long = "file", required = true, num_args = 1.., value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Only says what would change.
    #[arg(long)]
    dry_run: bool,
}

/// The types in some files.
pub(crate) fn read(files: &[PathBuf]) -> anyhow::Result<Vec<Value>> {
    let mut types = Vec::new();
    for file in files {
        types.extend(read_one(file)?);
    }
    Ok(types)
}

fn read_one(file: &Path) -> anyhow::Result<Vec<Value>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{} can't be read", file.display()))?;
    let mut value: Value = serde_yaml_ng::from_str(&text)
        .with_context(|| format!("{} is no YAML of definitions", file.display()))?;
    let Some(fields) = value.as_object_mut() else {
        bail!("{} holds no definitions; it starts with types:", file.display());
    };
    let types = fields.remove("types");
    if let Some(unknown) = fields.keys().next() {
        bail!(
            "{}: {unknown} is not known to this version; it takes types",
            file.display()
        );
    }
    match types {
        Some(Value::Array(types)) => Ok(types),
        None => Ok(Vec::new()),
        Some(_) => bail!("{}: types is no list; write - name: … below it", file.display()),
    }
}

pub(crate) async fn run(args: Args, client: &Client, json: bool) -> anyhow::Result<()> {
    let types = read(&args.file)?;
    let body = json!({"types": types, "dry_run": args.dry_run});
    let answer = client.post("/apply", body.to_string().into_bytes()).await?;
    if json {
        line(&answer.to_string());
        return Ok(());
    }
    for change in answer["changes"].as_array().into_iter().flatten() {
        let text = |name: &str| change[name].as_str().unwrap_or_default().to_owned();
        let what = ["change", "outcome", "kind"]
            .iter()
            .map(|name| text(name))
            .find(|text| !text.is_empty());
        line(&format!("type {} {}", text("name"), what.unwrap_or_default()));
    }
    Ok(())
}
