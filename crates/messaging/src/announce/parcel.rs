//! Joins outbox entries into messages, bounded by count and by bytes.

use bytes::Bytes;
use domain::Partition;
use proto::Message;
use sha2::{Digest, Sha256};

/// Most entries of one message.
pub(super) const ENTRIES_MAX: usize = 64;
/// Most events of one message, unless one entry alone has more: what is read in one message is recorded in one step.
pub(super) const EVENTS_MAX: usize = 512;
/// Most bytes of one message.
pub(super) const BYTES_MAX: usize = 512 * 1024;

/// Entries that go together: they have left the outbox's care when all messages are acknowledged.
#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) partition: Partition,
    /// The entries' ids in the outbox.
    pub(super) ids: Vec<String>,
    /// One message, or several where a single entry is too large for one.
    pub(super) messages: Vec<Letter>,
}

/// One message and the id under which JetStream drops its repeats.
#[derive(Debug)]
pub(super) struct Letter {
    pub(super) id: String,
    pub(super) body: Bytes,
}

/// The fewest parcels that hold these entries of one partition, in their order.
pub(super) fn pack(partition: Partition, entries: Vec<proto::EventEntry>) -> Vec<Parcel> {
    let mut parcels = Vec::new();
    let mut open: Vec<proto::EventEntry> = Vec::new();
    let (mut open_bytes, mut open_events) = (0, 0);
    for entry in entries {
        let bytes = framed(entry.encoded_len());
        let full = open.len() == ENTRIES_MAX
            || open_events + entry.events.len() > EVENTS_MAX
            || open_bytes + bytes > BYTES_MAX;
        if full && !open.is_empty() {
            parcels.push(seal(partition, std::mem::take(&mut open)));
            (open_bytes, open_events) = (0, 0);
        }
        if bytes > BYTES_MAX {
            parcels.push(split(partition, entry));
        } else {
            open_bytes += bytes;
            open_events += entry.events.len();
            open.push(entry);
        }
    }
    if !open.is_empty() {
        parcels.push(seal(partition, open));
    }
    parcels
}

fn seal(partition: Partition, mut entries: Vec<proto::EventEntry>) -> Parcel {
    let letter = letter(partition, &mut entries);
    let ids = entries.into_iter().map(|entry| entry.outbox_id).collect();
    Parcel {
        partition,
        ids,
        messages: vec![letter],
    }
}

/// An entry that no message can hold is sent in parts; a reader sees several entries of the same id.
fn split(partition: Partition, entry: proto::EventEntry) -> Parcel {
    let id = entry.outbox_id;
    let part = |events| proto::EventEntry {
        outbox_id: id.clone(),
        events,
        refused: Vec::new(),
    };
    let mut messages = Vec::new();
    let (mut open, mut open_bytes) = (Vec::new(), framed(part(Vec::new()).encoded_len()));
    let empty = open_bytes;
    for event in entry.events {
        let bytes = framed(event.encoded_len());
        if !open.is_empty() && open_bytes + bytes > BYTES_MAX {
            messages.push(letter(partition, &mut [part(std::mem::take(&mut open))]));
            open_bytes = empty;
        }
        open_bytes += bytes;
        open.push(event);
    }
    let rest = proto::EventEntry {
        refused: entry.refused,
        ..part(open)
    };
    messages.push(letter(partition, &mut [rest]));
    Parcel {
        partition,
        ids: vec![id],
        messages,
    }
}

fn letter(partition: Partition, entries: &mut [proto::EventEntry]) -> Letter {
    let first = entries
        .first()
        .map(|entry| entry.outbox_id.clone())
        .unwrap_or_default();
    let entries = entries.iter_mut().map(|entry| proto::EventEntry {
        outbox_id: entry.outbox_id.clone(),
        events: std::mem::take(&mut entry.events),
        refused: std::mem::take(&mut entry.refused),
    });
    let batch = proto::EventBatch {
        partition: u32::from(partition),
        entries: entries.collect(),
    };
    let body = Bytes::from(batch.encode_to_vec());
    Letter {
        id: message_id(partition, &first, &body),
        body,
    }
}

