//! What the task is told that makes a batch of a fire: where its rows come from, with everything filled in.

use crate::fields::Fields;
use crate::object::Object;
use crate::{FanOut, Moment, Problem, Template};

/// The payload of such a task: `{"fan_out": {…}, "payload": …}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The section of the schedule; its path or address is what it is, no template.
    pub fan_out: FanOut,
    /// The text of the JSON that the handler gets which gives the rows.
    pub payload: Option<String>,
}

impl Order {
    /// The order of one fire.
    pub(crate) fn of(fan_out: &FanOut, moment: &Moment<'_>, payload: Option<String>) -> Self {
        Self {
            fan_out: fan_out.filled(moment),
            payload,
        }
    }

    /// Reads an order.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let mut fields = Fields::read("", text)
            .map_err(|problem| vec![Problem::new("payload", problem.reason, problem.remedy)])?;
        let payload = fields.raw("payload").map(str::to_owned);
        let section = fields.raw("fan_out");
        if section.is_none() {
            fields.fault("fan_out", "is missing", "say where the rows come from");
        }
        let read = section.map(|raw| FanOut::read(raw, |text| Ok(Template::literal(text))));
        let mut problems = fields.finish();
        match read {
            Some(Ok(fan_out)) if problems.is_empty() => return Ok(Self { fan_out, payload }),
            Some(Ok(_)) | None => {}
            Some(Err(more)) => problems.extend(more),
        }
        Err(problems)
    }

    /// As it stands in the payload.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut object = Object::default();
        object.raw("fan_out", &self.fan_out.to_json());
        if let Some(payload) = &self.payload {
            object.raw("payload", payload);
        }
        object.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use calendar::Zone;

    #[test]
    fn an_order_reads_back_as_it_was_filled_in() {
        let text = r#"{"source":"file","path":"/in/{{{{x/{{planned_date}}.csv","each":"a"}"#;
        let fan_out = FanOut::read(text, Template::parse).unwrap();
        let zone = Zone::named("UTC").unwrap();
        let moment = Moment {
            schedule: "s",
            zone: &zone,
            planned_at: 1_772_953_200_000,
            fired_at: 1_772_953_200_000,
        };
        let order = Order::of(&fan_out, &moment, Some(r#"{"n":1.10}"#.into()));
        let again = Order::parse(&order.to_json()).unwrap();
        assert_eq!(again, order);
        assert_eq!(again.payload.as_deref(), Some(r#"{"n":1.10}"#));
        let Source::File { path, .. } = again.fan_out.source else {
            panic!("another source")
        };
        assert_eq!(path.text(), "/in/{{x/2026-03-08.csv");
    }

    #[test]
    fn what_is_no_order_is_told_field_by_field() {
        for (text, field) in [
            ("", "payload"),
            ("{}", "fan_out"),
            (r#"{"fan_out":{"source":"handler","each":"a"}}"#, "fan_out.type"),
            (
                r#"{"fan_out":{"source":"handler","type":"l","each":"a"},"x":1}"#,
                "x",
            ),
        ] {
            assert_eq!(Order::parse(text).unwrap_err()[0].field, field, "{text}");
        }
    }
}
