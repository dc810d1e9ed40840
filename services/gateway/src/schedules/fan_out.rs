//! Fires that are batches: what keeps a definition from making one, and how it is shown.

use admission::{KnownType, Problem, TypeTable};
use domain::{FAN_OUT, Millis};
use plan::{FanOut, Plan, Source};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where the rows of a fire come from, and what becomes of them.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = FanOut)]
pub(crate) struct FanOutJson {
    /// `file`, `url` or `handler`.
    source: String,
    /// A file's path on the executor.
    path: Option<String>,
    /// An address.
    url: Option<String>,
    /// The type whose handler gives the rows.
    #[serde(rename = "type")]
    task_type: Option<String>,
    /// The type of each row's task.
    each: String,
    /// The type of the one task that follows when all rows have ended.
    then: Option<String>,
}

/// What keeps the fires of a definition from becoming batches; `place` is where it stands.
pub(crate) fn faults(place: &str, plan: &Plan, types: &TypeTable) -> Vec<Problem> {
    let schedule = plan.schedule();
    let Some(fan_out) = &schedule.fan_out else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    let emitter = known(types, &schedule.task_type).map(KnownType::spec);
    if emitter.is_some_and(|spec| spec.handler != FAN_OUT) {
        let reason = format!(
            "{:?} is of another handler than {FAN_OUT}, which reads the rows",
            schedule.task_type
        );
        let remedy =
            "take it out; the type that gives the rows is fan_out.type, that of a row's task fan_out.each";
        problems.push(Problem::new(format!("{place}.type"), reason, remedy));
    }
    let list = list_type(fan_out);
    let named = [
        ("each", Some(fan_out.each.as_str())),
        ("then", fan_out.then.as_deref()),
        ("type", list),
    ];
    for (field, name) in named {
        let Some(name) = name.filter(|name| known(types, name).is_none()) else {
            continue;
        };
        let reason = format!("there is no type {name:?} that can be used");
        let remedy = "declare it with gengfu apply, or see gengfu type list";
        problems.push(Problem::new(format!("{place}.fan_out.{field}"), reason, remedy));
    }
    if list
        .and_then(|name| known(types, name))
        .is_some_and(|list| list.spec().handler == FAN_OUT)
    {
        let reason = "makes batches itself, and gives no rows";
        let remedy = "name a type of handler command, http, or one of your own";
        problems.push(Problem::new(format!("{place}.fan_out.type"), reason, remedy));
    }
    problems
}

/// What is wrong with a payload for the handler that gives the rows; of other sources nothing takes one.
pub(crate) fn payload_faults(fan_out: &FanOut, payload: Option<&str>, types: &TypeTable) -> Vec<Problem> {
    match (list_type(fan_out), payload) {
        (None, None) => Vec::new(),
        (None, Some(_)) => {
            let reason = "has no use here: the rows are the payloads";
            vec![Problem::new("payload", reason, "take it out")]
        }
        (Some(list), payload) => {
            let faults = known(types, list).map(|list| list.faults(payload.unwrap_or_default().as_bytes()));
            faults
                .unwrap_or_default()
                .into_iter()
                .map(Problem::from)
                .collect()
        }
    }
}

/// The path or the address of one fire.
pub(crate) fn rows_from(plan: &Plan, planned_at: Millis, fired_at: Millis) -> Option<String> {
    let moment = plan.moment(planned_at, fired_at);
    match &plan.schedule().fan_out.as_ref()?.source {
        Source::File { path, .. } => Some(path.render(&moment)),
        Source::Url { url, .. } => Some(url.render(&moment)),
        Source::Handler { .. } => None,
    }
}

fn list_type(fan_out: &FanOut) -> Option<&str> {
    match &fan_out.source {
        Source::Handler { task_type } => Some(task_type),
        Source::File { .. } | Source::Url { .. } => None,
    }
}

fn known<'t>(types: &'t TypeTable, name: &str) -> Option<&'t KnownType> {
    types.get(name)?.as_deref().ok()
}

impl FanOutJson {
    /// In words.
    pub(crate) fn describe(&self) -> String {
        let from = [&self.path, &self.url, &self.task_type]
            .into_iter()
            .flatten()
            .next();
        let from = from.map_or("", String::as_str);
        let then = self
            .then
            .as_ref()
            .map_or_else(String::new, |then| format!(", then one {then}"));
        format!("a batch: one {} a row of {} {from}{then}", self.each, self.source)
    }
}
