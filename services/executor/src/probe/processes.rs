//! A process tree as /proc shows it.

use std::{collections::BTreeMap, fs};

use proto::ProcessView;

use super::descriptors;

/// Processes that are shown.
const PROCESSES_MAX: usize = 32;
/// Bytes of a name.
const NAME_BYTES: usize = 64;
/// Milliseconds of a tick in which the kernel shows CPU time: it is 1/100 s on every Linux for programs.
const TICK_MS: i64 = 10;

/// The processes below `root`, parents first, without `root` itself; and how many more there are.
pub(super) fn below(root: u32) -> (Vec<ProcessView>, u32) {
    let Ok(root) = i32::try_from(root) else {
        return (Vec::new(), 0);
    };
    let mut children = BTreeMap::<i32, Vec<Stat>>::new();
    for stat in all() {
        children.entry(stat.parent).or_default().push(stat);
    }
    let mut found = Vec::new();
    let mut open = std::collections::VecDeque::from([root]);
    while let Some(parent) = open.pop_front() {
        for stat in children.remove(&parent).unwrap_or_default() {
            open.push_back(stat.pid);
            found.push(stat);
        }
    }
    let more = found.len().saturating_sub(PROCESSES_MAX);
    found.truncate(PROCESSES_MAX);
    let views = found.into_iter().map(Stat::view).collect();
    (views, u32::try_from(more).unwrap_or(u32::MAX))
}

/// Every process that can be seen.
fn all() -> impl Iterator<Item = Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Stat::parse(pid, &fs::read_to_string(entry.path().join("stat")).ok()?)
    })
}

/// What stands in a `stat` file.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    pid: i32,
    parent: i32,
    name: String,
    state: String,
    cpu_ms: i64,
}

impl Stat {
    /// The name stands in brackets and may hold spaces and brackets; after it come state, parent, and as the 12th and
    /// 13th the ticks of CPU.
    fn parse(pid: i32, text: &str) -> Option<Self> {
        let (before, after) = text.rsplit_once(')')?;
        let name = before.split_once('(')?.1;
        let fields: Vec<_> = after.split_ascii_whitespace().collect();
        let ticks = |at: usize| fields.get(at)?.parse::<i64>().ok();
        Some(Self {
            pid,
            parent: fields.get(1)?.parse().ok()?,
            name: name[..name.floor_char_boundary(NAME_BYTES)].to_owned(),
            state: (*fields.first()?).to_owned(),
            cpu_ms: (ticks(11)? + ticks(12)?) * TICK_MS,
        })
    }

    fn view(self) -> ProcessView {
        let open = descriptors::of(self.pid);
        ProcessView {
            pid: self.pid,
            parent: self.parent,
            name: self.name,
            state: self.state,
            wait_channel: wait_channel(self.pid),
            cpu_ms: self.cpu_ms,
            sockets: open.sockets,
            files: open.files,
            more_descriptors: open.more,
        }
    }
}

/// The function of the kernel in which a process waits; 0 where it does not wait or the kernel does not tell.
fn wait_channel(pid: i32) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
    let plain: String = text
        .chars()
        .filter(char::is_ascii_graphic)
        .take(NAME_BYTES)
        .collect();
    if plain == "0" { String::new() } else { plain }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Read,
        process::{Command, Stdio},
    };

    use super::*;

    #[test]
    fn a_stat_file_is_read_whatever_the_program_is_called() {
        let text = "42 (a) (b) R) S 7 42 42 0 -1 4194560 1 0 0 0 12 3 0 0 20 0 1 0 5";
        let stat = Stat::parse(42, text).unwrap();
        assert_eq!(
            (stat.name.as_str(), stat.state.as_str(), stat.parent, stat.cpu_ms),
            ("a) (b) R", "S", 7, 150)
        );
        assert_eq!(Stat::parse(42, "42"), None);
    }

    #[test]
    fn the_tree_of_a_process_is_seen_without_its_arguments() {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", "sleep 600 & echo ready; wait; : --password=s3cret"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        shell.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        // The child of the shell is a shell itself until it has become what it was asked for, and then it goes to sleep.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let sleeping = loop {
            let (sleeping, _) = below(shell.id());
            let asleep = |one: &ProcessView| one.name == "sleep" && one.state == "S";
            if sleeping.first().is_some_and(asleep) || std::time::Instant::now() > deadline {
                break sleeping;
            }
            std::thread::yield_now();
        };
        let (found, more) = below(std::process::id());
        let _ = Command::new("kill").arg(sleeping[0].pid.to_string()).status();
        shell.kill().unwrap();
        shell.wait().unwrap();
        let names: Vec<_> = found.iter().map(|one| one.name.as_str()).collect();
        assert!(names.contains(&"sh") && names.contains(&"sleep"), "{names:?}");
        assert_eq!(more, 0);
        assert_eq!(
            (sleeping[0].name.as_str(), sleeping[0].state.as_str()),
            ("sleep", "S")
        );
        assert!(!format!("{found:?}").contains("s3cret"));
    }
}
