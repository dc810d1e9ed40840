//! The calendars of working days, as far as this process has read them.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use calendar::WorkingDays;
use store::PlanStore;

use crate::{call::in_time, error::Error};

/// All calendars of one version.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// The version of all together.
    pub(crate) version: u64,
    by_name: BTreeMap<String, Arc<WorkingDays>>,
}

impl Table {
    /// The calendar of a name.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<WorkingDays>> {
        self.by_name.get(name).cloned()
    }
}

/// The newest table.
#[derive(Debug, Default)]
pub(crate) struct Calendars {
    table: RwLock<Option<Arc<Table>>>,
}

impl Calendars {
    /// Reads the calendars if the store's version is another; the newest table. One that can't be read is left out:
    /// its schedules say so.
    pub(crate) async fn refresh(&self, store: &dyn PlanStore) -> Result<Arc<Table>, Error> {
        let kept = self.table.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(table) = kept
            && in_time(store.calendars_version()).await? == table.version
        {
            return Ok(table);
        }
        let (version, calendars) = in_time(store.calendars()).await?;
        let mut by_name = BTreeMap::new();
        for calendar in calendars {
            match read(&calendar.body) {
                Ok(days) => drop(by_name.insert(calendar.name, Arc::new(days))),
                Err(error) => tracing::error!(calendar = calendar.name, error, "a calendar can't be read"),
            }
        }
        let table = Arc::new(Table { version, by_name });
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&table));
        Ok(table)
    }
}

/// The body is the calendar's declaration, as JSON.
fn read(body: &[u8]) -> Result<WorkingDays, String> {
    let spec: calendar::working_days::Spec =
        serde_json::from_slice(body).map_err(|error| error.to_string())?;
    WorkingDays::new(&spec).map_err(|error| error.to_string())
}
