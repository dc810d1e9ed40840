//! The part of a definition that says when: read with a problem for each field, and written in one form.

use calendar::{Dialect, DstGap, DstOverlap, Every, Spec, Timestamp, Timing, Zone, spec};
use domain::valid_type;

use crate::Problem;
use crate::fields::{Fields, shown};
use crate::object::Object;

const RULES: &str = "cron, every, interval and at";

/// Reads the fields, each turned into its canonical form; what is wrong stands in the fields' problems.
pub(crate) fn read(fields: &mut Fields<'_>) -> Spec {
    let before = fields.problems.len();
    let mut spec = Spec {
        dialect: fields.word("dialect", "cron or quartz", dialect),
        zone: zone(fields),
        start: instant(fields, "start"),
        end: instant(fields, "end"),
        ..Spec::default()
    };
    rule(fields, &mut spec);
    let gap = fields.word("dst_gap", "shift or skip", |word| match word {
        "shift" => Some(DstGap::Shift),
        "skip" => Some(DstGap::Skip),
        _ => None,
    });
    let overlap = fields.word("dst_overlap", "first, second or both", |word| match word {
        "first" => Some(DstOverlap::First),
        "second" => Some(DstOverlap::Second),
        "both" => Some(DstOverlap::Both),
        _ => None,
    });
    for (key, given) in [
        ("dialect", spec.dialect.is_some()),
        ("dst_gap", gap.is_some()),
        ("dst_overlap", overlap.is_some()),
    ] {
        if given && spec.cron.is_none() && fields.problems.len() == before {
            fields.fault(key, "means nothing without a cron expression", "take it out");
        }
    }
    spec.dst_gap = gap.unwrap_or_default();
    spec.dst_overlap = overlap.unwrap_or_default();
    let named = fields.text("calendar");
    if fields.problems.len() == before {
        // The parts are right; do they fit together? Which days the calendar takes off is not known here.
        if let Err(error) = spec.timetable(|_| None) {
            fields.problems.push(problem(&error));
        }
    }
    if let Some(name) = named.as_deref().filter(|name| !valid_type(name)) {
        let reason = format!("{:?} is no calendar's name", shown(name));
        fields.fault(
            "calendar",
            reason,
            "use a-z, 0-9, '_', '.', '-', starting with a letter or digit",
        );
    }
    spec.calendar = named;
    spec
}

/// Writes what [`read`] reads.
pub(crate) fn write(spec: &Spec, object: &mut Object) {
    object.maybe_text("cron", spec.cron.as_deref());
    object.maybe_text("every", spec.every.as_deref());
    object.maybe_text("at", spec.at.as_deref());
    object.maybe_text("dialect", spec.dialect.map(dialect_word));
    object.text("zone", &spec.zone);
    object.maybe_text("start", spec.start.as_deref());
    object.maybe_text("end", spec.end.as_deref());
    if spec.cron.is_some() {
        object.text(
            "dst_gap",
            match spec.dst_gap {
                DstGap::Shift => "shift",
                DstGap::Skip => "skip",
            },
        );
        object.text(
            "dst_overlap",
            match spec.dst_overlap {
                DstOverlap::First => "first",
                DstOverlap::Second => "second",
                DstOverlap::Both => "both",
            },
        );
    }
    object.maybe_text("calendar", spec.calendar.as_deref());
}

/// Which field is wrong, and why.
pub(crate) fn problem(error: &spec::Error) -> Problem {
    use calendar::timetable;
    let (field, reason) = match error {
        spec::Error::Cron(source) => ("cron", causes(source)),
        spec::Error::Every(source) => ("every", source.to_string()),
        spec::Error::Zone(source) => ("zone", source.to_string()),
        spec::Error::Timetable(source) => {
            let field = match source {
                timetable::Error::EndsBeforeStart { .. } => "end",
                timetable::Error::OnlyDaysOff { .. } => "calendar",
                _ => "at",
            };
            (field, source.to_string())
        }
        spec::Error::NoInstant { key, .. } => (*key, error.to_string()),
        spec::Error::UnknownCalendar { .. } => ("calendar", error.to_string()),
        _ => ("cron", error.sentence()),
    };
    Problem::new(field, reason, error.hint())
}

/// An error and its causes in one line.
fn causes(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        line.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    line
}

fn dialect(word: &str) -> Option<Dialect> {
    [Dialect::Cron, Dialect::Quartz]
        .into_iter()
        .find(|one| dialect_word(*one) == word)
}

const fn dialect_word(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Cron => "cron",
        Dialect::Quartz => "quartz",
    }
}

fn rule(fields: &mut Fields<'_>, spec: &mut Spec) {
    let (cron, every) = (fields.text("cron"), fields.text("every"));
    let (interval, at) = (fields.text("interval"), instant(fields, "at"));
    let given = [cron.is_some(), every.is_some(), interval.is_some(), at.is_some()];
    match given.into_iter().filter(|given| *given).count() {
        1 => {}
        0 => {
            if fields.problems.is_empty() {
                fields.fault(
                    "cron",
                    format!("is missing, and so is any of {RULES}"),
                    "give one of them",
                );
            }
        }
        _ => fields.fault(
            "cron",
            format!("is given beside another: a schedule has exactly one of {RULES}"),
            "keep the one that is meant",
        ),
    }
    if let Some(text) = cron {
        match Timing::parse(&text, spec.dialect) {
            Ok(Timing::Every(every)) => spec.every = Some(every.to_string()),
            Ok(timing) => spec.cron = Some(timing.to_string()),
            Err(error) => fields.fault("cron", causes(&error), error.hint()),
        }
    }
    for (key, text) in [("every", every), ("interval", interval.clone())] {
        match text.map(|text| Every::parse(&text)) {
            None => {}
            Some(Ok(every)) => spec.every = Some(every.to_string()),
            Some(Err(error)) => fields.fault(key, error.to_string(), error.hint()),
        }
    }
    if interval.is_some() && spec.start.is_none() {
        fields.fault(
            "start",
            "is missing: an interval counts from it",
            "give start, or write every, which counts from 1970-01-01T00:00:00Z",
        );
    }
    spec.at = at;
}

fn zone(fields: &mut Fields<'_>) -> String {
    let text = fields.required(
        "zone",
        "write the IANA name of a place, as in `Asia/Shanghai`, or `UTC`",
    );
    if text.is_empty() {
        return text;
    }
    match Zone::named(&text) {
        Ok(zone) => zone.name().to_owned(),
        Err(error) => {
            fields.fault("zone", error.to_string(), error.hint());
            text
        }
    }
}

/// An instant of whole seconds, as UTC.
fn instant(fields: &mut Fields<'_>, key: &'static str) -> Option<String> {
    let text = fields.text(key)?;
    let read = text
        .trim()
        .parse::<Timestamp>()
        .ok()
        .filter(|at| at.subsec_nanosecond() == 0);
    if read.is_none() {
        let error = spec::Error::NoInstant { key, text };
        fields.fault(key, "is no instant of whole seconds with an offset", error.hint());
    }
    read.map(|at| at.to_string())
}
