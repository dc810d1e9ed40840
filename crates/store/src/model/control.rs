//! What stands above the partitions: the types, the calendars, and the sums of their statistics.

use std::collections::BTreeMap;

use bytes::Bytes;
use domain::{Millis, TypeSpec};

use super::State;
use crate::Calendar;

const HOUR_MS: Millis = 3_600_000;

impl State {
    pub(super) fn put_types(&mut self, types: &[TypeSpec]) -> u64 {
        for spec in types {
            self.types.insert(spec.name.clone(), spec.clone());
            for shard in &mut self.shards {
                if spec.paused {
                    shard.paused.insert(spec.name.clone());
                } else {
                    shard.paused.remove(&spec.name);
                }
                for line in shard.lines.values_mut() {
                    line.settle(&spec.name, spec.paused);
                }
            }
        }
        self.types_version += 1;
        self.types_version
    }

    pub(super) fn put_calendars(&mut self, calendars: &[(String, Bytes)]) -> u64 {
        for (name, body) in calendars {
            let known = self.calendars.get(name);
            if known.is_some_and(|known| known.body == *body) {
                continue;
            }
            let calendar = Calendar {
                name: name.clone(),
                version: known.map_or(0, |known| known.version) + 1,
                body: body.clone(),
            };
            self.calendars.insert(name.clone(), calendar);
            self.calendars_version += 1;
        }
        self.calendars_version
    }

    pub(super) fn hours_since(&self, since: Millis) -> Vec<(Millis, String, u64)> {
        let mut sums: BTreeMap<(Millis, String), u64> = BTreeMap::new();
        for shard in &self.shards {
            for ((hour, field), count) in &shard.hours {
                if hour + HOUR_MS > since {
                    *sums.entry((*hour, field.clone())).or_default() += count;
                }
            }
        }
        sums.into_iter()
            .map(|((hour, field), count)| (hour, field, count))
            .collect()
    }
}
