//! Time zones by their IANA name, and where the clock changes. Nothing here looks at the zone of the host.

mod stretch;
mod tzdata;

use std::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;

pub(crate) use stretch::{REACH, Stretch, instant};
pub use tzdata::{Source, Version, names, version};

/// Why a zone is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No zone was given.
    #[error("no time zone is given")]
    Missing,
    /// Its meaning depends on the host, or counts leap seconds.
    #[error("the time zone {name:?} means something else on every host")]
    NotFixed {
        /// The name.
        name: String,
    },
    /// Not in the tz database.
    #[error("the time zone {name:?} is not known")]
    Unknown {
        /// The name.
        name: String,
        /// Names that resemble it.
        similar: Vec<String>,
    },
}

impl Error {
    /// What to write instead.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Error::Unknown { similar, .. } if !similar.is_empty() => format!("did you mean {}?", similar.join(" or ")),
            Error::Unknown { name, .. } if name.contains(['+', '-', ':']) => {
                "write a place, as in `Asia/Shanghai`, or a fixed offset as `Etc/GMT-8`, which is 8 hours ahead of UTC"
                    .into()
            }
            _ => "write the IANA name of a place, as in `Asia/Shanghai`, or `UTC`".into(),
        }
    }
}

/// A time zone of the tz database. Cheap to clone.
#[derive(Clone)]
pub struct Zone {
    tz: TimeZone,
}

impl Zone {
    /// The zone of an IANA name, from the system's tz database, else from the bundled one.
    ///
    /// # Errors
    /// Where the name is empty, unknown, or means the zone of the host.
    pub fn named(name: &str) -> Result<Zone, Error> {
        if name.is_empty() {
            return Err(Error::Missing);
        }
        if tzdata::depends_on_host(name) {
            return Err(Error::NotFixed { name: name.into() });
        }
        match tzdata::get(name) {
            Some(tz) => Ok(Zone { tz }),
            None => Err(Error::Unknown {
                name: name.into(),
                similar: tzdata::similar(name),
            }),
        }
    }

    /// Coordinated Universal Time.
    #[must_use]
    pub fn utc() -> Zone {
        Zone { tz: TimeZone::UTC }
    }

    /// A zone of rules that no place has.
    #[cfg(test)]
    pub(crate) fn imagined(posix: &str) -> Zone {
        Zone {
            tz: TimeZone::posix(posix).unwrap(),
        }
    }

    /// The IANA name, spelled as the tz database does.
    #[must_use]
    pub fn name(&self) -> &str {
        self.tz.iana_name().unwrap_or("UTC")
    }

    /// The instant with the zone's offset, as RFC 3339: `2026-03-08T03:00:00-04:00`.
    #[must_use]
    pub fn show(&self, at: Timestamp) -> String {
        at.display_with_offset(self.tz.to_offset(at)).to_string()
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name())
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        self.name() == other.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_as_in_the_database() {
        assert_eq!(Zone::named("asia/shanghai").unwrap().name(), "Asia/Shanghai");
        assert_eq!(Zone::named("UTC").unwrap().name(), "UTC");
        assert_eq!(Zone::named("Asia/Shanghai").unwrap().to_string(), "Asia/Shanghai");
    }

    #[test]
    fn zones_of_the_host_and_unknown_ones_are_refused() {
        for name in [
            "",
            "localtime",
            "right/UTC",
            "posixrules",
            "Local",
            "+08:00",
            "Mars/Olympus",
            "../etc/passwd",
        ] {
            let error = Zone::named(name).unwrap_err();
            assert!(error.hint().len() > 10, "{name}: {error}");
        }
        assert!(
            Zone::named("Shanghai")
                .unwrap_err()
                .hint()
                .contains("Asia/Shanghai")
        );
        assert!(
            Zone::named("Asia/Shangai")
                .unwrap_err()
                .hint()
                .contains("Asia/Shanghai")
        );
    }

    #[test]
    fn instants_show_their_offset() {
        let at = "2026-03-08T07:00:00Z".parse().unwrap();
        assert_eq!(
            Zone::named("America/New_York").unwrap().show(at),
            "2026-03-08T03:00:00-04:00"
        );
    }
}
