//! `gengfu import`: what it prints is what the other commands read.

#![allow(clippy::unwrap_used)]

mod program;

use serde_json::{Value, json};

use program::gengfu;

/// Fires of a day by schedule, after a round by way of the printed YAML.
fn simulated(yaml: &[u8]) -> Value {
    let day = ["--from", "2026-03-02", "--to", "2026-03-03", "--json"];
    let output = gengfu(&[&["schedule", "simulate", "-f", "-"], &day[..]].concat(), yaml);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let lines = report["schedules"].as_array().unwrap().iter();
    let fires = lines.map(|line| (line["name"].as_str().unwrap().to_owned(), line["fires"].clone()));
    Value::Object(fires.collect())
}

const CRONTAB: &str = "\
# m h dom mon dow command
PATH=/usr/bin:/bin
MAILTO=ops@example.org
*/30 8-9 * * 1-5 /opt/poll --all \"it's\" 2>&1 | logger -t poll # often
@daily cat > /tmp/x%line one%line two
@reboot /opt/start
CRON_TZ=America/New_York
0 9 * * 6 /opt/weekly
";

#[test]
fn a_crontab_is_read_by_the_commands_that_take_definitions() {
    let output = gengfu(
        &["import", "crontab", "-", "--zone", "Asia/Shanghai"],
        CRONTAB.as_bytes(),
    );
    assert!(output.status.success());
    let told = String::from_utf8(output.stderr).unwrap();
    for words in [
        "line 3: MAILTO: left out",
        "line 6: @reboot /opt/start: left out",
        "3 types and 3 schedules; 2 notes",
    ] {
        assert!(told.contains(words), "{words} in {told}");
    }
    let yaml = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(
        yaml.starts_with("# From a crontab.") && yaml.contains("executor.commands"),
        "{yaml}"
    );
    assert_eq!(
        simulated(&output.stdout),
        json!({"poll": 4, "cat": 1, "weekly": 0})
    );
    // The same as one object.
    let output = gengfu(
        &["import", "crontab", "-", "--zone", "Asia/Shanghai", "--json"],
        CRONTAB.as_bytes(),
    );
    let whole: Value = serde_json::from_slice(&output.stdout).unwrap();
    let types = &whole["definitions"]["types"];
    assert_eq!(
        types[0]["command"],
        json!({"program": "sh", "args": ["-c", "/opt/poll --all \"it's\" 2>&1 | logger -t poll # often"],
            "env": {"PATH": "/usr/bin:/bin"}})
    );
    assert_eq!(whole["notes"][1]["line"], 6);
    assert_eq!(
        simulated(whole["definitions"].to_string().as_bytes()),
        json!({"poll": 4, "cat": 1, "weekly": 0})
    );
}

const XXL_JOB: &str = "\
id,job_desc,alarm_email,schedule_type,schedule_conf,misfire_strategy,executor_handler,executor_param,executor_block_strategy,executor_timeout,executor_fail_retry_count,glue_type,child_jobid,trigger_status
1,每日房间通知,a@b.cn,CRON,0 0/10 9 ? * 2-6,FIRE_ONCE_NOW,roomNotify,\"{\"\"day\"\": \"\"今天\"\"}\",SERIAL_EXECUTION,60,3,BEAN,\"2,3\",1
2,心跳,,FIX_RATE,3600,DO_NOTHING,heartBeat,,DISCARD_LATER,0,0,BEAN,,0
3,坏的,,CRON,0 0 25 * * ?,DO_NOTHING,roomNotify,,COVER_EARLY,0,0,BEAN,,1
";

#[test]
fn xxl_jobs_table_is_read_by_the_commands_that_take_definitions() {
    let output = gengfu(
        &["import", "xxl-job", "-", "--zone", "Asia/Shanghai"],
        XXL_JOB.as_bytes(),
    );
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    for words in [
        "line 2: job 1 (每日房间通知), child_jobid: left out: jobs 2, 3",
        "line 2: job 1 (每日房间通知), alarm_email: left out",
        "line 4: room-notify-3: left out: cron: the hour 25",
    ] {
        assert!(told.contains(words), "{words} in {told}");
    }
    // 2026-03-02 is a Monday, weekday 2 there.
    assert_eq!(
        simulated(&output.stdout),
        json!({"room-notify-1": 6, "heart-beat-2": 24})
    );
    let exported = gengfu(
        &["import", "xxl-job", "-", "--zone", "Asia/Shanghai", "--json"],
        XXL_JOB.as_bytes(),
    );
    let whole: Value = serde_json::from_slice(&exported.stdout).unwrap();
    assert_eq!(
        whole["definitions"]["schedules"][0]["payload"],
        json!({"day": "今天"})
    );
}

#[test]
fn what_is_wrong_is_told() {
    for (arguments, input, code, named) in [
        (vec!["import", "crontab", "-"], &b""[..], 2, "--zone"),
        (
            vec!["import", "crontab", "-", "--zone", "Mars"],
            b"",
            2,
            "--zone: the time zone \"Mars\"",
        ),
        (
            vec!["import", "crontab", "no-such-file", "--zone", "UTC"],
            b"",
            1,
            "no-such-file",
        ),
        (
            vec!["import", "crontab", "-", "--zone", "UTC"],
            b"\xff\xfe",
            1,
            "UTF-8",
        ),
        (
            vec!["import", "xxl-job", "-", "--zone", "UTC"],
            b"a,b\n",
            1,
            "executor_handler",
        ),
    ] {
        let output = gengfu(&arguments, input);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        assert!(told.contains(named), "{arguments:?}: {told}");
    }
}
