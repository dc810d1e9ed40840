//! Times and texts as people say them.

use domain::Millis;
use telemetry::mask_secrets;

use crate::time::Instant;

/// Characters of an error that fit into a sentence.
const ERROR_CHARS: usize = 300;

/// A span of time in two units at most: `350 ms`, `12 s`, `5 min 3 s`, `2 h 5 min`, `3 d 4 h`.
pub(super) fn span(ms: Millis) -> String {
    let ms = ms.max(0);
    let (seconds, minutes, hours) = (ms / 1_000, ms / 60_000, ms / 3_600_000);
    let two = |large: i64, unit: &str, small: i64, part: &str| match small {
        0 => format!("{large} {unit}"),
        _ => format!("{large} {unit} {small} {part}"),
    };
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..120_000 => format!("{seconds} s"),
        120_000..7_200_000 => two(minutes, "min", seconds % 60, "s"),
        7_200_000..172_800_000 => two(hours, "h", minutes % 60, "min"),
        _ => two(hours / 24, "d", hours % 24, "h"),
    }
}

/// An instant, or `never`.
pub(super) fn instant(at: Millis) -> String {
    Instant::some(at).map_or_else(|| "never".into(), |at| at.to_string())
}

/// The first line of an error, cut and without its secrets.
pub(super) fn error(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let masked = mask_secrets(line);
    let mut cut: String = masked.chars().take(ERROR_CHARS).collect();
    if masked.chars().count() > ERROR_CHARS {
        cut.push('…');
    }
    cut
}

/// `3 tasks`, `1 task`.
pub(super) fn count(number: u64, one: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {one}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_two_units_at_most() {
        for (ms, text) in [
            (-5, "0 ms"),
            (350, "350 ms"),
            (119_999, "119 s"),
            (120_000, "2 min"),
            (303_000, "5 min 3 s"),
            (7_500_000, "2 h 5 min"),
            (273_600_000, "3 d 4 h"),
        ] {
            assert_eq!(span(ms), text);
        }
    }

    #[test]
    fn an_error_is_one_line_without_secrets() {
        assert_eq!(error("refused: token=abc\nmore"), "refused: token=***");
        assert_eq!(error(&"x".repeat(500)).chars().count(), 301);
    }
}
