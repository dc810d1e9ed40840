//! The connection, and the one way in which a script is called.

use std::{sync::Arc, sync::atomic::AtomicU64, sync::atomic::Ordering, time::Duration};

use domain::{Millis, Partition, TaskId};
use redis::{Cmd, Pipeline, RedisResult, ServerErrorKind, Value as Answer};
use store::{Epoch, Error, Nonce, Origin, OutboxEntry, Reply, Standing};

use crate::epoch::KnownEpoch;
use crate::events;
use crate::failed::failed;
use crate::keys::{Key, Keys, control};
use crate::link::Link;
use crate::pack::{Packer, Value, unpack};
use crate::script::{Script, Scripts};

/// Where the store is.
#[derive(Debug, Clone)]
pub struct Config {
    /// `redis://` or `rediss://` (TLS) for one server; `redis+cluster://` with some nodes, joined by commas;
    /// `redis+sentinel://` with some sentinels and the name of the master as the path. The last two take `?tls=true`.
    pub url: String,
    /// Number of partitions of a store that is first used.
    pub partitions: u16,
    /// Most entries that wait in a partition's outbox before nothing new is admitted.
    pub outbox_max: u64,
    /// Longest wait for a connection, and for an answer; the caller plays the call again with the same nonce.
    pub timeout: Duration,
    /// Percent of `maxmemory` from which nothing new is admitted; the rest is for tasks to end in.
    pub memory_percent: u8,
    /// The epoch that this process knows; connections that share it share what is known.
    pub epoch: KnownEpoch,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            url: "redis://127.0.0.1:6379".into(),
            partitions: domain::PARTITIONS_DEFAULT,
            outbox_max: 100_000,
            timeout: Duration::from_secs(5),
            memory_percent: 85,
            epoch: KnownEpoch::default(),
        }
    }
}

/// The task store on Redis.
pub struct RedisStore {
    link: Link,
    pub(crate) epoch: KnownEpoch,
    pub(crate) scripts: Scripts,
    pub(crate) partitions: u16,
    pub(crate) outbox_max: u64,
    pub(crate) memory_limit: u64,
    pub(crate) memory: AtomicU64,
    pub(crate) memory_checked: AtomicU64,
    pub(crate) sweep_at: AtomicU64,
}

impl RedisStore {
    /// Connects, and checks how the server is set up and the number of partitions. Nothing can be done with the store
    /// before [`store::TaskStore::adopt`].
    ///
    /// # Errors
    /// [`Error::Unavailable`] where nobody answers: try again. [`Error::Unusable`] where the store is configured so that
    /// it may lose tasks, or has another number of partitions.
    pub async fn connect(config: &Config) -> Result<Arc<Self>, Error> {
        let link = Box::pin(Link::open(&config.url, config.timeout)).await?;
        let store = Self {
            link,
            epoch: config.epoch.clone(),
            scripts: Scripts::load(),
            partitions: config.partitions,
            outbox_max: config.outbox_max,
            memory_limit: config.memory_percent.into(),
            memory: AtomicU64::new(0),
            memory_checked: AtomicU64::new(0),
            sweep_at: AtomicU64::new(0),
        };
        store.refuse_eviction().await?;
        store.check_partitions().await?;
        Ok(Arc::new(store))
    }

    /// Connects to a store that is trusted to be the right one: one that has no epoch is taken for new. Who has an events
    /// stream to ask uses [`Self::connect`].
    ///
    /// # Errors
    /// As [`Self::connect`], and [`Error::Lost`] where parts of the store are gone.
    pub async fn open(config: &Config) -> Result<Arc<Self>, Error> {
        let store = Self::connect(config).await?;
        if store.epoch.is_known() {
            return Ok(store);
        }
        let epoch = match store.stands().await? {
            Standing::Whole(epoch) => epoch,
            Standing::Torn(why) => return Err(Error::Lost(why)),
            Standing::New => {
                let mut random = [0; 8];
                getrandom::fill(&mut random).map_err(|error| Error::Corrupt(error.to_string()))?;
                store.give_epoch(&Epoch::new(random)).await?
            }
        };
        store.epoch.adopt(&epoch);
        Ok(store)
    }

