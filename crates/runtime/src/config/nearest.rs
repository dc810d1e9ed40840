//! Finds what somebody meant who wrote a key that does not exist.

/// The known key that is the fewest edits away. One that was given values below it, or was written without its
/// section, is near as well.
pub(super) fn nearest<'a>(wrong: &str, known: &'a [String]) -> Option<&'a str> {
    let cost = |key: &&String| match key.rsplit_once('.') {
        _ if wrong
            .strip_prefix(key.as_str())
            .is_some_and(|below| below.starts_with('.')) =>
        {
            0
        }
        Some((_, bare)) if !wrong.contains('.') => distance(wrong, key).min(distance(wrong, bare) + 1),
        _ => distance(wrong, key),
    };
    known.iter().min_by_key(cost).map(String::as_str)
}

/// The Levenshtein distance in bytes: insertions, deletions and replacements.
fn distance(one: &str, two: &str) -> usize {
    let two = two.as_bytes();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (nth, byte) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], nth + 1);
        for at in 0..two.len() {
            let replaced = diagonal + usize::from(byte != two[at]);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[two.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_levenshteins() {
        for (one, two, edits) in [
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("url", "url", 0),
            ("a", "", 1),
        ] {
            assert_eq!(distance(one, two), edits, "{one} {two}");
        }
    }

    #[test]
    fn the_meant_key_is_found() {
        let known = ["nats.url", "redis.url", "executor.lease", "log.level"].map(String::from);
        for (wrong, meant) in [
            ("nats.urls", "nats.url"),
            ("lease", "executor.lease"),
            ("loglevel", "log.level"),
        ] {
            assert_eq!(nearest(wrong, &known), Some(meant));
        }
    }
}
