//! Files of definitions: types, schedules, calendars and what else `gengfu apply` takes.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use calendar::{WorkingDays, working_days};
use plan::{Plan, Problem, Schedule};
use serde_json::{Map, Value};

/// What stands in some files, key by key. Which keys there are is the gateway's to say.
pub(crate) fn read(files: &[PathBuf]) -> anyhow::Result<Map<String, Value>> {
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

/// The items under a key.
fn items(all: &mut Map<String, Value>, key: &str) -> Vec<Value> {
    match all.remove(key) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// The schedules in some files, each with its calendar.
///
/// # Errors
/// Everything that is wrong with any of them.
pub(crate) fn plans(files: &[PathBuf]) -> anyhow::Result<Vec<Plan>> {
    let mut all = read(files)?;
    let mut problems = Vec::new();
    let calendars = calendars(&items(&mut all, "calendars"), &mut problems);
    let mut plans: Vec<Plan> = Vec::new();
    for (index, value) in items(&mut all, "schedules").iter().enumerate() {
        let name = value["name"].as_str().unwrap_or_default();
        let read = Schedule::parse(&value.to_string()).and_then(|schedule| {
            schedule
                .plan(|name| calendars.get(name).cloned())
                .map_err(|problem| vec![problem])
        });
        let twice = || vec![Problem::new("name", "is declared twice", "keep one of them")];
        let read = match plans.iter().any(|known| known.schedule().name == name) {
            true => Err(twice()),
            false => read,
        };
        match read {
            Ok(plan) => plans.push(plan),
            Err(wrong) => problems.extend(wrong.iter().map(|problem| told(index, name, problem))),
        }
    }
    match problems.as_slice() {
        [] => Ok(plans),
        _ => bail!("{}", problems.join("\n  ")),
    }
}

fn told(index: usize, name: &str, problem: &Problem) -> String {
    format!("schedules[{index}] ({name}): {problem}")
}

fn calendars(items: &[Value], problems: &mut Vec<String>) -> HashMap<String, Arc<WorkingDays>> {
    let mut calendars = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let read = serde_json::from_value::<working_days::Spec>(item.clone())
            .map_err(|error| error.to_string())
            .and_then(|spec| WorkingDays::new(&spec).map_err(|error| format!("{error}; {}", error.hint())));
        match read {
            Ok(days) => {
                calendars.insert(days.name().to_owned(), Arc::new(days));
            }
            Err(reason) => problems.push(format!("calendars[{index}]: {reason}")),
        }
    }
    calendars
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
    let found = documents(&text).with_context(|| format!("{name} is no YAML of definitions"))?;
    let mut fields = Vec::new();
    for document in found {
        match document {
            Value::Object(document) => fields.extend(document),
            Value::Null => {}
            _ => bail!("{name} holds no definitions; it starts with types: or schedules:"),
        }
    }
    Ok(fields)
}

/// The documents of a file. All by way of YAML's own value, which refuses a key that stands twice; but of JSON the
/// numbers stay exact, where YAML knows none beyond 64 bits.
fn documents(text: &str) -> anyhow::Result<Vec<Value>> {
    if let Ok(exact) = serde_json::from_str(text) {
        serde_json::from_str::<serde_yaml_ng::Value>(text)?;
        return Ok(vec![exact]);
    }
    serde_yaml_ng::Deserializer::from_str(text)
        .map(|document| {
            let value = <serde_yaml_ng::Value as serde::Deserialize>::deserialize(document)?;
            Ok(serde_json::to_value(value)?)
        })
        .collect()
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
        let all = read(&[one.path().into(), two.path().into()]).unwrap();
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
            (r#"{"types": [{"name": "a", "name": "b"}]}"#, "duplicate"),
            ("types: {name: a}", "no list"),
            ("- a", "starts with types:"),
        ] {
            let file = file(text);
            let error = format!("{:#}", read(&[file.path().into()]).unwrap_err());
            let name = file.path().display().to_string();
            assert!(error.contains(reason) && error.contains(&name), "{error}");
        }
        assert!(format!("{:#}", read(&["none.yaml".into()]).unwrap_err()).contains("none.yaml"));
    }

    #[test]
    fn schedules_find_their_calendars_and_every_fault_is_told() {
        let right = file(
            "calendars: [{name: cn, years: '2026', off: ['2026-10-01..2026-10-07']}]\n\
             schedules: [{name: a, type: t, cron: '0 9 * * *', zone: UTC, calendar: cn, payload: {n: 1.5, day: '{{planned_date}}'}}]\n",
        );
        let plans = plans(&[right.path().into()]).unwrap();
        assert!(plans[0].timetable().options().calendar.is_some());
        assert_eq!(plans[0].payload(0, 0, None), r#"{"n":1.5,"day":"1970-01-01"}"#);
        let wrong = file(
            "calendars: [{name: cn}]\n\
             schedules:\n- {name: a, type: t, cron: '0 9 * *', zone: UTC}\n- {name: b, type: t, every: 5m, zone: UTC, calendar: no}\n\
             - {name: c, type: t, every: 5m, zone: UTC}\n- {name: c, type: t, every: 5m, zone: UTC}\n",
        );
        let error = super::plans(&[wrong.path().into()]).unwrap_err().to_string();
        for named in [
            "calendars[0]: missing field",
            "schedules[0] (a): cron",
            "schedules[1] (b): calendar",
            "schedules[3] (c): name",
        ] {
            assert!(error.contains(named), "{named}: {error}");
        }
    }

    #[test]
    fn numbers_of_json_stay_exact() {
        let text = r#"{"schedules": [{"name": "a", "payload": [18446744073709551616, 1.10, 1e400]}]}"#;
        let all = read(&[file(text).path().into()]).unwrap();
        assert_eq!(
            all["schedules"][0]["payload"].to_string(),
            "[18446744073709551616,1.10,1e+400]"
        );
        let yaml = file("schedules: [{name: a, payload: [18446744073709551616]}]");
        let error = format!("{:#}", read(&[yaml.path().into()]).unwrap_err());
        assert!(error.contains("18446744073709551616"), "{error}");
    }
}
