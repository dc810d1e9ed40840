use super::*;

const SCHEMA: &str =
    r#"{"type":"object","required":["room_id"],"properties":{"room_id":{"type":"integer","minimum":1}}}"#;

fn table() -> TypeTable {
    let spec = |text: String| serde_json::from_str(&text).unwrap();
    TypeTable::new(
        7,
        vec![
            spec(r#"{"name":"plain","handler":"echo","pool":"gpu","tier":"high","max_retry":9}"#.into()),
            spec(format!(
                r#"{{"name":"room","handler":"echo","expire_after":"1h","input_schema":{SCHEMA}}}"#
            )),
            spec(r#"{"name":"broken","handler":"echo","input_schema":{"type":"intger"}}"#.into()),
        ],
    )
}

fn submission<'a>(task_type: &'a str, payload: &'static [u8]) -> Submission<'a> {
    Submission {
        task_type,
        payload: Bytes::from_static(payload),
        ..Submission::default()
    }
}

fn fields(submission: Submission<'_>) -> Vec<String> {
    let problems = check(submission, &table(), &Limits::default()).unwrap_err();
    problems.into_iter().map(|problem| problem.field).collect()
}

#[test]
fn a_task_takes_from_its_type_what_it_does_not_say() {
    let task = check(submission("plain", b"\0\xff"), &table(), &Limits::default()).unwrap();
    assert_eq!(
        (task.pool.as_str(), task.tier, task.max_retry),
        ("gpu", Tier::High, 9)
    );
    assert_eq!(&task.payload[..], b"\0\xff");
    assert_eq!(task.payload_sha256, <[u8; 32]>::from(Sha256::digest(b"\0\xff")));
    let asked = Submission {
        pool: "cpu",
        tier: "critical",
        max_retry: Some(0),
        delay_ms: 5,
        ..submission("room", br#"{"room_id":1}"#)
    };
    let task = check(asked, &table(), &Limits::default()).unwrap();
    assert_eq!(
        (task.pool.as_str(), task.tier, task.max_retry),
        ("cpu", Tier::Critical, 0)
    );
    assert_eq!(
        (task.delay_ms, task.expire_after_ms, task.run_timeout_ms),
        (5, 3_600_000, 300_000)
    );
}

#[test]
fn the_text_of_a_payload_is_kept_as_it_is() {
    let text = br#" {"room_id" : 18446744073709551615 , "x":1e0} "#;
    let task = check(submission("room", text), &table(), &Limits::default()).unwrap();
    assert_eq!(&task.payload[..], text);
}

#[test]
fn every_problem_is_named() {
    let bad = Submission {
        tier: "urgent",
        pool: "a.b",
        max_retry: Some(70_000),
        ..submission("nope", b"1")
    };
    assert_eq!(fields(bad), ["task_type", "tier", "max_retry", "pool"]);
    assert_eq!(fields(submission("", b"1")), ["task_type"]);
    assert_eq!(fields(submission("broken", b"1")), ["task_type"]);
    assert_eq!(
        fields(submission("room", br#"{"room_id":0}"#)),
        ["payload.room_id"]
    );
    assert_eq!(fields(submission("room", b"{}")), ["payload.room_id"]);
    assert_eq!(fields(submission("room", b"\xff")), ["payload"]);
    let both = Submission {
        at: 1,
        delay_ms: 1,
        ..submission("plain", b"")
    };
    assert_eq!(fields(both), ["at"]);
    assert_eq!(
        fields(Submission {
            delay_ms: -1,
            ..submission("plain", b"")
        }),
        ["delay"]
    );
    assert_eq!(
        fields(Submission {
            idempotency_key: &"k".repeat(513),
            ..submission("plain", b"")
        }),
        ["idempotency_key"]
    );
}

#[test]
fn a_payload_over_the_limit_is_refused_with_the_limit() {
    let limits = Limits {
        payload_bytes: 3,
        ..Limits::default()
    };
    assert!(check(submission("plain", b"123"), &table(), &limits).is_ok());
    let problems = check(submission("plain", b"1234"), &table(), &limits).unwrap_err();
    assert!(
        problems[0].reason.contains("4 bytes") && problems[0].reason.contains('3'),
        "{problems:?}"
    );
}

#[test]
fn a_key_gives_the_partition_and_a_foreign_trace_is_kept_only_if_it_is_one() {
    let keyed = |key, traceparent| {
        let asked = Submission {
            idempotency_key: key,
            traceparent,
            ..submission("plain", b"")
        };
        check(asked, &table(), &Limits::default()).unwrap()
    };
    let (one, two) = (
        keyed("k", "nonsense"),
        keyed("k", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    );
    assert_ne!(one.id, two.id);
    assert_eq!(one.id.partition(16), two.id.partition(16));
    assert_eq!((one.trace_link.len(), two.trace_link.len()), (0, 55));
}

#[test]
fn a_rejected_row_is_stored_whatever_its_payload() {
    let row = Submission {
        rejected: Some("why".into()),
        ..submission("room", b"4,,x")
    };
    let task = check(row, &table(), &Limits::default()).unwrap();
    assert_eq!(
        (task.rejected.as_deref(), &task.payload[..]),
        (Some("why"), &b"4,,x"[..])
    );
    assert_eq!(
        fields(Submission {
            rejected: Some("why".into()),
            ..submission("nope", b"")
        }),
        ["task_type"]
    );
}
