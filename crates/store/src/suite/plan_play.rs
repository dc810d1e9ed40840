//! A sequence's calls on the plan table of one store. What differs from store to store, an incarnation, is told by its
//! number among those of its name.

use domain::{Millis, TaskId, TriggerOutcome, schedule_partition};

use super::plan_step::{EVERY_MS, FireDraft, HandDraft, OFFSET_MS, PlanStep, PutDraft, Sight};
use super::play::{Player, both, text};
use crate::{
    Error, Firing, NewTask, NewTrigger, Nonce, Origin, Page, Plan, PlanRefusal, PutSchedule, ScheduleView,
    Seen, Trigger, TriggerRange, Triggered,
};

/// A step with what its drafts became: the submissions, in their order.
#[derive(Debug, Clone)]
pub(super) struct PlanCall {
    pub(super) step: PlanStep,
    pub(super) tasks: Vec<NewTask>,
    /// Time that passed since the start.
    pub(super) elapsed: Millis,
}

impl Player {
    pub(super) fn schedule_name(&self, number: u8) -> String {
        let partitions = self.store.partitions();
        (0..)
            .map(|tail| format!("s{number}-{tail}"))
            .find(|name| schedule_partition(name, partitions) == self.partition)
            .unwrap_or_default()
    }

    fn names(&self, numbers: &[u8]) -> Vec<String> {
        numbers.iter().map(|number| self.schedule_name(*number)).collect()
    }

    async fn seen_plan(&self, name: &str) -> Result<Option<Plan>, Error> {
        Ok(self.store.schedule(name).await?.map(|view| view.plan))
    }

    /// The plan, or what somebody may have taken for it.
    async fn plan_or_ghost(&self, name: &str) -> Result<Plan, Error> {
        Ok(self.seen_plan(name).await?.unwrap_or_else(|| Plan {
            name: name.into(),
            incarnation: 7,
            version: 1,
            cursor: self.start,
            next: self.start + OFFSET_MS,
            due: self.start + OFFSET_MS,
            overlap: domain::Overlap::Allow,
            queue_max: 0,
            max_fires: 0,
            fires: 0,
            created_at: 0,
            changed_at: 0,
            decision: bytes::Bytes::new(),
            decisions: 0,
            pause: None,
            last: None,
            last_fired: None,
        }))
    }

    pub(super) async fn play_plan(&mut self, call: &PlanCall, nonce: Nonce) -> Result<String, Error> {
        let (store, partition, origin) = (self.store.clone(), self.partition, Origin::default());
        let mut tasks = call.tasks.iter().cloned();
        Ok(match &call.step {
            PlanStep::Put(drafts) => self.put_plans(drafts, call.elapsed, nonce).await?,
            PlanStep::Remove(numbers) => {
                let names = self.names(numbers);
                self.plan_texts(both!(store.remove_schedules(partition, nonce, &names)))
            }
            PlanStep::Pause(numbers) => {
                let names = self.names(numbers);
                self.plan_texts(both!(store.pause_schedules(partition, nonce, &origin, &names)))
            }
            PlanStep::Resume(numbers) => {
                let names = self.names(numbers);
                self.plan_texts(both!(store.resume_schedules(partition, nonce, &names)))
            }
            PlanStep::Fire(drafts) => self.fire_plans(drafts, &mut tasks, nonce).await?,
            PlanStep::ByHand {
                schedule,
                stranger,
                records,
            } => {
                self.by_hand(*schedule, *stranger, records, &mut tasks, nonce)
                    .await?
            }
            PlanStep::Retain => self.retain_records(nonce).await?,
        })
    }

    async fn put_plans(
        &mut self,
        drafts: &[PutDraft],
        elapsed: Millis,
        nonce: Nonce,
    ) -> Result<String, Error> {
        let mut items = Vec::new();
        for draft in drafts {
            items.push(self.put_item(draft, elapsed).await?);
        }
        let origin = Origin::default();
        let done = both!(self.store.put_schedules(self.partition, nonce, &origin, &items));
        let told = done
            .into_iter()
            .map(|item| item.map(|put| (put.how, self.plan_text(put.plan))));
        Ok(text(&told.collect::<Vec<_>>()))
    }

    async fn fire_plans(
        &mut self,
        drafts: &[FireDraft],
        tasks: &mut impl Iterator<Item = NewTask>,
        nonce: Nonce,
    ) -> Result<String, Error> {
        let mut firings = Vec::new();
        for draft in drafts {
            firings.push(self.firing(draft, tasks).await?);
        }
        let origin = Origin::default();
        let done = both!(self.store.fire(self.partition, nonce, &origin, &firings)).items;
        let told = done.into_iter().map(|item| {
            let fired = item?;
            let records: Vec<_> = fired.records.into_iter().map(|it| self.told(it)).collect();
            Ok::<_, PlanRefusal>((self.plan_text(fired.plan), records))
        });
        Ok(text(&told.collect::<Vec<_>>()))
    }

