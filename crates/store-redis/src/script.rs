//! Loads the scripts: puts numbers in the place of names, and the verb's rows of the table in the place of `LEGAL`.

use std::fmt::Write as _;

use domain::{DISPATCH_LEASE_MS, ErrorClass, Overlap, Status, Stop, TRANSITIONS, TriggerOutcome, Verb};

use crate::header::FIELDS;
use crate::keys::PARTITION_KEYS;
use crate::plan_record::PLAN_FIELDS;

/// How long the first answer of a call is kept for a repeat, in milliseconds.
const NONCE_MS: i64 = 30_000;
/// How long a batch's list of tasks outlives its last addition, in milliseconds.
const BATCH_LIST_MS: i64 = 31 * 24 * 3_600_000;

const PRELUDE: &str = include_str!("scripts/prelude.lua");

/// What some verbs share; a script names what it needs in the line `-- Needs: `.
const PIECES: [(&str, &str); 2] = [
    ("create", include_str!("scripts/create.lua")),
    ("plan", include_str!("scripts/plan.lua")),
];

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
    admit: &[Verb::Admit], Oom::Refuse;
    dispatch: &[], Oom::Allow;
    undispatch: &[], Oom::Allow;
    claim: &[Verb::Claim], Oom::Allow;
    heartbeat: &[], Oom::Allow;
    complete: &[Verb::Complete], Oom::Allow;
    fail: &[Verb::Fail, Verb::Overrun], Oom::Allow;
    hand_back: &[Verb::HandBack], Oom::Allow;
    stopped: &[Verb::Stopped], Oom::Allow;
    release_due: &[], Oom::Allow;
    reclaim: &[Verb::Reclaim], Oom::Allow;
    cancel: &[Verb::Cancel], Oom::Allow;
    retry: &[Verb::Retry], Oom::Allow;
    reset: &[Verb::Reset], Oom::Allow;
    set: &[Verb::Set], Oom::Allow;
    retain: &[], Oom::Allow;
    trim: &[], Oom::Allow;
    mend: &[], Oom::Allow;
    control: &[], Oom::Allow;
    record: &[], Oom::Allow;
    hold: &[], Oom::Allow;
    window: &[], Oom::Allow;
    seal: &[], Oom::Refuse;
    follow: &[], Oom::Allow;
    forget: &[], Oom::Allow;
    put_schedules: &[], Oom::Refuse;
    remove_schedules: &[], Oom::Allow;
    pause_schedules: &[], Oom::Allow;
    resume_schedules: &[], Oom::Allow;
    due_schedules: &[], Oom::Allow;
    view_schedules: &[], Oom::Allow;
    fire: &[Verb::Admit, Verb::Cancel], Oom::Refuse;
    record_triggers: &[Verb::Admit], Oom::Refuse;
    retain_triggers: &[], Oom::Allow;
    mend_plans: &[], Oom::Allow;
    mend_lives: &[], Oom::Allow;
    put_calendars: &[], Oom::Refuse;
    audit: &[], Oom::Allow;
    tally: &[], Oom::Allow;
    put_types: &[], Oom::Allow;
}

/// The rows of some verbs as a Lua table: from → to → true.
fn legal(verbs: &[Verb]) -> String {
    let mut table = String::from("{");
    for from in std::iter::once(None).chain(Status::ALL.into_iter().map(Some)) {
        let to: Vec<_> = TRANSITIONS
            .iter()
            .filter(|row| verbs.contains(&row.verb))
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

fn text(body: &str, verbs: &[Verb], oom: Oom) -> String {
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
        substitute(&format!("{prelude}\n{}\n{body}", pieces(body)), &legal(verbs))
    )
}

/// The pieces that a script needs, in the order of [`PIECES`].
fn pieces(body: &str) -> String {
    let needs = needs(body);
    let wanted = PIECES.iter().filter(|(name, _)| needs.contains(name));
    wanted.map(|(_, text)| *text).collect::<Vec<_>>().join("\n")
}

fn needs(body: &str) -> Vec<&str> {
    let line = body.lines().find_map(|line| line.strip_prefix("-- Needs: "));
    line.map_or_else(Vec::new, |names| names.split(", ").collect())
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
        "LIVE_MAX" => Some(store::LIVE_MAX.to_string()),
        "TRIGGERS_MAX" => Some(store::TRIGGERS_MAX.to_string()),
        "CLOCK_TOLERANCE_MS" => Some(store::CLOCK_TOLERANCE_MS.to_string()),
        "CLOCK_OFFSET" if cfg!(feature = "test-clock") => Some("tonumber(meta[4] or 0)".into()),
        "CLOCK_OFFSET" => Some("0".into()),
        "K_ITEMS" => Some((PARTITION_KEYS.len() + 1).to_string()),
        "T_CANCEL" => Some((Stop::Cancel as u8).to_string()),
        "T_RESET" => Some((Stop::Reset as u8).to_string()),
        _ => match name.split_at_checked(2)? {
            ("F_", field) => number(&FIELDS, field),
            ("P_", field) => number(&PLAN_FIELDS, field),
            ("O_", policy) => Overlap::ALL
                .into_iter()
                .find(|it| it.as_str() == word(policy))
                .map(|it| (it as u8).to_string()),
            ("R_", outcome) => TriggerOutcome::ALL
                .into_iter()
                .find(|it| it.as_str() == word(outcome))
                .map(|it| (it as u8).to_string()),
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
            let text = text(source, &[Verb::Fail], Oom::Allow);
            for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
                let known = ["F_", "K_", "S_", "T_", "C_", "P_", "O_", "R_"]
                    .iter()
                    .any(|start| word.starts_with(start));
                assert!(!known || word.len() < 3, "{name}: {word}");
            }
        }
    }

    #[test]
    fn the_table_of_a_verb_is_its_rows() {
        assert_eq!(legal(&[Verb::Complete]), "{[2]={[3]=true,},}");
        assert_eq!(legal(&[]), "{}");
        assert!(legal(&[Verb::Admit]).starts_with("{[0]={[1]=true,[7]=true,}"));
        assert!(legal(&[Verb::Admit, Verb::Cancel]).contains("[2]={[2]=true,}"));
    }

    #[test]
    fn every_piece_that_is_needed_is_there() {
        for (name, source) in SOURCES {
            for piece in needs(source) {
                assert!(
                    PIECES.iter().any(|(known, _)| *known == piece),
                    "{name} needs {piece}"
                );
            }
        }
        assert!(pieces("-- Needs: create, plan\n").contains("local function create"));
    }
}
