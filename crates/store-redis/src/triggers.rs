//! The ledger: its records by instant, and how they leave.

use domain::{Millis, Partition, schedule_partition};
use store::{Error, Nonce, Origin, Page, Removed, TriggerRange, Triggers};

use crate::connect::{RedisStore, Verb};
use crate::keys::Keys;
use crate::plan_record::trigger;

/// Most records of a page.
const PAGE_MAX: usize = 1_000;

/// Where a page goes on: the last instant that was shown, and how many of its records were.
#[derive(Debug, Clone, Copy, Default)]
struct Position {
    at: Option<Millis>,
    shown: usize,
}

impl Position {
    fn parse(cursor: &str) -> Result<Self, Error> {
        cursor
            .split_once('.')
            .and_then(|(at, shown)| {
                let at = Some(at.parse().ok()?);
                let shown = shown.parse().ok()?;
                Some(Self { at, shown })
            })
            .ok_or_else(|| Error::Corrupt("cursor is not one that a list gave".into()))
    }
}

impl RedisStore {
    pub(crate) async fn ledger_page(
        &self,
        name: &str,
        range: &TriggerRange,
        page: &Page,
    ) -> Result<Triggers, Error> {
        let limit = page.limit.clamp(1, PAGE_MAX);
        let from = page
            .cursor
            .as_deref()
            .map_or(Ok(Position::default()), Position::parse)?;
        let mut low = range
            .since
            .map_or_else(|| "-inf".to_owned(), |since| since.to_string());
        let mut high = range
            .until
            .map_or_else(|| "+inf".to_owned(), |until| format!("({until}"));
        if let Some(at) = from.at {
            *if range.newest_first { &mut high } else { &mut low } = at.to_string();
        }
        let [records, _] = Keys::of(schedule_partition(name, self.partitions)).ledger(name);
        let mut command = redis::cmd("ZRANGE");
        command.arg(records);
        if range.newest_first {
            command.arg(high).arg(low).arg("BYSCORE").arg("REV");
        } else {
            command.arg(low).arg(high).arg("BYSCORE");
        }
        command.arg("LIMIT").arg(from.shown).arg(limit + 1);
        let found: Vec<Vec<u8>> = self.ask(&command).await?;
        let mut items = found
            .iter()
            .map(|packed| trigger(packed))
            .collect::<Result<Vec<_>, _>>()?;
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| {
            let shown = items
                .iter()
                .filter(|kept| kept.planned_at == last.planned_at)
                .count();
            let before = if from.at == Some(last.planned_at) {
                from.shown
            } else {
                0
            };
            format!("{}.{}", last.planned_at, shown + before)
        });
        Ok(Triggers { items, next })
    }

    pub(crate) async fn remove_old_records(
        &self,
        partition: Partition,
        nonce: Nonce,
        age_ms: i64,
    ) -> Result<Removed, Error> {
        let keys = Keys::of(partition);
        let until = self.clock().await? - age_ms;
        let mut command = redis::cmd("ZRANGE");
        command
            .arg(keys.named("trold"))
            .arg("-inf")
            .arg(until)
            .arg("BYSCORE");
        command.arg("LIMIT").arg(0).arg(store::BATCH_MAX);
        let names: Vec<Vec<u8>> = self.ask(&command).await?;
        if names.is_empty() && !self.answered(partition, &nonce).await? {
            return Ok(Removed::default());
        }
        let mut verb = Verb::new(partition, nonce, &Origin::default()).int(age_ms);
        verb.keys = keys.plan();
        for name in names {
            verb.push(keys.ledger(&String::from_utf8_lossy(&name)), name);
        }
        let frame = self.verb(&self.scripts.retain_triggers, verb).await?;
        let mut removed = Removed {
            more: frame.items.len() == store::BATCH_MAX,
            ..Removed::default()
        };
        for item in &frame.items {
            removed.tasks += usize::try_from(item.at(0)?.int()?).unwrap_or(0);
            removed.more |= item.at(1)?.int()? != 0;
        }
        Ok(removed)
    }
}
