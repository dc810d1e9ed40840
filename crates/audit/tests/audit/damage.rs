//! Damage done by hand, each kind found under its invariant.

use bytes::Bytes;
use domain::{Status, TaskId};
use messaging::event_to_wire;
use proto::{EventBatch, EventEntry, Message};
use store::{Operation, TaskEvent};

use crate::town::{PARTITION, Town, key_of};

const DUE: &[u8] = b"{gf:00}:due";
const LEASES: &[u8] = b"{gf:00}:lease";

#[tokio::test]
async fn a_task_that_is_gone_is_named() {
    let mut town = Town::new().await;
    let tasks = town.tasks().await;
    town.call(&[b"DEL", &key_of(tasks.running)]);
    let report = town
        .expect(
            "I1",
            "it was accepted and is not in the store; last seen in running",
        )
        .await;
    assert!(
        report
            .exceptions
            .iter()
            .any(|one| one.about == tasks.running.to_string())
    );
    // Its lease names nobody now, and it is counted all the same.
    town.expect("I9", "it stands in the index lease, and there is no such task")
        .await;
    town.expect("I9", "the counter of t in running says 1, there are 0")
        .await;
}

#[tokio::test]
async fn a_transition_that_was_never_announced_is_found() {
    let town = Town::new().await;
    let tasks = town.tasks().await;
    let entry = town.operate(tasks.ready, Operation::Cancel).await.unwrap();
    town.store.outbox_remove(PARTITION, &[entry.id]).await.unwrap();
    town.expect(
        "I2",
        "version 2 stands in its timeline, and neither in the outbox nor in the stream",
    )
    .await;
}

#[tokio::test]
async fn a_status_that_no_transition_led_to_is_found() {
    let mut town = Town::new().await;
    let tasks = town.tasks().await;
    town.edit(tasks.delayed, "h[1] = 3");
    town.expect("I2", "its record stands at version 1 in success")
        .await;
    town.expect("I6", "terminal and finished_at disagree").await;
}

