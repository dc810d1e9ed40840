//! What the cases look at: events, lists, the recorder's side.

use domain::TaskId;

use super::world::{World, twice};
use crate::{Page, Removed, Retention, TaskEvent, TaskFilter};

impl World<'_> {
    /// Every event that waits in the outbox, in order.
    pub(super) async fn events(&self) -> Vec<TaskEvent> {
        let entries = self.store.outbox(self.partition, 0, 10_000).await.unwrap();
        entries.into_iter().flat_map(|entry| entry.events).collect()
    }

    /// Records all that waits in the outbox, at this position of the first stream.
    pub(super) async fn record_outbox(&self, position: u64) {
        let events = self.events().await;
        self.store
            .record(self.partition, 1, position, &events)
            .await
            .unwrap();
    }

    /// Removes terminal tasks that ended `ms` ago.
    pub(super) async fn retain_after(&self, ms: i64) -> Removed {
        let retention = Retention {
            success_ms: ms,
            cancelled_ms: ms,
            dead_ms: ms,
            count: 1_000_000,
        };
        twice!(self, retain(&retention))
    }

    /// The ids of a whole list, over all its pages.
    pub(super) async fn listed(&self, filter: &TaskFilter) -> Vec<TaskId> {
        let mut page = Page {
            limit: 100,
            cursor: None,
        };
        let mut ids = Vec::new();
        for _ in 0..1_000 {
            let listed = self.store.list(filter, &page).await.unwrap();
            ids.extend(listed.items.iter().map(|view| view.task.id));
            let Some(next) = listed.next else { return ids };
            page.cursor = Some(next);
        }
        panic!("a list of {} tasks never ends", ids.len());
    }

    /// What is to be announced again, over all slices.
    pub(super) async fn all_unrecorded(&self) -> Vec<TaskEvent> {
        let (mut events, mut cursor) = (Vec::new(), Some(0));
        while let Some(at) = cursor {
            let (part, next) = self.store.unrecorded(self.partition, at).await.unwrap();
            assert!(next.is_none_or(|next| next > at), "the cursor stands still");
            events.extend(part);
            cursor = next;
        }
        events
    }
}
