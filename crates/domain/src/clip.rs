//! Short forms of long texts: summaries, and errors with their middle cut out.

/// Characters of a summary.
const SUMMARY_CHARS: usize = 200;
/// Bytes kept of an error's start and of its end.
const ERROR_END_BYTES: usize = 4 * 1024;

/// The first 200 characters of opaque bytes, invalid UTF-8 replaced.
#[must_use]
pub fn summary(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(SUMMARY_CHARS * 4)];
    String::from_utf8_lossy(head)
        .chars()
        .take(SUMMARY_CHARS)
        .collect()
}

/// The first and last 4 KiB of an error text; what was cut is counted between them.
#[must_use]
pub fn clip_error(text: &str) -> String {
    if text.len() <= 2 * ERROR_END_BYTES {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(ERROR_END_BYTES);
    let tail = text.ceil_char_boundary(text.len() - ERROR_END_BYTES);
    format!(
        "{}\n… {} bytes cut …\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_error_keeps_both_ends_and_no_half_character() {
        let text = format!("start{}end", "🌙".repeat(50_000));
        let clipped = clip_error(&text);
        assert!(clipped.starts_with("start") && clipped.ends_with("end") && clipped.contains("bytes cut"));
        assert!(clipped.len() < 9_000);
        assert_eq!(clip_error("short"), "short");
    }

    #[test]
    fn a_summary_counts_characters() {
        assert_eq!(summary("夜".repeat(500).as_bytes()).chars().count(), 200);
        assert_eq!(summary(&[0xff, b'a']), "\u{fffd}a");
    }
}