    async fn refuse_eviction(&self) -> Result<(), Error> {
        let mut command = redis::cmd("INFO");
        command.arg("memory");
        if let Link::Cluster(_) = self.link {
            return Ok(());
        }
        let info: String = self.ask(&command).await?;
        let policy = info
            .lines()
            .find_map(|line| line.strip_prefix("maxmemory_policy:"))
            .unwrap_or("noeviction");
        if policy == "noeviction" {
            return Ok(());
        }
        Err(Error::Unusable(format!(
            "maxmemory-policy is {policy}, which may evict tasks; set maxmemory-policy noeviction in redis.conf"
        )))
    }

    /// Sends one command.
    pub(crate) async fn ask<T: redis::FromRedisValue>(&self, command: &Cmd) -> Result<T, Error> {
        let mut link = self.link.clone();
        command.query_async(&mut link).await.map_err(failed)
    }

    /// Sends commands that belong to one partition together.
    pub(crate) async fn ask_all<T: redis::FromRedisValue>(&self, pipeline: &Pipeline) -> Result<T, Error> {
        if pipeline.is_empty() {
            return T::from_redis_value(Answer::Array(Vec::new()))
                .map_err(|error| Error::Corrupt(error.to_string()));
        }
        let mut link = self.link.clone();
        pipeline.query_async(&mut link).await.map_err(failed)
    }

    /// Calls a script; if the server does not know it, sends its text, for this one command alone.
    pub(crate) async fn run<T: redis::FromRedisValue>(
        &self,
        script: &Script,
        keys: &[Key],
        args: &[Vec<u8>],
    ) -> Result<T, Error> {
        let call = |name: &str, what: &str| {
            let mut command = redis::cmd(name);
            command.arg(what).arg(keys.len());
            for part in keys.iter().chain(args) {
                command.arg(part);
            }
            command
        };
        let mut link = self.link.clone();
        let first: RedisResult<T> = call("EVALSHA", &script.hash).query_async(&mut link).await;
        match first {
            Err(error) if error.kind() == redis::ErrorKind::Server(ServerErrorKind::NoScript) => {
                call("EVAL", &script.text)
                    .query_async(&mut link)
                    .await
                    .map_err(failed)
            }
            other => other.map_err(failed),
        }
    }

    /// Plays a verb on a partition and reads the frame of its answer.
    pub(crate) async fn verb(&self, script: &Script, verb: Verb) -> Result<Frame, Error> {
        let Verb {
            partition,
            nonce,
            common,
            keys,
            args,
        } = verb;
        let mut all = Keys::of(partition).partition(&nonce);
        all.extend(keys);
        let mut packed = vec![self.epoch.pack_behind(common.end())];
        packed.extend(args);
        let answer: Vec<Vec<u8>> = self.run(script, &all, &packed).await?;
        Frame::read(partition, answer)
    }

    /// Adds `ms` to the clock of every partition, for tests of hours in moments.
    ///
    /// # Errors
    /// Where the store does not answer.
    #[cfg(feature = "test-clock")]
    pub async fn set_clock_offset(&self, ms: Millis) -> Result<(), Error> {
        for partition in 0..self.partitions {
            let key = Keys::of(partition).named("m");
            self.ask::<Answer>(redis::cmd("HSET").arg(key).arg("offset").arg(ms))
                .await?;
        }
        self.ask(redis::cmd("HSET").arg(control("meta")).arg("offset").arg(ms))
            .await
    }

    pub(crate) async fn clock(&self) -> Result<Millis, Error> {
        let (seconds, micros): (Millis, Millis) = match self.link {
            Link::One(_) | Link::Sentinel(_) => self.ask(&redis::cmd("TIME")).await?,
            Link::Cluster(_) => {
                let script = Script::new("return redis.call('TIME')".into());
                self.run(&script, &[control("meta").into_bytes()], &[]).await?
            }
        };
        let offset: Option<Millis> = if cfg!(feature = "test-clock") {
            self.ask(redis::cmd("HGET").arg(control("meta")).arg("offset"))
                .await?
        } else {
            None
        };
        Ok(seconds * 1000 + micros / 1000 + offset.unwrap_or(0))
    }

