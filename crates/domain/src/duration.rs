//! Durations as people write them: `500ms`, `30s`, `5m`, `2h`, `7d`.

/// Milliseconds of a duration such as `30s`.
///
/// # Errors
/// A sentence that names the text and shows a right one.
pub fn parse_ms(text: &str) -> Result<i64, String> {
    let refuse = || format!("{text:?} is no duration; write 500ms, 30s, 5m, 2h or 7d");
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(refuse)?;
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(refuse()),
    };
    number
        .parse::<i64>()
        .ok()
        .and_then(|number| number.checked_mul(scale))
        .ok_or_else(refuse)
}

/// The shortest way to write these milliseconds.
#[must_use]
pub fn format_ms(ms: i64) -> String {
    for (unit, scale) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)] {
        if ms != 0 && ms % scale == 0 {
            return format!("{}{unit}", ms / scale);
        }
    }
    format!("{ms}ms")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_back_as_written() {
        for text in ["500ms", "30s", "5m", "2h", "7d"] {
            assert_eq!(format_ms(parse_ms(text).unwrap()), text);
        }
        for text in ["", "5", "m", "5 m", "-5s", "1w", "99999999999999999d"] {
            assert!(parse_ms(text).is_err(), "{text}");
        }
    }
}
