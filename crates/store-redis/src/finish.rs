//! heartbeat, complete, fail, hand_back and stopped: what an executor says of its runs.

use domain::{ErrorClass, Partition, Stop, TaskId, Token};
use store::{Error, Failure, Finish, Heartbeat, Nonce, Origin, Reply, Verdict};

use crate::connect::{RedisStore, Verb};
use crate::header::status;
use crate::keys::Keys;
use crate::pack::{Packer, Value};
use crate::queue::refusal;
use crate::script::Script;

/// The verdict on one task: its status and version, or the refusal.
pub(crate) fn verdict(value: &Value) -> Result<Verdict, Error> {
    match value {
        Value::List(pair) if pair.len() == 2 => Ok(Ok((
            status(pair[0].int()?)?,
            u32::try_from(pair[1].int()?).unwrap_or(0),
        ))),
        other => refusal(other).map(Err),
    }
}

fn lease(id: TaskId, token: Token) -> Packer {
    Packer::new().bytes(id.as_bytes()).bytes(&token.0)
}

impl RedisStore {
    pub(crate) async fn renew(
        &self,
        partition: Partition,
        nonce: Nonce,
        lease_ms: i64,
        leases: &[(TaskId, Token)],
    ) -> Result<Vec<Heartbeat>, Error> {
        self.own(partition, leases.iter().map(|(id, _)| *id))?;
        let keys = Keys::of(partition);
        let mut verb = Verb::new(partition, nonce, &Origin::default()).int(lease_ms);
        for (id, token) in leases {
            verb.push([keys.task(*id)], lease(*id, *token).end());
        }
        let frame = self.verb(&self.scripts.heartbeat, verb).await?;
        frame.items.iter().map(renewed).collect()
    }

    pub(crate) async fn complete_tasks(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        ends: &[Finish],
    ) -> Result<Reply<Verdict>, Error> {
        self.own(partition, ends.iter().map(|end| end.id))?;
        let keys = Keys::of(partition);
        let mut verb = Verb::new(partition, nonce, origin);
        for end in ends {
            verb.push(
                [keys.task(end.id)],
                lease(end.id, end.token)
                    .bytes(&end.result)
                    .bytes(&end.output)
                    .end(),
            );
        }
        self.verb(&self.scripts.complete, verb).await?.reply(verdict)
    }

    pub(crate) async fn fail_tasks(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        ends: &[Failure],
    ) -> Result<Reply<Verdict>, Error> {
        self.own(partition, ends.iter().map(|end| end.id))?;
        let keys = Keys::of(partition);
        let mut verb = Verb::new(partition, nonce, origin);
        for end in ends {
            // `lost` is the platform's own word; a handler that says it means that it may pass.
            let class = if end.class == ErrorClass::Lost {
                ErrorClass::Transient
            } else {
                end.class
            };
            let arg = lease(end.id, end.token)
                .int(class as i64)
                .text(&end.code)
                .text(&end.error)
                .bytes(&end.output)
                .int(end.delay_ms)
                .end();
            verb.push([keys.task(end.id)], arg);
        }
        self.verb(&self.scripts.fail, verb).await?.reply(verdict)
    }

    pub(crate) async fn give_up(
        &self,
        script: &Script,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        leases: &[(TaskId, Token)],
    ) -> Result<Reply<Verdict>, Error> {
        self.own(partition, leases.iter().map(|(id, _)| *id))?;
        let keys = Keys::of(partition);
        let mut verb = Verb::new(partition, nonce, origin);
        for (id, token) in leases {
            verb.push([keys.task(*id)], lease(*id, *token).end());
        }
        self.verb(script, verb).await?.reply(verdict)
    }
}

fn renewed(value: &Value) -> Result<Heartbeat, Error> {
    match value.bytes()? {
        b"renewed" => Ok(Heartbeat::Renewed),
        b"cancel" => Ok(Heartbeat::Stop(Stop::Cancel)),
        b"reset" => Ok(Heartbeat::Stop(Stop::Reset)),
        _ => refusal(value).map(Heartbeat::Lost),
    }
}
