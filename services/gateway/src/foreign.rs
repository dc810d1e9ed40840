//! Requests that a web page of somebody else made a browser send. Loopback alone does not keep them out: a page may
//! post to 127.0.0.1 without asking (`Origin` tells), and a name of its own may lead there (`Host` tells).

use std::net::IpAddr;

use axum::http::{HeaderMap, header, uri::Authority};

use crate::refusal::Refusal;

/// Why a request is not answered: 403 where it is for another host than this machine's loopback, or comes from a page
/// that this gateway did not serve.
pub(crate) fn refusal(headers: &HeaderMap) -> Option<Refusal> {
    let host = headers.get(header::HOST);
    if host.is_some_and(|host| !host.to_str().is_ok_and(is_loopback)) {
        let remedy = "use 127.0.0.1, [::1] or localhost";
        return Some(Refusal::foreign("Host", "is not this machine's loopback", remedy));
    }
    let origin = headers.get(header::ORIGIN)?.to_str().unwrap_or_default();
    let page = origin.split_once("://").map(|(_, authority)| authority);
    let own = host.and_then(|host| host.to_str().ok());
    if page.is_some() && page == own {
        return None;
    }
    let remedy = "send it from a program, or from a page of this gateway";
    Some(Refusal::foreign("Origin", "is another page's", remedy))
}

fn is_loopback(authority: &str) -> bool {
    let Ok(authority) = authority.parse::<Authority>() else {
        return false;
    };
    let name = authority.host().trim_matches(['[', ']']);
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, header};

    use super::refusal;

    fn is_refused(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        refusal(&headers).is_some()
    }

    #[test]
    fn programs_and_own_pages_are_answered() {
        for host in [
            "127.0.0.1:7420",
            "[::1]:7420",
            "localhost",
            "LOCALHOST:7420",
            "127.0.0.2",
        ] {
            assert!(!is_refused(host, None), "{host}");
            assert!(!is_refused(host, Some(&format!("http://{host}"))), "{host}");
        }
        assert!(refusal(&HeaderMap::new()).is_none());
    }

    #[test]
    fn other_names_and_other_pages_are_refused() {
        for host in [
            "evil.example",
            "localhost.evil.example:7420",
            "10.0.0.1",
            "127.0.0.1.evil.example",
            "",
        ] {
            assert!(is_refused(host, None), "{host}");
        }
        for origin in [
            "http://evil.example",
            "null",
            "",
            "http://localhost:3000",
            "http://127.0.0.1:7421",
        ] {
            assert!(is_refused("127.0.0.1:7420", Some(origin)), "{origin}");
        }
    }
}
