//! What the recorder adds to traces: its own span at the end of each attempt, and, of a task that was not sampled but
//! failed, all that the services left out.

use domain::{Status, TaskId, TimelineItem};
use store::{TaskEvent, TaskStore};
use telemetry::{Stage, TaskSpan};

use crate::{Page, error::in_time};

/// Timelines that are read for one page; further tasks go without.
const TIMELINES_MAX: usize = 64;

/// Adds the spans of a page that was written between `began_us` and now.
pub(crate) async fn record(store: &dyn TaskStore, page: &Page, began_us: i64) {
    if !telemetry::traces_on() {
        return;
    }
    let now_us = runtime::clock::now_us();
    for event in page.events.iter().filter(|event| ends_attempt(event)) {
        if event.sampled || failed(event.to) {
            telemetry::record_span(TaskSpan::new(
                event.task_id,
                Stage::Record,
                event.attempt,
                began_us,
                now_us,
            ));
        }
    }
    for event in page
        .events
        .iter()
        .filter(|event| wants_telling(event))
        .take(TIMELINES_MAX)
    {
        // It may be gone already, and traces are worth no second try.
        let timeline = in_time(store.timeline(event.task_id)).await.unwrap_or_default();
        for span in left_out(event, &timeline) {
            telemetry::record_span(span);
        }
    }
}

fn ends_attempt(event: &TaskEvent) -> bool {
    event.from == Some(Status::Running) && event.to != Status::Running
}

const fn failed(status: Status) -> bool {
    matches!(status, Status::Failed | Status::Timeout)
}

/// Whether a task ended that was not sampled and has something to tell.
fn wants_telling(event: &TaskEvent) -> bool {
    let ended = event.to.is_terminal() && event.from != Some(event.to);
    ended && !event.sampled && (event.retry_count > 0 || event.attempt > 1 || event.to == Status::Dead)
}

/// The spans of a timeline, but for the claims and runs of failed attempts, which the services always record.
fn left_out(event: &TaskEvent, timeline: &[TimelineItem]) -> Vec<TaskSpan> {
    let id = event.task_id;
    let mut spans = Vec::new();
    let mut claimed_at = None;
    for item in timeline {
        if item.version == 1 {
            let made = id.made_at().min(item.at);
            let root = if event.schedule_id.is_empty() {
                Stage::Submit
            } else {
                Stage::Trigger
            };
            spans.push(span(id, root, 0, made, item.at));
            spans.push(span(id, Stage::Admit, 0, made, item.at));
        }
        if item.to == Status::Running && item.from != Some(Status::Running) {
            claimed_at = Some(item.at);
            spans.push(span(id, Stage::Dispatch, item.attempt, item.at, item.at));
        } else if item.from == Some(Status::Running) && item.to != Status::Running {
            let began = claimed_at.take().unwrap_or(item.at);
            if !failed(item.to) {
                spans.push(span(id, Stage::Claim, item.attempt, began, began));
                let run = span(id, Stage::Run, item.attempt, began, item.at);
                spans.push(run.with("gengfu.status", item.to.as_str()));
            }
        }
    }
    let kind = |span: TaskSpan| span.with("gengfu.task_type", event.task_type.clone());
    spans.into_iter().map(kind).collect()
}

fn span(id: TaskId, stage: Stage, attempt: u32, start_ms: i64, end_ms: i64) -> TaskSpan {
    TaskSpan::new(
        id,
        stage,
        attempt,
        start_ms.saturating_mul(1_000),
        end_ms.saturating_mul(1_000),
    )
}

#[cfg(test)]
mod tests {
    use domain::Tier;

    use super::*;

    fn item(version: u32, from: Option<Status>, to: Status, attempt: u32) -> TimelineItem {
        TimelineItem {
            version,
            from,
            to,
            at: 1_700_000_000_000 + i64::from(version),
            attempt,
            actor: String::new(),
            node: String::new(),
            reason: String::new(),
            error_class: None,
            error_code: String::new(),
        }
    }

    fn ended(to: Status, retry_count: u16, sampled: bool) -> TaskEvent {
        TaskEvent {
            task_id: TaskId::new(1_700_000_000_000, [7; 10]),
            version: 6,
            from: Some(Status::Running),
            to,
            at: 1_700_000_000_006,
            attempt: u32::from(retry_count) + 1,
            actor: String::new(),
            node: String::new(),
            reason: String::new(),
            error_class: None,
            error_code: String::new(),
            task_type: "t".into(),
            pool: "default".into(),
            tier: Tier::Normal,
            batch_id: None,
            retry_count,
            max_retry: 3,
            wait_ms: 0,
            run_ms: 0,
            delay_ms: 0,
            sampled,
            schedule_id: String::new(),
        }
    }

    #[test]
    fn only_unsampled_tasks_with_something_to_tell_are_told() {
        assert!(wants_telling(&ended(Status::Success, 1, false)));
        assert!(wants_telling(&ended(Status::Dead, 0, false)));
        assert!(!wants_telling(&ended(Status::Success, 0, false)));
        assert!(!wants_telling(&ended(Status::Dead, 1, true)));
        assert!(!wants_telling(&ended(Status::Failed, 1, false)));
    }

    #[test]
    fn the_tree_is_whole_with_what_the_services_recorded() {
        use Status::{Failed, Pending, Retrying, Running, Success};
        let timeline = [
            item(1, None, Pending, 0),
            item(2, Some(Pending), Running, 1),
            item(3, Some(Running), Failed, 1),
            item(4, Some(Failed), Retrying, 1),
            item(5, Some(Retrying), Running, 2),
            item(6, Some(Running), Success, 2),
        ];
        let spans = left_out(&ended(Success, 1, false), &timeline);
        let stages: Vec<_> = spans.iter().map(|span| (span.stage, span.attempt)).collect();
        let expected = [
            (Stage::Submit, 0),
            (Stage::Admit, 0),
            (Stage::Dispatch, 1),
            (Stage::Dispatch, 2),
            (Stage::Claim, 2),
            (Stage::Run, 2),
        ];
        assert_eq!(stages, expected);
        assert_eq!(spans[5].end_us - spans[5].start_us, 1_000);
    }
}
