//! Definitions of schedules: read, checked against types and calendars, and compared with what stands.

use std::{collections::HashSet, time::Instant};

use admission::{Limits, Problem, Submission, TypeTable, check};
use bytes::Bytes;
use domain::{Millis, Tier};
use plan::{Plan, Schedule};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use store::ScheduleView;
use utoipa::ToSchema;

use crate::{
    schedules::{calendars::Calendars, fan_out},
    time,
    types::declare::{Change, FieldChange, Outcome, changed_fields},
};

/// The fires of a definition that goes, comes or stays.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct SideJson {
    count: u64,
    /// The first few.
    #[schema(value_type = Vec<String>)]
    first: Vec<time::Instant>,
}

/// Which of the coming fires change.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = Fires)]
pub(crate) struct FiresJson {
    /// Only of the old definition.
    go: SideJson,
    /// Only of the new one.
    come: SideJson,
    /// Of both.
    stay: SideJson,
    /// How far was looked: 30 days, less where there are very many fires.
    #[schema(value_type = String)]
    until: time::Instant,
}

impl FiresJson {
    /// Compares two definitions from now on.
    pub(crate) fn of(old: Option<&Plan>, new: Option<&Plan>, fires: u64, now: Millis) -> Self {
        let diff = plan::diff(old, new, fires, now, plan::DIFF_DAYS);
        let side = |side: plan::Side| SideJson {
            count: side.count,
            first: side.first.into_iter().map(time::Instant::of).collect(),
        };
        Self {
            go: side(diff.go),
            come: side(diff.come),
            stay: side(diff.stay),
            until: time::Instant::of(diff.until),
        }
    }
}

/// A schedule that is declared.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) plan: Plan,
    /// Its canonical form, as the store keeps it.
    pub(crate) spec: Bytes,
    pub(crate) change: Change,
}

/// What definitions are held against.
pub(crate) struct Ground<'g> {
    /// The types that stand and those of the same request.
    pub(crate) types: &'g TypeTable,
    /// The calendars that stand.
    pub(crate) old: &'g Calendars,
    /// Those, and the ones of the same request.
    pub(crate) new: &'g Calendars,
    pub(crate) limits: Limits,
    /// The store's clock.
    pub(crate) now: Millis,
    /// From here on fires are no longer compared.
    pub(crate) patience: Instant,
}

/// ` (name)` of a definition that may be wrong otherwise.
pub(crate) fn named(text: &str) -> String {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let name = value["name"].as_str().filter(|name| !name.is_empty());
    name.map_or_else(String::new, |name| {
        format!(" ({})", name.chars().take(100).collect::<String>())
    })
}

/// Reads definitions, each with its place for what may be wrong with it.
pub(crate) fn read(definitions: &[&RawValue], problems: &mut Vec<Problem>) -> Vec<(String, Schedule)> {
    let mut names = HashSet::new();
    let mut read = Vec::new();
    for (index, raw) in definitions.iter().enumerate() {
        let place = format!("schedules[{index}]{}", named(raw.get()));
        match Schedule::parse(raw.get()) {
            Ok(schedule) if !names.insert(schedule.name.clone()) => {
                problems.push(Problem::new(place, "is declared twice", "keep one of them"));
            }
            Ok(schedule) => read.push((place, schedule)),
            Err(wrong) => problems.extend(wrong.into_iter().map(|problem| at(&place, problem))),
        }
    }
    read
}

fn at(place: &str, problem: plan::Problem) -> Problem {
    Problem::new(
        format!("{place}.{}", problem.field),
        problem.reason,
        problem.remedy,
    )
}

