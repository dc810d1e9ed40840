//! A durable pull consumer: who waits for messages, and which wait for their ack.

use std::collections::{BTreeMap, VecDeque};

use messaging::memory::{Letter, WantedConsumer};

use super::server::matches;
use super::stream::Stream;

/// A request for messages.
#[derive(Debug)]
pub(super) struct Pull {
    pub(super) reply: String,
    pub(super) left: u64,
    pub(super) until_us: i64,
}

/// A message that was delivered.
#[derive(Debug)]
struct Pending {
    again_at_us: i64,
    delivered: u64,
}

#[derive(Debug)]
pub(super) struct Consumer {
    pub(super) wanted: WantedConsumer,
    next: u64,
    deliveries: u64,
    pending: BTreeMap<u64, Pending>,
    pub(super) pulls: VecDeque<Pull>,
}

/// An answer to a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Ack,
    Nak,
    Term,
}

impl Consumer {
    pub(super) fn new(wanted: WantedConsumer) -> Self {
        Self {
            next: wanted.start.max(1),
            wanted,
            deliveries: 0,
            pending: BTreeMap::new(),
            pulls: VecDeque::new(),
        }
    }

    /// The next message that is to be delivered, with the subject that answers it.
    pub(super) fn take(&mut self, stream: &Stream, now_us: i64) -> Option<Letter> {
        self.pending.retain(|seq, _| stream.messages.contains_key(seq));
        let again = self
            .pending
            .iter()
            .find(|(_, pending)| pending.again_at_us <= now_us)
            .map(|(seq, _)| *seq);
        let seq = again.or_else(|| self.fresh(stream))?;
        let kept = stream.messages.get(&seq)?;
        let pending = self.pending.entry(seq).or_insert(Pending {
            again_at_us: 0,
            delivered: 0,
        });
        pending.delivered += 1;
        pending.again_at_us =
            now_us + i64::try_from(self.wanted.ack_wait.as_micros()).unwrap_or(i64::MAX / 2);
        let delivered = pending.delivered;
        self.next = self.next.max(seq + 1);
        self.deliveries += 1;
        let stored_ns = kept.stored_ns();
        let behind = stream.last - seq;
        let WantedConsumer { name, .. } = &self.wanted;
        Some(Letter {
            reply: Some(format!(
                "$JS.ACK.{}.{name}.{delivered}.{seq}.{}.{stored_ns}.{behind}",
                stream.name, self.deliveries
            )),
            ..kept.letter.clone()
        })
    }

    fn fresh(&self, stream: &Stream) -> Option<u64> {
        let waiting = stream.messages.range(self.next..);
        let mut mine = waiting.filter(|(_, kept)| matches(&self.wanted.filter, &kept.letter.subject));
        mine.next().map(|(seq, _)| *seq)
    }

    /// Takes an answer; the messages that are done with.
    pub(super) fn answer(&mut self, seq: u64, answer: Answer, now_us: i64) -> Vec<u64> {
        if !self.pending.contains_key(&seq) {
            return Vec::new();
        }
        if answer == Answer::Nak {
            if let Some(pending) = self.pending.get_mut(&seq) {
                pending.again_at_us = now_us;
            }
            return Vec::new();
        }
        let first = if self.wanted.ack_all { 0 } else { seq };
        let done: Vec<u64> = self.pending.range(first..=seq).map(|(seq, _)| *seq).collect();
        for seq in &done {
            self.pending.remove(seq);
        }
        done
    }
}
