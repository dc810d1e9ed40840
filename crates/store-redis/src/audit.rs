//! What the audit reads. No call here writes.

use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use domain::{Millis, Partition, Status, Task, TaskId, Tier};
use redis::pipe;
use redis::streams::StreamRangeReply;
use store::{
    AUDIT_COUNT_MAX, AUDIT_PAGE, AuditPage, AuditStore, AuditedTask, Error, OutboxEntry, Place, Tally,
};

use crate::connect::RedisStore;
use crate::events;
use crate::header::{decode, decode_timeline, status};
use crate::keys::{Key, Keys};
use crate::pack::Packer;
use crate::queue::id_of;
use crate::read::member;

/// Looks at a partition whose list of tasks moves on; then it is left uncounted.
const TALLY_TRIES: usize = 6;

#[async_trait]
impl AuditStore for RedisStore {
    async fn audit_page(
        &self,
        partition: Partition,
        cursor: u64,
        wanted: &(dyn for<'a> Fn(&'a TaskId) -> bool + Sync),
    ) -> Result<AuditPage, Error> {
        let window = self
            .window(partition, None, cursor..cursor + AUDIT_PAGE as u64)
            .await?;
        let next = window.trimmed.max(cursor) + window.ids.len() as u64;
        let ids: Vec<_> = window.ids.into_iter().filter(|id| wanted(id)).collect();
        let mut page = self.audit_tasks(partition, &ids).await?;
        page.next = (next < window.end).then_some(next);
        Ok(page)
    }

    async fn audit_tasks(&self, partition: Partition, ids: &[TaskId]) -> Result<AuditPage, Error> {
        let known: Vec<_> = self
            .records(partition, ids)
            .await?
            .into_iter()
            .flatten()
            .collect();
        let mut page = AuditPage {
            now: self.clock().await?,
            ..AuditPage::default()
        };
        if known.is_empty() {
            return Ok(page);
        }
        let keys = Keys::of(partition);
        let mut names: Vec<Key> = ["due", "disp", "lease", "dead", "live"]
            .map(|tail| keys.named(tail))
            .into();
        let mut args = Vec::with_capacity(known.len());
        let mut payloads = pipe();
        for task in &known {
            names.push(keys.task(task.id));
            names.push(keys.queue(&task.pool, task.tier, &task.task_type));
            names.push(keys.idempotency(&task.task_type, &task.idempotency_key));
            args.push(Packer::new().bytes(&member(task)).text(&task.schedule_id).end());
            payloads.cmd("HGET").arg(keys.task(task.id)).arg("p");
        }
        let payloads: Vec<Option<Vec<u8>>> = self.ask_all(&payloads).await?;
        let seen: Vec<Vec<Vec<u8>>> = self.run(&self.scripts.audit, &names, &args).await?;
        for ((task, payload), seen) in known.iter().zip(payloads).zip(seen) {
            page.tasks.extend(audited(task, payload, &seen)?);
        }
        Ok(page)
    }

    async fn orphans(
        &self,
        partition: Partition,
        index: Place,
        skip: usize,
    ) -> Result<(Vec<TaskId>, bool), Error> {
        let tail = match index {
            Place::Due => "due",
            Place::Dispatched => "disp",
            Place::Lease => "lease",
            Place::Dead => "dead",
            Place::Queue | Place::Blocked => {
                return Err(Error::Corrupt(format!(
                    "{} is no index of all types",
                    index.as_str()
                )));
            }
        };
        self.orphans_of(partition, Keys::of(partition).named(tail), skip)
            .await
    }

    async fn queue_orphans(
        &self,
        partition: Partition,
        (pool, tier, task_type): (&str, Tier, &str),
        skip: usize,
    ) -> Result<(Vec<TaskId>, bool), Error> {
        let key = Keys::of(partition).queue(pool, tier, task_type);
        self.orphans_of(partition, key, skip).await
    }

    async fn outbox_after(
        &self,
        partition: Partition,
        after: Option<&str>,
    ) -> Result<Vec<OutboxEntry>, Error> {
        let mut command = redis::cmd("XRANGE");
        command.arg(Keys::of(partition).named("o"));
        command.arg(after.map_or_else(|| "-".to_owned(), |id| format!("({id}")));
        command.arg("+").arg("COUNT").arg(store::BATCH_MAX);
        let reply: StreamRangeReply = self.ask(&command).await?;
        let entry = |entry: redis::streams::StreamId| {
            let packed: Vec<u8> = entry.get("e").unwrap_or_default();
            Ok(OutboxEntry {
                partition,
                id: entry.id,
                events: events::decode(&packed)?,
            })
        };
        reply.ids.into_iter().map(entry).collect()
    }

    async fn tally(&self, partition: Partition) -> Result<Option<Tally>, Error> {
        for _ in 0..TALLY_TRIES {
            let head = self.window(partition, None, 0..0).await?;
            let length = usize::try_from(head.end - head.trimmed).unwrap_or(usize::MAX);
            let found = match length <= AUDIT_COUNT_MAX {
                true => self.tally_at_once(partition, head.trimmed..head.end).await?,
                false => self.tally_in_parts(partition).await?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

impl RedisStore {
    async fn orphans_of(
        &self,
        partition: Partition,
        index: Key,
        skip: usize,
    ) -> Result<(Vec<TaskId>, bool), Error> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(&index).arg(skip).arg(skip + store::BATCH_MAX - 1);
        let members: Vec<Vec<u8>> = self.ask(&range).await?;
        let more = members.len() == store::BATCH_MAX;
        let ids: Vec<_> = members
            .iter()
            .map(|member| id_of(member))
            .collect::<Result<_, _>>()?;
        let records = self.records(partition, &ids).await?;
        let mut suspects = Vec::new();
        let mut again = pipe();
        for ((id, member), record) in ids.iter().zip(&members).zip(records) {
            if record.is_none() {
                suspects.push(*id);
                again.cmd("ZSCORE").arg(&index).arg(member);
            }
        }
        // Retention takes a task out of its index and removes it in one step.
        let still: Vec<Option<f64>> = self.ask_all(&again).await?;
        let orphans = suspects
            .into_iter()
            .zip(still)
            .filter(|(_, still)| still.is_some());
        Ok((orphans.map(|(id, _)| id).collect(), more))
    }

    async fn tally_at_once(
        &self,
        partition: Partition,
        positions: std::ops::Range<u64>,
    ) -> Result<Option<Tally>, Error> {
        let keys = Keys::of(partition);
        let window = self.window(partition, None, positions).await?;
        let mut names = vec![keys.named("m"), keys.named("all"), keys.named("c")];
        names.extend(window.ids.iter().map(|id| keys.task(*id)));
        let length = window.end - window.trimmed;
        let args = [window.trimmed.to_string(), length.to_string()].map(String::into_bytes);
        let answer: Vec<Vec<String>> = self.run(&self.scripts.tally, &names, &args).await?;
        let [counters, tasks] = answer.as_slice() else {
            return Ok(None);
        };
        Ok(Some(Tally {
            counters: pairs(counters)?,
            tasks: pairs(tasks)?,
        }))
    }

    /// Counts part by part, and believes the sum only where no transition and no removal came in between.
    async fn tally_in_parts(&self, partition: Partition) -> Result<Option<Tally>, Error> {
        let before = self.mark(partition).await?;
        let mut tasks: BTreeMap<(String, Status), i64> = BTreeMap::new();
        let mut at = 0;
        loop {
            let window = self.window(partition, None, at..at + 256).await?;
            let next = window.trimmed.max(at) + window.ids.len() as u64;
            for task in self.records(partition, &window.ids).await?.into_iter().flatten() {
                *tasks.entry((task.task_type, task.status)).or_default() += 1;
            }
            if next >= window.end {
                break;
            }
            at = next;
        }
        let after = self.mark(partition).await?;
        let counters = after.1.clone();
        Ok((before == after).then_some(Tally { counters, tasks }))
    }

    /// The last entry that the outbox ever had, and the counters.
    async fn mark(&self, partition: Partition) -> Result<(String, BTreeMap<(String, Status), i64>), Error> {
        let keys = Keys::of(partition);
        let info: HashMap<String, redis::Value> = self
            .ask(redis::cmd("XINFO").arg("STREAM").arg(keys.named("o")))
            .await?;
        let last = info
            .get("last-generated-id")
            .and_then(|id| redis::from_redis_value_ref::<String>(id).ok());
        let counters: Vec<String> = self.ask(redis::cmd("HGETALL").arg(keys.named("c"))).await?;
        Ok((last.unwrap_or_default(), pairs(&counters)?))
    }
}

fn audited(task: &Task, payload: Option<Vec<u8>>, seen: &[Vec<u8>]) -> Result<Option<AuditedTask>, Error> {
    let [header, line, due, dispatched, lease, dead, queue, blocked, key] = seen else {
        return Err(Error::Corrupt("a task was audited without its places".into()));
    };
    if header.is_empty() {
        return Ok(None);
    }
    let score = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<f64>().ok();
    #[allow(clippy::cast_possible_truncation)]
    let place = |place: Place, text: &[u8]| Some((place, score(text)? as Millis));
    let places = [
        place(Place::Due, due),
        place(Place::Dispatched, dispatched),
        place(Place::Lease, lease),
        place(Place::Dead, dead),
        place(Place::Queue, queue),
        (!blocked.is_empty()).then_some((Place::Blocked, 0)),
    ];
    Ok(Some(AuditedTask {
        task: decode(task.id, header)?,
        timeline: decode_timeline(line)?,
        places: places.into_iter().flatten().collect(),
        key_holder: key.get(..16).and_then(|id| TaskId::from_slice(id).ok()),
        payload: payload.unwrap_or_default().into(),
    }))
}

/// `<type>|<status>` and a number, again and again. A counter at 0 counts nothing.
fn pairs(flat: &[String]) -> Result<BTreeMap<(String, Status), i64>, Error> {
    let mut counts = BTreeMap::new();
    for pair in flat.chunks_exact(2) {
        let Some((task_type, number)) = pair[0].rsplit_once('|') else {
            continue;
        };
        let count: i64 = pair[1].parse().unwrap_or(0);
        if count != 0 {
            let at = (task_type.to_owned(), status(number.parse().unwrap_or(0))?);
            counts.insert(at, count);
        }
    }
    Ok(counts)
}
