//! put, remove, pause and resume of schedules, and how they are seen.

use domain::{Partition, schedule_partition};
use store::{
    DueSchedules, Error, Nonce, Origin, PlanRefusal, PlanVerdict, Put, PutHow, PutSchedule, ScheduleView,
    plan_check,
};

use crate::connect::{RedisStore, Verb};
use crate::keys::Keys;
use crate::pack::{Packer, Value, unpack};
use crate::plan_record::{live, plan, sent};
use crate::script::Script;

/// Most schedules of a page.
const PAGE_MAX: usize = 1_000;

pub(crate) fn refusal(value: &Value) -> Result<PlanRefusal, Error> {
    let word = value.text()?;
    PlanRefusal::parse(&word).ok_or_else(|| Error::Corrupt(format!("refusal {word:?}")))
}

impl RedisStore {
    pub(crate) async fn put_plans(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        items: &[PutSchedule],
    ) -> Result<Vec<Result<Put, PlanRefusal>>, Error> {
        plan_check::puts(partition, self.partitions, items)?;
        let keys = Keys::of(partition);
        let mut verb = Verb::new(partition, nonce, origin);
        verb.keys = keys.plan();
        for item in items {
            verb.push(keys.ledger(&item.name), put_item(item, &origin.actor));
        }
        let frame = self.verb(&self.scripts.put_schedules, verb).await?;
        let answers = items.iter().zip(&frame.items);
        answers.map(|(item, value)| put(&item.name, value)).collect()
    }

    pub(crate) async fn change_plans(
        &self,
        script: &Script,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        names: &[String],
    ) -> Result<Vec<PlanVerdict>, Error> {
        plan_check::names(partition, self.partitions, names.iter().map(String::as_str))?;
        let mut verb = Verb::new(partition, nonce, origin);
        verb.keys = Keys::of(partition).plan();
        verb.args = names.iter().map(|name| name.clone().into_bytes()).collect();
        let frame = self.verb(script, verb).await?;
        let verdict = |(name, value): (&String, &Value)| match value {
            Value::List(_) => plan(name, value).map(Ok),
            word => refusal(word).map(Err),
        };
        names.iter().zip(&frame.items).map(verdict).collect()
    }

    pub(crate) async fn due_plans(&self, partition: Partition, limit: usize) -> Result<DueSchedules, Error> {
        let keys = Keys::of(partition);
        let names = ["m", "plan", "spec", "plandue", "live"].map(|tail| keys.named(tail));
        let most = limit.min(store::BATCH_MAX).to_string().into_bytes();
        let reply: Vec<Vec<u8>> = self.run(&self.scripts.due_schedules, &names, &[most]).await?;
        let Some((now, rest)) = reply.split_first() else {
            return Err(Error::Corrupt("due schedules without a clock".into()));
        };
        let now = String::from_utf8_lossy(now).parse();
        Ok(DueSchedules {
            now: now.map_err(|_| Error::Corrupt("the clock is no number".into()))?,
            items: views(rest)?,
        })
    }

    async fn plan_views(&self, partition: Partition, names: &[Vec<u8>]) -> Result<Vec<ScheduleView>, Error> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let keys = Keys::of(partition);
        let hashes = ["plan", "spec", "live"].map(|tail| keys.named(tail));
        let reply: Vec<Vec<u8>> = self.run(&self.scripts.view_schedules, &hashes, names).await?;
        views(&reply)
    }

    pub(crate) async fn plan_view(&self, name: &str) -> Result<Option<ScheduleView>, Error> {
        let partition = schedule_partition(name, self.partitions);
        let mut found = self.plan_views(partition, &[name.as_bytes().to_vec()]).await?;
        Ok(found.pop())
    }

    pub(crate) async fn plans_after(
        &self,
        partition: Partition,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ScheduleView>, Error> {
        let start = after.map_or_else(|| "-".to_owned(), |after| format!("({after}"));
        let mut command = redis::cmd("ZRANGE");
        command
            .arg(Keys::of(partition).named("planname"))
            .arg(start)
            .arg("+")
            .arg("BYLEX")
            .arg("LIMIT")
            .arg(0)
            .arg(limit.min(PAGE_MAX));
        let names: Vec<Vec<u8>> = self.ask(&command).await?;
        self.plan_views(partition, &names).await
    }
}

fn put_item(item: &PutSchedule, actor: &str) -> Vec<u8> {
    let seen = item.seen.unwrap_or_default();
    let owed = item.owed.iter().map(|record| sent(record, actor));
    Packer::new()
        .text(&item.name)
        .bytes(&item.spec)
        .int(item.overlap as i64)
        .int(item.queue_max.into())
        .int(i64::try_from(item.max_fires).unwrap_or(i64::MAX))
        .int(item.seen.is_some().into())
        .int(i64::try_from(seen.incarnation).unwrap_or(i64::MAX))
        .int(seen.version.into())
        .int(seen.cursor)
        .int(seen.decisions.into())
        .int(item.anchor)
        .int(item.next)
        .int(item.due)
        .list(owed)
        .end()
}

fn put(name: &str, value: &Value) -> Result<Result<Put, PlanRefusal>, Error> {
    let Value::List(pair) = value else {
        return refusal(value).map(Err);
    };
    let how = match pair.first().map(Value::int).transpose()? {
        Some(1) => PutHow::Created,
        Some(2) => PutHow::Changed,
        Some(3) => PutHow::Unchanged,
        other => return Err(Error::Corrupt(format!("put {other:?}"))),
    };
    let plan = plan(name, value.at(1)?)?;
    Ok(Ok(Put { how, plan }))
}

/// Schedules in the four parts of each: name, plan, definition, live tasks.
fn views(parts: &[Vec<u8>]) -> Result<Vec<ScheduleView>, Error> {
    let view = |part: &[Vec<u8>]| {
        let [name, packed, spec, tasks] = part else {
            return Err(Error::Corrupt("a schedule is cut".into()));
        };
        Ok(ScheduleView {
            plan: plan(&String::from_utf8_lossy(name), &unpack(packed)?)?,
            spec: spec.clone().into(),
            live: live(tasks)?,
        })
    };
    parts.chunks(4).map(view).collect()
}
