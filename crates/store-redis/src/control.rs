//! The control state: its home, and the copy in every partition that the scripts read.

use bytes::Bytes;
use domain::{Partition, Tier, TypeSpec};
use store::{Calendar, Error, Origin};

use crate::connect::{RedisStore, Verb};
use crate::keys::{Keys, control};
use crate::pack::unpack;

impl RedisStore {
    pub(crate) async fn write_types(&self, types: &[TypeSpec]) -> Result<u64, Error> {
        let keys = [control("types").into_bytes(), control("meta").into_bytes()];
        let mut args = vec![self.epoch.text().into_bytes()];
        for spec in types {
            let text = serde_json::to_vec(spec).map_err(|error| Error::Corrupt(error.to_string()))?;
            args.extend([spec.name.clone().into_bytes(), text]);
        }
        self.run::<u8>(&self.scripts.put_types, &keys, &args).await?;
        for spec in types {
            for partition in 0..self.partitions {
                self.copy_type(partition, spec).await?;
            }
        }
        // Last, so that whoever sees the new version finds every copy written.
        self.ask(
            redis::cmd("HINCRBY")
                .arg(control("meta"))
                .arg("types_version")
                .arg(1),
        )
        .await
    }

    async fn copy_type(&self, partition: Partition, spec: &TypeSpec) -> Result<(), Error> {
        let keys = Keys::of(partition);
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(|error| Error::Corrupt(error.to_string()))?;
        let state = if spec.paused { "paused" } else { "active" };
        let mut verb = Verb::new(partition, nonce, &Origin::default())
            .text(&spec.name)
            .text(state);
        verb.keys = Tier::ALL
            .iter()
            .flat_map(|tier| keys.line(&spec.pool, *tier, &spec.name))
            .collect();
        self.verb(&self.scripts.control, verb).await.map(drop)
    }

    pub(crate) async fn read_types(&self) -> Result<(u64, Vec<TypeSpec>), Error> {
        let version = self.read_types_version().await?;
        let texts: Vec<Vec<u8>> = self.ask(redis::cmd("HVALS").arg(control("types"))).await?;
        let mut types = Vec::with_capacity(texts.len());
        for text in texts {
            types.push(
                serde_json::from_slice::<TypeSpec>(&text)
                    .map_err(|error| Error::Corrupt(format!("a type: {error}")))?,
            );
        }
        types.sort_by(|a, b| a.name.cmp(&b.name));
        Ok((version, types))
    }

    pub(crate) async fn read_types_version(&self) -> Result<u64, Error> {
        let version: Option<u64> = self
            .ask(redis::cmd("HGET").arg(control("meta")).arg("types_version"))
            .await?;
        Ok(version.unwrap_or(0))
    }

    pub(crate) async fn write_calendars(&self, calendars: &[(String, Bytes)]) -> Result<u64, Error> {
        let keys = [control("calendars").into_bytes(), control("meta").into_bytes()];
        let parts = calendars.iter().flat_map(|(name, body)| [name.as_bytes(), body]);
        let mut args = vec![self.epoch.text().into_bytes()];
        args.extend(parts.map(<[u8]>::to_vec));
        self.run(&self.scripts.put_calendars, &keys, &args).await
    }

    pub(crate) async fn read_calendars(&self) -> Result<(u64, Vec<Calendar>), Error> {
        let version = self.read_calendars_version().await?;
        let found: Vec<(String, Vec<u8>)> = self.ask(redis::cmd("HGETALL").arg(control("calendars"))).await?;
        let mut calendars = Vec::with_capacity(found.len());
        for (name, packed) in found {
            let kept = unpack(&packed)?;
            calendars.push(Calendar {
                name,
                version: u64::try_from(kept.at(0)?.int()?).unwrap_or(0),
                body: kept.at(1)?.bytes()?.to_vec().into(),
            });
        }
        calendars.sort_by(|a, b| a.name.cmp(&b.name));
        Ok((version, calendars))
    }

    pub(crate) async fn read_calendars_version(&self) -> Result<u64, Error> {
        let version: Option<u64> = self
            .ask(redis::cmd("HGET").arg(control("meta")).arg("calendars_version"))
            .await?;
        Ok(version.unwrap_or(0))
    }

    pub(crate) async fn hold_duty(&self, duty: &str, owner: &str, ttl_ms: i64) -> Result<bool, Error> {
        let key = control(&format!("hold:{duty}")).into_bytes();
        let args = [owner.as_bytes().to_vec(), ttl_ms.to_string().into_bytes()];
        self.run::<u8>(&self.scripts.hold, &[key], &args)
            .await
            .map(|held| held == 1)
    }
}
