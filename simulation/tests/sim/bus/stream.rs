//! A stream: messages by number, and the ids that it saw.

use std::collections::{BTreeMap, HashMap};

use messaging::memory::Letter;

use super::server::matches;

/// How long an id is remembered, in microseconds.
const DUPLICATES_US: i64 = 120_000_000;

/// A message that a stream keeps.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) letter: Letter,
    pub(super) at_us: i64,
}

impl Kept {
    /// When it was kept, in nanoseconds since the epoch.
    pub(super) const fn stored_ns(&self) -> i64 {
        (crate::host::START_MS * 1_000 + self.at_us) * 1_000
    }
}

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) name: &'static str,
    subject: &'static str,
    /// Whether an ack takes the message away.
    pub(super) work_queue: bool,
    /// Whether a restart of the server loses it.
    pub(super) in_memory: bool,
    max_age_us: Option<i64>,
    pub(super) messages: BTreeMap<u64, Kept>,
    pub(super) last: u64,
    ids: HashMap<String, (u64, i64)>,
}

impl Stream {
    fn new(name: &'static str, subject: &'static str) -> Self {
        Self {
            name,
            subject,
            work_queue: true,
            in_memory: false,
            max_age_us: None,
            messages: BTreeMap::new(),
            last: 0,
            ids: HashMap::new(),
        }
    }

    /// The four, empty.
    pub(super) fn all() -> Vec<Self> {
        use messaging::streams::{EVENTS, READY, SUBMIT, WORK};
        let hints = |name, subject| Self {
            in_memory: true,
            max_age_us: Some(10_000_000),
            ..Self::new(name, subject)
        };
        vec![
            Self::new(SUBMIT, "gengfu.submit.*"),
            hints(READY, "gengfu.ready.*"),
            hints(WORK, "gengfu.work.*.*"),
            Self {
                work_queue: false,
                ..Self::new(EVENTS, "gengfu.events.*")
            },
        ]
    }

    pub(super) fn takes(&self, subject: &str) -> bool {
        matches(self.subject, subject)
    }

    /// Keeps a message; its number, and whether it was there already.
    pub(super) fn keep(&mut self, letter: Letter, at_us: i64) -> (u64, bool) {
        let id = letter.headers.get("Nats-Msg-Id").cloned();
        if let Some(known) = id.as_ref().and_then(|id| self.ids.get(id))
            && known.1 + DUPLICATES_US > at_us
        {
            return (known.0, true);
        }
        self.last += 1;
        if let Some(id) = id {
            self.ids.insert(id, (self.last, at_us));
        }
        self.messages.insert(self.last, Kept { letter, at_us });
        (self.last, false)
    }

    /// Forgets the ids: what comes again then is kept again.
    pub(super) fn forget_ids(&mut self) {
        self.ids.clear();
    }

    pub(super) fn expire(&mut self, now_us: i64) {
        if let Some(age) = self.max_age_us {
            while self
                .messages
                .first_key_value()
                .is_some_and(|(_, kept)| kept.at_us + age < now_us)
            {
                self.messages.pop_first();
            }
        }
    }
}
