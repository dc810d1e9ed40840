//! `POST /apply`: declares what stands in the files of the operator.

use axum::{http::StatusCode, response::Response};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::{
    body::{Params, Whole, json, parse},
    gate::{Actor, Gate},
    refusal::{Refusal, RefusalShape},
    types::{declare::Change, intent::Intent},
};

/// Most types and calendars of one request, each.
const DEFINITIONS_MAX: usize = 1_000;
/// Most schedules of one request.
const SCHEDULES_MAX: usize = 10_000;
/// Keys that the design knows and this version does not serve yet.
const LATER: [&str; 5] = ["pools", "tiers", "limits", "channels", "rules"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ApplyBody<'a> {
    #[serde(borrow, default)]
    pub(super) types: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) calendars: Vec<&'a RawValue>,
    #[serde(borrow)]
    pub(super) schedules: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    pub(super) prune: bool,
}

/// Definitions, as OpenAPI describes them.
#[derive(ToSchema)]
#[schema(as = Definitions)]
#[expect(dead_code, reason = "describes a shape")]
pub(crate) struct ApplyShape {
    /// Types, as `GET /types` shows them.
    types: Vec<serde_json::Value>,
    /// Calendars, as `GET /calendars` shows them, without `revision`.
    calendars: Vec<serde_json::Value>,
    /// Schedules, as the `spec` of `GET /schedules/{name}` shows them.
    schedules: Vec<serde_json::Value>,
    /// Only says what would change.
    dry_run: Option<bool>,
    /// Deletes every schedule that is not named; `schedules` must be there.
    prune: Option<bool>,
}

/// What changed, or would change.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Applied {
    dry_run: bool,
    changes: Vec<Change>,
}

/// Declares types, calendars and schedules; nothing changes where one of them is wrong.
#[utoipa::path(
    post, path = "/api/v1/apply", tag = "types", request_body = ApplyShape,
    params(("dry_run" = Option<bool>, Query), ("prune" = Option<bool>, Query)),
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
    let params = params.only(&["dry_run", "prune"])?;
    let flag = |name| {
        params
            .read(name, str::parse::<bool>)
            .map(Option::unwrap_or_default)
    };
    let (dry, prune) = (flag("dry_run")?, flag("prune")?);
    refuse_later(&whole.body)?;
    let mut asked: ApplyBody<'_> = parse(&whole.body)?;
    asked.dry_run |= dry;
    asked.prune |= prune;
    let schedules = asked.schedules.as_ref().map_or(0, Vec::len);
    for (key, count, most) in [
        ("types", asked.types.len(), DEFINITIONS_MAX),
        ("calendars", asked.calendars.len(), DEFINITIONS_MAX),
        ("schedules", schedules, SCHEDULES_MAX),
    ] {
        if count > most {
            let reason = format!("holds {count} definitions, more than {most}");
            return Err(Refusal::malformed(key, reason, "apply them in several requests"));
        }
    }
    if asked.prune && asked.schedules.is_none() {
        return Err(Refusal::malformed(
            "prune",
            "would delete every schedule, as none are named",
            "name the schedules that stay; write schedules: [] where none shall",
        ));
    }
    let intent = Intent::read(&gate, &asked).await?;
    if !asked.dry_run {
        intent.carry_out(&gate, &actor).await?;
    }
    let answer = Applied {
        dry_run: asked.dry_run,
        changes: intent.changes(),
    };
    Ok(json(StatusCode::OK, &answer))
}

fn refuse_later(body: &[u8]) -> Result<(), Refusal> {
    let Ok(serde_json::Value::Object(keys)) = serde_json::from_slice(body) else {
        return Ok(());
    };
    match LATER.into_iter().find(|key| keys.contains_key(*key)) {
        Some(key) => Err(Refusal::malformed(
            key,
            "can't be declared in this version yet",
            "declare types, calendars and schedules only",
        )),
        None => Ok(()),
    }
}
