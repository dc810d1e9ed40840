//! Says that all rows of a batch were handed in, and what follows once they have ended.

use admission::Problem;
use axum::{extract::Path, http::StatusCode, response::Response};
use domain::TaskId;
use serde::{Deserialize, Serialize};
use store::{BatchCounts, Seal, Sealed};
use utoipa::ToSchema;

use super::show::BatchJson;
use crate::{
    body::{Params, Whole, id, json, parse},
    gate::{Actor, Gate},
    play::play,
    refusal::{Refusal, RefusalShape},
};

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SealBody {
    /// Rows in all, rejected ones too.
    total: u64,
    /// The type of the one task that follows when all rows have ended. Its payload has `batch_id`, `total` and
    /// `counts`.
    #[serde(default)]
    then: Option<String>,
}

/// What was said of a batch.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Sealed)]
pub(crate) struct SealedJson {
    /// Rows in all.
    total: u64,
    /// The type of the task that follows.
    then: Option<String>,
    /// The task that followed, once all rows have ended.
    #[schema(value_type = Option<String>)]
    task_id: Option<TaskId>,
}

impl From<Sealed> for SealedJson {
    fn from(sealed: Sealed) -> Self {
        Self {
            total: sealed.seal.total,
            then: sealed.seal.then,
            task_id: sealed.followed_by,
        }
    }
}

/// Seals a batch: it has so many rows and no more, and one task may follow when all have ended, whether or not anybody
/// still waits. The same again changes nothing; anything else is a conflict.
#[utoipa::path(
    post, path = "/api/v1/batches/{id}/seal", tag = "batches", request_body = SealBody, params(("id" = String, Path)),
    responses(
        (status = 200, body = BatchJson, description = "the batch"),
        (status = 404, body = RefusalShape, description = "none"),
        (status = 409, body = RefusalShape, description = "sealed with something else, or more rows are there"),
        (status = 422, body = RefusalShape, description = "a type that is not declared")
    )
)]
pub(crate) async fn seal(
    gate: Gate,
    actor: Actor,
    Path(text): Path<String>,
    params: Params,
    whole: Whole,
) -> Result<Response, Refusal> {
    params.only(&[])?;
    let batch = id("batch_id", &text)?;
    let body: SealBody = parse(&whole.body)?;
    if let Some(name) = &body.then {
        declared(&gate, name).await?;
    }
    let counts = gate.store.batch(batch).await?;
    check(&body, batch, counts.as_ref())?;
    let seal = Seal {
        total: body.total,
        then: body.then,
        parent_id: None,
    };
    let origin = gate.origin(actor, String::new());
    let sealed = play(|nonce| gate.store.seal(nonce, &origin, batch, &seal)).await?;
    if sealed.seal != seal {
        let then = sealed.seal.then.as_deref().unwrap_or("nothing");
        let reason = format!("is sealed with {} rows, and {then} follows", sealed.seal.total);
        return Err(Refusal::conflict(
            "batch_id",
            reason,
            "leave it as it is, or use another batch",
        ));
    }
    let shown = BatchJson::of(batch, &counts.unwrap_or_default(), Some(sealed));
    Ok(json(StatusCode::OK, &shown))
}

async fn declared(gate: &Gate, name: &str) -> Result<(), Refusal> {
    if gate.types_for([name]).await?.get(name).is_some() {
        return Ok(());
    }
    let reason = format!("there is no type {:?}", &name[..name.floor_char_boundary(100)]);
    let remedy = "declare it with gengfu apply, or see gengfu type list";
    Err(Refusal::invalid(vec![Problem::new("then", reason, remedy)]))
}

/// A batch that nobody knows would wait for ever, and one with more rows would end too soon.
fn check(body: &SealBody, batch: TaskId, counts: Option<&BatchCounts>) -> Result<(), Refusal> {
    match counts {
        None if body.total > 0 => Err(Refusal::missing("batch", batch)),
        Some(counts) if counts.total > body.total => {
            let reason = format!(
                "is {}, but the batch has {} tasks already",
                body.total, counts.total
            );
            Err(Refusal::conflict("total", reason, "give the number of all rows"))
        }
        Some(_) | None => Ok(()),
    }
}
