//! sweep of the plan table: schedules and their live tasks are compared with indices and records, and mended (I9).

use domain::{Partition, TaskId};
use redis::pipe;
use store::{Error, Nonce, Origin};

use crate::connect::{Frame, RedisStore, Verb};
use crate::keys::Keys;
use crate::pack::{Packer, Value};
use crate::plan_record::live;

/// Schedules looked at in one call, of the table and of each index.
const SLICE: u64 = 16;
/// Live tasks looked at in one call, but for the last schedule's.
const LIVE_TASKS: usize = 4 * store::BATCH_MAX;

impl RedisStore {
    /// How many schedules and live tasks were mended.
    pub(crate) async fn mend_table(&self, partition: Partition, turn: u64) -> Result<u64, Error> {
        let plans = self.mend_plans(partition, turn).await?;
        Ok(plans + self.mend_lives(partition).await?)
    }

    async fn mend_plans(&self, partition: Partition, turn: u64) -> Result<u64, Error> {
        let names = self.some_plans(partition, turn).await?;
        if names.is_empty() {
            return Ok(0);
        }
        let mut verb = Verb::new(partition, random_nonce()?, &Origin::default());
        verb.keys = Keys::of(partition).plan();
        verb.args = names;
        let frame: Frame = self.verb(&self.scripts.mend_plans, verb).await?;
        let mended = |item: &&Value| matches!(item, Value::Bytes(word) if word == b"mended");
        Ok(frame.items.iter().filter(mended).count() as u64)
    }

    /// Some schedules at random, and the next of each index.
    async fn some_plans(&self, partition: Partition, turn: u64) -> Result<Vec<Vec<u8>>, Error> {
        let keys = Keys::of(partition);
        let mut pipeline = pipe();
        pipeline.cmd("HRANDFIELD").arg(keys.named("plan")).arg(SLICE);
        for index in ["planname", "plandue"] {
            let count: u64 = self.ask(redis::cmd("ZCARD").arg(keys.named(index))).await?;
            let start = turn % (count / SLICE + 1) * SLICE;
            let range = pipeline.cmd("ZRANGE").arg(keys.named(index));
            range.arg(start).arg(start + SLICE - 1);
        }
        let found: Vec<Vec<Vec<u8>>> = self.ask_all(&pipeline).await?;
        let mut names = found.concat();
        names.sort();
        names.dedup();
        Ok(names)
    }

    async fn mend_lives(&self, partition: Partition) -> Result<u64, Error> {
        let mut command = redis::cmd("HRANDFIELD");
        let key = Keys::of(partition).named("live");
        command.arg(key).arg(SLICE).arg("WITHVALUES");
        let lists: Vec<(Vec<u8>, Vec<u8>)> = self.ask(&command).await?;
        let mut tasks: Vec<(Vec<u8>, TaskId)> = Vec::new();
        for (schedule, packed) in lists {
            if tasks.len() > LIVE_TASKS {
                break;
            }
            tasks.extend(live(&packed)?.iter().map(|task| (schedule.clone(), task.id)));
        }
        if tasks.is_empty() {
            return Ok(0);
        }
        let ids: Vec<_> = tasks.iter().map(|(_, id)| *id).collect();
        let lines = self.lines(partition, &ids).await?;
        let mut verb = Verb::new(partition, random_nonce()?, &Origin::default());
        for ((schedule, id), line) in tasks.iter().zip(lines) {
            verb.push(line, Packer::new().bytes(schedule).bytes(id.as_bytes()).end());
        }
        let frame = self.verb(&self.scripts.mend_lives, verb).await?;
        let counts = frame
            .items
            .iter()
            .map(Value::int)
            .collect::<Result<Vec<_>, _>>()?;
        Ok(counts
            .into_iter()
            .filter_map(|count| u64::try_from(count).ok())
            .sum())
    }
}

/// A sweep that is played again looks again: there is nothing that a repeat could do twice.
fn random_nonce() -> Result<Nonce, Error> {
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(|error| Error::Corrupt(error.to_string()))?;
    Ok(nonce)
}
