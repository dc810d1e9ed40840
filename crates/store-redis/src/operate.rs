//! cancel, retry, reset and set: a person's hand on tasks.

use domain::{Partition, TaskId};
use store::{Error, Nonce, Operation, Origin, Reply, Verdict};

use crate::connect::{RedisStore, Verb};
use crate::finish::verdict;

impl RedisStore {
    pub(crate) async fn operate_on(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        operation: Operation,
        ids: &[TaskId],
    ) -> Result<Reply<Verdict>, Error> {
        let limit = |limit: Option<u16>| limit.map_or(-1, i64::from);
        let verb = Verb::new(partition, nonce, origin);
        let (script, mut verb) = match operation {
            Operation::Cancel => (&self.scripts.cancel, verb),
            Operation::Retry { max_retry } => (&self.scripts.retry, verb.int(limit(max_retry))),
            Operation::Reset { max_retry } => (&self.scripts.reset, verb.int(limit(max_retry))),
            Operation::Set {
                max_retry,
                next_run_time,
                run_timeout_ms,
            } => {
                let verb = verb
                    .int(limit(max_retry))
                    .int(next_run_time.unwrap_or(-1))
                    .int(run_timeout_ms.unwrap_or(-1));
                (&self.scripts.set, verb)
            }
        };
        self.own(partition, ids.iter().copied())?;
        let lines = self.lines(partition, ids).await?;
        for (id, keys) in ids.iter().zip(lines) {
            verb.push(keys, id.as_bytes().to_vec());
        }
        self.verb(script, verb).await?.reply(verdict)
    }
}
