//! Crontabs: of a user, or of the system with a column for the user.

use calendar::Zone;
use serde_json::{Map, Value, json};

use crate::import::command::Shell;
use crate::import::draft::{Draft, Item};
use crate::import::names::{Names, slug};

/// Words before the program of a command that say little about it.
const LEADING: [&str; 10] = [
    "cd", "env", "exec", "flock", "ionice", "nice", "nohup", "sudo", "test", "timeout",
];

/// A line with a rule and a command.
#[derive(Debug, PartialEq, Eq)]
struct Entry<'a> {
    rule: String,
    user: Option<&'a str>,
    command: &'a str,
}

/// What lines before an entry said.
struct Setting {
    zone: Result<String, String>,
    env: Map<String, Value>,
    /// Minutes by which cronie delays at most.
    delay_minutes: Option<u32>,
    /// Comments just before.
    comments: Vec<String>,
}

/// Reads a crontab. Every line becomes definitions, a setting, or a note.
pub(crate) fn read(text: &str, zone: &str, system: bool) -> Draft {
    let mut draft = Draft {
        header: header(zone),
        ..Draft::default()
    };
    let mut names = Names::default();
    let mut setting = Setting {
        zone: Ok(zone.to_owned()),
        env: Map::new(),
        delay_minutes: None,
        comments: Vec::new(),
    };
    for (index, whole) in text.lines().enumerate() {
        let (number, line) = (index as u64 + 1, whole.trim());
        if line.is_empty() {
            setting.comments.clear();
        } else if let Some(comment) = line.strip_prefix('#') {
            setting.comments.push(comment.trim().to_owned());
        } else if let Some((name, value)) = assignment(line) {
            setting.set(number, name, value, &mut draft);
        } else {
            match entry(line, system) {
                Ok(entry) => add(number, &entry, &setting, &mut names, &mut draft),
                Err(reason) => draft.leave_out(number, line, reason),
            }
            setting.comments.clear();
        }
    }
    draft
}

fn header(zone: &str) -> Vec<String> {
    [
        "From a crontab. What is different here:",
        "- Each command runs through a shell, as the user of the executor. The executor has to permit the shell",
        "  (executor.commands), and whoever may define types can then run anything with it.",
        "- It starts in the executor's folder, where cron starts it in the user's home, unless the crontab sets HOME.",
        "- Its output is kept with the task, and mailed to nobody. An exit code other than 0 is a failure.",
        "- As with cron: nothing is tried again (max_retry 0), what was missed does not fire later (misfire skip), and",
        "  a command starts also where the one before still runs (overlap allow). A run may take a day, where cron has no limit.",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([format!("- Without CRON_TZ the zone is {zone}.")])
    .collect()
}

/// `NAME=value`, with blanks around the sign and quotes around the value as cron takes them.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = unquoted(name.trim());
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    is_name.then(|| (name, unquoted(value.trim())))
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

impl Setting {
    fn set(&mut self, line: u64, name: &str, value: &str, draft: &mut Draft) {
        self.comments.clear();
        match name {
            "CRON_TZ" => {
                let zone = Zone::named(value);
                self.zone = zone
                    .map(|zone| zone.name().to_owned())
                    .map_err(|error| format!("CRON_TZ above is not usable: {error}; {}", error.hint()));
            }
            "RANDOM_DELAY" => {
                self.delay_minutes = value.parse().ok();
                draft.note(
                    line,
                    name,
                    "became spread: a delay that is the same every day, drawn from the name",
                );
            }
            "MAILTO" | "MAILFROM" => {
                if !value.is_empty() {
                    draft.leave_out(
                        line,
                        name,
                        "no mail is sent; output and failures are kept with the task",
                    );
                }
            }
            "START_HOURS_RANGE" => draft.leave_out(line, name, "is anacron's; write the hours into the rule"),
            _ => {
                if name == "TZ" {
                    let reason =
                        "is set for the commands alone, as cron does; the rules follow CRON_TZ and --zone";
                    draft.note(line, name, reason);
                }
                self.env.insert(name.to_owned(), json!(value));
            }
        }
    }

    fn shell(&self, script: String, stdin: Option<String>) -> Shell {
        let mut env = self.env.clone();
        let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(str::to_owned));
        let program = text(env.remove("SHELL")).filter(|shell| shell.starts_with('/'));
        let home = text(env.get("HOME").cloned()).filter(|home| home.starts_with('/'));
        Shell {
            program: program.unwrap_or_else(|| "sh".to_owned()),
            script,
            stdin,
            env,
            cwd: home,
            ..Shell::default()
        }
    }
}

