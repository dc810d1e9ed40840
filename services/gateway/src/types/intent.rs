//! All that a request to apply comes to: worked out whole before anything is written.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use admission::{Limits, Problem, TypeTable};
use domain::{Millis, TypeSpec};
use plan::Schedule;
use store::ScheduleView;

use crate::{
    gate::{Actor, Gate},
    refusal::Refusal,
    schedules::{
        calendars::{self, Calendars},
        declare::{self as schedules, Declared, Ground},
    },
    types::{
        Why,
        apply::ApplyBody,
        declare::{self, Change, Outcome},
    },
};

/// How long fires are compared in one request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Schedules in one read of all of them.
const PAGE: usize = 1_000;

/// What becomes of everything that is declared.
pub(super) struct Intent {
    types: Vec<TypeSpec>,
    type_changes: Vec<Change>,
    calendars: Vec<calendars::Declared>,
    calendar_changes: Vec<Change>,
    schedules: Vec<Declared>,
    /// Standing schedules that are not declared: with another calendar, or to be deleted.
    others: Vec<Change>,
    old: Calendars,
    new: Calendars,
}

/// What is compared, away from what answers others: walking along fires may take a while.
struct Desk {
    types: TypeTable,
    old: Calendars,
    new: Calendars,
    limits: Limits,
    now: Millis,
    prune: bool,
    wanted: Vec<(String, Schedule)>,
    standing: HashMap<String, ScheduleView>,
    others: Vec<ScheduleView>,
}

impl Intent {
    /// Reads and checks everything.
    ///
    /// # Errors
    /// All that is wrong with any of the definitions.
    pub(super) async fn read(gate: &Gate, asked: &ApplyBody<'_>) -> Result<Self, Refusal> {
        let mut problems = Vec::new();
        let (_, known) = gate.store.types().await?;
        let types = declare::read(&asked.types, &known).unwrap_or_else(|wrong| {
            problems.extend(wrong);
            Vec::new()
        });
        let calendars = calendars::read(&asked.calendars, &mut problems);
        let wanted = asked.schedules.as_deref().unwrap_or_default();
        let wanted = schedules::read(wanted, &mut problems);
        if !problems.is_empty() {
            return Err(Refusal::invalid(problems));
        }
        let type_changes = types.iter().map(|spec| declare::compare(spec, &known)).collect();
        let (_, standing) = gate.store.calendars().await?;
        let calendar_changes = calendars.iter().map(|one| calendars::compare(one, &standing));
        let calendar_changes = calendar_changes.collect();
        let old = calendars::usable(&standing);
        let desk = desk(gate, asked.prune, wanted, &calendars, merged(known, &types), old).await?;
        let judged = tokio::task::spawn_blocking(move || desk.judge()).await;
        let (desk, schedules, others) = judged
            .map_err(|_| Refusal::unavailable("the definitions could not be compared"))?
            .map_err(Refusal::invalid)?;
        let Desk { old, new, .. } = desk;
        Ok(Self {
            types,
            type_changes,
            calendars,
            calendar_changes,
            schedules,
            others,
            old,
            new,
        })
    }

    /// Writes what differs: types and calendars before the schedules that need them.
    ///
    /// # Errors
    /// Where the store does not answer; to apply again does what is left.
    pub(super) async fn carry_out(&self, gate: &Gate, actor: &Actor) -> Result<(), Refusal> {
        let types = self.types.iter().zip(&self.type_changes);
        let types = types.filter(|(_, change)| change.change != Outcome::Unchanged);
        let types: Vec<_> = types.map(|(spec, _)| spec.clone()).collect();
        gate.put_types(&types, actor, Why::new("apply", "")).await?;
        let calendars = self.calendars.iter().zip(&self.calendar_changes);
        let calendars = calendars.filter(|(_, change)| change.change != Outcome::Unchanged);
        let calendars: Vec<_> = calendars
            .map(|(one, _)| (one.days.name().to_owned(), one.body.clone()))
            .collect();
        if !calendars.is_empty() {
            gate.store.put_calendars(&calendars).await?;
        }
        let origin = gate.origin(actor.clone(), "apply".to_owned());
        let schedules = self.schedules.iter();
        let schedules: Vec<_> = schedules
            .filter(|one| one.change.change != Outcome::Unchanged)
            .collect();
        gate.put_schedules(&origin, &schedules, &self.old).await?;
        gate.switch_as_declared(&origin, &schedules).await?;
        let changed = schedules.iter().map(|one| &one.change).chain(&self.others);
        let (gone, stay): (Vec<_>, Vec<_>) = changed.partition(|change| change.change == Outcome::Deleted);
        if !calendars.is_empty() {
            for change in stay {
                gate.replan(actor, &change.name, &self.new).await?;
            }
        }
        let gone: Vec<_> = gone.iter().map(|change| change.name.clone()).collect();
        gate.remove(actor, &gone).await
    }

