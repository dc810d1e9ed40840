//! When a schedule or an expression fires, by the same function that fires it.

use axum::{extract::Path, http::StatusCode, response::Response};
use calendar::{Timestamp, zone};
use plan::{Plan, Schedule};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use admission::Problem;

use crate::{
    body::{Params, Whole, json, parse},
    gate::Gate,
    refusal::{Refusal, RefusalShape},
    schedules::{fan_out::rows_from, schedule_json::Outline, show::plan_of},
    time::{Instant, instant},
};

/// Fires of a preview that says no count.
const COUNT: usize = 10;
/// Most fires of one preview.
const COUNT_MAX: usize = 10_000;

/// Coming fires.
#[derive(Serialize, ToSchema)]
pub(crate) struct Preview {
    /// When it fires, in words.
    describe: String,
    zone: String,
    /// Version and place of the zone data.
    zone_data: String,
    /// How many fires a day, in words.
    fires_a_day: String,
    /// What is allowed and yet is often not what was meant.
    warnings: Vec<String>,
    /// What a fire becomes where it is a batch, in words.
    batch: Option<String>,
    items: Vec<Coming>,
}

/// One coming fire.
#[derive(Serialize, ToSchema)]
struct Coming {
    /// The planned instant, in UTC.
    #[schema(value_type = String)]
    at: Instant,
    /// When it is to be fired: later where the schedule has a spread.
    #[schema(value_type = String)]
    due: Instant,
    /// The planned instant by the zone's clock.
    local: String,
    /// The day of the week.
    day: String,
    /// What is unusual about it, such as a clock that changes on this day.
    marks: Vec<String>,
    /// Where it is a batch: the path or the address of its rows, as they are when it fires on time.
    rows_from: Option<String>,
}

/// An expression: any part of a definition that says when, with its zone.
#[derive(Deserialize, ToSchema)]
#[expect(dead_code, reason = "describes a shape")]
pub(crate) struct PreviewShape {
    cron: Option<String>,
    every: Option<String>,
    at: Option<String>,
    zone: String,
    dialect: Option<String>,
    dst_gap: Option<String>,
    dst_overlap: Option<String>,
    calendar: Option<String>,
    start: Option<String>,
    end: Option<String>,
    /// How many fires; 10 if not given.
    count: Option<u32>,
    /// The instant after which they come; now if not given.
    after: Option<String>,
}

/// Shows when a schedule fires next, whether it is paused or not.
#[utoipa::path(
    get, path = "/api/v1/schedules/{name}/preview", tag = "schedules",
    params(
        ("name" = String, Path), ("count" = Option<u32>, Query, description = "10, at most 10000"),
        ("after" = Option<String>, Query, description = "the instant after which they come; now if not given"),
    ),
    responses(
        (status = 200, body = Preview, description = "coming fires"),
        (status = 404, body = RefusalShape, description = "there is no such schedule"),
    )
)]
pub(crate) async fn of_schedule(
    gate: Gate,
    params: Params,
    Path(name): Path<String>,
) -> Result<Response, Refusal> {
    let params = params.only(&["count", "after"])?;
    let count = params.read("count", |text| count(text.parse().ok()))?;
    let after = params.read("after", instant)?;
    let view = gate.schedule(&name).await?;
    let plan = plan_of(&view, &gate.calendars().await?)?;
    let now = gate.store.ping().await?;
    let left = match view.plan.max_fires {
        0 => usize::MAX,
        most => usize::try_from(most.saturating_sub(view.plan.fires)).unwrap_or(usize::MAX),
    };
    let count = count.unwrap_or(COUNT).min(left);
    Ok(json(StatusCode::OK, &preview(&plan, after.unwrap_or(now), count)))
}

/// Shows when an expression would fire.
#[utoipa::path(
    post, path = "/api/v1/schedules/preview", tag = "schedules", request_body = PreviewShape,
    responses(
        (status = 200, body = Preview, description = "coming fires"),
        (status = 422, body = RefusalShape, description = "the expression can't be meant"),
    )
)]
pub(crate) async fn of_expression(gate: Gate, whole: Whole) -> Result<Response, Refusal> {
    let mut fields: Map<String, Value> = parse(&whole.body)?;
    let bad = |field: &'static str| move |reason: String| Refusal::malformed(field, reason, "");
    let count = match fields.remove("count") {
        None | Some(Value::Null) => COUNT,
        Some(value) => {
            let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
            count(number).map_err(bad("count"))?
        }
    };
    let after = match fields.remove("after") {
        None | Some(Value::Null) => gate.store.ping().await?,
        Some(value) => instant(value.as_str().unwrap_or_default()).map_err(bad("after"))?,
    };
    fields.entry("name").or_insert_with(|| "preview".into());
    fields.entry("type").or_insert_with(|| "preview".into());
    let calendars = gate.calendars().await?;
    let plan = Schedule::parse(&Value::Object(fields).to_string()).and_then(|schedule| {
        schedule
            .plan(|name| calendars.get(name).cloned())
            .map_err(|problem| vec![problem])
    });
    let plan = plan.map_err(|problems| {
        let told = problems
            .into_iter()
            .map(|problem| Problem::new(problem.field, problem.reason, problem.remedy));
        Refusal::invalid(told.collect())
    })?;
    Ok(json(StatusCode::OK, &preview(&plan, after, count)))
}

fn count(number: Option<usize>) -> Result<usize, String> {
    number
        .filter(|number| (1..=COUNT_MAX).contains(number))
        .ok_or_else(|| format!("is a number from 1 to {COUNT_MAX}"))
}

fn preview(plan: &Plan, after: domain::Millis, count: usize) -> Preview {
    let timetable = plan.timetable();
    let after = Timestamp::from_millisecond(after).unwrap_or(Timestamp::UNIX_EPOCH);
    let most = plan
        .schedule()
        .max_fires
        .map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let fires = timetable.fires_after(after).take(count.min(most));
    let items = fires.map(|fire| {
        let at = fire.at.as_millisecond();
        let due = plan.next_after(at - 1).map_or(at, |next| next.due);
        Coming {
            at: Instant::of(at),
            due: Instant::of(due),
            local: fire.to_string(),
            day: fire.local.weekday().to_string(),
            marks: fire.marks.words(),
            rows_from: rows_from(plan, at, due),
        }
    });
    Preview {
        describe: timetable.describe(),
        zone: timetable.zone().name().to_owned(),
        zone_data: zone::version().to_string(),
        fires_a_day: timetable.fires_a_day().to_string(),
        warnings: plan.warnings().to_vec(),
        batch: Outline::of(plan.schedule().to_json().as_bytes())
            .fan_out
            .map(|rows| rows.describe()),
        items: items.collect(),
    }
}
