//! The trait of the plan table, verb by verb.

use async_trait::async_trait;
use bytes::Bytes;
use domain::{Partition, schedule_partition};

use super::super::Model;
use crate::{
    BATCH_MAX, Calendar, DueSchedules, Error, Fired, Firing, NewTrigger, Nonce, Origin, Page, PlanRefusal,
    PlanStore, PlanVerdict, Put, PutSchedule, Removed, Reply, ScheduleView, TriggerRange, Triggered,
    Triggers, plan_check,
};

impl Model {
    fn check_names(&self, partition: Partition, names: &[String]) -> Result<(), Error> {
        plan_check::names(partition, self.partitions, names.iter().map(String::as_str))
    }
}

#[async_trait]
impl PlanStore for Model {
    async fn put_schedules(
        &self,
        partition: Partition,
        nonce: Nonce,
        _origin: &Origin,
        items: &[PutSchedule],
    ) -> Result<Vec<Result<Put, PlanRefusal>>, Error> {
        plan_check::puts(partition, self.partitions, items)?;
        self.once(partition, nonce, |shard| Ok(shard.put_schedules(items)))
    }

    async fn remove_schedules(
        &self,
        partition: Partition,
        nonce: Nonce,
        names: &[String],
    ) -> Result<Vec<PlanVerdict>, Error> {
        self.check_names(partition, names)?;
        self.once(partition, nonce, |shard| Ok(shard.remove_schedules(names)))
    }

    async fn pause_schedules(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        names: &[String],
    ) -> Result<Vec<PlanVerdict>, Error> {
        self.check_names(partition, names)?;
        self.once(partition, nonce, |shard| Ok(shard.pause_schedules(origin, names)))
    }

    async fn resume_schedules(
        &self,
        partition: Partition,
        nonce: Nonce,
        names: &[String],
    ) -> Result<Vec<PlanVerdict>, Error> {
        self.check_names(partition, names)?;
        self.once(partition, nonce, |shard| Ok(shard.resume_schedules(names)))
    }

    async fn due_schedules(&self, partition: Partition, limit: usize) -> Result<DueSchedules, Error> {
        let clock = self.clock.now();
        self.on(partition, |shard| {
            Ok(shard.due_schedules(clock, limit.min(BATCH_MAX)))
        })
    }

    async fn fire(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        firings: &[Firing],
    ) -> Result<Reply<Result<Fired, PlanRefusal>>, Error> {
        plan_check::firings(partition, self.partitions, firings)?;
        self.replied(partition, nonce, |shard| shard.fire(origin, firings))
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
        plan_check::records(partition, self.partitions, name, records)?;
        self.replied(partition, nonce, |shard| {
            shard.record_triggers(origin, name, incarnation, records)
        })
    }

    async fn schedule(&self, name: &str) -> Result<Option<ScheduleView>, Error> {
        self.on(schedule_partition(name, self.partitions), |shard| {
            Ok(shard.plans.get(name).map(|known| shard.schedule_view(known)))
        })
    }

    async fn schedules(
        &self,
        partition: Partition,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ScheduleView>, Error> {
        self.on(partition, |shard| Ok(shard.schedules_after(after, limit)))
    }

    async fn triggers(&self, name: &str, range: &TriggerRange, page: &Page) -> Result<Triggers, Error> {
        self.on(schedule_partition(name, self.partitions), |shard| {
            shard.triggers(name, range, page)
        })
    }

    async fn retain_triggers(
        &self,
        partition: Partition,
        nonce: Nonce,
        age_ms: i64,
    ) -> Result<Removed, Error> {
        self.once(partition, nonce, |shard| Ok(shard.retain_triggers(age_ms)))
    }

    async fn put_calendars(&self, calendars: &[(String, Bytes)]) -> Result<u64, Error> {
        let mut state = self.state();
        self.refuse_lost(&state)?;
        Ok(state.put_calendars(calendars))
    }

    async fn calendars(&self) -> Result<(u64, Vec<Calendar>), Error> {
        let state = self.state();
        Ok((
            state.calendars_version,
            state.calendars.values().cloned().collect(),
        ))
    }

    async fn calendars_version(&self) -> Result<u64, Error> {
        Ok(self.state().calendars_version)
    }
}
