//! `POST /apply`: declares what stands in the files of the operator.

use axum::{http::StatusCode, response::Response};
use domain::TypeSpec;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::{
    body::{Params, Whole, json, parse},
    gate::{Actor, Gate},
    refusal::{Refusal, RefusalShape},
    types::declare::{self, Change, Outcome},
};

/// Most definitions of one request.
const DEFINITIONS_MAX: usize = 1_000;
/// Keys that the design knows and this version does not serve yet.
const LATER: [&str; 7] = [
    "schedules",
    "pools",
    "tiers",
    "limits",
    "calendars",
    "channels",
    "rules",
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApplyBody<'a> {
    #[serde(borrow, default)]
    types: Vec<&'a RawValue>,
    #[serde(default)]
    dry_run: bool,
}

/// Definitions, as OpenAPI describes them.
#[derive(ToSchema)]
#[schema(as = Definitions)]
#[expect(dead_code, reason = "describes a shape")]
pub(crate) struct ApplyShape {
    /// Types, as `GET /types` shows them.
    types: Vec<serde_json::Value>,
    /// Only says what would change.
    dry_run: Option<bool>,
}

/// What changed, or would change.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Applied {
    dry_run: bool,
    changes: Vec<Change>,
}

/// Declares types; nothing changes where one of them is wrong.
#[utoipa::path(
    post, path = "/api/v1/apply", tag = "types", request_body = ApplyShape,
    params(("dry_run" = Option<bool>, Query)),
    responses(
        (status = 200, body = Applied, description = "what changed"),
        (status = 422, body = RefusalShape, description = "a definition is wrong; nothing changed"),
    )
)]
pub(crate) async fn apply(
    gate: Gate,
    actor: Actor,
    params: Params,
    whole: Whole,
) -> Result<Response, Refusal> {
    let params = params.only(&["dry_run"])?;
    let dry = params.read("dry_run", str::parse::<bool>)?.unwrap_or(false);
    refuse_later(&whole.body)?;
    let asked: ApplyBody<'_> = parse(&whole.body)?;
    if asked.types.len() > DEFINITIONS_MAX {
        let reason = format!(
            "holds {} definitions, more than {DEFINITIONS_MAX}",
            asked.types.len()
        );
        return Err(Refusal::malformed(
            "types",
            reason,
            "apply them in several requests",
        ));
    }
    let (_, standing) = gate.store.types().await?;
    let specs = declare::read(&asked.types, &standing).map_err(Refusal::invalid)?;
    let changes: Vec<_> = specs
        .iter()
        .map(|spec| declare::compare(spec, &standing))
        .collect();
    let dry_run = dry || asked.dry_run;
    if !dry_run {
        let moved = specs
            .into_iter()
            .zip(&changes)
            .filter(|(_, change)| change.change != Outcome::Unchanged);
        gate.put_types(&moved.map(|(spec, _)| spec).collect::<Vec<_>>(), &actor, "apply")
            .await?;
    }
    Ok(json(StatusCode::OK, &Applied { dry_run, changes }))
}

fn refuse_later(body: &[u8]) -> Result<(), Refusal> {
    let Ok(serde_json::Value::Object(keys)) = serde_json::from_slice(body) else {
        return Ok(());
    };
    match LATER.into_iter().find(|key| keys.contains_key(*key)) {
        Some(key) => Err(Refusal::malformed(
            key,
            "can't be declared in this version yet",
            "declare types only",
        )),
        None => Ok(()),
    }
}

impl Gate {
    /// Writes types, and tells every service.
    pub(crate) async fn put_types(
        &self,
        specs: &[TypeSpec],
        actor: &Actor,
        reason: &str,
    ) -> Result<(), store::Error> {
        if specs.is_empty() {
            return Ok(());
        }
        let version = self.store.put_types(specs).await?;
        for spec in specs {
            tracing::info!(
                task_type = spec.name,
                paused = spec.paused,
                actor = actor.0,
                reason,
                "type changed"
            );
        }
        self.types.refresh().await?;
        if let Err(error) = self.bus.nudge_control(version).await {
            tracing::debug!(%error, "a nudge was not sent");
        }
        Ok(())
    }
}
