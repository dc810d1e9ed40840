//! The recorder's position and statistics.

use std::collections::HashMap;

use domain::{Millis, Partition, RunTimes, Status, TaskId};
use redis::pipe;
use store::{Error, Recorded, TaskEvent};

use crate::connect::RedisStore;
use crate::events::of_timeline;
use crate::header::{decode, decode_timeline};
use crate::keys::{Key, Keys};
use crate::pack::Packer;

const HOUR_MS: Millis = 3_600_000;
pub(crate) const DAY_MS: Millis = 24 * HOUR_MS;

/// Header, timeline, and what is recorded of a task.
type Kept = (Option<Vec<u8>>, Option<Vec<u8>>, Option<String>);

impl RedisStore {
    pub(crate) async fn record_events(
        &self,
        partition: Partition,
        epoch: i64,
        position: u64,
        events: &[TaskEvent],
    ) -> Result<Recorded, Error> {
        let keys = Keys::of(partition);
        let mut names: Vec<Key> = vec![
            keys.named("rec"),
            keys.named("st"),
            keys.named("am"),
            keys.named("rt"),
        ];
        let mut numbers: HashMap<TaskId, usize> = HashMap::new();
        let mut args = vec![epoch.to_string().into_bytes(), position.to_string().into_bytes()];
        for event in events {
            let next = numbers.len() + 1;
            let number = *numbers.entry(event.task_id).or_insert_with(|| {
                names.push(keys.task(event.task_id));
                next
            });
            args.push(packed(number, event));
        }
        let (fresh, repeated, position): (usize, usize, u64) =
            self.run(&self.scripts.record, &names, &args).await?;
        Ok(Recorded {
            fresh,
            repeated,
            position,
        })
    }

    pub(crate) async fn position(&self, partition: Partition) -> Result<(i64, u64), Error> {
        let mut command = redis::cmd("HMGET");
        command
            .arg(Keys::of(partition).named("rec"))
            .arg("epoch")
            .arg("position");
        let (epoch, position): (Option<i64>, Option<u64>) = self.ask(&command).await?;
        Ok((epoch.unwrap_or(0), position.unwrap_or(0)))
    }

    /// Goes through the list of all tasks, a slice a call; the cursor is a position that no trim shifts.
    pub(crate) async fn unrecorded_events(
        &self,
        partition: Partition,
        cursor: u64,
    ) -> Result<(Vec<TaskEvent>, Option<u64>), Error> {
        let keys = Keys::of(partition);
        let most = store::BATCH_MAX as u64;
        let window = self.window(partition, None, cursor..cursor + most).await?;
        // What was trimmed away meanwhile was recorded whole.
        let next = window.trimmed.max(cursor) + window.ids.len() as u64;
        let mut pipeline = pipe();
        for id in &window.ids {
            pipeline
                .cmd("HMGET")
                .arg(keys.task(*id))
                .arg("h")
                .arg("l")
                .arg("n");
        }
        let records: Vec<Kept> = self.ask_all(&pipeline).await?;
        let mut events = Vec::new();
        for (id, (header, line, seen)) in window.ids.iter().zip(records) {
            let (Some(header), Some(line)) = (header, line) else {
                continue;
            };
            let task = decode(*id, &header)?;
            if seen.as_deref() == Some(task.version.to_string().as_str()) {
                continue;
            }
            events.extend(
                decode_timeline(&line)?
                    .into_iter()
                    .map(|item| of_timeline(&task, item)),
            );
        }
        Ok((events, (next < window.end).then_some(next)))
    }

    pub(crate) async fn hours_since(&self, since: Millis) -> Result<Vec<(Millis, String, u64)>, Error> {
        let mut sums: HashMap<(Millis, String), u64> = HashMap::new();
        for partition in 0..self.partitions {
            let fields: Vec<(String, u64)> = self
                .ask(redis::cmd("HGETALL").arg(Keys::of(partition).named("st")))
                .await?;
            for (field, count) in fields {
                let Some((hour, rest)) = field.split_once('|') else {
                    continue;
                };
                let hour = hour.parse::<Millis>().unwrap_or(0) * HOUR_MS;
                if hour + HOUR_MS > since {
                    *sums.entry((hour, rest.to_owned())).or_default() += count;
                }
            }
        }
        let mut hours: Vec<_> = sums
            .into_iter()
            .map(|((hour, field), count)| (hour, field, count))
            .collect();
        hours.sort();
        Ok(hours)
    }
}

fn packed(number: usize, event: &TaskEvent) -> Vec<u8> {
    let claimed = event.to == Status::Running && event.from.is_some_and(Status::is_claimable);
    Packer::new()
        .int(i64::try_from(number).unwrap_or(0))
        .int(event.version.into())
        .text(&format!("{}|{}|", event.at / HOUR_MS, event.task_type))
        .text(event.to.as_str())
        .int(if claimed { event.wait_ms } else { 0 })
        .int(event.run_ms)
        .int(event.attempt.into())
        .int(event.at / DAY_MS)
        .text(&event.task_type)
        .int(match event.to {
            Status::Success => RunTimes::bucket(event.run_ms).into(),
            _ => -1,
        })
        .end()
}
