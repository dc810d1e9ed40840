//! The trait of the plan table: the ledger of schedules.

use async_trait::async_trait;
use bytes::Bytes;
use domain::Partition;

use crate::{
    AuditStore, Calendar, DueSchedules, Error, Fired, Firing, NewTrigger, Nonce, Origin, Page, PlanRefusal,
    PlanVerdict, Put, PutSchedule, Removed, Reply, ScheduleView, TaskStore, TriggerRange, Triggered,
    Triggers, WatchStore,
};

/// The authoritative state of schedules. A schedule lives in one partition, [`domain::schedule_partition`], with every
/// task that it fires and every record of its instants (I7); a call with one of another is [`Error::Corrupt`]. All verbs
/// with a nonce may be played twice, and take at most [`crate::BATCH_MAX`] schedules and records.
#[async_trait]
pub trait PlanStore: TaskStore + WatchStore + AuditStore {
    /// Creates schedules, each a new incarnation, or changes them. A changed one goes on from the anchor with its fires,
    /// its pause and its live tasks; an unchanged one keeps its cursor.
    async fn put_schedules(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        items: &[PutSchedule],
    ) -> Result<Vec<Result<Put, PlanRefusal>>, Error>;

    /// Removes schedules: they never fire again. Their records stay until retention takes them; their tasks go on, and
    /// those that wait for their turn still get it. The plans as they were.
    async fn remove_schedules(
        &self,
        partition: Partition,
        nonce: Nonce,
        names: &[String],
    ) -> Result<Vec<PlanVerdict>, Error>;

    /// Pauses schedules, by the actor and for the reason of `origin`. One that is paused already keeps its pause.
    async fn pause_schedules(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        names: &[String],
    ) -> Result<Vec<PlanVerdict>, Error>;

    /// Resumes schedules. The cursor stands where it stood, so that what came in between is due at once; the pause says
    /// which instants were in it.
    async fn resume_schedules(
        &self,
        partition: Partition,
        nonce: Nonce,
        names: &[String],
    ) -> Result<Vec<PlanVerdict>, Error>;

    /// Schedules whose time has come, at most `limit`. Costs the same however many there are that wait.
    async fn due_schedules(&self, partition: Partition, limit: usize) -> Result<DueSchedules, Error>;

    /// Writes the records of planned instants, their tasks and the cursors in one step (I7). Of each schedule all or
    /// nothing; whether a fire may become a task is decided by the overlap policy and the tasks that live. While a
    /// schedule is paused only its decision may change.
    async fn fire(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        firings: &[Firing],
    ) -> Result<Reply<Result<Fired, PlanRefusal>>, Error>;

    /// Writes records that move no cursor: triggers by hand, and backfills of planned instants up to the cursor. An
    /// instant that fired already answers with its task; one that was skipped or missed becomes a fire. Where earlier
    /// tasks live the new one waits for them, under any overlap policy but [`domain::Overlap::Allow`].
    async fn record_triggers(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        name: &str,
        incarnation: u64,
        records: &[NewTrigger],
    ) -> Result<Reply<Result<Triggered, PlanRefusal>>, Error>;

    /// One schedule.
    async fn schedule(&self, name: &str) -> Result<Option<ScheduleView>, Error>;

    /// Schedules of a partition whose names come after `after`, by name, at most `limit`. There are no more where fewer
    /// come.
    async fn schedules(
        &self,
        partition: Partition,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ScheduleView>, Error>;

    /// Records of a name, of all its incarnations, also where the schedule is gone.
    async fn triggers(&self, name: &str, range: &TriggerRange, page: &Page) -> Result<Triggers, Error>;

    /// Removes records that were written longer than `age_ms` ago. One bounded slice a call. Of a name at most
    /// [`crate::TRIGGERS_MAX`] ever stay, the newest.
    async fn retain_triggers(
        &self,
        partition: Partition,
        nonce: Nonce,
        age_ms: i64,
    ) -> Result<Removed, Error>;

    /// Creates or changes calendars: names and bodies. The same body keeps the version. The new version of all together.
    async fn put_calendars(&self, calendars: &[(String, Bytes)]) -> Result<u64, Error>;

    /// Every calendar, by name, with the version of all together.
    async fn calendars(&self) -> Result<(u64, Vec<Calendar>), Error>;

    /// The version of all calendars together, to see cheaply whether one changed.
    async fn calendars_version(&self) -> Result<u64, Error>;
}
