//! Wire types of Gengfu, generated from the .proto files beside them.
//!
//! Only shapes live here. What the numbers mean (status, tier, class) is the domain crate's; subjects are messaging's.

/// The first version of the wire format; the .proto files document each field.
#[allow(missing_docs, clippy::all, clippy::pedantic)]
pub mod v1 {
    include!(concat!(env!("OUT_DIR"), "/gengfu.v1.rs"));
}

pub use prost::{DecodeError, Message};
pub use v1::*;

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{EventBatch, EventEntry, Message, Refused, Submission, TaskEvent};

    #[test]
    fn bytes_in_are_bytes_out() {
        let payload = Bytes::from_static(b"\0\xff\xfe {\"n\":9007199254740993}\xf0\x9f\x8f\xae");
        let sent = Submission {
            task_type: "t".into(),
            payload: payload.clone(),
            max_retry: Some(0),
            ..Default::default()
        };
        let read = Submission::decode(sent.encode_to_vec().as_slice());
        assert_eq!(
            read.as_ref().map(|s| (&s.payload, s.max_retry)),
            Ok((&payload, Some(0)))
        );
    }

    #[test]
    fn zero_retries_differ_from_no_limit_given() {
        let none = Submission::default();
        let zero = Submission {
            max_retry: Some(0),
            ..Default::default()
        };
        assert_ne!(none.encode_to_vec(), zero.encode_to_vec());
    }

    /// The numbers of the fields are the contract with clients in other languages.
    #[test]
    fn wire_bytes_are_fixed() {
        let batch = EventBatch {
            partition: 7,
            entries: vec![EventEntry {
                outbox_id: "a".into(),
                events: vec![TaskEvent {
                    version: 1,
                    to: 2,
                    ..Default::default()
                }],
                refused: vec![Refused {
                    reason: "r".into(),
                    ..Default::default()
                }],
            }],
        };
        let expected = [8, 7, 18, 14, 10, 1, b'a', 18, 4, 16, 1, 32, 2, 26, 3, 10, 1, b'r'];
        assert_eq!(batch.encode_to_vec(), expected);
    }
}
