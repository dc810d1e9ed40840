//! `gengfu apply`.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Map, Value};

use crate::client::{Client, line};

/// What it takes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files of definitions (YAML or JSON), or - for standard input.
    #[arg(short = 'f', long = "file", required = true, num_args = 1.., value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Only says what would change.
    #[arg(long)]
    dry_run: bool,
}

/// The types in some files.
pub(crate) fn read(files: &[PathBuf]) -> anyhow::Result<Vec<Value>> {
    match definitions(files)?.remove("types") {
        Some(Value::Array(types)) => Ok(types),
        _ => Ok(Vec::new()),
    }
}

/// What stands in some files, key by key. Which keys there are is the gateway's to say.
fn definitions(files: &[PathBuf]) -> anyhow::Result<Map<String, Value>> {
    let mut all: Map<String, Value> = Map::new();
    for file in files {
        let name = file.display();
        for (key, value) in read_one(file)? {
            let Value::Array(mut items) = value else {
                bail!("{name}: {key} is no list; write - name: … below it");
            };
            match all.entry(key).or_insert_with(|| Value::Array(Vec::new())) {
                Value::Array(known) => known.append(&mut items),
                other => *other = Value::Array(items),
            }
        }
    }
    Ok(all)
}

/// Every document of a file.
fn read_one(file: &Path) -> anyhow::Result<Vec<(String, Value)>> {
    let name = file.display();
    let mut text = String::new();
    let read = match file.as_os_str() == "-" {
        true => std::io::stdin().read_to_string(&mut text),
        false => std::fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text)),
    };
    read.with_context(|| format!("{name} can't be read"))?;
    let mut found = Vec::new();
    for document in serde_yaml_ng::Deserializer::from_str(&text) {
        // By way of YAML's own value, which refuses a key that stands twice.
        let value = <serde_yaml_ng::Value as serde::Deserialize>::deserialize(document)
            .with_context(|| format!("{name} is no YAML of definitions"))?;
        match serde_json::to_value(value).with_context(|| format!("{name} is no YAML of definitions"))? {
            Value::Object(fields) => found.extend(fields),
            Value::Null => {}
            _ => bail!("{name} holds no definitions; it starts with types:"),
        }
    }
    Ok(found)
}

pub(crate) async fn run(args: Args, client: &Client, json: bool) -> anyhow::Result<()> {
    let mut body = definitions(&args.file)?;
    body.insert("dry_run".into(), Value::Bool(args.dry_run));
    let answer = client
        .post("/apply", Value::Object(body).to_string().into_bytes())
        .await?;
    if json {
        return line(&answer.to_string());
    }
    for change in answer["changes"].as_array().into_iter().flatten() {
        for told in told(change, args.dry_run) {
            line(&told)?;
        }
    }
    Ok(())
}

/// `type room.notify: changed`, then a line for each field.
fn told(change: &Value, dry_run: bool) -> Vec<String> {
    let text = |name: &str| change[name].as_str().unwrap_or_default();
    let would = if dry_run { " (dry run)" } else { "" };
    let mut lines = vec![format!(
        "{} {}: {}{would}",
        text("kind"),
        text("name"),
        text("change")
    )];
    for field in change["fields"].as_array().into_iter().flatten() {
        let name = field["field"].as_str().unwrap_or_default();
        lines.push(format!("  {name}: {} -> {}", field["from"], field["to"]));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn files_and_documents_come_together() {
        let one = file(
            "types:\n  - {name: a, handler: echo, input_schema: {maximum: 18446744073709551615}}\n---\ntypes: [{name: b}]\n",
        );
        let two = file("types: [{name: c}]\nschedules: [{name: s}]\n");
        let all = definitions(&[one.path().into(), two.path().into()]).unwrap();
        let names: Vec<_> = all["types"]
            .as_array()
            .unwrap()
            .iter()
            .map(|spec| spec["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert!(all["types"].to_string().contains("18446744073709551615"));
        assert!(all.contains_key("schedules"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_file() {
        for (text, reason) in [
            ("types: [", "no YAML"),
            ("types: [{name: a, name: b}]", "duplicate"),
            ("types: {name: a}", "no list"),
            ("- a", "starts with types:"),
        ] {
            let file = file(text);
            let error = format!("{:#}", definitions(&[file.path().into()]).unwrap_err());
            let name = file.path().display().to_string();
            assert!(error.contains(reason) && error.contains(&name), "{error}");
        }
        assert!(format!("{:#}", definitions(&["none.yaml".into()]).unwrap_err()).contains("none.yaml"));
    }
}
