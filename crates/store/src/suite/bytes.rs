//! Bytes in are bytes out (I10).

use bytes::Bytes;
use domain::ErrorClass;

use super::Harness;
use super::world::{World, failure, origin, twice};
use crate::{Claimed, Finish, NewTask};

fn samples() -> Vec<Bytes> {
    let every: Vec<u8> = (0..=255).collect();
    vec![
        Bytes::new(),
        Bytes::from_static(b"\0"),
        Bytes::from_static(b"a\0b\r\n\0"),
        Bytes::from_static(b"\xff\xfe\xc3\x28\xed\xa0\x80"),
        Bytes::from_static(b"{\"n\":9007199254740993,\"f\":1.0,\"e\":1e400}"),
        Bytes::from("更夫 🌙👨‍👩‍👧‍👦"),
        Bytes::from_static(b"'\"\\; DROP %s {0} $1\x7f"),
        Bytes::from(every.repeat(1_024)),
    ]
}

/// Payloads come back from `claim`, `get` and `list` as they went in: NUL, invalid UTF-8, 2^53 + 1, emoji, 256 KiB.
pub async fn a_payload_is_kept_exactly(harness: &dyn Harness) {
    let world = World::new(harness).await;
    for payload in samples() {
        let id = world
            .create(NewTask {
                payload: payload.clone(),
                ..world.task()
            })
            .await;
        assert_eq!(world.view(id).await.payload, payload);
        world.dispatch(1).await;
        let Claimed::Run { payload: claimed, .. } = world.claim(id).await else {
            panic!("{id} does not run");
        };
        assert_eq!(claimed, payload);
    }
}

/// Results and outputs come back as they went in, each attempt's output by itself.
pub async fn results_and_outputs_are_kept_exactly(harness: &dyn Harness) {
    let world = World::new(harness).await;
    for bytes in samples() {
        let (id, token) = world.running().await;
        let mut end = failure(id, token, ErrorClass::Transient, 0);
        end.output = Bytes::from_static(b"first \xff");
        twice!(world, fail(&origin(), std::slice::from_ref(&end))).items[0].unwrap();
        let token = world.start(id).await;
        let end = Finish {
            id,
            token,
            result: bytes.clone(),
            output: bytes.clone(),
        };
        twice!(world, complete(&origin(), std::slice::from_ref(&end))).items[0].unwrap();
        assert_eq!(world.view(id).await.result, bytes);
        let output = async |attempt| {
            world
                .store
                .output(id, attempt)
                .await
                .unwrap()
                .map(|(_, output)| output)
                .unwrap_or_default()
        };
        assert_eq!(output(Some(1)).await, Bytes::from_static(b"first \xff"));
        assert_eq!(output(Some(2)).await, bytes);
        assert_eq!(output(None).await, bytes);
        assert_eq!(output(Some(3)).await, Bytes::new());
    }
}

/// Errors, codes and the texts of a submission keep every character.
pub async fn texts_are_kept_exactly(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let odd = "更夫|🌙\0\n\"quoted\" \u{202e}";
    let new = NewTask {
        trace_link: odd.into(),
        schedule_id: odd.into(),
        ..world.keyed(super::new_task::TYPE, odd, 1_000)
    };
    let key = new.idempotency_key.clone();
    let (id, token) = world.running_as(new).await;
    let mut end = failure(id, token, ErrorClass::Deterministic, 0);
    end.code = "http_404".into();
    end.error = odd.repeat(400);
    twice!(world, fail(&origin(), std::slice::from_ref(&end))).items[0].unwrap();
    let view = world.view(id).await;
    assert_eq!((view.error, view.task.error_code), (end.error, end.code));
    assert_eq!(
        (view.task.trace_link.as_str(), view.task.schedule_id.as_str()),
        (odd, odd)
    );
    assert_eq!(view.task.idempotency_key, key);
    assert_eq!(world.events().await.last().unwrap().schedule_id, odd);
}

/// Numbers at the ends of their ranges are kept.
pub async fn large_numbers_are_kept(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let id = world
        .create(NewTask {
            max_retry: u16::MAX,
            max_lost: u16::MAX,
            batch_row: u32::MAX,
            run_timeout_ms: 400 * 86_400_000,
            planned_at: 253_402_300_799_999,
            payload_sha256: [0xff; 32],
            ..world.task()
        })
        .await;
    let task = world.record(id).await;
    assert_eq!(
        (task.max_retry, task.max_lost, task.batch_row),
        (u16::MAX, u16::MAX, u32::MAX)
    );
    assert_eq!(
        (task.run_timeout_ms, task.planned_at),
        (400 * 86_400_000, 253_402_300_799_999)
    );
    assert_eq!(task.payload_sha256, [0xff; 32]);
}
