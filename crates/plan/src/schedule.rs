//! The definition of a schedule, as it stands in YAML and in the API, and its canonical form.

use calendar::Spec;
use domain::{FAN_OUT, Overlap, Tier, valid_pool, valid_type};

use crate::fields::{Fields, shown};
use crate::object::Object;
use crate::template::Unknown;
use crate::{FanOut, Misfire, Problem, Template, timing};

/// The longest definition, in bytes of JSON.
pub const DEFINITION_BYTES: usize = 4 * 1024 * 1024;
/// Most tasks that may wait for an earlier one.
const QUEUE_MAX: u64 = 255;
/// The longest spread: a day, in milliseconds.
const SPREAD_MS: i64 = 86_400_000;
const YEAR_MS: i64 = 366 * 86_400_000;

/// What a fire's task takes over from the schedule, where it differs from its type.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskOptions {
    /// The tier.
    pub tier: Option<Tier>,
    /// The pool.
    pub pool: Option<String>,
    /// Retries that a task may spend.
    pub max_retry: Option<u16>,
    /// Milliseconds that a run may take.
    pub run_timeout_ms: Option<i64>,
    /// Milliseconds after which a start is refused.
    pub expire_after_ms: Option<i64>,
}

/// A schedule, checked; whether its calendar and its types exist is not known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// `[a-z0-9][a-z0-9_.-]*`, at most 100 characters.
    pub name: String,
    /// The type of its tasks.
    pub task_type: String,
    /// Its instants, each part in its canonical form.
    pub when: Spec,
    /// Fires after which it ends.
    pub max_fires: Option<u64>,
    /// Fires are delayed by less than this, each schedule by its own time. Milliseconds.
    pub spread_ms: i64,
    /// What becomes of instants that nobody fired in time.
    pub misfire: Misfire,
    /// What it does where an earlier task of it still lives.
    pub overlap: Overlap,
    /// Most tasks that wait for an earlier one, under [`Overlap::Queue`].
    pub queue_max: u16,
    /// JSON with places that a fire fills in; none: an empty payload.
    pub payload: Option<Template>,
    /// Where a fire is a batch: its rows.
    pub fan_out: Option<FanOut>,
    /// What its tasks don't take from their type.
    pub options: TaskOptions,
    /// Whether applying it pauses or resumes it; none leaves it as it is. An act and no part of the canonical form.
    pub paused: Option<bool>,
}

impl Schedule {
    /// Reads a definition out of the text of a JSON object. The payload's text stays byte for byte.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        if text.len() > DEFINITION_BYTES {
            let reason = format!("has {} bytes, more than {DEFINITION_BYTES}", text.len());
            return Err(vec![Problem::new("schedule", reason, "shorten its payload")]);
        }
        let mut fields = Fields::read("", text).map_err(|problem| vec![problem])?;
        let name = name(&mut fields);
        let own = own_type(&mut fields);
        let when = timing::read(&mut fields);
        let fan_out = fan_out(&mut fields);
        let (overlap, queue_max) = overlap(&mut fields);
        let schedule = Self {
            name,
            task_type: task_type(&mut fields, own, fan_out.as_ref()),
            when,
            max_fires: fields.number("max_fires", 1..=u64::MAX >> 12),
            spread_ms: fields.duration("spread", 0..=SPREAD_MS).unwrap_or(0),
            misfire: misfire(&mut fields),
            overlap,
            queue_max,
            payload: payload(&mut fields, fan_out.as_ref()),
            fan_out,
            options: options(&mut fields),
            paused: fields.switch("paused"),
        };
        match fields.finish() {
            problems if problems.is_empty() => Ok(schedule),
            problems => Err(problems),
        }
    }

    /// The canonical form: two definitions that mean the same have the same bytes, in every version. Reads back as the
    /// same schedule, but for `paused`.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut object = Object::default();
        object.text("name", &self.name);
        object.text("type", &self.task_type);
        timing::write(&self.when, &mut object);
        object.maybe_number("max_fires", self.max_fires);
        object.maybe_duration("spread", Some(self.spread_ms).filter(|ms| *ms > 0));
        object.raw("misfire", &self.misfire.to_json());
        object.text("overlap", self.overlap.as_str());
        if self.overlap == Overlap::Queue {
            object.raw("queue_max", &self.queue_max.to_string());
        }
        if let Some(payload) = &self.payload {
            object.raw("payload", payload.text());
        }
        if let Some(fan_out) = &self.fan_out {
            object.raw("fan_out", &fan_out.to_json());
        }
        let options = &self.options;
        object.maybe_text("tier", options.tier.map(Tier::as_str));
        object.maybe_text("pool", options.pool.as_deref());
        object.maybe_number("max_retry", options.max_retry.map(u64::from));
        object.maybe_duration("run_timeout", options.run_timeout_ms);
        object.maybe_duration("expire_after", options.expire_after_ms);
        object.finish()
    }
}

