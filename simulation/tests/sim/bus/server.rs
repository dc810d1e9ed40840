//! The server: it routes what is published, keeps what belongs to a stream, and serves the consumers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use messaging::memory::{Letter, WantedConsumer};

use super::consumer::{Answer, Consumer, Pull};
use super::stream::Stream;
use super::wire::Mailbox;
use crate::rng::Rng;
use crate::world::Who;

/// What goes wrong on the way of messages, in thousandths.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weather {
    pub(crate) lost: i64,
    pub(crate) repeated: i64,
    /// Comes late, and so after others.
    pub(crate) late: i64,
}

struct Subscription {
    pattern: String,
    group: Option<String>,
    who: Who,
    mailbox: Arc<Mailbox>,
}

/// A server that may be away, restart, or lose all it had.
pub(crate) struct Server {
    rng: Rng,
    pub(crate) weather: Weather,
    pub(crate) up: bool,
    /// How often clients had to connect.
    pub(super) epoch: u64,
    pub(super) created_ms: i64,
    /// The metadata of the events stream.
    pub(super) words: BTreeMap<String, String>,
    streams: Vec<Stream>,
    consumers: BTreeMap<(String, String), Consumer>,
    subscriptions: BTreeMap<u64, Subscription>,
    numbers: u64,
    /// Hints whose ack came, for the one who checks that claims come first.
    pub(crate) acked_work: Vec<(Who, Letter)>,
}

/// Whether a subject falls under a pattern.
pub(super) fn matches(pattern: &str, subject: &str) -> bool {
    let mut words = subject.split('.');
    let fits = pattern
        .split('.')
        .all(|word| words.next().is_some_and(|other| word == "*" || word == other));
    fits && words.next().is_none()
}

impl Server {
    pub(crate) fn new(rng: Rng) -> Self {
        Self {
            rng,
            weather: Weather::default(),
            up: true,
            epoch: 1,
            created_ms: crate::host::START_MS,
            words: BTreeMap::new(),
            streams: Stream::all(),
            consumers: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
            numbers: 0,
            acked_work: Vec::new(),
        }
    }

    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Away: what is sent goes nowhere.
    pub(crate) fn stop(&mut self) {
        self.up = false;
    }

    /// Back, without what it had only in memory; with `wiped` without anything.
    pub(crate) fn start(&mut self, wiped: bool, now_us: i64) {
        (self.up, self.epoch) = (true, self.epoch + 1);
        for fresh in Stream::all() {
            let name = fresh.name;
            if let Some(stream) = self.streams.iter_mut().find(|stream| stream.name == name)
                && (wiped || stream.in_memory)
            {
                *stream = fresh;
                self.consumers.retain(|(of, _), _| of != name);
            }
        }
        for stream in &mut self.streams {
            stream.forget_ids();
        }
        for consumer in self.consumers.values_mut() {
            consumer.pulls.clear();
        }
        if wiped {
            self.created_ms = crate::host::START_MS + now_us / 1_000;
            self.words.clear();
        }
    }

    /// A process is gone, and with it its subscriptions.
    pub(crate) fn forget(&mut self, who: Who) {
        self.subscriptions
            .retain(|_, subscription| subscription.who != who);
    }

    pub(super) fn subscribe(
        &mut self,
        who: Who,
        pattern: String,
        group: Option<String>,
        mailbox: Arc<Mailbox>,
    ) -> u64 {
        let number = self.number();
        let subscription = Subscription {
            pattern,
            group,
            who,
            mailbox,
        };
        self.subscriptions.insert(number, subscription);
        number
    }

    pub(super) fn unsubscribe(&mut self, number: u64) {
        self.subscriptions.remove(&number);
    }

    pub(super) fn create_consumer(&mut self, wanted: WantedConsumer) -> bool {
        let at = (wanted.stream.clone(), wanted.name.clone());
        self.consumers.entry(at).or_insert_with(|| Consumer::new(wanted));
        self.up
    }