    async fn by_hand(
        &mut self,
        schedule: u8,
        stranger: bool,
        drafts: &[HandDraft],
        tasks: &mut impl Iterator<Item = NewTask>,
        nonce: Nonce,
    ) -> Result<String, Error> {
        let (store, partition, origin) = (self.store.clone(), self.partition, Origin::default());
        let name = self.schedule_name(schedule);
        let incarnation = self.plan_or_ghost(&name).await?.incarnation + u64::from(stranger);
        let records: Vec<_> = drafts
            .iter()
            .map(|draft| self.hand_record(&name, incarnation, draft, tasks))
            .collect();
        let done =
            both!(store.record_triggers(partition, nonce, &origin, &name, incarnation, &records)).items;
        let told = done.into_iter().map(|it| it.map(|it| self.told(it)));
        Ok(text(&told.collect::<Vec<_>>()))
    }

    async fn put_item(&self, draft: &PutDraft, elapsed: Millis) -> Result<PutSchedule, Error> {
        let name = self.schedule_name(draft.schedule);
        let plan = self.seen_plan(&name).await?;
        let mut item = put_of(name, draft, elapsed, self.start);
        item.seen = plan
            .filter(|_| draft.sight != Sight::Unseen)
            .map(|plan| sight(&plan, draft.sight));
        let owes = item
            .seen
            .filter(|seen| draft.owes && seen.cursor + EVERY_MS <= item.anchor);
        item.owed = owes
            .map(|seen| record(seen.cursor + OFFSET_MS, 1, TriggerOutcome::Skipped))
            .into_iter()
            .collect();
        Ok(item)
    }

    async fn firing(
        &mut self,
        draft: &FireDraft,
        tasks: &mut impl Iterator<Item = NewTask>,
    ) -> Result<Firing, Error> {
        let name = self.schedule_name(draft.schedule);
        let plan = self.plan_or_ghost(&name).await?;
        let seen = sight(
            &plan,
            if draft.sight == Sight::Unseen {
                Sight::Right
            } else {
                draft.sight
            },
        );
        let mut cursor = seen.cursor;
        let mut records = Vec::new();
        for (outcome, _) in &draft.records {
            let mut one = record(cursor + OFFSET_MS, 1, *outcome);
            let task = tasks.next();
            if *outcome == TriggerOutcome::Fired {
                one.task = task.map(|task| self.owned(&name, plan.incarnation, one.planned_at, task));
            }
            records.push(one);
            cursor += EVERY_MS;
        }
        if draft.range > 0 {
            records.push(record(cursor + OFFSET_MS, draft.range, TriggerOutcome::Missed));
            cursor += EVERY_MS * i64::from(draft.range);
        }
        let next = if draft.ends { 0 } else { cursor + OFFSET_MS };
        Ok(Firing {
            seen: Seen {
                version: seen.version + u32::from(draft.sight == Sight::Unseen),
                ..seen
            },
            overlap: plan.overlap,
            cursor,
            next,
            due: next,
            decision: vec![b'd'; draft.decision.into()].into(),
            records,
            name,
        })
    }

    fn hand_record(
        &mut self,
        name: &str,
        incarnation: u64,
        draft: &HandDraft,
        tasks: &mut impl Iterator<Item = NewTask>,
    ) -> NewTrigger {
        let (planned_at, manual) = match draft {
            HandDraft::Backfill(number, _) => (self.start + OFFSET_MS + EVERY_MS * i64::from(*number), false),
            HandDraft::Manual(..) => (0, true),
        };
        let mut one = NewTrigger {
            manual,
            ..record(planned_at, 1, TriggerOutcome::Fired)
        };
        one.task = tasks.next().map(|task| {
            let mut task = self.owned(name, incarnation, planned_at, task);
            if let HandDraft::Manual(key, _) = draft {
                task.idempotency_key = format!("{name}@manual-{key}");
            }
            task
        });
        one
    }

    fn owned(&mut self, name: &str, incarnation: u64, planned_at: Millis, task: NewTask) -> NewTask {
        let ordinal = self.ordinal(name, incarnation);
        NewTask {
            schedule_id: name.into(),
            planned_at,
            idempotency_key: format!("{name}/{ordinal}@{planned_at}"),
            ..task
        }
    }