fn name(fields: &mut Fields<'_>) -> String {
    let name = fields.required("name", "give the schedule a name");
    if !name.is_empty() && !valid_type(&name) {
        fields.fault(
            "name",
            format!("{:?} is no schedule's name", shown(&name)),
            "use a-z, 0-9, '_', '.', '-', at most 100, starting with a letter or digit",
        );
    }
    name
}

fn own_type(fields: &mut Fields<'_>) -> Option<String> {
    let own = fields.text("type")?;
    if !valid_type(&own) {
        fields.fault(
            "type",
            format!("{:?} is no type's name", shown(&own)),
            "use a-z, 0-9, '_', '.', '-', starting with a letter or digit",
        );
    }
    Some(own)
}

/// The type of the task that stands for a fire; of one that is a batch the built-in one, where no other is named.
fn task_type(fields: &mut Fields<'_>, own: Option<String>, fan_out: Option<&FanOut>) -> String {
    let built_in = || fan_out.map(|_| FAN_OUT.to_owned());
    own.or_else(built_in).unwrap_or_else(|| {
        // A fan-out that could not be read has its own problem.
        let mut faults = fields.problems.iter();
        if faults.all(|problem| !problem.field.starts_with("fan_out")) {
            fields.fault("type", "is missing", "name a declared type");
        }
        String::new()
    })
}

fn fan_out(fields: &mut Fields<'_>) -> Option<FanOut> {
    let raw = fields.raw("fan_out")?;
    match FanOut::read(raw, Template::parse) {
        Ok(fan_out) => Some(fan_out),
        Err(problems) => {
            fields.problems.extend(problems);
            None
        }
    }
}

fn misfire(fields: &mut Fields<'_>) -> Misfire {
    let Some(raw) = fields.raw("misfire") else {
        return Misfire::default();
    };
    Misfire::read(raw).unwrap_or_else(|problems| {
        fields.problems.extend(problems);
        Misfire::default()
    })
}

/// Reads `overlap: queue` with `queue_max: 3` beside it, or `overlap: {policy: queue, queue_max: 3}`.
fn overlap(fields: &mut Fields<'_>) -> (Overlap, u16) {
    const WORDS: &str = "allow, skip, queue or cancel_previous";
    let named = |word: &str| Overlap::ALL.into_iter().find(|one| one.as_str() == word);
    let beside = fields.number("queue_max", 1..=QUEUE_MAX);
    let (overlap, queue_max) = match fields.raw("overlap") {
        None => (None, beside),
        Some(raw) if raw.starts_with('{') => match Fields::read("overlap", raw) {
            Ok(mut inner) => {
                let policy = inner.word("policy", WORDS, named);
                let queue_max = inner.number("queue_max", 1..=QUEUE_MAX);
                fields.problems.extend(inner.finish());
                (policy, queue_max.or(beside))
            }
            Err(problem) => {
                fields.problems.push(problem);
                (None, beside)
            }
        },
        Some(raw) => {
            let policy = serde_json::from_str::<String>(raw)
                .ok()
                .and_then(|word| named(&word));
            if policy.is_none() {
                fields.fault(
                    "overlap",
                    format!("{} is not known", shown(raw)),
                    format!("write {WORDS}"),
                );
            }
            (policy, beside)
        }
    };
    let overlap = overlap.unwrap_or_default();
    if queue_max.is_some() && overlap != Overlap::Queue {
        fields.fault(
            "queue_max",
            "is given without `overlap: queue`",
            "take it out, or write overlap: queue",
        );
    }
    (
        overlap,
        queue_max.and_then(|max| u16::try_from(max).ok()).unwrap_or(1),
    )
}

fn payload(fields: &mut Fields<'_>, fan_out: Option<&FanOut>) -> Option<Template> {
    let raw = fields.raw("payload")?;
    if fan_out.is_some_and(|fan_out| !matches!(fan_out.source, crate::Source::Handler { .. })) {
        fields.fault(
            "payload",
            "has no use here: the rows are the payloads",
            "take it out",
        );
    }
    match Template::parse(raw) {
        Ok(template) => Some(template),
        Err(error) => {
            fields.fault("payload", error.reason(), Unknown::remedy());
            None
        }
    }
}

fn options(fields: &mut Fields<'_>) -> TaskOptions {
    let pool = fields.text("pool");
    if let Some(pool) = pool.as_deref().filter(|pool| !valid_pool(pool)) {
        let reason = format!("{:?} is no pool's name", shown(pool));
        fields.fault(
            "pool",
            reason,
            "use a-z, 0-9, '_', '-', starting with a letter or digit",
        );
    }
    TaskOptions {
        tier: fields.word("tier", "critical, high, normal or low", |word| word.parse().ok()),
        pool,
        max_retry: fields
            .number("max_retry", 0..=u64::from(u16::MAX))
            .and_then(|max| u16::try_from(max).ok()),
        run_timeout_ms: fields.duration("run_timeout", 1..=YEAR_MS),
        expire_after_ms: fields.duration("expire_after", 1..=100 * YEAR_MS),
    }
}

#[cfg(test)]
mod tests;