    /// Whoever waited for its messages is told.
    pub(super) fn delete_consumer(&mut self, stream: &str, name: &str, now_us: i64) {
        let consumer = self.consumers.remove(&(stream.to_owned(), name.to_owned()));
        for pull in consumer.into_iter().flat_map(|consumer| consumer.pulls) {
            self.say(&pull.reply, 409, "Consumer Deleted", now_us);
        }
    }

    /// What a client published arrives, or not.
    pub(super) fn receive(&mut self, who: Who, letter: Letter, now_us: i64) {
        if !self.up || self.rng.chance(self.weather.lost) {
            return;
        }
        if let Some(at) = letter.subject.strip_prefix("$JS.API.CONSUMER.MSG.NEXT.") {
            self.pull(at, &letter, now_us);
        } else if letter.subject.starts_with("$JS.ACK.") {
            self.answer(who, &letter, now_us);
        } else if self.streams.iter().any(|stream| stream.takes(&letter.subject)) {
            let twice = self.rng.chance(self.weather.repeated);
            self.keep(&letter, now_us);
            if twice {
                self.keep(&letter, now_us);
            }
        } else {
            self.route(&letter, now_us);
        }
    }

    fn keep(&mut self, letter: &Letter, now_us: i64) {
        let reply = letter.reply.clone();
        let Some(stream) = self
            .streams
            .iter_mut()
            .find(|stream| stream.takes(&letter.subject))
        else {
            return;
        };
        let name = stream.name;
        let (seq, duplicate) = stream.keep(
            Letter {
                reply: None,
                ..letter.clone()
            },
            now_us,
        );
        if let Some(reply) = reply {
            let body = format!(r#"{{"stream":"{name}","seq":{seq},"duplicate":{duplicate}}}"#);
            let ack = Letter {
                subject: reply,
                payload: body.into(),
                ..Letter::default()
            };
            self.route(&ack, now_us);
        }
        self.serve_stream(name, now_us);
    }

    fn pull(&mut self, at: &str, letter: &Letter, now_us: i64) {
        let Some(reply) = letter.reply.clone() else { return };
        let body: serde_json::Value = serde_json::from_slice(&letter.payload).unwrap_or_default();
        let number = |name: &str| body.get(name).and_then(serde_json::Value::as_u64);
        let waits = number("expires").map_or(0, |ns| i64::try_from(ns / 1_000).unwrap_or(0));
        let known = at
            .split_once('.')
            .and_then(|(stream, name)| self.consumers.get_mut(&(stream.to_owned(), name.to_owned())));
        let Some(consumer) = known else {
            self.say(&reply, 503, "", now_us);
            return;
        };
        consumer.pulls.push_back(Pull {
            reply,
            left: number("batch").unwrap_or(1),
            until_us: now_us + waits,
        });
        let key = (consumer.wanted.stream.clone(), consumer.wanted.name.clone());
        self.serve(&key, now_us);
    }

    fn answer(&mut self, who: Who, letter: &Letter, now_us: i64) {
        let mut words = letter.subject.split('.').skip(2);
        let (Some(stream), Some(name)) = (words.next(), words.next()) else {
            return;
        };
        let Some(seq) = words.nth(1).and_then(|seq| seq.parse().ok()) else {
            return;
        };
        let stored_ns = words.nth(1).and_then(|ns| ns.parse().ok());
        let answer = match &letter.payload[..] {
            b"+ACK" => Answer::Ack,
            b"-NAK" => Answer::Nak,
            _ => Answer::Term,
        };
        let key = (stream.to_owned(), name.to_owned());
        let Some(consumer) = self.consumers.get_mut(&key) else {
            return;
        };
        let done = consumer.answer(seq, answer, now_us);
        let Some(kept_in) = self.streams.iter_mut().find(|kept| kept.name == stream) else {
            return;
        };
        if kept_in.work_queue {
            for seq in done {
                if let Some(kept) = kept_in.messages.remove(&seq)
                    && kept_in.name == messaging::streams::WORK
                    // An answer from before a restart may hit a message of the same number: a lost hint, no wrong ack.
                    && stored_ns == Some(kept.stored_ns())
                {
                    self.acked_work.push((who, kept.letter));
                }
            }
        }
        self.serve(&key, now_us);
    }

    fn serve_stream(&mut self, stream: &str, now_us: i64) {
        let keys: Vec<_> = self
            .consumers
            .keys()
            .filter(|(of, _)| of == stream)
            .cloned()
            .collect();
        for key in keys {
            self.serve(&key, now_us);
        }
    }

    /// Delivers to those who wait, the first first; ends the requests whose time is over.
    fn serve(&mut self, key: &(String, String), now_us: i64) {
        let Some(mut consumer) = self.consumers.remove(key) else {
            return;
        };
        while let Some(mut pull) = consumer.pulls.pop_front() {
            if !self.is_heard(&pull.reply) {
                continue;
            }
            let stream = self.streams.iter().find(|stream| stream.name == key.0);
            match stream.and_then(|stream| consumer.take(stream, now_us)) {
                Some(letter) => {
                    self.deliver(&pull.reply, &letter, now_us);
                    pull.left -= 1;
                    if pull.left > 0 {
                        consumer.pulls.push_front(pull);
                    }
                }
                None if pull.until_us <= now_us => self.say(&pull.reply, 404, "No Messages", now_us),
                None => {
                    consumer.pulls.push_front(pull);
                    break;
                }
            }
        }
        let over;
        (over, consumer.pulls) = consumer
            .pulls
            .into_iter()
            .partition::<VecDeque<Pull>, _>(|pull| pull.until_us <= now_us);
        for pull in over {
            self.say(&pull.reply, 408, "Request Timeout", now_us);
        }
        self.consumers.insert(key.clone(), consumer);
    }

    /// Time goes on: what is too old goes, what was not acked comes again.
    pub(crate) fn tick(&mut self, now_us: i64) {
        if !self.up {
            return;
        }
        for stream in &mut self.streams {
            stream.expire(now_us);
        }
        let keys: Vec<_> = self.consumers.keys().cloned().collect();
        for key in keys {
            self.serve(&key, now_us);
        }
    }

    fn is_heard(&self, subject: &str) -> bool {
        self.subscriptions
            .values()
            .any(|subscription| matches(&subscription.pattern, subject))
    }

    fn say(&mut self, reply: &str, status: u16, description: &str, now_us: i64) {
        let word = Letter {
            subject: reply.to_owned(),
            status: Some(status),
            description: description.to_owned(),
            ..Letter::default()
        };
        self.route(&word, now_us);
    }

    /// A message of a stream keeps its subject, and goes to whoever asked.
    fn deliver(&mut self, to: &str, letter: &Letter, now_us: i64) {
        self.send(to, letter, now_us);
    }

    fn route(&mut self, letter: &Letter, now_us: i64) {
        let to = letter.subject.clone();
        self.send(&to, letter, now_us);
    }

    fn send(&mut self, to: &str, letter: &Letter, now_us: i64) {
        let mut groups: BTreeMap<String, Vec<Arc<Mailbox>>> = BTreeMap::new();
        let mut boxes = Vec::new();
        for subscription in self
            .subscriptions
            .values()
            .filter(|known| matches(&known.pattern, to))
        {
            match &subscription.group {
                Some(group) => groups
                    .entry(group.clone())
                    .or_default()
                    .push(Arc::clone(&subscription.mailbox)),
                None => boxes.push(Arc::clone(&subscription.mailbox)),
            }
        }
        for members in groups.into_values() {
            boxes.push(Arc::clone(self.rng.pick(&members)));
        }
        for mailbox in boxes {
            if self.rng.chance(self.weather.lost) {
                continue;
            }
            let way_us = if self.rng.chance(self.weather.late) {
                self.rng.range(5_000, 1_500_000)
            } else {
                self.rng.range(0, 2) * 1_000
            };
            let number = self.number();
            mailbox.put(now_us + way_us, number, letter.clone());
        }
    }
}
