//! Pages: events of consecutive messages, bounded, that are written in one step.

use domain::Partition;
use messaging::{EventMessage, event_from_wire};
use proto::Refused;
use store::TaskEvent;

/// Events of a page, unless one message alone has more.
const EVENTS_MAX: usize = 512;

/// Events of one partition, in the order of the stream, to be written in one step with the place where they end.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The partition.
    pub partition: Partition,
    /// When the stream was created, in milliseconds since the epoch; a position of another stream means nothing.
    pub epoch: i64,
    /// The last message of the page.
    pub position: u64,
    /// The transitions. The same may come again, in this page or in a later one.
    pub events: Vec<TaskEvent>,
    /// Submissions that became no task.
    pub refused: Vec<Refused>,
}

impl Page {
    /// Adds a message. What is none of ours is left out, with a line: it would be refused for ever.
    fn add(&mut self, message: &EventMessage) {
        self.epoch = message.position.stream_created_ms;
        self.position = message.position.stream_seq;
        for entry in &message.batch.entries {
            for event in &entry.events {
                match event_from_wire(event.clone()) {
                    Ok(event) => self.events.push(event),
                    Err(error) => {
                        tracing::error!(%error, position = self.position, "an event left out, it makes no sense");
                    }
                }
            }
            self.refused.extend(entry.refused.iter().cloned());
        }
    }
}

/// The messages as pages; each with its last message, to be acknowledged when the page is written.
pub(crate) fn pages(partition: Partition, messages: Vec<EventMessage>) -> Vec<(Page, EventMessage)> {
    let empty = || Page {
        partition,
        ..Page::default()
    };
    let mut pages: Vec<(Page, EventMessage)> = Vec::new();
    for message in messages {
        let events: usize = message.batch.entries.iter().map(|entry| entry.events.len()).sum();
        match pages.last_mut() {
            Some((page, last)) if page.events.len() + events <= EVENTS_MAX => {
                page.add(&message);
                *last = message;
            }
            _ => {
                let mut page = empty();
                page.add(&message);
                pages.push((page, message));
            }
        }
    }
    pages
}