#[tokio::test]
async fn an_illegal_transition_is_found() {
    let mut town = Town::new().await;
    let tasks = town.tasks().await;
    // The last item of the timeline: from success to dead.
    town.edit(
        tasks.done,
        "local item = cmsgpack.pack({ h[2] + 1, 3, 7, h[15], h[9], 'x', 'x', '', 0, '' })
         h[2], h[1] = h[2] + 1, 7
         l = l .. struct.pack('>I2', #item) .. item",
    );
    town.expect("I2", "is not in the table").await;
}

#[tokio::test]
async fn a_hole_in_a_timeline_is_found() {
    let mut town = Town::new().await;
    let tasks = town.tasks().await;
    town.edit(tasks.done, "l = string.sub(l, 3 + struct.unpack('>I2', l))");
    town.expect("I2", "its timeline has 2 items, where 3 are due")
        .await;
}

#[tokio::test]
async fn a_run_that_was_not_claimed_is_found() {
    let mut town = Town::new().await;
    let tasks = town.tasks().await;
    town.edit(
        tasks.done,
        "local item = cmsgpack.pack({ 1, 0, 1, h[14], 5, 'x', 'x', '', 0, '' })
         l = struct.pack('>I2', #item) .. item .. string.sub(l, 3 + struct.unpack('>I2', l))",
    );
    town.expect("I3", "version 2 is of attempt 1, after version 1 of attempt 5")
        .await;
    town.expect("I2", "differs between its timeline and the stream")
        .await;
}

#[tokio::test]
async fn a_token_that_two_have_is_found() {
    let mut town = Town::new().await;
    let tasks = town.tasks().await;
    let (other, token) = town.run().await;
    town.settle().await;
    assert_ne!(other, tasks.running);
    let bytes: String = token.0.iter().map(|byte| format!("\\{byte:03}")).collect();
    town.edit(tasks.running, &format!("h[23] = '{bytes}'"));
    town.expect("I3", "its fencing token is that of another running task too")
        .await;
}

#[tokio::test]
async fn a_running_task_without_a_lease_is_found() {
    let mut town = Town::new().await;
    let tasks = town.tasks().await;
    town.call(&[b"ZREM", LEASES, tasks.running.as_bytes()]);
    town.expect("I4", "it is running without a lease").await;
    town.call(&[b"ZADD", LEASES, b"5", tasks.running.as_bytes()]);
    town.expect("I4", "over the end of its lease, and nobody took it back")
        .await;
    town.edit(tasks.running, "h[23] = ''");
    town.expect("I4", "running and the lease token disagree").await;
}

#[tokio::test]
async fn a_task_that_nobody_makes_ready_is_found() {
    let mut town = Town::new().await;
    let tasks = town.tasks().await;
    town.call(&[b"ZADD", DUE, b"5", tasks.delayed.as_bytes()]);
    town.expect("I5", "due, and nobody made it ready").await;
}

#[tokio::test]
async fn a_task_in_no_index_in_two_or_in_the_wrong_one_is_found() {
    let mut town = Town::new().await;
    let tasks = town.tasks().await;
    town.call(&[b"ZREM", DUE, tasks.delayed.as_bytes()]);
    town.expect("I9", "it is pending and stands in no index").await;
    town.call(&[b"ZADD", LEASES, b"9999999999999", tasks.delayed.as_bytes()]);
    town.expect("I9", "it is pending and stands in the index lease")
        .await;
    town.call(&[b"ZADD", DUE, b"9999999999999", tasks.delayed.as_bytes()]);
    town.expect("I9", "stands in several indices: due, lease").await;
}

#[tokio::test]
async fn a_key_that_names_another_or_nobody_is_found() {
    let mut town = Town::new().await;
    let tasks = town.tasks().await;
    let task = town.store.get(tasks.done).await.unwrap().unwrap().task;
    let digest = domain::key_digest(&task.task_type, &task.idempotency_key);
    let key = [b"{gf:00}:i:".as_slice(), &digest[..16]].concat();
    let kept = match town.call(&[b"GET", &key]) {
        gengfu_integration_tests::Reply::Text(kept) => kept,
        other => panic!("{other:?}"),
    };
    town.call(&[b"DEL", &key]);
    town.expect("I1", "names no task").await;
    let other = [tasks.dead.as_bytes().as_slice(), &kept[16..]].concat();
    town.call(&[b"SET", &key, &other]);
    town.expect("I1", "names another task").await;
}

#[tokio::test]
async fn a_payload_that_is_another_is_found() {
    let mut town = Town::new().await;
    let tasks = town.tasks().await;
    town.call(&[b"HSET", &key_of(tasks.ready), b"p", b"{}"]);
    town.expect("I10", "the payload is not the one").await;
}

#[tokio::test]
async fn a_counter_that_counts_wrongly_is_found() {
    let mut town = Town::new().await;
    town.tasks().await;
    town.call(&[b"HINCRBY", b"{gf:00}:c", b"t|3", b"2"]);
    town.expect("I9", "the counter of t in success says 3, there are 1")
        .await;
}

#[tokio::test]
async fn an_index_that_names_nobody_and_a_task_that_no_list_names_are_found() {
    let mut town = Town::new().await;
    let tasks = town.tasks().await;
    town.call(&[b"ZADD", DUE, b"9999999999999", TaskId::new(5, [3; 10]).as_bytes()]);
    town.expect("I9", "it stands in the index due, and there is no such task")
        .await;
    town.call(&[b"LREM", b"{gf:00}:all", b"1", tasks.dead.as_bytes()]);
    town.expect("I9", "it is in the store and not in the list of all tasks")
        .await;
}

async fn forge(town: &Town, event: TaskEvent) {
    let entry = EventEntry {
        outbox_id: "1-1".into(),
        events: vec![event_to_wire(event)],
        refused: Vec::new(),
    };
    let batch = EventBatch {
        partition: PARTITION.into(),
        entries: vec![entry],
    };
    publish(town, batch.encode_to_vec().into()).await;
}

async fn publish(town: &Town, body: Bytes) {
    let publisher = town.bus.publisher();
    let id = format!("forged-{}", body.len());
    publisher
        .publish_event(PARTITION, &id, body)
        .await
        .unwrap()
        .await
        .unwrap();
}

#[tokio::test]
async fn a_stream_that_says_something_else_is_found() {
    let town = Town::new().await;
    let tasks = town.tasks().await;
    let (events, _) = town.store.unrecorded(PARTITION, 0).await.unwrap();
    let first = events
        .into_iter()
        .find(|event| event.task_id == tasks.ready)
        .unwrap();
    // The same again is a repeat.
    forge(&town, first.clone()).await;
    let report = town.audit().await;
    assert!(report.is_clean(), "{report:#?}");
    assert_eq!(report.looked_at["events repeated"], 1);
    let other = TaskEvent {
        to: Status::Dead,
        reason: "longer".into(),
        ..first.clone()
    };
    forge(&town, other).await;
    town.expect("I2", "two different transitions of version 1").await;
    let later = TaskEvent {
        version: 9,
        from: Some(Status::Pending),
        to: Status::Running,
        reason: "longer still".into(),
        ..first
    };
    forge(&town, later).await;
    town.expect(
        "I2",
        "the stream knows version 9 (running), the store stands at 1: it stepped back",
    )
    .await;
    publish(&town, Bytes::from_static(b"\xff\xff\xff")).await;
    town.expect("I2", "it can't be decoded").await;
}
