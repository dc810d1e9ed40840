use std::collections::HashMap;

use super::*;

/// Reads the text format (version 0.0.4): each line by its rules, samples by name and labels.
fn read(text: &str) -> (HashMap<String, String>, HashMap<String, f64>) {
    let (mut types, mut samples) = (HashMap::new(), HashMap::new());
    for line in text.lines() {
        if let Some(told) = line.strip_prefix("# TYPE ") {
            let (name, kind) = told.split_once(' ').unwrap();
            assert_eq!(
                types.insert(name.to_owned(), kind.to_owned()),
                None,
                "{name} stands twice"
            );
        } else if !line.starts_with("# HELP ") {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            assert!(
                name.bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
                "{line}"
            );
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| {
                name.strip_suffix(end)
                    .filter(|name| types.get(*name).is_some_and(|kind| kind == "histogram"))
            });
            assert!(types.contains_key(family.unwrap_or(name)), "{line} has no type");
            assert_eq!(
                samples.insert(series.to_owned(), value.parse().unwrap()),
                None,
                "{line}"
            );
        }
    }
    (types, samples)
}

fn one_of_each() -> Metrics {
    let metrics = Metrics::new();
    metrics.task_ended("a", Status::Success);
    metrics.observe_wait("a", Tier::High, 0.3);
    metrics.observe_run("a", Status::Success, 2.0);
    metrics.observe_lateness(0.01);
    metrics.retried("a", ErrorClass::Transient);
    metrics.submitted("a", "http");
    metrics.repaired("I9", 2);
    metrics.refused_write();
    metrics.io_mismatch("row");
    metrics.trigger_records("fired", 3);
    metrics.bad_schedule("type");
    metrics.absent_trigger();
    metrics.uncovered_calendar();
    metrics.notice("sent");
    metrics.set_slots("default", "free", 64);
    metrics.set_ready("default", Tier::Low, 7);
    metrics.set_oldest_ready("default", Tier::Low, 1.5);
    metrics.set_running("a", 4);
    metrics.set_waiting("a", "delayed", 5);
    metrics.set_dead("a", 6);
    metrics.set_attempts_max("a", 9);
    metrics
}

#[test]
fn every_metric_of_the_contract_is_there_under_its_name() {
    let (types, samples) = read(&one_of_each().render());
    for (series, value) in [
        (r#"gengfu_tasks_total{type="a",status="success"}"#, 1.0),
        (r#"gengfu_task_wait_seconds_sum{type="a",tier="high"}"#, 0.3),
        (
            r#"gengfu_task_wait_seconds_bucket{type="a",tier="high",le="0.25"}"#,
            0.0,
        ),
        (
            r#"gengfu_task_wait_seconds_bucket{type="a",tier="high",le="0.5"}"#,
            1.0,
        ),
        (r#"gengfu_task_run_seconds_count{type="a",status="success"}"#, 1.0),
        ("gengfu_trigger_lateness_seconds_count", 1.0),
        (r#"gengfu_retries_total{type="a",class="transient"}"#, 1.0),
        (r#"gengfu_submitted_total{type="a",source="http"}"#, 1.0),
        (r#"gengfu_repairs_total{invariant="I9"}"#, 2.0),
        ("gengfu_refused_writes_total", 1.0),
        (r#"gengfu_io_mismatch_total{kind="row"}"#, 1.0),
        (r#"gengfu_trigger_records_total{outcome="fired"}"#, 3.0),
        (r#"gengfu_bad_schedules_total{kind="type"}"#, 1.0),
        ("gengfu_absent_triggers_total", 1.0),
        ("gengfu_uncovered_calendars_total", 1.0),
        (r#"gengfu_notices_total{end="sent"}"#, 1.0),
        (r#"gengfu_executor_slots{pool="default",state="free"}"#, 64.0),
        (r#"gengfu_ready_tasks{pool="default",tier="low"}"#, 7.0),
        (r#"gengfu_oldest_ready_seconds{pool="default",tier="low"}"#, 1.5),
        (r#"gengfu_running_tasks{type="a"}"#, 4.0),
        (r#"gengfu_waiting_tasks{type="a",state="delayed"}"#, 5.0),
        (r#"gengfu_dead_tasks{type="a"}"#, 6.0),
        (r#"gengfu_attempts_max{type="a"}"#, 9.0),
        ("gengfu_spans_dropped_total", 0.0),
    ] {
        assert_eq!(samples.get(series), Some(&value), "{series} in {samples:#?}");
    }
    assert_eq!(types["gengfu_tasks_total"], "counter");
}

#[test]
fn the_process_is_shown() {
    let (types, samples) = read(&Metrics::new().render());
    assert_eq!(types["process_cpu_seconds_total"], "counter");
    assert!(samples["process_resident_memory_bytes"] > 1e6);
    assert!(samples["process_open_fds"] >= 3.0 && samples["process_max_fds"] >= samples["process_open_fds"]);
    let now = crate::time::now_us() as f64 / 1_000_000.0;
    let age = now - samples["process_start_time_seconds"];
    assert!((-2.0..600.0).contains(&age), "started {age} s ago");
}

#[test]
fn types_without_end_share_a_series() {
    let metrics = Metrics::new();
    for nth in 0..TYPES_MAX + 50 {
        metrics.set_running(&format!("type-{nth}"), 1);
        metrics.task_ended(&format!("type-{nth}"), Status::Dead);
    }
    let (_, samples) = read(&metrics.render());
    assert_eq!(samples[r#"gengfu_tasks_total{type="other",status="dead"}"#], 50.0);
    assert_eq!(
        samples
            .keys()
            .filter(|name| name.starts_with("gengfu_tasks_total"))
            .count(),
        TYPES_MAX + 1
    );
}

#[test]
fn who_hands_the_fleet_over_shows_it_no_more() {
    let metrics = Metrics::new();
    metrics.set_running("a", 4);
    metrics.set_ready("default", Tier::Low, 7);
    metrics.set_slots("default", "free", 1);
    metrics.clear_fleet();
    let (_, samples) = read(&metrics.render());
    let fleet = |name: &&String| name.starts_with("gengfu_running") || name.starts_with("gengfu_ready");
    assert_eq!(samples.keys().filter(fleet).count(), 0);
    assert_eq!(
        samples[r#"gengfu_executor_slots{pool="default",state="free"}"#],
        1.0
    );
}
