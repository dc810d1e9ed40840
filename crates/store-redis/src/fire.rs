//! fire and record_triggers: instants become records, and fires become tasks.

use std::collections::HashMap;

use domain::{Overlap, Partition, TaskId};
use store::{
    Error, Fired, Firing, NewTask, NewTrigger, Nonce, Origin, PlanRefusal, Reply, Triggered, plan_check,
};

use crate::connect::{RedisStore, Verb};
use crate::keys::{Key, Keys};
use crate::pack::{Packer, Value};
use crate::plan::refusal;
use crate::plan_record::{live, plan, sent, triggered};

/// The live tasks of schedules, each with its key, queue, turns and heads.
type Earlier = HashMap<String, Vec<(TaskId, [Key; 4])>>;

impl RedisStore {
    pub(crate) async fn fire_plans(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        firings: &[Firing],
    ) -> Result<Reply<Result<Fired, PlanRefusal>>, Error> {
        plan_check::firings(partition, self.partitions, firings)?;
        self.refuse_full_memory().await?;
        let keys = Keys::of(partition);
        let earlier = self.earlier(partition, firings).await?;
        let limit = i64::try_from(self.outbox_max).unwrap_or(i64::MAX);
        let mut verb = Verb::new(partition, nonce, origin).int(limit);
        verb.keys = keys.plan();
        for firing in firings {
            let tasks = earlier.get(&firing.name).map_or(&[][..], Vec::as_slice);
            let mut own: Vec<_> = keys.ledger(&firing.name).into();
            let new = firing.records.iter().filter_map(|record| record.task.as_ref());
            own.extend(new.flat_map(|task| keys.admission(task)));
            own.extend(tasks.iter().flat_map(|(_, line)| line.clone()));
            verb.push(own, firing_item(firing, tasks, &origin.actor));
        }
        let frame = self.verb(&self.scripts.fire, verb).await?;
        let items = firings.iter().zip(&frame.items);
        Ok(Reply {
            items: items
                .map(|(firing, value)| fired(&firing.name, value))
                .collect::<Result<_, _>>()?,
            now: frame.now,
            outbox: frame.outbox,
        })
    }

    /// The tasks that firings may have to stop. What lives later is refused as moved.
    async fn earlier(&self, partition: Partition, firings: &[Firing]) -> Result<Earlier, Error> {
        let stops = |firing: &&Firing| {
            firing.overlap == Overlap::CancelPrevious
                && firing.records.iter().any(|record| record.task.is_some())
        };
        let names: Vec<_> = firings.iter().filter(stops).map(|firing| &firing.name).collect();
        if names.is_empty() {
            return Ok(Earlier::new());
        }
        let mut command = redis::cmd("HMGET");
        command.arg(Keys::of(partition).named("live")).arg(&names);
        let lists: Vec<Option<Vec<u8>>> = self.ask(&command).await?;
        let mut earlier = Earlier::new();
        for (name, packed) in names.into_iter().zip(lists) {
            let ids: Vec<_> = live(&packed.unwrap_or_default())?
                .iter()
                .map(|task| task.id)
                .collect();
            let lines = self.lines(partition, &ids).await?;
            earlier.insert(name.clone(), ids.into_iter().zip(lines).collect());
        }
        Ok(earlier)
    }

    pub(crate) async fn record_by_hand(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        name: &str,
        incarnation: u64,
        records: &[NewTrigger],
    ) -> Result<Reply<Result<Triggered, PlanRefusal>>, Error> {
        plan_check::records(partition, self.partitions, name, records)?;
        self.refuse_full_memory().await?;
        let keys = Keys::of(partition);
        let limit = i64::try_from(self.outbox_max).unwrap_or(i64::MAX);
        let mut verb = Verb::new(partition, nonce, origin)
            .int(limit)
            .text(name)
            .int(i64::try_from(incarnation).unwrap_or(i64::MAX));
        verb.keys = keys.plan();
        verb.keys.extend(keys.ledger(name));
        for record in records {
            let task = record.task.as_ref().map(|task: &NewTask| keys.admission(task));
            verb.push(task.into_iter().flatten(), sent(record, &origin.actor));
        }
        let frame = self.verb(&self.scripts.record_triggers, verb).await?;
        let mut reply = frame.reply(|value| match value {
            Value::List(_) => triggered(value).map(Ok),
            word => refusal(word).map(Err),
        })?;
        for (answer, record) in reply.items.iter_mut().zip(records) {
            if let Ok(told) = answer
                && record.manual
                && !told.fresh
            {
                self.fill_planned(told).await?;
            }
        }
        Ok(reply)
    }

    /// A key by hand does not know when its task was planned: its record does.
    async fn fill_planned(&self, told: &mut Triggered) -> Result<(), Error> {
        if let Some(id) = told.task
            && let Some(task) = self.record_of(id).await?
        {
            told.planned_at = task.planned_at;
        }
        Ok(())
    }
}

fn firing_item(firing: &Firing, earlier: &[(TaskId, [Key; 4])], actor: &str) -> Vec<u8> {
    let ids = earlier
        .iter()
        .fold(Packer::new(), |ids, (id, _)| ids.bytes(id.as_bytes()));
    Packer::new()
        .text(&firing.name)
        .int(i64::try_from(firing.seen.incarnation).unwrap_or(i64::MAX))
        .int(firing.seen.version.into())
        .int(firing.seen.cursor)
        .int(firing.seen.decisions.into())
        .int(firing.cursor)
        .int(firing.next)
        .int(firing.due)
        .bytes(&firing.decision)
        .list(firing.records.iter().map(|record| sent(record, actor)))
        .packed(&ids.end())
        .end()
}

fn fired(name: &str, value: &Value) -> Result<Result<Fired, PlanRefusal>, Error> {
    let Value::List(_) = value else {
        return refusal(value).map(Err);
    };
    Ok(Ok(Fired {
        plan: plan(name, value.at(0)?)?,
        records: value
            .at(1)?
            .list()?
            .iter()
            .map(triggered)
            .collect::<Result<_, _>>()?,
    }))
}