fn entry(line: &str, system: bool) -> Result<Entry<'_>, String> {
    let (rule, rest) = match line.starts_with('@') {
        true => {
            let (word, rest) = field(line);
            (word.to_owned(), rest)
        }
        false => {
            let (mut fields, mut rest) = (Vec::new(), line);
            for _ in 0..5 {
                let (one, after) = field(rest);
                fields.push(one);
                rest = after;
            }
            (fields.join(" "), rest)
        }
    };
    if rule.eq_ignore_ascii_case("@reboot") {
        return Err("runs when a host starts, which is no time; start it with the host's own means".into());
    }
    let (user, command) = match system {
        true => {
            let (user, command) = field(rest);
            (Some(user), command)
        }
        false => (None, rest),
    };
    if command.is_empty() {
        let wanted = if system {
            "a rule, a user and a command"
        } else {
            "a rule and a command"
        };
        return Err(format!("is not {wanted}; see also --system"));
    }
    Ok(Entry { rule, user, command })
}

/// The first word, and what follows it.
fn field(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// The command, and what stands behind its first `%`: its standard input, where each further `%` begins a line.
fn split_percent(command: &str) -> (String, Option<String>) {
    let (mut script, mut stdin): (String, Option<String>) = (String::new(), None);
    let mut rest = command.chars().peekable();
    while let Some(c) = rest.next() {
        let target = stdin.as_mut().unwrap_or(&mut script);
        match c {
            '\\' if rest.peek() == Some(&'%') => target.push(rest.next().unwrap_or('%')),
            '%' => match stdin.as_mut() {
                Some(stdin) => stdin.push('\n'),
                None => stdin = Some(String::new()),
            },
            other => target.push(other),
        }
    }
    (script.trim_end().to_owned(), stdin)
}

/// A name that says what the command is: its program, without folder.
fn name_of(command: &str) -> String {
    let mut words = command.split_whitespace();
    while let Some(word) = words.next() {
        if word == "cd" {
            words.next();
        }
        let is_program = word
            .starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '.' | '~' | '$'))
            && !LEADING.contains(&word)
            && !word.contains('=');
        let name = slug(word.rsplit('/').next().unwrap_or(word));
        if is_program && !name.is_empty() {
            return name;
        }
    }
    "command".to_owned()
}

fn add(line: u64, entry: &Entry<'_>, setting: &Setting, names: &mut Names, draft: &mut Draft) {
    let zone = match &setting.zone {
        Ok(zone) => zone,
        Err(reason) => return draft.leave_out(line, entry.command, reason.as_str()),
    };
    let (script, stdin) = split_percent(entry.command);
    let name = names.take(&name_of(&script));
    let type_name = format!("cron.{name}");
    let mut comments = vec![format!("line {line}: {} {}", entry.rule, entry.command)];
    comments.extend(setting.comments.iter().cloned());
    let mut schedule = Map::new();
    schedule.insert("name".into(), json!(name));
    schedule.insert("type".into(), json!(type_name));
    schedule.insert("cron".into(), json!(entry.rule));
    schedule.insert("zone".into(), json!(zone));
    if let Some(minutes) = setting.delay_minutes.filter(|minutes| *minutes > 0) {
        schedule.insert("spread".into(), json!(format!("{minutes}m")));
    }
    schedule.insert("misfire".into(), json!("skip"));
    if !draft.add_schedule(
        line,
        Item {
            comments: comments.clone(),
            fields: schedule,
        },
    ) {
        return;
    }
    if let Some(user) = entry.user {
        let reason = format!(
            "ran as {user}; here as the user of the executor: give its type a pool of executors that run as {user}"
        );
        draft.note(line, &name, reason);
    }
    let fields = json!({
        "name": type_name,
        "handler": "command",
        "command": setting.shell(script, stdin).section(),
        "max_retry": 0,
        "run_timeout": "1d",
    });
    if let Value::Object(fields) = fields {
        draft.add_type(line, Item { comments, fields });
    }
}

#[cfg(test)]
mod tests;
