use super::*;

const HEADER: &str = "id,job_group,job_desc,author,alarm_email,schedule_type,schedule_conf,misfire_strategy,\
executor_route_strategy,executor_handler,executor_param,executor_block_strategy,executor_timeout,\
executor_fail_retry_count,glue_type,glue_source,child_jobid,trigger_status\n";

fn draft(rows: &str) -> Draft {
    read(&format!("{HEADER}{rows}"), "Asia/Shanghai").unwrap()
}

fn fields(items: &[Item]) -> Vec<Value> {
    items
        .iter()
        .map(|item| Value::Object(item.fields.clone()))
        .collect()
}

#[test]
fn a_row_becomes_a_type_and_a_schedule() {
    let draft = draft(
        "7,1,夜间通知,li,,CRON,0 0/5 9-18 ? * MON-FRI,FIRE_ONCE_NOW,FIRST,roomNotifyHandler,\"{\"\"room\"\": 1}\",COVER_EARLY,30,2,BEAN,,,1\n",
    );
    assert_eq!(draft.notes, []);
    assert_eq!(
        fields(&draft.types),
        [json!({"name": "room-notify-handler", "handler": "roomNotifyHandler", "run_timeout": "1d"})]
    );
    assert_eq!(
        fields(&draft.schedules),
        [
            json!({"name": "room-notify-handler-7", "type": "room-notify-handler", "cron": "0 0/5 9-18 ? * MON-FRI",
            "dialect": "quartz", "zone": "Asia/Shanghai", "misfire": "fire_once", "overlap": "cancel_previous",
            "payload": {"room": 1}, "max_retry": 2, "run_timeout": "30s"})
        ]
    );
    assert_eq!(draft.schedules[0].comments, ["line 2: job 7 (夜间通知), by li"]);
}

#[test]
fn strategies_intervals_and_stopped_jobs_are_carried_over() {
    let draft = draft(
        "1,1,a,,,FIX_RATE,90,DO_NOTHING,FIRST,h,,SERIAL_EXECUTION,0,0,BEAN,,,0\n\
         2,1,b,,,FIX_RATE,60,DO_NOTHING,FIRST,h,plain {{x}},DISCARD_LATER,0,0,BEAN,,,1\n\
         3,1,c,,,NONE,,DO_NOTHING,FIRST,other,,SERIAL_EXECUTION,0,0,BEAN,,,0\n",
    );
    assert_eq!(draft.types.len(), 2);
    let [first, second] = draft.schedules.as_slice() else {
        panic!("{:?}", draft.schedules);
    };
    let of = |item: &Item, names: &[&str]| -> Vec<Value> {
        names
            .iter()
            .map(|name| item.fields.get(*name).cloned().unwrap_or_default())
            .collect()
    };
    assert_eq!(
        of(
            first,
            &[
                "every",
                "misfire",
                "overlap",
                "queue_max",
                "paused",
                "run_timeout"
            ]
        ),
        [
            json!("90s"),
            json!("skip"),
            json!("queue"),
            json!(255),
            json!(true),
            Value::Null
        ]
    );
    assert_eq!(
        of(second, &["overlap", "paused", "payload"]),
        [json!("skip"), Value::Null, json!("plain {{{{x}}")]
    );
    assert!(draft.notes[0].reason.contains("NONE") && !draft.notes[0].left_out);
}

#[test]
fn a_shell_script_becomes_a_command_and_other_scripts_are_told() {
    let draft = draft(
        "1,1,a,,,CRON,0 0 1 * * ?,DO_NOTHING,FIRST,,p,SERIAL_EXECUTION,0,0,GLUE_SHELL,\"#!/bin/bash\necho $1\",,1\n\
         2,1,b,,,CRON,0 0 1 * * ?,DO_NOTHING,FIRST,,,SERIAL_EXECUTION,0,0,GLUE_PYTHON,print(1),,1\n",
    );
    assert_eq!(
        draft.types[0].fields["command"],
        json!({"program": "bash", "args": ["-c", "#!/bin/bash\necho $1", "sh", "p", "0", "1"]})
    );
    assert!(!draft.schedules[0].fields.contains_key("payload"));
    assert_eq!((draft.schedules.len(), draft.notes.len()), (1, 1));
    assert!(
        draft.notes[0].left_out && draft.notes[0].line == 4,
        "{:?}",
        draft.notes
    );
}

#[test]
fn what_has_no_counterpart_is_told() {
    let draft = draft(
        "1,1,a,,ops@x.cn,CRON,0 0 1 * * ?,DO_NOTHING,SHARDING_BROADCAST,h,,SERIAL_EXECUTION,0,0,BEAN,,\"3,4\",1\n\
         2,1,b,,,CRON,0 0 1 * * 8,DO_NOTHING,FIRST,h,,SERIAL_EXECUTION,0,0,BEAN,,,1\n\
         3,1,c,,,FIX_DELAY,60,DO_NOTHING,FIRST,h,,SERIAL_EXECUTION,0,0,BEAN,,,1\n\
         4,1,d,,,CRON,0 0 1 * * ?,DO_NOTHING,FIRST,处理,,SERIAL_EXECUTION,0,0,BEAN,,,1\n",
    );
    let told: Vec<_> = draft
        .notes
        .iter()
        .map(|note| (note.line, note.left_out, note.what.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (2, true, "job 1 (a), child_jobid"),
            (2, true, "job 1 (a), alarm_email"),
            (2, true, "job 1 (a), executor_route_strategy"),
            (3, true, "h-2"),
            (4, true, "job 3 (c)"),
            (5, true, "job 4 (d)"),
        ]
    );
    assert_eq!(draft.schedules.len(), 1);
}

#[test]
fn json_of_any_tool_and_older_tables_are_read() {
    let row = r#"{"id": 5, "jobDesc": "x", "jobCron": "0 0 1 * * ?", "executorHandler": "h", "glueType": "BEAN",
        "executorParam": "{\"n\": 1.10}", "executorTimeout": 0, "alarmEmail": null, "childJobId": ""}"#;
    for text in [
        format!("[{row}]"),
        format!("{{\"RECORDS\": [{row}]}}"),
        format!("{{\"code\": 200, \"data\": {{\"rows\": [{row}]}}}}"),
    ] {
        let draft = read(&text, "UTC").unwrap();
        assert_eq!(draft.notes, [], "{text}");
        assert_eq!(draft.schedules[0].fields["cron"], "0 0 1 * * ?");
        // YAML would make 1.1 of it.
        assert_eq!(draft.schedules[0].fields["payload"], r#"{"n": 1.10}"#);
    }
    for text in ["{}", "[1]", "a,b\n1,2\n", "{"] {
        assert!(read(text, "UTC").is_err(), "{text}");
    }
}
