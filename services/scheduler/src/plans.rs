//! Definitions, read once and kept as long as they are asked for.

use std::{collections::HashMap, sync::Arc};

use plan::{Plan, Schedule};
use store::ScheduleView;

use crate::calendars::Table;

/// Plans in each of two halves: those of the older half that nobody asked for go when the younger is full.
const HALF: usize = 2_048;

/// Which definition, with which calendars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Edition {
    incarnation: u64,
    version: u32,
    calendars: u64,
}

type Half = HashMap<String, (Edition, Arc<Plan>)>;

/// The plans of one partition.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    young: Half,
    old: Half,
}

impl Plans {
    /// The plan of a schedule.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence.
    pub(crate) fn of(&mut self, view: &ScheduleView, calendars: &Table) -> Result<Arc<Plan>, String> {
        let edition = Edition {
            incarnation: view.plan.incarnation,
            version: view.plan.version,
            calendars: calendars.version,
        };
        let name = &view.plan.name;
        if let Some((known, plan)) = self.young.get(name)
            && *known == edition
        {
            return Ok(Arc::clone(plan));
        }
        let kept = self.old.remove(name).filter(|(known, _)| *known == edition);
        let plan = match kept {
            Some((_, plan)) => plan,
            None => Arc::new(read(&view.spec, calendars)?),
        };
        if self.young.len() >= HALF {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(name.clone(), (edition, Arc::clone(&plan)));
        Ok(plan)
    }
}

/// Reads a definition as the plan table keeps it.
///
/// # Errors
/// What is wrong with it, in a sentence.
fn read(spec: &[u8], calendars: &Table) -> Result<Plan, String> {
    let schedule = definition(spec)?;
    schedule
        .plan(|name| calendars.get(name))
        .map_err(|problem| problem.to_string())
}

/// The definition alone, without its calendar.
///
/// # Errors
/// What is wrong with it, in a sentence.
pub(crate) fn definition(spec: &[u8]) -> Result<Schedule, String> {
    let text = std::str::from_utf8(spec).map_err(|error| error.to_string())?;
    Schedule::parse(text).map_err(|problems| {
        let told: Vec<_> = problems.iter().take(3).map(ToString::to_string).collect();
        told.join("; ")
    })
}
