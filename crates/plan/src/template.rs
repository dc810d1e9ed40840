//! Texts with places that a fire fills in: `{"day": "{{planned_date}}"}`.
//!
//! The rest of the text stays byte for byte. In JSON two opening braces in a row stand only inside a string, and what
//! is filled in needs no escape there, so the text is never read as JSON.

use std::fmt;
use std::ops::Range;

use calendar::{Timestamp, Zone};
use domain::Millis;

use crate::fields::shown;

/// What a place can be filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Schedule,
    Zone,
    PlannedAt,
    PlannedAtUtc,
    PlannedAtMs,
    PlannedDate,
    PlannedTime,
    FiredAt,
    FiredAtUtc,
    /// Two braces, written as four.
    Braces,
}

/// Every name that may stand between the braces.
const PLACES: [(&str, Place); 9] = [
    ("planned_at", Place::PlannedAt),
    ("planned_at_utc", Place::PlannedAtUtc),
    ("planned_at_ms", Place::PlannedAtMs),
    ("planned_date", Place::PlannedDate),
    ("planned_time", Place::PlannedTime),
    ("fired_at", Place::FiredAt),
    ("fired_at_utc", Place::FiredAtUtc),
    ("schedule", Place::Schedule),
    ("zone", Place::Zone),
];

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unknown(String);

impl Unknown {
    pub(crate) fn reason(&self) -> String {
        format!("holds {{{{{}}}}}, which nothing fills in", self.0)
    }

    pub(crate) fn remedy() -> String {
        let names: Vec<_> = PLACES.iter().map(|(name, _)| *name).collect();
        format!(
            "use {}; write {{{{{{{{ where two braces are meant",
            names.join(", ")
        )
    }
}

/// What a fire knows of itself.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// The schedule's name.
    pub schedule: &'a str,
    /// Its zone.
    pub zone: &'a Zone,
    /// The planned instant.
    pub planned_at: Millis,
    /// The instant at which it fires.
    pub fired_at: Millis,
}

/// A text with places to fill in. Two are equal where their texts are.
#[derive(Debug, Clone)]
pub struct Template {
    text: Box<str>,
    places: Vec<(Range<usize>, Place)>,
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Template {}

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self, Unknown> {
        let mut places = Vec::new();
        let mut at = 0;
        while let Some(start) = text[at..].find("{{").map(|found| at + found) {
            let inside = &text[start + 2..];
            if inside.starts_with("{{") {
                places.push((start..start + 4, Place::Braces));
                at = start + 4;
                continue;
            }
            let name = inside.split("}}").next().unwrap_or_default();
            let known = PLACES.iter().find(|(known, _)| *known == name.trim());
            match known {
                Some((_, place)) if inside[name.len()..].starts_with("}}") => {
                    at = start + 2 + name.len() + 2;
                    places.push((start..at, *place));
                }
                _ => return Err(Unknown(shown(name.trim()).to_owned())),
            }
        }
        Ok(Self {
            text: text.into(),
            places,
        })
    }

    /// A text in which nothing is filled in, whatever it holds.
    pub(crate) fn literal(text: &str) -> Self {
        Self {
            text: text.into(),
            places: Vec::new(),
        }
    }

    /// The same with every place filled in.
    pub(crate) fn filled(&self, moment: &Moment<'_>) -> Self {
        Self::literal(&self.render(moment))
    }

    /// The text as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text with every place filled in.
    #[must_use]
    pub fn render(&self, moment: &Moment<'_>) -> String {
        let mut rendered = String::with_capacity(self.text.len());
        let mut at = 0;
        for (range, place) in &self.places {
            rendered.push_str(&self.text[at..range.start]);
            rendered.push_str(&place.value(moment));
            at = range.end;
        }
        rendered.push_str(&self.text[at..]);
        rendered
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Place {
    fn value(self, moment: &Moment<'_>) -> String {
        let (planned, fired) = (whole_second(moment.planned_at), whole_second(moment.fired_at));
        let local = |at: Timestamp| moment.zone.show(at);
        match self {
            Self::Schedule => moment.schedule.to_owned(),
            Self::Zone => moment.zone.name().to_owned(),
            Self::PlannedAt => local(planned),
            Self::PlannedAtUtc => planned.to_string(),
            Self::PlannedAtMs => planned.as_millisecond().to_string(),
            Self::PlannedDate => local(planned).split('T').next().unwrap_or_default().to_owned(),
            Self::PlannedTime => {
                let time = local(planned).split('T').nth(1).unwrap_or_default().to_owned();
                time[..time.floor_char_boundary("09:00:00".len())].to_owned()
            }
            Self::FiredAt => local(fired),
            Self::FiredAtUtc => fired.to_string(),
            Self::Braces => "{{".to_owned(),
        }
    }
}

/// Instants are shown in whole seconds.
fn whole_second(at: Millis) -> Timestamp {
    Timestamp::from_second(at.div_euclid(1_000)).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str) -> String {
        let zone = Zone::named("America/New_York").unwrap();
        let planned = "2026-03-08T07:00:00Z".parse::<Timestamp>().unwrap();
        let moment = Moment {
            schedule: "room-report",
            zone: &zone,
            planned_at: planned.as_millisecond(),
            fired_at: planned.as_millisecond() + 1_999,
        };
        Template::parse(text).unwrap().render(&moment)
    }

    #[test]
    fn every_place_is_filled_in() {
        for (name, value) in [
            ("planned_at", "2026-03-08T03:00:00-04:00"),
            ("planned_at_utc", "2026-03-08T07:00:00Z"),
            ("planned_at_ms", "1772953200000"),
            ("planned_date", "2026-03-08"),
            ("planned_time", "03:00:00"),
            ("fired_at", "2026-03-08T03:00:01-04:00"),
            ("fired_at_utc", "2026-03-08T07:00:01Z"),
            ("schedule", "room-report"),
            ("zone", "America/New_York"),
        ] {
            assert_eq!(
                rendered(&format!(r#"{{"a": "x{{{{{name}}}}}y"}}"#)),
                format!(r#"{{"a": "x{value}y"}}"#)
            );
        }
    }

    #[test]
    fn the_rest_stays_byte_for_byte() {
        let text = r#"{ "n":1.10,"big":18446744073709551616, "e":1E400,"deep":{"a":{}},"夜":"\u00e9 }} {" }"#;
        assert_eq!(rendered(text), text);
        assert_eq!(
            rendered(r#"["{{ schedule }}{{schedule}}", "{{{{schedule}}"]"#),
            r#"["room-reportroom-report", "{{schedule}}"]"#
        );
        // A brace that JSON escapes is none of ours.
        assert_eq!(rendered(r#""\u007b\u007bname}}""#), r#""\u007b\u007bname}}""#);
    }

    #[test]
    fn what_nothing_fills_in_is_refused_by_name() {
        for (text, name) in [
            ("{{planed_at}}", "planed_at"),
            ("{{}}", ""),
            ("{{planned_at", "planned_at"),
            ("{{{planned_at}}}", "{planned_at"),
            (r#"{"a": "{{ x", "b": {"c": {}}}"#, r#"x", "b": {"c": {"#),
        ] {
            let error = Template::parse(text).unwrap_err();
            assert_eq!(error, Unknown(name.into()), "{text}");
            assert!(error.reason().contains(name) && Unknown::remedy().contains("planned_at,"));
        }
    }
}