    /// The part of `maxmemory` in use, in percent; read from the server at most once a second.
    pub(crate) async fn memory_percent(&self) -> u64 {
        let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |at| at.as_secs());
        if self.memory_checked.swap(now, Ordering::Relaxed) != now
            && !self.is_cluster()
            && let Ok(info) = self.ask::<String>(redis::cmd("INFO").arg("memory")).await
        {
            let field = |name: &str| {
                info.lines()
                    .find_map(|line| line.strip_prefix(name)?.parse::<u64>().ok())
                    .unwrap_or(0)
            };
            let percent = (field("used_memory:") * 100)
                .checked_div(field("maxmemory:"))
                .unwrap_or(0);
            self.memory.store(percent, Ordering::Relaxed);
        }
        self.memory.load(Ordering::Relaxed)
    }
}

/// One call of a verb.
pub(crate) struct Verb {
    pub(crate) partition: Partition,
    pub(crate) nonce: Nonce,
    /// What all tasks of the call share: actor, node, reason, then the verb's own.
    pub(crate) common: Packer,
    pub(crate) keys: Vec<Key>,
    pub(crate) args: Vec<Vec<u8>>,
}

impl Verb {
    pub(crate) fn new(partition: Partition, nonce: Nonce, origin: &Origin) -> Self {
        let common = Packer::new()
            .text(&origin.actor)
            .text(&origin.node)
            .text(&origin.reason);
        Self {
            partition,
            nonce,
            common,
            keys: Vec::new(),
            args: Vec::new(),
        }
    }

    pub(crate) fn int(mut self, number: i64) -> Self {
        self.common = self.common.int(number);
        self
    }

    pub(crate) fn text(mut self, text: &str) -> Self {
        self.common = self.common.text(text);
        self
    }

    pub(crate) fn push(&mut self, keys: impl IntoIterator<Item = Key>, arg: Vec<u8>) {
        self.keys.extend(keys);
        self.args.push(arg);
    }
}

/// The answer of a verb before its items are read.
pub(crate) struct Frame {
    pub(crate) now: Millis,
    pub(crate) outbox: Option<OutboxEntry>,
    pub(crate) items: Vec<Value>,
    /// What came behind the frame: the payloads of a claim.
    pub(crate) rest: Vec<Vec<u8>>,
}

impl Frame {
    fn read(partition: Partition, answer: Vec<Vec<u8>>) -> Result<Self, Error> {
        let mut parts = answer.into_iter();
        let (Some(frame), Some(packed)) = (parts.next(), parts.next()) else {
            return Err(Error::Corrupt("a verb answered without a frame".into()));
        };
        let frame = unpack(&frame)?;
        let outbox = if packed.is_empty() {
            None
        } else {
            Some(OutboxEntry {
                partition,
                id: frame.at(1)?.text()?,
                events: events::decode(&packed)?,
            })
        };
        let items = frame.at(2)?.list()?.to_vec();
        Ok(Self {
            now: frame.at(0)?.int()?,
            outbox,
            items,
            rest: parts.collect(),
        })
    }

    pub(crate) fn reply<T>(self, item: impl Fn(&Value) -> Result<T, Error>) -> Result<Reply<T>, Error> {
        let items = self.items.iter().map(item).collect::<Result<_, _>>()?;
        Ok(Reply {
            items,
            now: self.now,
            outbox: self.outbox,
        })
    }
}

impl RedisStore {
    /// Refuses a call with tasks of another partition, before anything is sent.
    pub(crate) fn own(
        &self,
        partition: Partition,
        ids: impl IntoIterator<Item = TaskId>,
    ) -> Result<(), Error> {
        let stranger = ids
            .into_iter()
            .find(|id| id.partition(self.partitions) != partition);
        stranger.map_or(Ok(()), |id| {
            Err(Error::Corrupt(format!(
                "task {id} is not of partition {partition}"
            )))
        })
    }

    pub(crate) const fn is_cluster(&self) -> bool {
        matches!(self.link, Link::Cluster(_))
    }
}
