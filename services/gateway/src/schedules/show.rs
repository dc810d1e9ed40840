//! `GET` and `DELETE /schedules/{name}`.

use axum::{extract::Path, http::StatusCode, response::Response};
use domain::schedule_partition;
use serde_json::value::RawValue;
use store::{PlanRefusal, ScheduleView};

use crate::{
    body::{Params, json},
    gate::{Actor, Gate},
    play::play,
    refusal::{Refusal, RefusalShape},
    schedules::{
        calendars::Calendars,
        schedule_json::{Outline, ScheduleJson, WholeJson},
    },
};

/// The plan of a schedule that stands.
///
/// # Errors
/// 409, where its calendar is gone or its definition is none of this version.
pub(crate) fn plan_of(view: &ScheduleView, calendars: &Calendars) -> Result<plan::Plan, Refusal> {
    let text = String::from_utf8_lossy(&view.spec);
    let read = plan::Schedule::parse(&text).and_then(|schedule| {
        schedule
            .plan(|name| calendars.get(name).cloned())
            .map_err(|problem| vec![problem])
    });
    read.map_err(|problems| {
        let reason: Vec<_> = problems.iter().map(ToString::to_string).collect();
        Refusal::conflict(
            &format!("schedule ({})", view.plan.name),
            reason.join(". "),
            "apply it again",
        )
    })
}

/// Shows a schedule whole.
#[utoipa::path(
    get, path = "/api/v1/schedules/{name}", tag = "schedules", params(("name" = String, Path)),
    responses(
        (status = 200, body = WholeJson, description = "the schedule"),
        (status = 404, body = RefusalShape, description = "there is no such schedule"),
    )
)]
pub(crate) async fn show(gate: Gate, Path(name): Path<String>) -> Result<Response, Refusal> {
    let view = gate.schedule(&name).await?;
    let plan = plan_of(&view, &gate.calendars().await?);
    let described = plan.as_ref().ok().map(|plan| plan.timetable().describe());
    let warnings = match &plan {
        Ok(plan) => plan.warnings().to_vec(),
        Err(refusal) => vec![refusal.detail.clone()],
    };
    let text = String::from_utf8_lossy(&view.spec).into_owned();
    let spec = RawValue::from_string(text).map_err(|error| store::Error::Corrupt(error.to_string()))?;
    let whole = WholeJson {
        schedule: ScheduleJson::of(&view, Outline::of(&view.spec)),
        describe: described,
        warnings,
        spec: &spec,
    };
    Ok(json(StatusCode::OK, &whole))
}

/// Deletes a schedule: it never fires again. Its history and its tasks stay; another of this name is a new incarnation.
#[utoipa::path(
    delete, path = "/api/v1/schedules/{name}", tag = "schedules", params(("name" = String, Path)),
    responses(
        (status = 200, body = ScheduleJson, description = "the schedule as it was"),
        (status = 404, body = RefusalShape, description = "there is no such schedule"),
    )
)]
pub(crate) async fn delete(
    gate: Gate,
    actor: Actor,
    params: Params,
    Path(name): Path<String>,
) -> Result<Response, Refusal> {
    params.only(&[])?;
    let view = gate.schedule(&name).await?;
    gate.remove(&actor, std::slice::from_ref(&name)).await?;
    Ok(json(
        StatusCode::OK,
        &ScheduleJson::of(&view, Outline::of(&view.spec)),
    ))
}

impl Gate {
    /// Removes schedules; one that is gone already is none to remove.
    pub(crate) async fn remove(&self, actor: &Actor, names: &[String]) -> Result<(), Refusal> {
        for (partition, names) in self.by_partition(names.to_vec(), String::as_str) {
            let gone = play(|nonce| self.store.remove_schedules(partition, nonce, &names)).await?;
            for (name, verdict) in names.iter().zip(gone) {
                match verdict {
                    Ok(plan) => tracing::info!(
                        schedule = name,
                        incarnation = plan.incarnation,
                        actor = actor.0,
                        "schedule deleted"
                    ),
                    Err(PlanRefusal::Missing) => {}
                    Err(refusal) => {
                        return Err(Refusal::conflict("schedule", refusal.to_string(), "try again"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Things of schedules in calls of one partition each, as long as a call may be.
    pub(crate) fn by_partition<T>(
        &self,
        items: Vec<T>,
        name: fn(&T) -> &str,
    ) -> Vec<(domain::Partition, Vec<T>)> {
        let mut calls: Vec<(domain::Partition, Vec<T>)> = Vec::new();
        for item in items {
            let partition = schedule_partition(name(&item), self.store.partitions());
            let open = calls
                .iter_mut()
                .rfind(|(at, call)| *at == partition && call.len() < store::BATCH_MAX);
            match open {
                Some((_, call)) => call.push(item),
                None => calls.push((partition, vec![item])),
            }
        }
        calls
    }
}
