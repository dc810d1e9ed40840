//! The epoch of a store: one key in the control state's home and one in every partition, which the scripts compare with
//! the one that their caller knows.

use std::sync::{Arc, PoisonError, RwLock};

use redis::{Value as Answer, pipe};
use store::{Epoch, Error, Standing};

use crate::connect::RedisStore;
use crate::keys::{Keys, control};
use crate::pack::Packer;

/// The epoch that a process knows, and whether the store is said to be lost. Clones share it, so that all connections of
/// a process know the same.
#[derive(Debug, Clone, Default)]
pub struct KnownEpoch(Arc<RwLock<Known>>);

#[derive(Debug, Default)]
struct Known {
    epoch: Option<Epoch>,
    condemned: Option<String>,
}

impl KnownEpoch {
    fn read<T>(&self, read: impl FnOnce(&Known) -> T) -> T {
        read(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn is_known(&self) -> bool {
        self.read(|known| known.epoch.is_some())
    }

    pub(crate) fn adopt(&self, epoch: &Epoch) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Known {
            epoch: Some(epoch.clone()),
            condemned: None,
        };
    }

    pub(crate) fn condemn(&self, why: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).condemned = Some(why.to_owned());
    }

    pub(crate) fn condemned(&self) -> Option<String> {
        self.read(|known| known.condemned.clone())
    }

    /// The epoch as scripts get it; one that nothing equals where none is known.
    pub(crate) fn text(&self) -> String {
        self.read(|known| known.epoch.as_ref().map_or("?", Epoch::as_str).to_owned())
    }

    /// The same, packed.
    pub(crate) fn pack_behind(&self, packed: Vec<u8>) -> Vec<u8> {
        self.read(|known| Packer::text_behind(packed, known.epoch.as_ref().map_or("?", Epoch::as_str)))
    }
}

impl RedisStore {
    pub(crate) async fn stands(&self) -> Result<Standing, Error> {
        let (epoch, partitions): (Option<String>, Option<u16>) = self
            .ask(
                redis::cmd("HMGET")
                    .arg(control("meta"))
                    .arg("epoch")
                    .arg("partitions"),
            )
            .await?;
        let parts = self.parts().await?;
        let Some(epoch) = epoch else {
            // Partitions that have an epoch where the home has none: it was being set, or the home alone is gone.
            let part = parts.iter().position(Option::is_some);
            let torn = part.filter(|_| partitions.is_none());
            return Ok(torn.map_or(Standing::New, |partition| {
                Standing::Torn(format!(
                    "partition {partition} has an epoch, the control state has none"
                ))
            }));
        };
        let stranger = parts.iter().position(|part| part.as_deref() != Some(&epoch));
        if let Some(partition) = stranger {
            let found = parts[partition].as_deref().unwrap_or("none");
            return Ok(Standing::Torn(format!(
                "the epoch of the store is {epoch}, that of partition {partition} is {found}"
            )));
        }
        Epoch::parse(&epoch)
            .map(Standing::Whole)
            .ok_or_else(|| Error::Corrupt(format!("the epoch {epoch:?} is none")))
    }

    /// The epoch of each partition.
    async fn parts(&self) -> Result<Vec<Option<String>>, Error> {
        let get = |partition| {
            let mut command = redis::cmd("HGET");
            command.arg(Keys::of(partition).named("m")).arg("epoch");
            command
        };
        if self.is_cluster() {
            let mut parts = Vec::with_capacity(self.partitions.into());
            for partition in 0..self.partitions {
                parts.push(self.ask(&get(partition)).await?);
            }
            return Ok(parts);
        }
        let mut pipeline = pipe();
        for partition in 0..self.partitions {
            pipeline.add_command(get(partition));
        }
        self.ask_all(&pipeline).await
    }

    /// The number of partitions is written first and the home's epoch last, so that who comes in between goes on where
    /// another stopped.
    pub(crate) async fn give_epoch(&self, epoch: &Epoch) -> Result<Epoch, Error> {
        let home = control("meta");
        self.set_once(home.as_bytes(), "partitions", &self.partitions.to_string())
            .await?;
        self.check_partitions().await?;
        let begun = self.set_once(home.as_bytes(), "founding", epoch.as_str()).await?;
        for partition in 0..self.partitions {
            self.set_once(&Keys::of(partition).named("m"), "epoch", &begun)
                .await?;
        }
        let stands = self.set_once(home.as_bytes(), "epoch", &begun).await?;
        Epoch::parse(&stands).ok_or_else(|| Error::Corrupt(format!("the epoch {stands:?} is none")))
    }

    /// Sets a field where there is none; what it holds then.
    async fn set_once(&self, key: &[u8], field: &str, value: &str) -> Result<String, Error> {
        self.ask::<Answer>(redis::cmd("HSETNX").arg(key).arg(field).arg(value))
            .await?;
        let kept: Option<String> = self.ask(redis::cmd("HGET").arg(key).arg(field)).await?;
        kept.ok_or_else(|| Error::Lost(format!("{field} is gone as soon as it was written")))
    }

    /// Refuses a store that was first used with another number of partitions.
    pub(crate) async fn check_partitions(&self) -> Result<(), Error> {
        let wanted = self.partitions;
        let kept: Option<u16> = self
            .ask(redis::cmd("HGET").arg(control("meta")).arg("partitions"))
            .await?;
        match kept {
            Some(kept) if kept != wanted => Err(Error::Unusable(format!(
                "redis.partitions is {wanted}, but this store was first used with {kept}; set redis.partitions = {kept}"
            ))),
            Some(_) | None => Ok(()),
        }
    }
}
