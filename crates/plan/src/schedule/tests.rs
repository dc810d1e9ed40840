use super::*;

fn problems(text: &str) -> Vec<String> {
    let problems = Schedule::parse(text).expect_err(text);
    assert!(
        problems
            .iter()
            .all(|problem| !problem.remedy.is_empty() && !problem.reason.is_empty())
    );
    problems.into_iter().map(|problem| problem.field).collect()
}

#[test]
fn a_definition_has_one_canonical_form() {
    let same = [
        r#"{"name":"a","type":"t","cron":" 0  9 * * * ","zone":"asia/shanghai","payload":{"n":1.10},"max_fires":7}"#,
        r#"{"zone":"Asia/Shanghai","name":"a","type":"t","misfire":{"policy":"fire_once","grace":"60s"},"cron":"0 9 * * *",
            "payload":{"n":1.10},"overlap":"allow","dst_gap":"shift","spread":"0s","max_fires":7,"paused":true}"#,
    ];
    let canonical = r#"{"name":"a","type":"t","cron":"0 9 * * *","zone":"Asia/Shanghai","dst_gap":"shift","dst_overlap":"first","max_fires":7,"misfire":"fire_once","overlap":"allow","payload":{"n":1.10}}"#;
    for text in same {
        assert_eq!(Schedule::parse(text).unwrap().to_json(), canonical);
    }
    assert_eq!(Schedule::parse(canonical).unwrap().to_json(), canonical);
    assert_eq!(Schedule::parse(same[1]).unwrap().paused, Some(true));
}

#[test]
fn every_field_reads_back() {
    for text in [
        r#"{"name":"a","type":"t","cron":"0 0 9 ? * 2-6","dialect":"quartz","zone":"UTC","start":"2026-03-01T08:00:00+08:00",
            "end":"2027-01-01T00:00:00Z","dst_gap":"skip","dst_overlap":"both","calendar":"cn","max_fires":3,"spread":"10m",
            "misfire":{"policy":"catch_up","max":3,"within":"2h","grace":"5m"},"overlap":"queue","queue_max":4,
            "payload":[18446744073709551616, "{{planned_at}}"],"tier":"high","pool":"p","max_retry":0,"run_timeout":"90s",
            "expire_after":"1h"}"#,
        r#"{"name":"a","type":"t","interval":"90s","start":"2026-03-01T00:00:07Z","zone":"UTC","overlap":"cancel_previous"}"#,
        r#"{"name":"a","type":"t","cron":"@every 2h","zone":"UTC","overlap":{"policy":"queue"}}"#,
        r#"{"name":"a","type":"t","at":"2026-03-01T00:00:07-05:00","zone":"UTC","overlap":{"policy":"queue","queue_max":9}}"#,
        r#"{"name":"a","cron":"@daily","zone":"UTC","fan_out":{"source":"file","path":"/x.csv","each":"e","then":"t"}}"#,
        r#"{"name":"a","type":"own","cron":"@daily","zone":"UTC","fan_out":{"source":"handler","type":"l","each":"e"},"payload":{"a":1}}"#,
    ] {
        let read = Schedule::parse(text).unwrap();
        let json = read.to_json();
        let again = Schedule::parse(&json).unwrap();
        assert_eq!((again.to_json(), &again), (json, &read), "{text}");
    }
}

