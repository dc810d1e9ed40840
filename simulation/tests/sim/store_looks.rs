//! What only looks at the store, each on its way to the model and back.

use std::collections::BTreeMap;

use domain::{Partition, RunTimes, TaskId, Tier};
use handler::async_trait;
use store::{
    AuditPage, AuditStore, Error, LeaseView, OutboxEntry, Place, RunningTasks, Tally, TypePause, WatchStore,
};

use crate::store::{SimStore, plain};

#[async_trait]
impl WatchStore for SimStore {
    async fn lease(&self, id: TaskId) -> Result<Option<LeaseView>, Error> {
        plain!(self, "lease", self.world.model.lease(id))
    }

    async fn pauses(&self) -> Result<BTreeMap<String, TypePause>, Error> {
        plain!(self, "pauses", self.world.model.pauses())
    }

    async fn note_pauses(&self, pauses: &[(String, Option<TypePause>)]) -> Result<(), Error> {
        plain!(self, "note_pauses", self.world.model.note_pauses(pauses))
    }

    async fn running(&self, partition: Partition, skip: usize) -> Result<RunningTasks, Error> {
        plain!(self, "running", self.world.model.running(partition, skip))
    }

    async fn run_times(&self) -> Result<BTreeMap<String, RunTimes>, Error> {
        plain!(self, "run_times", self.world.model.run_times())
    }
}

#[async_trait]
impl AuditStore for SimStore {
    async fn audit_page(
        &self,
        partition: Partition,
        cursor: u64,
        wanted: &(dyn for<'a> Fn(&'a TaskId) -> bool + Sync),
    ) -> Result<AuditPage, Error> {
        let model = &self.world.model;
        plain!(self, "audit_page", model.audit_page(partition, cursor, wanted))
    }

    async fn audit_tasks(&self, partition: Partition, ids: &[TaskId]) -> Result<AuditPage, Error> {
        plain!(self, "audit_tasks", self.world.model.audit_tasks(partition, ids))
    }

    async fn orphans(
        &self,
        partition: Partition,
        index: Place,
        skip: usize,
    ) -> Result<(Vec<TaskId>, bool), Error> {
        plain!(self, "orphans", self.world.model.orphans(partition, index, skip))
    }

    async fn queue_orphans(
        &self,
        partition: Partition,
        line: (&str, Tier, &str),
        skip: usize,
    ) -> Result<(Vec<TaskId>, bool), Error> {
        let model = &self.world.model;
        plain!(self, "queue_orphans", model.queue_orphans(partition, line, skip))
    }

    async fn outbox_after(
        &self,
        partition: Partition,
        after: Option<&str>,
    ) -> Result<Vec<OutboxEntry>, Error> {
        plain!(
            self,
            "outbox_after",
            self.world.model.outbox_after(partition, after)
        )
    }

    async fn tally(&self, partition: Partition) -> Result<Option<Tally>, Error> {
        plain!(self, "tally", self.world.model.tally(partition))
    }
}