/// `Nats-Msg-Id`: partition, outbox id, and 8 bytes of the digest, so that the same place of an outbox that was lost
/// and filled anew is no repeat.
fn message_id(partition: Partition, outbox_id: &str, body: &[u8]) -> String {
    let digest = Sha256::digest(body);
    let head = digest
        .iter()
        .take(8)
        .fold(0u64, |head, byte| head << 8 | u64::from(*byte));
    format!("{partition}-{outbox_id}-{head:016x}")
}

/// What a field of so many bytes takes with tag and length, at most.
const fn framed(bytes: usize) -> usize {
    bytes + 6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_wire::{event_to_wire, tests::claimed};

    fn entry(id: usize, events: u32, reason_bytes: usize) -> proto::EventEntry {
        let event = |version| proto::TaskEvent {
            version,
            reason: "r".repeat(reason_bytes),
            ..event_to_wire(claimed())
        };
        proto::EventEntry {
            outbox_id: format!("1-{id}"),
            events: (1..=events).map(event).collect(),
            refused: Vec::new(),
        }
    }

    fn read(parcels: &[Parcel]) -> Vec<proto::EventEntry> {
        let letters = parcels.iter().flat_map(|parcel| &parcel.messages);
        let batches = letters.map(|letter| proto::EventBatch::decode(letter.body.clone()).unwrap());
        batches
            .inspect(|batch| assert_eq!(batch.partition, 7))
            .flat_map(|batch| batch.entries)
            .collect()
    }

    #[test]
    fn entries_are_joined_up_to_the_count() {
        let entries: Vec<_> = (0..130).map(|id| entry(id, 2, 10)).collect();
        let parcels = pack(7, entries.clone());
        let sizes: Vec<_> = parcels.iter().map(|parcel| parcel.ids.len()).collect();
        assert_eq!(sizes, [64, 64, 2]);
        assert_eq!(read(&parcels), entries);
    }

    #[test]
    fn entries_are_joined_up_to_the_events() {
        let entries: Vec<_> = (0..6).map(|id| entry(id, 128, 1)).collect();
        let sizes = |parcels: &[Parcel]| parcels.iter().map(|parcel| parcel.ids.len()).collect::<Vec<_>>();
        assert_eq!(sizes(&pack(7, entries)), [4, 2]);
    }

    #[test]
    fn entries_are_joined_up_to_the_bytes() {
        let entries: Vec<_> = (0..5).map(|id| entry(id, 2, 100_000)).collect();
        let parcels = pack(7, entries.clone());
        let sizes: Vec<_> = parcels.iter().map(|parcel| parcel.ids.len()).collect();
        assert_eq!(sizes, [2, 2, 1]);
        assert!(
            parcels
                .iter()
                .all(|parcel| parcel.messages[0].body.len() <= BYTES_MAX)
        );
        assert_eq!(read(&parcels), entries);
    }

    #[test]
    fn an_entry_too_large_for_a_message_goes_in_parts_and_keeps_its_order() {
        let large = entry(1, 64, 20_000);
        let parcels = pack(7, vec![entry(0, 1, 1), large.clone(), entry(2, 1, 1)]);
        assert_eq!(
            parcels.iter().map(|parcel| parcel.ids.len()).collect::<Vec<_>>(),
            [1, 1, 1]
        );
        let parts = &parcels[1].messages;
        assert!(parts.len() > 1 && parts.iter().all(|part| part.body.len() <= BYTES_MAX));
        let events: Vec<_> = read(&parcels[1..2])
            .into_iter()
            .flat_map(|part| part.events)
            .collect();
        assert_eq!(events, large.events);
        let mut ids: Vec<_> = parts.iter().map(|part| &part.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), parts.len());
    }

    #[test]
    fn the_same_entry_has_the_same_id_and_another_content_another() {
        let id = |entry| pack(7, vec![entry]).remove(0).messages.remove(0).id;
        assert_eq!(id(entry(3, 1, 1)), id(entry(3, 1, 1)));
        assert!(id(entry(3, 1, 1)).starts_with("7-1-3-"));
        assert_ne!(id(entry(3, 1, 1)), id(entry(3, 1, 2)));
    }
}