    /// The number of an incarnation among those of its name.
    fn ordinal(&mut self, name: &str, incarnation: u64) -> usize {
        let known = self.incarnations.entry(name.to_owned()).or_default();
        known.iter().position(|it| *it == incarnation).unwrap_or_else(|| {
            known.push(incarnation);
            known.len() - 1
        })
    }

    fn plan_text(&mut self, mut plan: Plan) -> String {
        plan.incarnation = self.ordinal(&plan.name.clone(), plan.incarnation) as u64;
        self.rounding.plan(&mut plan);
        text(&plan)
    }

    fn plan_texts(&mut self, done: Vec<crate::PlanVerdict>) -> String {
        let told = done.into_iter().map(|item| item.map(|plan| self.plan_text(plan)));
        text(&told.collect::<Vec<_>>())
    }

    fn told(&self, mut told: Triggered) -> Triggered {
        told.planned_at = self.rounding.time(told.planned_at);
        told
    }

    /// Until nothing old is left, in whatever order the store takes it.
    async fn retain_records(&self, mut nonce: Nonce) -> Result<String, Error> {
        let mut tasks = 0;
        loop {
            let removed = both!(self.store.retain_triggers(self.partition, nonce, 30_000));
            tasks += removed.tasks;
            if !removed.more {
                return Ok(text(&tasks));
            }
            nonce[0] += 1;
        }
    }

    /// Every schedule with its live tasks, its records, and whether it is due.
    pub(super) async fn plan_lines(&mut self) -> Result<Vec<String>, Error> {
        let mut lines = Vec::new();
        let due = self.store.due_schedules(self.partition, 64).await?;
        let names: Vec<_> = due.items.iter().map(|view| &view.plan.name).collect();
        lines.push(format!("due {names:?}"));
        for ScheduleView { plan, spec, live } in self.store.schedules(self.partition, None, 100).await? {
            let mut live: Vec<(TaskId, bool)> = live.iter().map(|it| (it.id, it.blocked)).collect();
            live.dedup();
            let plan = self.plan_text(plan);
            lines.push(format!("{plan} {spec:?} {live:?}"));
        }
        for number in 0..super::plan_step::SCHEDULES {
            let name = self.schedule_name(number);
            let mut records = self.ledger_lines(&name).await?;
            records.sort();
            lines.append(&mut records);
        }
        Ok(lines)
    }

    async fn ledger_lines(&mut self, name: &str) -> Result<Vec<String>, Error> {
        let (mut lines, mut page) = (Vec::new(), Page::default());
        page.limit = 3;
        loop {
            let range = TriggerRange {
                newest_first: true,
                ..TriggerRange::default()
            };
            let part = self.store.triggers(name, &range, &page).await?;
            for Trigger { incarnation, .. } in &part.items {
                self.ordinal(name, *incarnation);
            }
            for mut kept in part.items {
                kept.incarnation = self.ordinal(name, kept.incarnation) as u64;
                for at in [&mut kept.planned_at, &mut kept.to, &mut kept.at] {
                    *at = self.rounding.time(*at);
                }
                lines.push(format!("{name} {kept:?}"));
            }
            let Some(next) = part.next else { return Ok(lines) };
            page.cursor = Some(next);
        }
    }
}

fn put_of(name: String, draft: &PutDraft, elapsed: Millis, start: Millis) -> PutSchedule {
    let astray = if draft.astray { 5 * EVERY_MS } else { 0 };
    let anchor = start + elapsed - astray;
    PutSchedule {
        name,
        spec: vec![draft.spec].into(),
        overlap: draft.overlap,
        queue_max: draft.queue_max,
        max_fires: draft.max_fires,
        seen: None,
        anchor,
        next: anchor + OFFSET_MS,
        due: anchor + OFFSET_MS,
        owed: Vec::new(),
    }
}

fn sight(plan: &Plan, sight: Sight) -> Seen {
    let seen = plan.seen();
    match sight {
        Sight::Right | Sight::Unseen => seen,
        Sight::Stale => Seen {
            cursor: seen.cursor - EVERY_MS,
            ..seen
        },
        Sight::Stranger => Seen {
            incarnation: seen.incarnation + 1,
            ..seen
        },
    }
}

fn record(planned_at: Millis, count: u8, outcome: TriggerOutcome) -> NewTrigger {
    NewTrigger {
        planned_at,
        to: planned_at + EVERY_MS * (i64::from(count) - 1),
        count: count.into(),
        outcome,
        reason: if outcome == TriggerOutcome::Fired {
            ""
        } else {
            "off"
        }
        .into(),
        task: None,
        manual: false,
    }
}
