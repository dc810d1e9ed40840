//! What an answer means: its body is the result, or its status is the failure.

use std::{collections::BTreeMap, time::Duration};

use bytes::{Bytes, BytesMut};
use domain::ErrorClass;
use handler::{HandlerError, Lines, TaskContext};
use jiff::{Timestamp, fmt::rfc2822};
use reqwest::{
    Response,
    header::{DATE, HeaderMap, HeaderName, RETRY_AFTER},
};

use super::classify;

/// Bytes of a failure's body that become part of the message.
const REASON_BYTES: usize = 2 * 1024;
/// Longest `Retry-After` that is believed.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 3_600);

/// The result of this answer, at most `cap` bytes of it.
pub(super) async fn read(
    mut answer: Response,
    classes: &BTreeMap<u16, ErrorClass>,
    cap: usize,
    ctx: &TaskContext,
) -> Result<Bytes, HandlerError> {
    let status = answer.status();
    let asked = classes.get(&status.as_u16()).copied();
    if status.is_success() && asked.is_none() {
        if let Some(lines) = ctx.lines() {
            let passed = pass_on(&mut answer, lines).await;
            return passed.map_err(|error| classify::no_answer(error, true));
        }
        let (body, whole) = body(&mut answer, cap)
            .await
            .map_err(|error| classify::no_answer(error, true))?;
        if !whole {
            ctx.output().line(&format!(
                "the answer is longer than {cap} bytes; the result is cut there"
            ));
        }
        return Ok(body);
    }
    let class = asked.unwrap_or_else(|| classify::class_of(status.as_u16()));
    let wait = retry_after(answer.headers()).filter(|_| class == ErrorClass::Transient);
    // The status tells enough where the body can't be read.
    let reason = body(&mut answer, REASON_BYTES)
        .await
        .map(|(body, _)| body)
        .unwrap_or_default();
    let reason = String::from_utf8_lossy(&reason);
    let message = match reason.trim() {
        "" => format!("answered {status}"),
        reason => format!("answered {status}: {reason}"),
    };
    let failure = HandlerError::new(class, format!("http_{}", status.as_u16()), message);
    Err(wait.map_or(failure.clone(), |wait| failure.with_retry_after(wait)))
}

/// Hands the body on as rows, however long it is; the result is empty.
async fn pass_on(answer: &mut Response, lines: &Lines) -> reqwest::Result<Bytes> {
    while let Some(chunk) = answer.chunk().await? {
        if !lines.write(&chunk) {
            break;
        }
    }
    Ok(Bytes::new())
}

/// At most `cap` bytes of the body, and whether that is all of it.
async fn body(answer: &mut Response, cap: usize) -> reqwest::Result<(Bytes, bool)> {
    let mut kept = BytesMut::new();
    while let Some(chunk) = answer.chunk().await? {
        let room = cap - kept.len();
        kept.extend_from_slice(&chunk[..room.min(chunk.len())]);
        if chunk.len() > room {
            return Ok((kept.freeze(), false));
        }
    }
    Ok((kept.freeze(), true))
}

/// How long the answer asks to wait: seconds, or a date counted from the answer's own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let until = date(text)?;
            let now = header_date(headers, DATE).unwrap_or_else(Timestamp::now);
            Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO)
        }
    };
    Some(wait.min(RETRY_AFTER_MAX))
}

fn header_date(headers: &HeaderMap, name: HeaderName) -> Option<Timestamp> {
    date(headers.get(name)?.to_str().ok()?)
}

/// An HTTP date in its one current form (RFC 9110), `Sun, 06 Nov 1994 08:49:37 GMT`.
fn date(text: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(pairs: &[(HeaderName, &'static str)]) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(name, value.parse().unwrap());
        }
        retry_after(&headers)
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_by_the_servers_clock() {
        let noon = "Sun, 06 Nov 1994 12:00:00 GMT";
        let later = "Sun, 06 Nov 1994 12:00:37 GMT";
        assert_eq!(wait(&[(RETRY_AFTER, "120")]), Some(Duration::from_secs(120)));
        assert_eq!(
            wait(&[(RETRY_AFTER, later), (DATE, noon)]),
            Some(Duration::from_secs(37))
        );
        assert_eq!(wait(&[(RETRY_AFTER, noon), (DATE, later)]), Some(Duration::ZERO));
        assert_eq!(wait(&[(RETRY_AFTER, noon)]), Some(Duration::ZERO));
        assert_eq!(wait(&[(RETRY_AFTER, "999999999")]), Some(RETRY_AFTER_MAX));
        assert_eq!(wait(&[(RETRY_AFTER, "soon")]), None);
        assert_eq!(wait(&[]), None);
    }
}
