//! What this process shows of the transitions that it made: a log line, metrics, spans.

use domain::{ErrorClass, Status, TaskId};
use store::TaskEvent;
use telemetry::{LogStage, Metrics, Stage, StageLine, TaskSpan, TraceParent};

/// Shows the events of one call, in order. Never waits. `link` knows the callers' own traces of new tasks.
pub(super) fn observe(
    events: &[TaskEvent],
    node: &str,
    metrics: &Metrics,
    link: impl Fn(TaskId) -> Option<TraceParent>,
) {
    let traced = telemetry::traces_on();
    let mut before: Option<&TaskEvent> = None;
    for event in events {
        telemetry::log_stage(&line(event, node));
        let same_task = before.filter(|before| before.task_id == event.task_id);
        count(event, same_task.and_then(|before| before.error_class), metrics);
        if traced {
            spans(event, &link, telemetry::record_span);
        }
        before = Some(event);
    }
}

fn line<'a>(event: &'a TaskEvent, node: &'a str) -> StageLine<'a> {
    StageLine {
        attempt: event.attempt,
        from: event.from,
        to: Some(event.to),
        node: if event.node.is_empty() { node } else { &event.node },
        elapsed_ms: ends_run(event).then_some(event.run_ms),
        wait_ms: claims(event).then_some(event.wait_ms),
        version: event.version,
        at: event.at,
        actor: &event.actor,
        reason: &event.reason,
        error_class: event.error_class,
        error_code: &event.error_code,
        retry_count: Some(event.retry_count),
        max_retry: Some(event.max_retry),
        retry_in_ms: (event.to == Status::Retrying).then_some(event.delay_ms),
        ..StageLine::new(log_stage(event), event.task_id, &event.task_type)
    }
}

/// What kind of line an event is. Whoever reads only the lines of one kind finds each begin, end and error once.
fn log_stage(event: &TaskEvent) -> LogStage {
    if event.from == Some(event.to) {
        return LogStage::Update;
    }
    match event.to {
        Status::Running => LogStage::Begin,
        Status::Success | Status::Cancelled => LogStage::End,
        Status::Failed | Status::Timeout | Status::Dead => LogStage::Error,
        Status::Retrying => LogStage::Retry,
        Status::Pending => LogStage::Update,
    }
}

fn count(event: &TaskEvent, class_before: Option<ErrorClass>, metrics: &Metrics) {
    let seconds = |ms: i64| ms as f64 / 1_000.0;
    if claims(event) {
        metrics.observe_wait(&event.task_type, event.tier, seconds(event.wait_ms));
    }
    if ends_run(event) {
        metrics.observe_run(&event.task_type, event.to, seconds(event.run_ms));
    }
    if event.to.is_terminal() && event.from != Some(event.to) {
        metrics.task_ended(&event.task_type, event.to);
    }
    if let Some(class) = retried(event, class_before) {
        metrics.retried(&event.task_type, class);
    }
}

/// The class of the error after which the task will be run again.
fn retried(event: &TaskEvent, class_before: Option<ErrorClass>) -> Option<ErrorClass> {
    let by_default = match (event.from, event.to) {
        (Some(Status::Failed), Status::Retrying) => ErrorClass::Transient,
        (Some(Status::Timeout), Status::Retrying) => ErrorClass::Timeout,
        (Some(Status::Timeout), Status::Pending) => ErrorClass::Lost,
        _ => return None,
    };
    Some(event.error_class.or(class_before).unwrap_or(by_default))
}

/// Whether it gives the task to an executor.
fn claims(event: &TaskEvent) -> bool {
    event.to == Status::Running && event.from != Some(Status::Running)
}

/// Whether it ends a run, well or badly.
fn ends_run(event: &TaskEvent) -> bool {
    event.from == Some(Status::Running) && event.to != Status::Running
}

