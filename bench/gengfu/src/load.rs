//! Submits `echo` tasks with payloads of 200 bytes.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::{StreamExt, TryStreamExt, stream};
use gengfu_integration_tests::Api;
use serde_json::{Value, json};

/// Tasks of one bulk request.
const BULK: usize = 1_000;
/// Bulk requests side by side.
const BULK_AT_ONCE: usize = 4;
/// The steady load, a second.
const STEADY_RATE: u32 = 100;

/// How a load was submitted.
pub(crate) struct Submitted {
    /// Tasks.
    pub(crate) count: usize,
    /// Seconds that it took.
    pub(crate) seconds: f64,
    /// When it began, in microseconds since the epoch.
    pub(crate) began_us: i64,
}

/// A payload of exactly 200 bytes.
fn payload() -> Value {
    let empty = json!({"text": ""}).to_string().len();
    json!({"text": "x".repeat(200 - empty)})
}

/// Submits `count` tasks by requests of 1,000.
pub(crate) async fn bulk(api: &Api, count: usize) -> Result<Submitted> {
    let body = |tasks: usize| {
        let all: Vec<_> = (0..tasks).map(|_| json!({"payload": payload()})).collect();
        json!({"defaults": {"task_type": "bench.echo"}, "tasks": all})
            .to_string()
            .into_bytes()
    };
    let sizes = (0..count).step_by(BULK).map(|from| BULK.min(count - from));
    let bodies: Vec<_> = sizes.map(body).collect();
    let (began_us, began) = (now_us(), Instant::now());
    stream::iter(&bodies)
        .map(|body| async move { accepted(&api.post_bytes("/api/v1/tasks:batch", body).await?) })
        .buffer_unordered(BULK_AT_ONCE)
        .try_collect::<Vec<()>>()
        .await?;
    Ok(Submitted {
        count,
        seconds: began.elapsed().as_secs_f64(),
        began_us,
    })
}

fn accepted(answer: &gengfu_integration_tests::Answer) -> Result<()> {
    let refused = answer.json()["refused"].as_u64();
    if !answer.status.is_success() || refused != Some(0) {
        bail!("a bulk request was refused: {} {}", answer.status, answer.text());
    }
    Ok(())
}

async fn one(api: &Api, body: &[u8]) -> Result<String> {
    let answer = api.post_bytes("/api/v1/tasks", body).await?;
    match answer.json()["task_id"].as_str() {
        Some(id) => Ok(id.to_owned()),
        None => bail!("a submission was refused: {} {}", answer.status, answer.text()),
    }
}

fn body_of_one() -> Vec<u8> {
    json!({"task_type": "bench.echo", "payload": payload()})
        .to_string()
        .into_bytes()
}

/// Submits `count` tasks, each awaited before the next.
pub(crate) async fn one_by_one(api: &Api, count: usize) -> Result<Submitted> {
    let body = body_of_one();
    let (began_us, began) = (now_us(), Instant::now());
    for _ in 0..count {
        one(api, &body).await?;
    }
    Ok(Submitted {
        count,
        seconds: began.elapsed().as_secs_f64(),
        began_us,
    })
}

/// Submits 100 tasks a second at even distances; each with its id and the instant before its request.
pub(crate) async fn steady(api: &Api, count: usize) -> Result<Vec<(String, i64)>> {
    let body = std::sync::Arc::new(body_of_one());
    let mut tick = tokio::time::interval(Duration::from_secs(1) / STEADY_RATE);
    let mut running = Vec::with_capacity(count);
    for _ in 0..count {
        tick.tick().await;
        let (api, body, sent_us) = (api.clone(), std::sync::Arc::clone(&body), now_us());
        running.push(tokio::spawn(async move {
            Ok::<_, anyhow::Error>((one(&api, &body).await?, sent_us))
        }));
    }
    let mut sent = Vec::with_capacity(count);
    for submission in running {
        sent.push(submission.await??);
    }
    Ok(sent)
}

/// This host's clock, which the log's lines show too.
fn now_us() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}

#[cfg(test)]
mod tests {
    #[test]
    fn payloads_have_200_bytes() {
        assert_eq!(super::payload().to_string().len(), 200);
    }
}
