//! Schedules in the store of a test, and what stands in their ledger.

use std::sync::Arc;

use bytes::Bytes;
use calendar::WorkingDays;
use domain::{Millis, Partition, TriggerOutcome, schedule_partition};
use plan::{Plan, Schedule};
use store::{Origin, Page, PlanStore, PutSchedule, TaskStore, Trigger, TriggerRange, playing::nonce};

use crate::town::{PARTITIONS, Town};

/// A record in short: instant, last instant, count, outcome, reason.
pub(crate) type Short = (Millis, Millis, u32, TriggerOutcome, String);

pub(crate) fn home(name: &str) -> Partition {
    schedule_partition(name, PARTITIONS)
}

/// The first name of this kind that lives in a partition.
pub(crate) fn name_in(partition: Partition, kind: &str) -> String {
    (0..)
        .map(|n| format!("{kind}-{n}"))
        .find(|name| home(name) == partition)
        .unwrap()
}

pub(crate) fn plan(definition: &str, calendar: Option<&Arc<WorkingDays>>) -> Plan {
    let schedule = Schedule::parse(definition).unwrap();
    schedule.plan(|_| calendar.cloned()).unwrap()
}

impl Town {
    /// Declares the type that the schedules of the tests have.
    pub(crate) async fn declare(&self, name: &str) {
        let spec = serde_json::from_str(&format!(r#"{{"name":"{name}","handler":"echo"}}"#)).unwrap();
        self.store.put_types(&[spec]).await.unwrap();
    }

    /// The store's clock.
    pub(crate) fn now(&self) -> Millis {
        self.store.clock().now()
    }

    /// Puts a schedule, as an apply does: its instants count from now. The rest of the definition stands in `rest`.
    pub(crate) async fn put(&self, name: &str, rest: &str) -> Plan {
        self.put_with(name, rest, None).await
    }

    pub(crate) async fn put_with(&self, name: &str, rest: &str, calendar: Option<&Arc<WorkingDays>>) -> Plan {
        let plan = plan(&format!(r#"{{"name":"{name}","zone":"UTC",{rest}}}"#), calendar);
        let (schedule, anchor) = (plan.schedule(), self.now());
        let next = plan.next_after(anchor);
        let item = PutSchedule {
            name: name.to_owned(),
            spec: schedule.to_json().into(),
            overlap: schedule.overlap,
            queue_max: schedule.queue_max,
            max_fires: schedule.max_fires.unwrap_or(0),
            seen: None,
            anchor,
            next: next.map_or(0, |next| next.planned_at),
            due: next.map_or(0, |next| next.due),
            owed: Vec::new(),
        };
        self.put_raw(item).await;
        plan
    }

    pub(crate) async fn put_raw(&self, item: PutSchedule) {
        let partition = home(&item.name);
        let done = self
            .store
            .put_schedules(partition, nonce(), &Origin::default(), &[item])
            .await;
        done.unwrap().remove(0).unwrap();
    }

    pub(crate) async fn pause(&self, name: &str) {
        let names = [name.to_owned()];
        let done = self
            .store
            .pause_schedules(home(name), nonce(), &Origin::default(), &names)
            .await;
        done.unwrap().remove(0).unwrap();
    }

    pub(crate) async fn resume(&self, name: &str) {
        let done = self
            .store
            .resume_schedules(home(name), nonce(), &[name.to_owned()])
            .await;
        done.unwrap().remove(0).unwrap();
    }

    pub(crate) async fn put_calendar(&self, name: &str, spec: &str) -> Arc<WorkingDays> {
        let body = Bytes::copy_from_slice(spec.as_bytes());
        self.store
            .put_calendars(&[(name.to_owned(), body)])
            .await
            .unwrap();
        Arc::new(WorkingDays::new(&serde_json::from_str(spec).unwrap()).unwrap())
    }

    /// All records of a name, oldest first.
    pub(crate) async fn records(&self, name: &str) -> Vec<Trigger> {
        let mut page = Page {
            limit: 1_000,
            cursor: None,
        };
        let mut records = Vec::new();
        loop {
            let part = self
                .store
                .triggers(name, &TriggerRange::default(), &page)
                .await
                .unwrap();
            records.extend(part.items);
            match part.next {
                Some(next) => page.cursor = Some(next),
                None => return records,
            }
        }
    }

    pub(crate) async fn short(&self, name: &str) -> Vec<Short> {
        let records = self.records(name).await.into_iter();
        records
            .map(|kept| (kept.planned_at, kept.to, kept.count, kept.outcome, kept.reason))
            .collect()
    }

    /// The planned instants that fired; each has its task, and no two have the same.
    pub(crate) async fn fired(&self, name: &str) -> Vec<Millis> {
        let mut tasks = std::collections::BTreeSet::new();
        let mut fired = Vec::new();
        for record in self.records(name).await {
            if record.outcome == TriggerOutcome::Fired {
                let id = record.task.unwrap();
                assert!(tasks.insert(id), "{id} stands for two instants");
                let task = self.store.get(id).await.unwrap().unwrap().task;
                assert_eq!(
                    (task.schedule_id.as_str(), task.planned_at),
                    (name, record.planned_at)
                );
                fired.push(record.planned_at);
            }
        }
        fired
    }

    /// Up to where a schedule has its records.
    pub(crate) async fn cursor(&self, name: &str) -> Millis {
        self.store.schedule(name).await.unwrap().unwrap().plan.cursor
    }
}
