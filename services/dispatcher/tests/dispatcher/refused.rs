//! Bad submissions by NATS: a dead task where they can be one, else an event that says why, and both are ended.

use bytes::Bytes;
use domain::{Status, TaskId};
use gengfu_integration_tests::eventually;
use proto::Submission;
use sha2::{Digest, Sha256};

use crate::town::{PARTITIONS, Town};

fn say(payload: &'static str, key: &str) -> Submission {
    Submission {
        task_type: "say".into(),
        payload: Bytes::from_static(payload.as_bytes()),
        idempotency_key: key.into(),
        ..Submission::default()
    }
}

#[tokio::test]
async fn bad_input_becomes_a_dead_task_that_says_what_is_wrong() {
    let town = Town::start().await;
    let cases = [
        ("text", say("{}", "schema")),
        (
            "task_type",
            Submission {
                task_type: "nobody.knows".into(),
                ..say("{}", "type")
            },
        ),
        (
            "tier",
            Submission {
                tier: 9,
                ..say(r#"{"text":"a"}"#, "tier")
            },
        ),
        (
            "batch_id",
            Submission {
                batch_id: Bytes::from_static(b"short"),
                ..say(r#"{"text":"a"}"#, "batch")
            },
        ),
    ];
    for (_, submission) in &cases {
        town.submit(submission).await;
    }
    eventually!(town.waiting() == 0);
    let tasks = town.tasks().await.items;
    assert_eq!(tasks.len(), cases.len());
    for (field, submission) in &cases {
        let task = tasks
            .iter()
            .find(|view| view.task.idempotency_key == submission.idempotency_key)
            .unwrap();
        assert_eq!(
            (task.task.status, task.task.error_code.as_str()),
            (Status::Dead, "invalid_input"),
            "{task:?}"
        );
        assert!(task.error.contains(field), "{field}: {}", task.error);
        assert_eq!(task.payload, submission.payload, "bytes in are bytes out");
    }
    town.stop().await;
}

#[tokio::test]
async fn what_is_no_submission_is_told_with_its_digest_and_ended() {
    let town = Town::start().await;
    let mut refusals = town.refusals();
    let bytes = b"\xff\xff\xff no protobuf";
    town.publish(bytes);
    let (partition, refused) = refusals.next().await;
    let digest = Sha256::digest(bytes);
    assert_eq!(refused.error_code, "undecodable");
    assert_eq!(refused.digest, digest[..]);
    assert!(
        refused.source.starts_with("GENGFU_SUBMIT/1/"),
        "{}",
        refused.source
    );
    assert!(
        refused.reason.contains("gengfu.v1.Submission"),
        "{}",
        refused.reason
    );
    assert!(refused.at_ms > 0);
    assert_eq!(partition, u16::from_be_bytes([digest[0], digest[1]]) % PARTITIONS);
    eventually!(town.waiting() == 0);
    assert_eq!(town.tasks().await.items, []);
    town.stop().await;
}

#[tokio::test]
async fn a_key_with_another_payload_is_told_beside_the_task_that_has_it() {
    let town = Town::start().await;
    let mut refusals = town.refusals();
    town.submit(&say(r#"{"text":"one"}"#, "k")).await;
    eventually!(town.waiting() == 0);
    let id: TaskId = town.tasks().await.items[0].task.id;
    // The same again is the same task, and nothing to tell.
    town.submit(&say(r#"{"text":"one"}"#, "k")).await;
    let other = say(r#"{"text":"two"}"#, "k");
    town.submit(&other).await;
    let (partition, refused) = refusals.next().await;
    assert_eq!(refused.error_code, "idempotency_conflict");
    assert_eq!(partition, id.partition(PARTITIONS));
    assert!(refused.reason.contains(&id.to_string()), "{}", refused.reason);
    let sent = proto::Message::encode_to_vec(&other);
    assert_eq!(refused.digest, Sha256::digest(&sent)[..]);
    assert!(
        refused.source.starts_with("GENGFU_SUBMIT/3/"),
        "{}",
        refused.source
    );
    eventually!(town.waiting() == 0);
    assert_eq!(town.tasks().await.items.len(), 1);
    town.stop().await;
}

#[tokio::test]
async fn what_can_not_even_be_a_dead_task_is_told_too() {
    let town = Town::start().await;
    let mut refusals = town.refusals();
    let unnamed = Submission {
        task_type: "No Name".into(),
        ..say("{}", "k")
    };
    town.submit(&unnamed).await;
    let (_, refused) = refusals.next().await;
    assert_eq!(refused.error_code, "invalid_input");
    assert!(
        refused.reason.starts_with("task_type ") && refused.reason.contains("; "),
        "{}",
        refused.reason
    );
    eventually!(town.waiting() == 0);
    town.stop().await;
}