/// The spans that an event closes. Of a task that is not sampled only failed attempts leave any; the recorder adds
/// what is around them.
fn spans(event: &TaskEvent, link: impl Fn(TaskId) -> Option<TraceParent>, mut record: impl FnMut(TaskSpan)) {
    let failed = matches!(event.to, Status::Failed | Status::Timeout);
    if event.version == 1 && event.sampled {
        accepted(event, link(event.task_id), &mut record);
    } else if claims(event) && event.sampled {
        record(claim(event, event.at));
    } else if ends_run(event) && (event.sampled || failed) {
        let began = event.at - event.run_ms.max(0);
        if !event.sampled {
            record(claim(event, began));
        }
        record(run(event, began, failed));
    }
}

/// The root, from the moment the id was made, and the store's part of it.
fn accepted(event: &TaskEvent, link: Option<TraceParent>, record: &mut impl FnMut(TaskSpan)) {
    let made = event.task_id.made_at().min(event.at);
    let root = if event.schedule_id.is_empty() {
        Stage::Submit
    } else {
        Stage::Trigger
    };
    let span = |stage| {
        described(
            TaskSpan::new(event.task_id, stage, 0, us(made), us(event.at)),
            event,
        )
    };
    record(span(root).linked(link));
    let admit = span(Stage::Admit);
    record(match event.to {
        Status::Dead => admit.failed(event.error_code.clone()),
        Status::Pending
        | Status::Running
        | Status::Success
        | Status::Failed
        | Status::Retrying
        | Status::Timeout
        | Status::Cancelled => admit,
    });
}

/// A claim takes no time that the store's clock could show; how long the task had waited is an attribute.
fn claim(event: &TaskEvent, at: i64) -> TaskSpan {
    let span = TaskSpan::new(event.task_id, Stage::Claim, event.attempt, us(at), us(at));
    let span = described(span, event);
    if claims(event) {
        span.with("gengfu.wait_ms", event.wait_ms)
    } else {
        span
    }
}

fn run(event: &TaskEvent, began: i64, failed: bool) -> TaskSpan {
    let span = TaskSpan::new(event.task_id, Stage::Run, event.attempt, us(began), us(event.at));
    let span = described(span, event).with("gengfu.status", event.to.as_str());
    if failed {
        let class = event.error_class.map_or("", ErrorClass::as_str);
        span.with("gengfu.error_class", class)
            .failed(event.error_code.clone())
    } else {
        span
    }
}

fn described(span: TaskSpan, event: &TaskEvent) -> TaskSpan {
    span.with("gengfu.task_type", event.task_type.clone())
        .with("gengfu.pool", event.pool.clone())
        .with("gengfu.tier", event.tier.as_str())
        .with("gengfu.actor", event.actor.clone())
}

