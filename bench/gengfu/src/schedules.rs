//! Schedules of the load, declared over the API.

use anyhow::{Result, bail};
use futures::{StreamExt, TryStreamExt, stream};
use gengfu_integration_tests::Api;
use serde_json::{Value, json};

/// Schedules of one request.
const BULK: usize = 500;
/// Requests side by side.
const BULK_AT_ONCE: usize = 4;

/// The name of one of them.
pub(crate) fn name(number: usize) -> String {
    format!("bench-{number:06}")
}

/// Declares the schedules of these numbers, each of an `echo` task at the times of `cron`, in UTC.
pub(crate) async fn declare(api: &Api, numbers: std::ops::Range<usize>, cron: &str) -> Result<()> {
    let all: Vec<_> = numbers.collect();
    let bodies = all.chunks(BULK).map(|part| {
        let part: Vec<_> = part.iter().map(|number| definition(*number, cron)).collect();
        json!({ "schedules": part })
    });
    stream::iter(bodies)
        .map(|body| async move {
            let answer = api.post("/api/v1/apply", &body).await?;
            if !answer.status.is_success() {
                bail!("apply: {} {}", answer.status, answer.text());
            }
            Ok(())
        })
        .buffer_unordered(BULK_AT_ONCE)
        .try_collect()
        .await
}

fn definition(number: usize, cron: &str) -> Value {
    json!({
        "name": name(number), "type": "bench.echo", "cron": cron, "zone": "UTC",
        "payload": {"room_id": number, "day": "{{planned_date}}"},
    })
}
