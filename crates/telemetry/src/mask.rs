//! Hides secrets in texts that go into logs. It reads no grammar, since what it sees is often cut or escaped: after
//! a telling name and `:` or `=`, the value goes; so does the password in an address.

use std::borrow::Cow;

/// What stands in the place of a secret.
const MASK: &str = "***";
/// Characters of a summary.
const SUMMARY_CHARS: usize = 200;
/// Bytes read for a summary: enough for 200 characters, and for a value that hides none of them.
const SUMMARY_BYTES: usize = 2_048;
/// A name that holds one of these, `-` and `_` aside, names a secret.
const TELLING: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "authorization",
    "privatekey",
    "cookie",
];

/// The text without its secrets: the values of `password`, `token`, `secret`, `authorization`, `api_key` and their
/// like, in JSON (also escaped or cut), in forms and in headers, and the passwords in addresses.
#[must_use]
pub fn mask_secrets(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some((from, to)) = next_secret(text, at) {
        out.push_str(&text[kept..from]);
        out.push_str(MASK);
        (kept, at) = (to, to);
    }
    if kept == 0 && out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

/// The first 200 characters of opaque bytes, secrets masked, invalid UTF-8 replaced.
#[must_use]
pub fn summary(bytes: &[u8]) -> String {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(SUMMARY_BYTES)]);
    mask_secrets(&head).chars().take(SUMMARY_CHARS).collect()
}

/// Where the next secret from `at` on begins and ends.
fn next_secret(text: &str, mut at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    while at < bytes.len() {
        if is_name(bytes[at]) {
            let end = at + count(&bytes[at..], is_name);
            // Few words name a value, and only those are worth a closer look.
            let from = value_start(bytes, end).filter(|_| telling(&text[at..end]));
            if let Some(found) = from.and_then(|from| value(text, from)) {
                return Some(found);
            }
            at = end;
        } else if bytes[at..].starts_with(b"://") {
            if let Some(found) = address_password(text, at + 3) {
                return Some(found);
            }
            at += 3;
        } else {
            at += 1;
        }
    }
    None
}

/// Where the value begins of a name that ends at `at`; none where none follows.
fn value_start(bytes: &[u8], at: usize) -> Option<usize> {
    let at = at + count(&bytes[at..], |byte| matches!(byte, b'\\' | b'"' | b'\'' | b' '));
    let after = bytes
        .get(at)
        .filter(|byte| matches!(byte, b':' | b'='))
        .map(|_| at + 1)?;
    Some(after + count(&bytes[after..], |byte| byte.is_ascii_whitespace()))
}

/// The value that begins at `at`, without its quotes; none where it is empty or masked already.
fn value(text: &str, mut at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let slashes = count(&bytes[at..], |byte| byte == b'\\');
    let quote = *bytes.get(at + slashes)?;
    let end = match quote {
        b'"' | b'\'' => {
            at += slashes + 1;
            quoted_end(bytes, at, quote, slashes)
        }
        b'{' | b'[' => nested_end(bytes, at),
        _ => at + bare_length(&text[at..]),
    };
    (end > at && &text[at..end] != MASK).then_some((at, end))
}

/// Length of a value without quotes: up to a space or a separator. After the word of an HTTP scheme it goes on to
/// the line's end, since what follows is the credential.
fn bare_length(text: &str) -> usize {
    const SCHEMES: [&str; 4] = ["bearer ", "basic ", "digest ", "negotiate "];
    let scheme = |word: &&str| {
        text.get(..word.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(word))
    };
    if SCHEMES.iter().any(scheme) {
        return count(text.as_bytes(), |byte| !matches!(byte, b'\r' | b'\n' | b'"'));
    }
    let ends =
        |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b'&' | b'}' | b']' | b';' | b'"');
    count(text.as_bytes(), |byte| !ends(byte))
}

