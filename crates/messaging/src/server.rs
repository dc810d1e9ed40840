//! Whether a server is good enough.

use async_nats::ServerInfo;

use crate::Error;

/// # Errors
/// The server is too old, has no JetStream, or takes only smaller messages than `message_bytes`.
pub(crate) fn check(info: &ServerInfo, message_bytes: usize) -> Result<(), Error> {
    if version(&info.version).is_none_or(|version| version < (2, 10)) {
        return Err(Error::ServerTooOld(info.version.clone()));
    }
    if !info.jetstream {
        return Err(Error::NoJetStream);
    }
    if info.max_payload < message_bytes {
        return Err(Error::MaxPayload {
            have: info.max_payload,
            need: message_bytes,
        });
    }
    Ok(())
}

fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split(['.', '-', '+']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(version: &str, max_payload: usize, jetstream: bool) -> ServerInfo {
        ServerInfo {
            version: version.into(),
            max_payload,
            jetstream,
            ..ServerInfo::default()
        }
    }

    #[test]
    fn only_good_servers_pass() {
        for good in ["2.10.0", "2.15.1-RC.2", "3.0.0"] {
            assert!(check(&info(good, 1024, true), 1024).is_ok(), "{good}");
        }
        for bad in ["2.9.25", "1.99.0", "", "dev"] {
            assert!(
                matches!(check(&info(bad, 1024, true), 1024), Err(Error::ServerTooOld(_))),
                "{bad}"
            );
        }
        assert!(matches!(
            check(&info("2.10.0", 1024, false), 1),
            Err(Error::NoJetStream)
        ));
        let small = check(&info("2.10.0", 1023, true), 1024);
        assert!(matches!(
            small,
            Err(Error::MaxPayload {
                have: 1023,
                need: 1024
            })
        ));
    }
}
