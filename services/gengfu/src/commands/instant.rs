//! Instants as an operator writes them.

use calendar::Timestamp;

/// Reads an instant with an offset, or a day, which is meant to begin in UTC.
pub(crate) fn parse(text: &str) -> Result<Timestamp, String> {
    let read = match text.len() {
        10 => format!("{text}T00:00:00Z").parse(),
        _ => text.parse(),
    };
    read.map_err(|_| {
        "write 2026-03-01T09:00:00Z, 2026-03-01T09:00:00+08:00 or 2026-03-01, which begins in UTC".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_begin_in_utc_and_instants_have_an_offset() {
        for (text, read) in [
            ("2026-03-01", Some("2026-03-01T00:00:00Z")),
            ("2026-03-01T09:00:00+08:00", Some("2026-03-01T01:00:00Z")),
            ("2026-03-01T09:00:00", None),
            ("2026-02-30", None),
            ("yesterday!", None),
        ] {
            assert_eq!(
                parse(text).ok().map(|at| at.to_string()).as_deref(),
                read,
                "{text}"
            );
        }
    }
}