/// The end of a string whose quotes follow `slashes` backslashes: 0 in plain JSON, 1 in JSON within a string of
/// JSON, then 3. The text's end if it is cut.
fn quoted_end(bytes: &[u8], from: usize, quote: u8, slashes: usize) -> usize {
    let mut at = from;
    while at < bytes.len() {
        let run = count(&bytes[at..], |byte| byte == b'\\');
        // Further pairs of backslashes, escaped as often as the quote is, belong to the value.
        let closes = run < slashes || run % (2 * (slashes + 1)) == slashes;
        match bytes.get(at + run) {
            Some(byte) if *byte == quote && closes => return at + run.saturating_sub(slashes),
            Some(_) => at += run + 1,
            None => break,
        }
    }
    bytes.len()
}

/// The end of an object or a list; the text's end if cut.
fn nested_end(bytes: &[u8], from: usize) -> usize {
    let mut depth = 0usize;
    for (at, byte) in bytes.iter().enumerate().skip(from) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => return at + 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    bytes.len()
}

/// The password in `user:password@host`, where the part begins at `at`.
fn address_password(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = &text[at..];
    let authority = rest.find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '?' | '#'));
    let authority = &rest[..authority.unwrap_or(rest.len())];
    let userinfo = &authority[..authority.rfind('@')?];
    let colon = userinfo.find(':')?;
    let (from, to) = (at + colon + 1, at + userinfo.len());
    (to > from && &text[from..to] != MASK).then_some((from, to))
}

fn telling(name: &str) -> bool {
    // The shortest telling name; most words end here.
    name.len() >= 5
        && (0..name.len()).any(|at| TELLING.iter().any(|word| begins(&name.as_bytes()[at..], word)))
}

/// Whether the name goes on with this word, `-`, `_` and case aside.
fn begins(name: &[u8], word: &str) -> bool {
    let mut letters = name.iter().filter(|byte| byte.is_ascii_alphanumeric());
    word.bytes().all(|wanted| {
        letters
            .next()
            .is_some_and(|byte| byte.to_ascii_lowercase() == wanted)
    })
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn count(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| wanted(**byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_and_the_rest_stays() {
        for (text, expected) in [
            (r#"{"password":"hunter2","n":1}"#, r#"{"password":"***","n":1}"#),
            (
                r#"{"API_KEY" : "a\"b\\", "x":"y"}"#,
                r#"{"API_KEY" : "***", "x":"y"}"#,
            ),
            (r#"{"token":12345,"n":[1]}"#, r#"{"token":***,"n":[1]}"#),
            (r#"{"secret":{"a":["b"]},"n":1}"#, r#"{"secret":***,"n":1}"#),
            (r#"{"db_password":"hunter2 and mo"#, r#"{"db_password":"***"#),
            (
                r#""{\"token\":\"abc\",\"n\":1}""#,
                r#""{\"token\":\"***\",\"n\":1}""#,
            ),
            ("user=ann&access_token=abc&n=1", "user=ann&access_token=***&n=1"),
            (
                "Authorization: Bearer abc.def\r\nHost: x",
                "Authorization: ***\r\nHost: x",
            ),
            (
                "redis://ann:pa:ss@host:6379/0 and on",
                "redis://ann:***@host:6379/0 and on",
            ),
            ("nats://:pw@h,nats://u:pw2@i", "nats://:***@h,nats://u:***@i"),
        ] {
            assert_eq!(mask_secrets(text), expected);
            assert_eq!(mask_secrets(expected), expected, "twice");
        }
    }

    #[test]
    fn what_is_no_secret_is_borrowed() {
        for text in [
            "",
            r#"{"room":1,"note":"the token of love"}"#,
            "http://host:80/a@b",
            "夜警 \u{0} {\"k\":\"v\"}",
        ] {
            assert!(
                matches!(mask_secrets(text), Cow::Borrowed(same) if same == text),
                "{text}"
            );
        }
    }

    #[test]
    fn a_summary_is_short_and_masked_to_its_end() {
        let long = format!(
            r#"{{"a":"{}","token":"{}"}}"#,
            "夜".repeat(180),
            "s3cr3t".repeat(1_000)
        );
        let text = summary(long.as_bytes());
        assert!(
            text.chars().count() <= 200 && text.contains("***") && !text.contains("s3cr3t"),
            "{text}"
        );
        assert_eq!(summary(&[b'a', 0xff]), "a\u{fffd}");
    }
}