    /// What it changes, definition by definition.
    pub(super) fn changes(self) -> Vec<Change> {
        let mut changes = self.type_changes;
        changes.extend(self.calendar_changes);
        changes.extend(self.schedules.into_iter().map(|one| one.change));
        changes.extend(self.others);
        changes
    }
}

async fn desk(
    gate: &Gate,
    prune: bool,
    wanted: Vec<(String, Schedule)>,
    calendars: &[calendars::Declared],
    types: Vec<TypeSpec>,
    old: Calendars,
) -> Result<Desk, Refusal> {
    let declared = calendars.iter();
    let declared = declared.map(|one| (one.days.name().to_owned(), one.days.clone()));
    let new: Calendars = old.clone().into_iter().chain(declared).collect();
    let names: Vec<_> = wanted.iter().map(|(_, schedule)| schedule.name.clone()).collect();
    let standing = gate.standing(&names).await?;
    let names: HashSet<_> = names.into_iter().collect();
    let moved: Vec<_> = old
        .iter()
        .filter(|(name, days)| new.get(*name) != Some(days))
        .map(|(name, _)| name.clone())
        .collect();
    let mut others = Vec::new();
    if prune || !moved.is_empty() {
        let is_other = |view: &ScheduleView| {
            !names.contains(view.plan.name.as_str())
                && (prune || crate::schedules::calendar_of(view).is_some_and(|name| moved.contains(&name)))
        };
        let mut after: Option<String> = None;
        loop {
            let (views, next) = gate.schedules_after(after.as_deref(), PAGE).await?;
            others.extend(views.into_iter().filter(is_other));
            after = next;
            if after.is_none() {
                break;
            }
        }
    }
    let now = gate.store.ping().await?;
    Ok(Desk {
        types: TypeTable::new(0, types),
        old,
        new,
        limits: gate.limits,
        now,
        prune,
        wanted,
        standing,
        others,
    })
}

/// The types that stand, with those that are declared in their place.
fn merged(known: Vec<TypeSpec>, declared: &[TypeSpec]) -> Vec<TypeSpec> {
    let stays = |spec: &TypeSpec| declared.iter().all(|other| other.name != spec.name);
    let stay = known.into_iter().filter(stays);
    stay.chain(declared.iter().cloned()).collect()
}

type Judged = Result<(Desk, Vec<Declared>, Vec<Change>), Vec<Problem>>;

impl Desk {
    fn judge(mut self) -> Judged {
        let wanted = std::mem::take(&mut self.wanted);
        let ground = Ground {
            types: &self.types,
            old: &self.old,
            new: &self.new,
            limits: self.limits,
            now: self.now,
            patience: Instant::now() + PATIENCE,
        };
        let (mut schedules, mut others, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        for (place, schedule) in wanted {
            let known = self.standing.get(&schedule.name);
            match ground.compare(&place, schedule, known) {
                Ok(declared) => schedules.push(declared),
                Err(wrong) => problems.extend(wrong),
            }
        }
        for view in &self.others {
            match self.prune {
                true => others.push(ground.deleted(view)),
                false => match ground.moved(view) {
                    Ok(change) => others.push(change),
                    Err(problem) => problems.push(problem),
                },
            }
        }
        match problems.is_empty() {
            true => Ok((self, schedules, others)),
            false => Err(problems),
        }
    }
}