const fn us(ms: i64) -> i64 {
    ms.saturating_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_wire::tests::claimed;

    fn event(from: Option<Status>, to: Status) -> TaskEvent {
        TaskEvent {
            from,
            to,
            ..claimed()
        }
    }

    fn spans_of(event: &TaskEvent) -> Vec<TaskSpan> {
        let mut found = Vec::new();
        spans(event, |_| None, |span| found.push(span));
        found
    }

    #[test]
    fn each_transition_has_its_kind_of_line() {
        use Status::*;
        for (from, to, stage) in [
            (None, Pending, LogStage::Update),
            (Some(Retrying), Running, LogStage::Begin),
            (Some(Running), Running, LogStage::Update),
            (Some(Running), Success, LogStage::End),
            (Some(Success), Success, LogStage::Update),
            (Some(Running), Failed, LogStage::Error),
            (Some(Running), Timeout, LogStage::Error),
            (Some(Failed), Dead, LogStage::Error),
            (Some(Failed), Retrying, LogStage::Retry),
            (Some(Timeout), Pending, LogStage::Update),
            (Some(Pending), Cancelled, LogStage::End),
        ] {
            assert_eq!(log_stage(&event(from, to)), stage, "{from:?} {to:?}");
        }
    }

    #[test]
    fn a_line_says_only_what_belongs_to_it() {
        let begin = claimed();
        let line_of_begin = line(&begin, "here");
        assert_eq!(
            (line_of_begin.wait_ms, line_of_begin.elapsed_ms),
            (Some(15), None)
        );
        let mut retry = event(Some(Status::Failed), Status::Retrying);
        (retry.delay_ms, retry.node) = (300, String::new());
        let line = line(&retry, "here");
        assert_eq!(
            (line.wait_ms, line.elapsed_ms, line.retry_in_ms),
            (None, None, Some(300))
        );
        assert_eq!(line.node, "here");
    }

    #[test]
    fn a_task_that_is_retried_once_counts_once_in_each() {
        use Status::*;
        let metrics = Metrics::new();
        let steps = [
            (None, Pending),
            (Some(Pending), Running),
            (Some(Running), Failed),
            (Some(Failed), Retrying),
            (Some(Retrying), Running),
            (Some(Running), Success),
            (Some(Success), Success),
        ];
        let events: Vec<_> = steps.into_iter().map(|(from, to)| event(from, to)).collect();
        observe(&events, "n1", &metrics, |_| None);
        let text = metrics.render();
        for line in [
            r#"gengfu_tasks_total{type="room.notify",status="success"} 1"#,
            r#"gengfu_retries_total{type="room.notify",class="transient"} 1"#,
            r#"gengfu_task_wait_seconds_count{type="room.notify",tier="high"} 2"#,
            r#"gengfu_task_run_seconds_count{type="room.notify",status="failed"} 1"#,
            r#"gengfu_task_run_seconds_count{type="room.notify",status="success"} 1"#,
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn a_retry_takes_its_class_from_the_failure_before_it() {
        let retry = TaskEvent {
            error_class: None,
            ..event(Some(Status::Timeout), Status::Retrying)
        };
        assert_eq!(retried(&retry, None), Some(ErrorClass::Timeout));
        assert_eq!(
            retried(&retry, Some(ErrorClass::Transient)),
            Some(ErrorClass::Transient)
        );
        assert_eq!(retried(&event(Some(Status::Dead), Status::Pending), None), None);
    }

    #[test]
    fn a_run_span_covers_the_run() {
        let found = spans_of(&event(Some(Status::Running), Status::Success));
        let [run] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(
            (run.stage, run.attempt, run.error.as_deref()),
            (Stage::Run, 2, None)
        );
        assert_eq!(
            (run.start_us, run.end_us),
            (1_700_000_000_103_000, 1_700_000_000_123_000)
        );
    }

    #[test]
    fn only_failures_show_where_a_task_is_not_sampled() {
        let stages = |from, to, version| {
            let event = TaskEvent {
                sampled: false,
                version,
                ..event(from, to)
            };
            spans_of(&event).iter().map(|span| span.stage).collect::<Vec<_>>()
        };
        assert_eq!(stages(None, Status::Pending, 1), []);
        assert_eq!(stages(Some(Status::Pending), Status::Running, 2), []);
        assert_eq!(
            stages(Some(Status::Running), Status::Failed, 3),
            [Stage::Claim, Stage::Run]
        );
        assert_eq!(stages(Some(Status::Failed), Status::Dead, 4), []);
    }

    #[test]
    fn the_root_is_by_who_made_the_task() {
        let mut born = TaskEvent {
            version: 1,
            ..event(None, Status::Pending)
        };
        let root = |event: &TaskEvent| spans_of(event)[0].stage;
        assert_eq!(root(&born), Stage::Trigger);
        born.schedule_id.clear();
        assert_eq!(root(&born), Stage::Submit);
        assert_eq!(spans_of(&born)[1].stage, Stage::Admit);
    }
    #[test]
    fn the_root_links_to_the_callers_own_trace_and_nothing_else_does() {
        let caller = TraceParent {
            trace_id: 5,
            span_id: 6,
            sampled: true,
        };
        let born = TaskEvent {
            version: 1,
            ..event(None, Status::Pending)
        };
        let mut links = Vec::new();
        spans(
            &born,
            |id| (id == born.task_id).then_some(caller),
            |span| {
                links.push((span.stage, span.link));
            },
        );
        assert_eq!(links, [(Stage::Trigger, Some(caller)), (Stage::Admit, None)]);
    }
}
