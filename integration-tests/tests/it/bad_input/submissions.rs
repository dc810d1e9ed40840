//! Submissions that can be no task.

use gengfu_integration_tests::Answer;
use serde_json::{Value, json};

use crate::town::Town;

const SCHEMA: &str =
    r#"{"type":"object","required":["room_id"],"properties":{"room_id":{"type":"integer"}}}"#;

async fn town() -> Town {
    let town = Town::start().await;
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    town.declare(&json!([
        { "name": "any", "handler": "echo" },
        { "name": "room", "handler": "echo", "input_schema": schema },
    ]))
    .await;
    town
}

/// A body, the status it gets, the field at fault, and a part of the reason.
type Case = (Vec<u8>, u16, &'static str, &'static str);

fn cases() -> Vec<Case> {
    let text = |body: &str| body.as_bytes().to_vec();
    let large = format!(r#"{{"task_type":"any","payload":"{}"}}"#, "x".repeat(256 * 1024));
    vec![
        (
            large.into_bytes(),
            413,
            "payload",
            "more than the limit of 262144",
        ),
        (
            text(r#"{"task_type":"nope","payload":1}"#),
            422,
            "task_type",
            "nope",
        ),
        (
            text(r#"{"task_type":"any","payload":1,"tier":"urgent"}"#),
            422,
            "tier",
            "urgent",
        ),
        (
            text(r#"{"task_type":"room","payload":{"room_id":"x7"}}"#),
            422,
            "payload.room_id",
            "integer",
        ),
        (
            text(r#"{"task_type":"room","payload":{}}"#),
            422,
            "payload.room_id",
            "missing",
        ),
        (
            text(r#"{"task_type":"room","payload_base64":"AP8="}"#),
            422,
            "payload",
            "JSON",
        ),
        (
            text(r#"{"task_type":"any","payload":1,"delay":"soon"}"#),
            422,
            "delay",
            "soon",
        ),
        (
            text(r#"{"task_type":"any","payloads":1}"#),
            400,
            "payloads",
            "unknown",
        ),
        (text(r#"{"task_type":7}"#), 400, "task_type", "string"),
        (text(r#"{"task_type":"any","#), 400, "body", "EOF"),
        (
            b"{\"task_type\":\"any\",\"payload\":\"\xff\"}".to_vec(),
            400,
            "payload",
            "unicode",
        ),
        (Vec::new(), 400, "body", "EOF"),
    ]
}

/// Problem details of RFC 9457 with the field and a reason; gives the problem.
fn check(answer: &Answer, status: u16, field: &str, reason: &str, what: &str) {
    let problem = answer.json();
    assert_eq!(answer.status.as_u16(), status, "{what}: {problem}");
    assert_eq!(problem["status"], status, "{what}: {problem}");
    assert!(
        !problem["title"].as_str().unwrap().is_empty(),
        "{what}: {problem}"
    );
    let errors = problem["errors"]
        .as_array()
        .unwrap_or_else(|| panic!("{what}: {problem}"));
    let named = errors.iter().find(|error| error["field"] == field);
    let said = named.unwrap_or_else(|| panic!("{what}: nothing of {field}: {problem}"))["reason"]
        .as_str()
        .unwrap();
    assert!(said.contains(reason), "{what}: nothing of {reason:?}: {problem}");
    assert!(
        problem["detail"].as_str().unwrap().contains(reason),
        "{what}: {problem}"
    );
}

fn short(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned()
}

#[tokio::test]
async fn what_can_be_no_task_is_refused_by_field_and_reason_and_not_stored() {
    let town = town().await;
    for (body, status, field, reason) in cases() {
        let what = short(&body);
        let answer = town.api.post_bytes("/api/v1/tasks", &body).await.unwrap();
        check(&answer, status, field, reason, &what);
        assert_eq!(answer.kind.as_deref(), Some("application/problem+json"), "{what}");
        // In a bulk request each task has an answer of its own, and a body that can't be read stores none.
        let tasks = [br#"{"tasks":["#.as_slice(), &body, b"]}"].concat();
        let answer = town.api.post_bytes("/api/v1/tasks:batch", &tasks).await.unwrap();
        if status == 400 {
            assert!(
                [200, 400].contains(&answer.status.as_u16()),
                "{what}: {}",
                answer.text()
            );
        } else {
            let item = &answer.json()["items"][0];
            assert_eq!(
                (item["code"].as_u64(), &item["errors"][0]["field"]),
                (Some(status.into()), &json!(field)),
                "{what}"
            );
        }
    }
    assert_eq!(town.tasks().await, 0, "something was stored");
}

#[tokio::test]
async fn a_key_used_again_with_another_payload_is_a_conflict() {
    let town = town().await;
    let post = async |payload: u32| {
        let body = json!({ "task_type": "any", "payload": payload, "idempotency_key": "k" });
        town.api.post("/api/v1/tasks", &body).await.unwrap()
    };
    let first = post(1).await;
    assert_eq!(first.status.as_u16(), 201, "{}", first.text());
    let again = post(1).await;
    assert_eq!(again.status.as_u16(), 200, "{}", again.text());
    assert_eq!(
        (&again.json()["task_id"], &again.json()["existing"]),
        (&first.json()["task_id"], &json!(true))
    );
    let other = post(2).await;
    check(&other, 409, "idempotency_key", "another payload", "a used key");
    assert_eq!(other.json()["task_id"], first.json()["task_id"]);
    assert_eq!(town.tasks().await, 1);
    let task = format!(
        "/api/v1/tasks/{}/payload",
        first.json()["task_id"].as_str().unwrap()
    );
    assert_eq!(town.api.get(&task).await.unwrap().body, b"1");
}

#[tokio::test]
async fn the_command_line_passes_the_reason_on_and_fails() {
    let town = town().await;
    let cli = town.gateway.cli().unwrap();
    for (arguments, words) in [
        (
            ["submit", "nope", "--payload", "1"].as_slice(),
            ["task_type", "nope"],
        ),
        (
            &["submit", "any", "--payload", "1", "--tier", "urgent"],
            ["tier", "urgent"],
        ),
        (
            &["submit", "room", "--payload", r#"{"room_id":"x7"}"#],
            ["payload.room_id", "integer"],
        ),
    ] {
        let output = cli.run(arguments).await.unwrap();
        assert_eq!(output.code, Some(1), "{arguments:?}: {output:?}");
        for word in words {
            assert!(output.stderr.contains(word), "{arguments:?}: {}", output.stderr);
        }
        assert_eq!(
            output.stderr.lines().count(),
            1,
            "{arguments:?}: {}",
            output.stderr
        );
    }
    assert_eq!(town.tasks().await, 0);
}
