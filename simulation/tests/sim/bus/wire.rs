//! What a process has in the place of a connection.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::{FutureExt, Stream};
use messaging::memory::{Letter, Letters, WantedConsumer, Wire};
use tokio::time::Sleep;

use crate::host;
use crate::world::{Who, World};

/// Messages on their way to one subscription, by the moment at which they arrive.
#[derive(Debug, Default)]
pub(crate) struct Mailbox(Mutex<Box_>);

#[derive(Debug, Default)]
struct Box_ {
    letters: BTreeMap<(i64, u64), Letter>,
    reader: Option<Waker>,
}

impl Mailbox {
    pub(super) fn put(&self, at_us: i64, number: u64, letter: Letter) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.letters.insert((at_us, number), letter);
        if let Some(reader) = inner.reader.take() {
            reader.wake();
        }
    }
}

/// One process's connection.
pub(crate) struct Line {
    world: Arc<World>,
    who: Who,
}

impl Line {
    pub(crate) const fn new(world: Arc<World>, who: Who) -> Self {
        Self { world, who }
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the line of {}", self.who)
    }
}

impl Wire for Line {
    fn is_connected(&self) -> bool {
        self.world.bus().up
    }

    fn connects(&self) -> u64 {
        self.world.bus().epoch
    }

    fn new_inbox(&self) -> String {
        format!("_INBOX.{}", self.world.bus().number())
    }

    fn publish(&self, letter: Letter) {
        let now_us = host::now_us();
        self.world.trace(|| format!("sends {}", letter.subject));
        self.world.bus().receive(self.who, letter, now_us);
        self.world.check_acks();
    }

    fn subscribe(&self, subject: String, group: Option<String>) -> Letters {
        let mailbox = Arc::new(Mailbox::default());
        let number = self
            .world
            .bus()
            .subscribe(self.who, subject, group, Arc::clone(&mailbox));
        Box::new(Reader {
            world: Arc::clone(&self.world),
            number,
            mailbox,
            alarm: None,
        })
    }

    fn streams_created_ms(&self) -> i64 {
        self.world.bus().created_ms
    }

    fn word(&self, key: &str) -> Option<String> {
        self.world.bus().words.get(key).cloned()
    }

    fn keep_word(&self, key: &str, word: &str) {
        self.world.bus().words.insert(key.to_owned(), word.to_owned());
    }

    fn create_consumer(&self, wanted: WantedConsumer) -> bool {
        self.world.bus().create_consumer(wanted)
    }

    fn delete_consumer(&self, stream: &str, name: &str) {
        self.world.bus().delete_consumer(stream, name, host::now_us());
    }
}

struct Reader {
    world: Arc<World>,
    number: u64,
    mailbox: Arc<Mailbox>,
    alarm: Option<(i64, Pin<Box<Sleep>>)>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.world.bus().unsubscribe(self.number);
    }
}

impl Stream for Reader {
    type Item = Letter;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Letter>> {
        let now_us = host::now_us();
        let first_us = {
            let mut inner = self.mailbox.0.lock().unwrap_or_else(PoisonError::into_inner);
            let first_us = inner.letters.first_key_value().map(|((at_us, _), _)| *at_us);
            if first_us.is_some_and(|at_us| at_us <= now_us) {
                return Poll::Ready(inner.letters.pop_first().map(|(_, letter)| letter));
            }
            inner.reader = Some(cx.waker().clone());
            first_us
        };
        let Some(first_us) = first_us else {
            self.alarm = None;
            return Poll::Pending;
        };
        if self.alarm.as_ref().is_none_or(|(at_us, _)| *at_us != first_us) {
            let wait = Duration::from_micros(u64::try_from(first_us - now_us).unwrap_or(0));
            self.alarm = Some((first_us, Box::pin(tokio::time::sleep(wait))));
        }
        if let Some((_, alarm)) = &mut self.alarm
            && alarm.poll_unpin(cx).is_ready()
        {
            self.alarm = None;
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}
