//! Calendars of working days: declared, read back, and listed.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use admission::Problem;
use axum::{http::StatusCode, response::Response};
use bytes::Bytes;
use calendar::{WorkingDays, working_days};
use domain::valid_type;
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use crate::{
    body::{Params, json},
    gate::Gate,
    page::Items,
    refusal::Refusal,
    types::declare::{Change, Outcome, changed_fields},
};

/// Calendars by name.
pub(crate) type Calendars = HashMap<String, Arc<WorkingDays>>;

/// A calendar that is declared, with the bytes that the store keeps.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) days: Arc<WorkingDays>,
    pub(crate) body: Bytes,
}

/// Reads definitions; what is wrong with any of them goes to the problems.
pub(crate) fn read(definitions: &[&RawValue], problems: &mut Vec<Problem>) -> Vec<Declared> {
    let mut names = HashSet::new();
    let mut declared = Vec::new();
    for (index, raw) in definitions.iter().enumerate() {
        match read_one(raw.get()) {
            Ok((name, _)) if !names.insert(name.clone()) => {
                let field = format!("calendars[{index}] ({name})");
                problems.push(Problem::new(field, "is declared twice", "keep one of them"));
            }
            Ok((_, one)) => declared.push(one),
            Err((reason, remedy)) => {
                let field = format!("calendars[{index}]{}", super::declare::named(raw.get()));
                problems.push(Problem::new(field, reason, remedy));
            }
        }
    }
    declared
}

fn read_one(text: &str) -> Result<(String, Declared), (String, String)> {
    let spec: working_days::Spec = serde_json::from_str(text).map_err(|error| {
        (
            error.to_string(),
            "see docs/schedules.md for what a calendar holds".into(),
        )
    })?;
    if !valid_type(&spec.name) {
        let remedy = "use a-z, 0-9, '_', '.', '-', starting with a letter or digit";
        return Err(("has a name that can't be one".into(), remedy.into()));
    }
    let days = WorkingDays::new(&spec).map_err(|error| (error.to_string(), error.hint()))?;
    let body = serde_json::to_vec(&spec).map_err(|error| (error.to_string(), String::new()))?;
    let declared = Declared {
        days: Arc::new(days),
        body: body.into(),
    };
    Ok((spec.name, declared))
}

/// What a definition changes.
pub(crate) fn compare(declared: &Declared, standing: &[store::Calendar]) -> Change {
    let name = declared.days.name();
    let known = standing.iter().find(|known| known.name == name);
    let plain = |bytes: &Bytes| serde_json::from_slice::<Value>(bytes).unwrap_or_default();
    let (change, fields) = match known {
        None => (Outcome::Created, Vec::new()),
        Some(known) if known.body == declared.body => (Outcome::Unchanged, Vec::new()),
        Some(known) => (
            Outcome::Changed,
            changed_fields(&plain(&known.body), &plain(&declared.body)),
        ),
    };
    Change::new("calendar", name, change, fields)
}

/// The calendars that can be used; one whose body can't be read is left out, and the log says so.
pub(crate) fn usable(standing: &[store::Calendar]) -> Calendars {
    let mut calendars = Calendars::new();
    for known in standing {
        let read = std::str::from_utf8(&known.body)
            .map_err(|error| error.to_string())
            .and_then(|text| read_one(text).map_err(|(reason, _)| reason));
        match read {
            Ok((name, declared)) => drop(calendars.insert(name, declared.days)),
            Err(reason) => tracing::error!(calendar = known.name, reason, "calendar can't be read"),
        }
    }
    calendars
}

impl Gate {
    /// The calendars that stand.
    pub(crate) async fn calendars(&self) -> Result<Calendars, Refusal> {
        Ok(usable(&self.store.calendars().await?.1))
    }
}

/// A calendar as the list shows it.
#[derive(Serialize)]
struct Shown {
    /// Number of its contents so far.
    revision: u64,
    #[serde(flatten)]
    spec: Value,
}

/// Lists the calendars by name.
#[utoipa::path(
    get, path = "/api/v1/calendars", tag = "schedules",
    responses((status = 200, description = "`items` (name, version, years, weekend, off, on, revision) and `next`"))
)]
pub(crate) async fn list(gate: Gate, params: Params) -> Result<Response, Refusal> {
    params.only(&[])?;
    let (_, calendars) = gate.store.calendars().await?;
    let shown = calendars.iter().map(|known| Shown {
        revision: known.version,
        spec: serde_json::from_slice(&known.body).unwrap_or_default(),
    });
    Ok(json(StatusCode::OK, &Items::whole(shown.collect())))
}