impl Ground<'_> {
    /// Checks a definition whole, and says what it changes.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub(crate) fn compare(
        &self,
        place: &str,
        schedule: Schedule,
        standing: Option<&ScheduleView>,
    ) -> Result<Declared, Vec<Problem>> {
        let spec = Bytes::from(schedule.to_json());
        let plan = schedule
            .plan(|name| self.new.get(name).cloned())
            .map_err(|problem| vec![at(place, problem)])?;
        let same = standing.filter(|known| known.spec == spec);
        if same.is_none() {
            let problems = self.faults(place, &plan, standing);
            if !problems.is_empty() {
                return Err(problems);
            }
        }
        let change = self.change(&plan, &spec, standing, same.is_some());
        Ok(Declared { plan, spec, change })
    }

    /// What keeps a new definition from ever firing a task that runs.
    fn faults(&self, place: &str, plan: &Plan, standing: Option<&ScheduleView>) -> Vec<Problem> {
        let schedule = plan.schedule();
        let Some(next) = plan.next_after(self.now) else {
            let field = format!("{place}.{}", rule(schedule));
            let reason = "never fires again";
            let remedy = "give an instant that is still to come, a later end, or take the schedule out";
            return vec![Problem::new(field, reason, remedy)];
        };
        let fires = standing.map_or(0, |known| known.plan.fires);
        if schedule.max_fires.is_some_and(|most| most <= fires) {
            let reason = format!("is not more than the {fires} fires so far, so it never fires again");
            let remedy = "give more, or delete the schedule first: a new one counts from 0";
            return vec![Problem::new(format!("{place}.max_fires"), reason, remedy)];
        }
        let options = &schedule.options;
        let submission = Submission {
            task_type: &schedule.task_type,
            payload: plan.payload(next.planned_at, next.due, None).into(),
            pool: options.pool.as_deref().unwrap_or_default(),
            tier: options.tier.map_or("", Tier::as_str),
            ..Submission::default()
        };
        let wrong = check(submission, self.types, &self.limits)
            .err()
            .unwrap_or_default();
        let own = schedule.payload.as_ref();
        let own = own.map(|own| own.render(&plan.moment(next.planned_at, next.due)));
        let rows = schedule.fan_out.as_ref();
        let rows = rows.map(|rows| fan_out::payload_faults(rows, own.as_deref(), self.types));
        let told = wrong.into_iter().chain(rows.unwrap_or_default()).map(|problem| {
            let field = if problem.field == "task_type" {
                "type"
            } else {
                &problem.field
            };
            Problem::new(format!("{place}.{field}"), problem.reason, problem.remedy)
        });
        told.chain(fan_out::faults(place, plan, self.types)).collect()
    }

    fn change(&self, plan: &Plan, spec: &Bytes, standing: Option<&ScheduleView>, same: bool) -> Change {
        let schedule = plan.schedule();
        let Some(known) = standing else {
            let change = Change::new("schedule", &schedule.name, Outcome::Created, Vec::new());
            return self.told(change, None, plan, 0);
        };
        let mut fields = match same {
            true => Vec::new(),
            false => changed_fields(&plain(&known.spec), &plain(spec)),
        };
        let paused = known.plan.is_paused();
        if let Some(asked) = schedule.paused.filter(|asked| *asked != paused) {
            fields.push(FieldChange::new("paused", paused.into(), asked.into()));
        }
        let moved = self.calendar_moved(schedule);
        if fields.is_empty() && !moved {
            return Change::new("schedule", &schedule.name, Outcome::Unchanged, fields);
        }
        let old = self.standing_plan(known);
        let change = Change::new("schedule", &schedule.name, Outcome::Changed, fields);
        self.told(change, old.as_ref(), plan, known.plan.fires)
    }

    /// What becomes of a schedule that nobody declares any more.
    pub(crate) fn deleted(&self, known: &ScheduleView) -> Change {
        let change = Change::new("schedule", &known.plan.name, Outcome::Deleted, Vec::new());
        let old = self
            .standing_plan(known)
            .filter(|_| Instant::now() < self.patience);
        Change {
            fires: old.map(|old| FiresJson::of(Some(&old), None, known.plan.fires, self.now)),
            ..change
        }
    }

    /// What another calendar makes of a schedule that is not declared itself.
    ///
    /// # Errors
    /// Where it could not fire any more.
    pub(crate) fn moved(&self, known: &ScheduleView) -> Result<Change, Problem> {
        let name = &known.plan.name;
        let text = String::from_utf8_lossy(&known.spec);
        let broken = |problem: plan::Problem| {
            let field = format!("schedule ({name}).{}", problem.field);
            Problem::new(field, problem.reason, problem.remedy)
        };
        let schedule = Schedule::parse(&text).map_err(|wrong| {
            let first = wrong.into_iter().next();
            broken(first.unwrap_or_else(|| plan::Problem::new("spec", "can't be read", "apply it again")))
        })?;
        let new = schedule
            .plan(|name| self.new.get(name).cloned())
            .map_err(broken)?;
        let change = Change::new("schedule", name, Outcome::Changed, Vec::new());
        let old = self.standing_plan(known);
        Ok(self.told(change, old.as_ref(), &new, known.plan.fires))
    }

    /// Whether the days of its calendar are others than those that stand.
    fn calendar_moved(&self, schedule: &Schedule) -> bool {
        let name = schedule.when.calendar.as_ref();
        name.is_some_and(|name| self.old.get(name) != self.new.get(name))
    }

    /// The plan of a schedule as it stands, where it can be read.
    fn standing_plan(&self, known: &ScheduleView) -> Option<Plan> {
        let text = std::str::from_utf8(&known.spec).ok()?;
        let schedule = Schedule::parse(text).ok()?;
        schedule.plan(|name| self.old.get(name).cloned()).ok()
    }

    /// Adds the fires that change, while there is time, and what should be known.
    fn told(&self, change: Change, old: Option<&Plan>, new: &Plan, fires: u64) -> Change {
        let mut warnings = new.warnings().to_vec();
        if let Some(fire) = new.first_uncovered_after(self.now) {
            warnings.push(format!("{}, from {fire} on", fire.marks.words().join("; ")));
        }
        let compared =
            (Instant::now() < self.patience).then(|| FiresJson::of(old, Some(new), fires, self.now));
        Change {
            fires: compared,
            warnings,
            ..change
        }
    }
}

fn plain(spec: &Bytes) -> Value {
    serde_json::from_slice(spec).unwrap_or_default()
}

/// The field that says when.
fn rule(schedule: &Schedule) -> &'static str {
    let when = &schedule.when;
    match (&when.cron, &when.every) {
        (Some(_), _) => "cron",
        (None, Some(_)) => "every",
        (None, None) => "at",
    }
}
