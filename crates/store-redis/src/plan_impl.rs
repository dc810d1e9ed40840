//! The trait of the plan table, verb by verb.

use async_trait::async_trait;
use bytes::Bytes;
use domain::Partition;
use store::{
    Calendar, DueSchedules, Error, Fired, Firing, NewTrigger, Nonce, Origin, Page, PlanRefusal, PlanStore,
    PlanVerdict, Put, PutSchedule, Removed, Reply, ScheduleView, TriggerRange, Triggered, Triggers,
};

use crate::connect::RedisStore;

#[async_trait]
impl PlanStore for RedisStore {
    async fn put_schedules(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        items: &[PutSchedule],
    ) -> Result<Vec<Result<Put, PlanRefusal>>, Error> {
        self.put_plans(partition, nonce, origin, items).await
    }

    async fn remove_schedules(
        &self,
        partition: Partition,
        nonce: Nonce,
        names: &[String],
    ) -> Result<Vec<PlanVerdict>, Error> {
        let (script, nobody) = (&self.scripts.remove_schedules, Origin::default());
        self.change_plans(script, partition, nonce, &nobody, names).await
    }

    async fn pause_schedules(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        names: &[String],
    ) -> Result<Vec<PlanVerdict>, Error> {
        let script = &self.scripts.pause_schedules;
        self.change_plans(script, partition, nonce, origin, names).await
    }

    async fn resume_schedules(
        &self,
        partition: Partition,
        nonce: Nonce,
        names: &[String],
    ) -> Result<Vec<PlanVerdict>, Error> {
        let (script, nobody) = (&self.scripts.resume_schedules, Origin::default());
        self.change_plans(script, partition, nonce, &nobody, names).await
    }

    async fn due_schedules(&self, partition: Partition, limit: usize) -> Result<DueSchedules, Error> {
        self.due_plans(partition, limit).await
    }

    async fn fire(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        firings: &[Firing],
    ) -> Result<Reply<Result<Fired, PlanRefusal>>, Error> {
        self.fire_plans(partition, nonce, origin, firings).await
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
        self.record_by_hand(partition, nonce, origin, name, incarnation, records)
            .await
    }

    async fn schedule(&self, name: &str) -> Result<Option<ScheduleView>, Error> {
        self.plan_view(name).await
    }

    async fn schedules(
        &self,
        partition: Partition,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ScheduleView>, Error> {
        self.plans_after(partition, after, limit).await
    }

    async fn triggers(&self, name: &str, range: &TriggerRange, page: &Page) -> Result<Triggers, Error> {
        self.ledger_page(name, range, page).await
    }

    async fn retain_triggers(
        &self,
        partition: Partition,
        nonce: Nonce,
        age_ms: i64,
    ) -> Result<Removed, Error> {
        self.remove_old_records(partition, nonce, age_ms).await
    }

    async fn put_calendars(&self, calendars: &[(String, Bytes)]) -> Result<u64, Error> {
        self.write_calendars(calendars).await
    }

    async fn calendars(&self) -> Result<(u64, Vec<Calendar>), Error> {
        self.read_calendars().await
    }

    async fn calendars_version(&self) -> Result<u64, Error> {
        self.read_calendars_version().await
    }
}
