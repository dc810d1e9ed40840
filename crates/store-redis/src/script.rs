//! Loads the scripts: puts numbers in the place of names, and the verb's rows of the table in the place of `LEGAL`.

use std::fmt::Write as _;

use domain::{DISPATCH_LEASE_MS, ErrorClass, Status, Stop, TRANSITIONS, Verb};

use crate::header::FIELDS;
use crate::keys::PARTITION_KEYS;

/// How long the first answer of a call is kept for a repeat, in milliseconds.
const NONCE_MS: i64 = 30_000;
/// How long a batch's list of tasks outlives its last addition, in milliseconds.
const BATCH_LIST_MS: i64 = 31 * 24 * 3_600_000;

const PRELUDE: &str = include_str!("scripts/prelude.lua");

/// A script's text and the hash by which a server knows it.
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) hash: String,
}

impl Script {
    pub(crate) fn new(text: String) -> Self {
        let hash = redis::Script::new(&text).get_hash().to_owned();
        Self { text, hash }
    }
}

macro_rules! scripts {
    ($($name:ident: $verb:expr, $oom:expr;)*) => {
        /// Every script, loaded.
        pub(crate) struct Scripts { $(pub(crate) $name: Script,)* }

        impl Scripts {
            pub(crate) fn load() -> Self {
                Self { $($name: Script::new(text(include_str!(concat!("scripts/", stringify!($name), ".lua")), $verb, $oom)),)* }
            }
        }

        #[cfg(test)]
        const SOURCES: &[(&str, &str)] =
            &[$((stringify!($name), include_str!(concat!("scripts/", stringify!($name), ".lua"))),)*];
    };
}

/// Whether a script may run where memory is full: only what adds tasks may not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Oom {
    Allow,
    Refuse,
}

scripts! {
    admit: Some(Verb::Admit), Oom::Refuse;
    dispatch: None, Oom::Allow;
    undispatch: None, Oom::Allow;
    claim: Some(Verb::Claim), Oom::Allow;
    heartbeat: None, Oom::Allow;
    complete: Some(Verb::Complete), Oom::Allow;
    fail: Some(Verb::Fail), Oom::Allow;
    hand_back: Some(Verb::HandBack), Oom::Allow;
    stopped: Some(Verb::Stopped), Oom::Allow;
    release_due: None, Oom::Allow;
    reclaim: Some(Verb::Reclaim), Oom::Allow;
    cancel: Some(Verb::Cancel), Oom::Allow;
    retry: Some(Verb::Retry), Oom::Allow;
    reset: Some(Verb::Reset), Oom::Allow;
    set: Some(Verb::Set), Oom::Allow;
    retain: None, Oom::Allow;
    trim: None, Oom::Allow;
    mend: None, Oom::Allow;
    control: None, Oom::Allow;
    record: None, Oom::Allow;
    hold: None, Oom::Allow;
}

/// The rows of a verb as a Lua table: from → to → true. `fail` ends overruns too.
fn legal(verb: Option<Verb>) -> String {
    let mut table = String::from("{");
    for from in std::iter::once(None).chain(Status::ALL.into_iter().map(Some)) {
        let mine = |row: &&domain::Row| {
            Some(row.verb) == verb || (verb == Some(Verb::Fail) && row.verb == Verb::Overrun)
        };
        let to: Vec<_> = TRANSITIONS
            .iter()
            .filter(mine)
            .filter(|row| row.from == from)
            .collect();
        if to.is_empty() {
            continue;
        }
        let _ = write!(table, "[{}]={{", from.map_or(0, |from| from as u8));
        for row in to {
            let _ = write!(table, "[{}]=true,", row.to as u8);
        }
        table.push_str("},");
    }
    table.push('}');
    table
}

fn text(body: &str, verb: Option<Verb>, oom: Oom) -> String {
    let shebang = if oom == Oom::Allow {
        "#!lua flags=allow-oom\n"
    } else {
        "#!lua\n"
    };
    // The recorder's and the duties' scripts work on keys of their own and need nothing of the prelude.
    let prelude = if body.contains("first_answer") {
        PRELUDE
    } else {
        ""
    };
    format!(
        "{shebang}{}",
        substitute(&format!("{prelude}\n{body}"), &legal(verb))
    )
}

fn value_of(name: &str, legal: &str) -> Option<String> {
    let number = |list: &[&str], name: &str| {
        list.iter()
            .position(|known| *known == name)
            .map(|at| (at + 1).to_string())
    };
    let word = |upper: &str| upper.to_lowercase();
    match name {
        "LEGAL" => Some(legal.to_owned()),
        "NONCE_MS" => Some(NONCE_MS.to_string()),
        "BATCH_LIST_MS" => Some(BATCH_LIST_MS.to_string()),
        "DISPATCH_MS" => Some(DISPATCH_LEASE_MS.to_string()),
        "TIMELINE_MAX" => Some(store::TIMELINE_MAX.to_string()),
        "BATCH_MAX" => Some(store::BATCH_MAX.to_string()),
        "CLOCK_OFFSET" if cfg!(feature = "test-clock") => Some("tonumber(meta[4] or 0)".into()),
        "CLOCK_OFFSET" => Some("0".into()),
        "K_ITEMS" => Some((PARTITION_KEYS.len() + 1).to_string()),
        "T_CANCEL" => Some((Stop::Cancel as u8).to_string()),
        "T_RESET" => Some((Stop::Reset as u8).to_string()),
        _ => match name.split_at_checked(2)? {
            ("F_", field) => number(&FIELDS, field),
            ("K_", key) => number(&PARTITION_KEYS.map(|(name, _)| name), key),
            ("S_", status) => Status::parse(&word(status)).map(|status| (status as u8).to_string()),
            ("C_", class) => ErrorClass::ALL
                .into_iter()
                .find(|c| c.as_str() == word(class))
                .map(|class| (class as u8).to_string()),
            _ => None,
        },
    }
}

/// Replaces whole upper-case words outside of comments.
fn substitute(source: &str, legal: &str) -> String {
    let mut out = String::with_capacity(source.len());
    for line in source.lines() {
        let code = line.split_once("--").map_or(line, |(code, _)| code);
        let mut rest = code;
        while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '_') {
            out.push_str(&rest[..start]);
            let end = rest[start..]
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .map_or(rest.len(), |length| start + length);
            let name = &rest[start..end];
            out.push_str(&value_of(name, legal).unwrap_or_else(|| name.to_owned()));
            rest = &rest[end..];
        }
        out.push_str(rest);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_states_keys_argv_and_reply() {
        for (name, source) in SOURCES {
            let head: Vec<_> = source.lines().take_while(|line| line.starts_with("--")).collect();
            for part in ["-- KEYS: ", "-- ARGV: ", "-- Returns: "] {
                assert!(
                    head.iter().any(|line| line.starts_with(part)),
                    "{name} lacks {part}"
                );
            }
        }
    }

    #[test]
    fn no_name_stays_unknown() {
        for (name, source) in SOURCES {
            let text = text(source, Some(Verb::Fail), Oom::Allow);
            for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
                let known = ["F_", "K_", "S_", "T_", "C_"]
                    .iter()
                    .any(|start| word.starts_with(start));
                assert!(!known || word.len() < 3, "{name}: {word}");
            }
        }
    }

    #[test]
    fn the_table_of_a_verb_is_its_rows() {
        assert_eq!(legal(Some(Verb::Complete)), "{[2]={[3]=true,},}");
        assert_eq!(legal(None), "{}");
        assert!(legal(Some(Verb::Admit)).starts_with("{[0]={[1]=true,[7]=true,}"));
    }
}
