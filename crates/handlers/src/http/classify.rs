//! What a missing answer means (DESIGN section 7).

use std::error::Error;

use domain::ErrorClass;
use handler::HandlerError;

/// The failure of a request without an answer; `sent` says whether it went out.
pub(super) fn no_answer(error: reqwest::Error, sent: bool) -> HandlerError {
    let error = error.without_url();
    let failure = match find::<rustls::Error>(&error) {
        Some(rustls::Error::InvalidCertificate(_)) => HandlerError::deterministic("certificate", error),
        Some(_) => HandlerError::transient("tls", error),
        None => HandlerError::transient(code_of(&error, sent), error),
    };
    if sent {
        failure.with_unknown_outcome()
    } else {
        failure
    }
}

fn code_of(error: &reqwest::Error, sent: bool) -> &'static str {
    match (sent, error.is_timeout()) {
        (false, _) if error.is_dns() => "dns",
        (false, true) => "connect_timeout",
        (false, false) => "connect",
        (true, true) => "read_timeout",
        (true, false) => "reset",
    }
}

/// The class of an answered status that is no success.
pub(super) const fn class_of(status: u16) -> ErrorClass {
    match status {
        408 | 425 | 429 | 500..=599 => ErrorClass::Transient,
        _ => ErrorClass::Deterministic,
    }
}

/// The first cause of type `E`, also where an `io::Error` wraps it.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        let wrapped = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        if let Some(found) = wrapped.and_then(|inner| find::<E>(inner)) {
            return Some(found);
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_the_classes_of_the_design() {
        for status in [408, 425, 429, 500, 502, 503, 504, 599] {
            assert_eq!(class_of(status), ErrorClass::Transient, "{status}");
        }
        for status in [300, 301, 304, 308, 400, 401, 403, 404, 409, 422, 451, 499] {
            assert_eq!(class_of(status), ErrorClass::Deterministic, "{status}");
        }
    }
}