#[test]
fn the_parts_mean_what_they_say() {
    let read = |fields: &str| Schedule::parse(&format!(r#"{{"name":"a","zone":"UTC",{fields}}}"#)).unwrap();
    let interval = read(r#""type":"t","interval":"90s","start":"2026-03-01T08:00:07+08:00""#);
    assert_eq!(interval.when.every.as_deref(), Some("1m30s"));
    assert_eq!(interval.when.start.as_deref(), Some("2026-03-01T00:00:07Z"));
    assert_eq!(
        read(r#""type":"t","cron":"@every 90s""#).when.every.as_deref(),
        Some("1m30s")
    );
    let queue = read(r#""type":"t","every":"1h","overlap":"queue""#);
    assert_eq!((queue.overlap, queue.queue_max), (Overlap::Queue, 1));
    assert_eq!(queue.misfire, Misfire::default());
    let rows = r#""every":"1h","fan_out":{"source":"url","url":"https://h/x","format":"csv","each":"e"}"#;
    assert_eq!(read(rows).task_type, FAN_OUT);
    let lines = r#""every":"1h","fan_out":{"source":"handler","type":"list","each":"e"}"#;
    assert_eq!(read(lines).task_type, FAN_OUT);
    assert_eq!(read(&format!(r#""type":"own",{lines}"#)).task_type, "own");
}

#[test]
fn every_fault_names_its_field() {
    let with = |fields: &str| {
        problems(&format!(
            r#"{{"name":"a","type":"t","zone":"UTC","cron":"0 9 * * *",{fields}}}"#
        ))
    };
    for (fields, field) in [
        (r#""zone":"UTC""#, "zone"),
        (r#""every":"5m""#, "cron"),
        (r#""at":"2026-01-01T00:00:00Z""#, "cron"),
        (r#""dialect":"unix""#, "dialect"),
        (r#""start":"2026-01-01""#, "start"),
        (r#""start":"2026-01-01T00:00:00.5Z""#, "start"),
        (
            r#""start":"2026-01-02T00:00:00Z","end":"2026-01-01T00:00:00Z""#,
            "end",
        ),
        (r#""dst_gap":"jump""#, "dst_gap"),
        (r#""dst_overlap":"none""#, "dst_overlap"),
        (r#""calendar":"A B""#, "calendar"),
        (r#""max_fires":0"#, "max_fires"),
        (r#""spread":"2d""#, "spread"),
        (r#""misfire":"later""#, "misfire"),
        (r#""overlap":"maybe""#, "overlap"),
        (r#""overlap":{"policy":"maybe"}"#, "overlap.policy"),
        (r#""queue_max":3"#, "queue_max"),
        (r#""overlap":"skip","queue_max":3"#, "queue_max"),
        (r#""overlap":"queue","queue_max":0"#, "queue_max"),
        (r#""payload":{"a":"{{when}}"}"#, "payload"),
        (r#""tier":"urgent""#, "tier"),
        (r#""pool":"a.b""#, "pool"),
        (r#""max_retry":-1"#, "max_retry"),
        (r#""run_timeout":"0s""#, "run_timeout"),
        (r#""expire_after":"x""#, "expire_after"),
        (r#""paused":"yes""#, "paused"),
        (r#""priority":1"#, "priority"),
        (
            r#""fan_out":{"source":"file","path":"/a.csv","each":"e"},"payload":{}"#,
            "payload",
        ),
    ] {
        assert_eq!(with(fields), [field], "{fields}");
    }
}

#[test]
fn every_fault_is_told_at_once() {
    assert_eq!(
        problems(r#"{"name":"A","cron":"0 0 30 2 *"}"#),
        ["name", "zone", "cron", "type"]
    );
    assert_eq!(problems(r#"{"name":"a","type":"t","zone":"UTC"}"#), ["cron"]);
    assert_eq!(
        problems(r#"{"name":"a","type":"t","zone":"UTC","every":"5m","dst_gap":"skip"}"#),
        ["dst_gap"]
    );
    assert_eq!(
        problems(r#"{"name":"a","type":"t","zone":"UTC","interval":"5m"}"#),
        ["start"]
    );
    assert_eq!(problems("[]"), ["schedule"]);
    let cron =
        &Schedule::parse(r#"{"name":"a","type":"t","zone":"UTC","cron":"*/90 * * * *"}"#).unwrap_err()[0];
    assert_eq!(
        cron.to_string(),
        "cron: the step 90 of the minute field is larger than its span of 59; for every 90 minutes write `@every 90m`"
    );
}
