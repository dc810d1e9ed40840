//! The verbs of schedules, each on its way to the model and back.

use bytes::Bytes;
use domain::Partition;
use handler::async_trait;
use store::{
    Calendar, DueSchedules, Error, Fired, Firing, NewTrigger, Nonce, Origin, Page, PlanRefusal, PlanStore,
    PlanVerdict, Put, PutSchedule, Removed, Reply, ScheduleView, TriggerRange, Triggered, Triggers,
};

use crate::store::{SimStore, once, plain, told};

#[async_trait]
impl PlanStore for SimStore {
    async fn put_schedules(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        items: &[PutSchedule],
    ) -> Result<Vec<Result<Put, PlanRefusal>>, Error> {
        let model = &self.world.model;
        once!(self, "put_schedules", nonce, |told| model
            .put_schedules(partition, told, origin, items))
    }

    async fn remove_schedules(
        &self,
        partition: Partition,
        nonce: Nonce,
        names: &[String],
    ) -> Result<Vec<PlanVerdict>, Error> {
        let model = &self.world.model;
        once!(self, "remove_schedules", nonce, |told| model
            .remove_schedules(partition, told, names))
    }

    async fn pause_schedules(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        names: &[String],
    ) -> Result<Vec<PlanVerdict>, Error> {
        let model = &self.world.model;
        once!(self, "pause_schedules", nonce, |told| model
            .pause_schedules(partition, told, origin, names))
    }

    async fn resume_schedules(
        &self,
        partition: Partition,
        nonce: Nonce,
        names: &[String],
    ) -> Result<Vec<PlanVerdict>, Error> {
        let model = &self.world.model;
        once!(self, "resume_schedules", nonce, |told| model
            .resume_schedules(partition, told, names))
    }

    async fn due_schedules(&self, partition: Partition, limit: usize) -> Result<DueSchedules, Error> {
        plain!(
            self,
            "due_schedules",
            self.world.model.due_schedules(partition, limit)
        )
    }

    async fn fire(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        firings: &[Firing],
    ) -> Result<Reply<Result<Fired, PlanRefusal>>, Error> {
        let model = &self.world.model;
        told!(
            self,
            "fire",
            nonce,
            |told| model.fire(partition, told, origin, firings),
            |play, items: &[Result<Fired, PlanRefusal>]| self.world.check().fired(play, items)
        )
    }

    async fn record_triggers(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        name: &str,
        incarnation: u64,
        records: &[NewTrigger],
    ) -> Result<Reply<Result<Triggered, PlanRefusal>>, Error> {
        let model = &self.world.model;
        told!(
            self,
            "record_triggers",
            nonce,
            |told| model.record_triggers(partition, told, origin, name, incarnation, records),
            |_, _: &[Result<Triggered, PlanRefusal>]| {}
        )
    }

    async fn schedule(&self, name: &str) -> Result<Option<ScheduleView>, Error> {
        plain!(self, "schedule", self.world.model.schedule(name))
    }

    async fn schedules(
        &self,
        partition: Partition,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ScheduleView>, Error> {
        plain!(
            self,
            "schedules",
            self.world.model.schedules(partition, after, limit)
        )
    }

    async fn triggers(&self, name: &str, range: &TriggerRange, page: &Page) -> Result<Triggers, Error> {
        plain!(self, "triggers", self.world.model.triggers(name, range, page))
    }

    async fn retain_triggers(
        &self,
        partition: Partition,
        nonce: Nonce,
        age_ms: i64,
    ) -> Result<Removed, Error> {
        let model = &self.world.model;
        once!(self, "retain_triggers", nonce, |told| model
            .retain_triggers(partition, told, age_ms))
    }

    async fn put_calendars(&self, calendars: &[(String, Bytes)]) -> Result<u64, Error> {
        plain!(self, "put_calendars", self.world.model.put_calendars(calendars))
    }

    async fn calendars(&self) -> Result<(u64, Vec<Calendar>), Error> {
        plain!(self, "calendars", self.world.model.calendars())
    }

    async fn calendars_version(&self) -> Result<u64, Error> {
        plain!(self, "calendars_version", self.world.model.calendars_version())
    }
}
