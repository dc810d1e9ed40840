//! `/types` and `/apply`.

mod apply;
pub(crate) mod declare;
mod intent;

use axum::{
    Router,
    extract::Path,
    http::StatusCode,
    response::Response,
    routing::{get, post},
};
use domain::TypeSpec;
use serde::Deserialize;
use serde_json::{Map, Value};
use store::TypePause;

use crate::{
    body::{Params, Whole, json, parse, parse_or_default},
    gate::{Actor, Entrance, Gate},
    page::Items,
    refusal::{Refusal, RefusalShape},
    tasks::reason,
};

#[derive(utoipa::OpenApi)]
#[openapi(paths(apply::apply, list, show, set, switch))]
pub(crate) struct Api;

/// The routes, below `/api/v1`.
pub(crate) fn routes() -> Router<Entrance> {
    Router::new()
        .route("/apply", post(apply::apply))
        .route("/types", get(list))
        .route("/types/{name}", get(show).patch(set))
        .route("/types/{name}/{verb}", post(switch))
}

async fn standing(gate: &Gate, name: &str) -> Result<TypeSpec, Refusal> {
    let (_, types) = gate.store.types().await?;
    let found = types.into_iter().find(|spec| spec.name == name);
    found.ok_or_else(|| Refusal::missing("type", format!("{name:?}")))
}

/// Lists the types by name.
#[utoipa::path(get, path = "/api/v1/types", tag = "types", responses((status = 200, description = "`items` and `next`")))]
async fn list(gate: Gate, params: Params) -> Result<Response, Refusal> {
    params.only(&[])?;
    let (_, mut types) = gate.store.types().await?;
    types.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(json(StatusCode::OK, &Items::whole(types)))
}

/// Shows a type.
#[utoipa::path(
    get, path = "/api/v1/types/{name}", tag = "types", params(("name" = String, Path)),
    responses((status = 200, description = "the type"), (status = 404, body = RefusalShape, description = "none"))
)]
async fn show(gate: Gate, Path(name): Path<String>) -> Result<Response, Refusal> {
    Ok(json(StatusCode::OK, &standing(&gate, &name).await?))
}

/// Changes some fields of a type; null takes one out.
#[utoipa::path(
    patch, path = "/api/v1/types/{name}", tag = "types", params(("name" = String, Path)),
    responses(
        (status = 200, description = "what changed"),
        (status = 404, body = RefusalShape, description = "there is no such type"),
        (status = 422, body = RefusalShape, description = "the changed type would be wrong"),
    )
)]
async fn set(gate: Gate, actor: Actor, Path(name): Path<String>, whole: Whole) -> Result<Response, Refusal> {
    let fields: Map<String, Value> = parse(&whole.body)?;
    if fields.contains_key("name") {
        return Err(Refusal::malformed(
            "name",
            "can't be changed",
            "declare a new type",
        ));
    }
    let before = standing(&gate, &name).await?;
    let mut plain = declare::plain(&before);
    for (key, value) in fields {
        if value.is_null() {
            plain.as_object_mut().map(|plain| plain.remove(&key));
        } else {
            plain[key] = value;
        }
    }
    let bad = |reason: String| {
        Refusal::invalid(vec![admission::Problem::new(
            format!("types ({name})"),
            reason,
            "",
        )])
    };
    let text = plain.to_string();
    let spec: TypeSpec = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    declare::check(&spec).map_err(bad)?;
    change(&gate, &actor, before, spec, Why::new("set", "")).await
}

/// Why.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct SwitchBody {
    /// Goes into the log.
    #[serde(default)]
    reason: String,
}

/// Pauses or resumes a type: none of its tasks starts any more. Answers when every partition has it.
#[utoipa::path(
    post, path = "/api/v1/types/{name}/{verb}", tag = "types", request_body = SwitchBody,
    params(("name" = String, Path), ("verb" = String, Path, description = "pause or resume")),
    responses((status = 200, description = "what changed"), (status = 404, body = RefusalShape, description = "none"))
)]
async fn switch(
    gate: Gate,
    actor: Actor,
    Path((name, verb)): Path<(String, String)>,
    whole: Whole,
) -> Result<Response, Refusal> {
    let body: SwitchBody = parse_or_default(&whole.body)?;
    let paused = match verb.as_str() {
        "pause" => true,
        "resume" => false,
        _ => return Err(Refusal::missing("verb", verb)),
    };
    let before = standing(&gate, &name).await?;
    let spec = TypeSpec {
        paused,
        ..before.clone()
    };
    let why = reason(body.reason)?;
    change(&gate, &actor, before, spec, Why::new(&verb, &why)).await
}

/// What is done to types, and the reason that a person gave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Why<'a> {
    act: &'a str,
    reason: &'a str,
    /// Whether everything is switched at once.
    all: bool,
}

impl<'a> Why<'a> {
    pub(crate) const fn new(act: &'a str, reason: &'a str) -> Self {
        let all = false;
        Self { act, reason, all }
    }

    /// The same for everything at once.
    pub(crate) const fn of_all(act: &'a str, reason: &'a str) -> Self {
        let all = true;
        Self { act, reason, all }
    }
}

async fn change(
    gate: &Gate,
    actor: &Actor,
    before: TypeSpec,
    spec: TypeSpec,
    why: Why<'_>,
) -> Result<Response, Refusal> {
    let change = declare::compare(&spec, &[before]);
    if change.change != declare::Outcome::Unchanged {
        gate.put_types(&[spec], actor, why).await?;
    }
    Ok(json(StatusCode::OK, &change))
}

impl Gate {
    /// Writes types, and tells every service.
    pub(crate) async fn put_types(
        &self,
        specs: &[TypeSpec],
        actor: &Actor,
        why: Why<'_>,
    ) -> Result<(), store::Error> {
        if specs.is_empty() {
            return Ok(());
        }
        self.note_pauses(specs, actor, why).await?;
        let version = self.store.put_types(specs).await?;
        for spec in specs {
            tracing::info!(
                task_type = spec.name,
                paused = spec.paused,
                actor = actor.0,
                act = why.act,
                reason = why.reason,
                "type changed"
            );
        }
        self.types.refresh().await?;
        if let Err(error) = self.bus.nudge_control(version).await {
            tracing::debug!(%error, "a nudge was not sent");
        }
        Ok(())
    }

    /// Keeps who pauses, for whoever asks why a task waits.
    async fn note_pauses(&self, specs: &[TypeSpec], actor: &Actor, why: Why<'_>) -> Result<(), store::Error> {
        let pause = TypePause {
            by: actor.0.clone(),
            reason: match (why.reason, why.act) {
                ("", "pause") => String::new(),
                ("", act) => act.to_owned(),
                (reason, _) => reason.to_owned(),
            },
            since: self.store.ping().await?,
            all: why.all,
        };
        let note = |spec: &TypeSpec| (spec.name.clone(), spec.paused.then(|| pause.clone()));
        let notes: Vec<_> = specs.iter().map(note).collect();
        self.store.note_pauses(&notes).await
    }
}
