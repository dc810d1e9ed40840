//! Accepted submissions, the town's timelines and the ledger, compared.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use gengfu_chaos::ledger::{Line, Mark};

use crate::cells::{Cell, Fault, Target};
use crate::inject::Injected;
use crate::load::Accepted;
use crate::timelines::Step;
use crate::town::LEASE;

/// What a reclaim and the next start may take beyond the lease.
const RECOVERY_MARGIN: Duration = Duration::from_secs(3);
/// Bad tasks that are described.
const SHOWN_MAX: usize = 20;

/// What became of the tasks that were accepted while one cell's fault was the last one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    pub(crate) faults: usize,
    pub(crate) tasks: usize,
    pub(crate) lost: usize,
    pub(crate) stuck: usize,
    pub(crate) double: usize,
    pub(crate) wrong: usize,
    pub(crate) refused: u64,
    pub(crate) recovery: Duration,
}

/// The whole.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) rows: BTreeMap<Option<Cell>, Row>,
    /// Each bad task, in words.
    pub(crate) bad: Vec<String>,
    /// Each slow recovery of what a hurt executor ran.
    pub(crate) slow: Vec<String>,
    /// Processes of ended runs that still live.
    pub(crate) left_behind: usize,
    /// The longest that a task was due and did not run.
    pub(crate) longest_wait_ms: i64,
    /// The machine had far more to do than it can: times are not judged.
    pub(crate) busy: bool,
    /// Runs that the ledger saw.
    pub(crate) runs: usize,
}

impl Verdict {
    pub(crate) fn sum(&self) -> Row {
        let mut sum = Row::default();
        for row in self.rows.values() {
            sum.faults += row.faults;
            sum.tasks += row.tasks;
            sum.lost += row.lost;
            sum.stuck += row.stuck;
            sum.double += row.double;
            sum.wrong += row.wrong;
            sum.refused += row.refused;
            sum.recovery = sum.recovery.max(row.recovery);
        }
        sum
    }

    /// From the kill of an executor to the start of the next attempt of what it ran, the longest.
    pub(crate) fn recovery_after_kill(&self) -> Duration {
        let killed = Cell {
            target: Target::Executor,
            fault: Fault::Kill,
        };
        self.rows
            .get(&Some(killed))
            .map_or(Duration::ZERO, |row| row.recovery)
    }

    pub(crate) const fn recovery_bound() -> Duration {
        LEASE.saturating_add(RECOVERY_MARGIN)
    }

    pub(crate) fn is_clean(&self) -> bool {
        let sum = self.sum();
        sum.faults > 0
            && sum.tasks > 0
            && sum.lost + sum.stuck + sum.double + sum.wrong + self.left_behind == 0
            && (self.recovery_after_kill() <= Self::recovery_bound() || self.busy)
    }

    /// The longest time that a task was due and did not run (I5).
    fn tell_longest_wait(
        &mut self,
        histories: &HashMap<String, Vec<Step>>,
        runs: &HashMap<String, Vec<Run>>,
    ) {
        let wait = |steps: &[Step]| {
            let waits = steps
                .windows(2)
                .filter(|pair| pair[0].to == "pending" && pair[1].to == "running");
            waits.map(|pair| pair[1].at - pair[0].at).max().unwrap_or(0)
        };
        if let Some((id, steps)) = histories.iter().max_by_key(|(_, steps)| wait(steps)) {
            let runs = runs.get(id).map_or(&[][..], Vec::as_slice);
            self.longest_wait_ms = wait(steps);
            self.slow.push(format!(
                "the longest wait of a task that was due: {} ms: {}",
                wait(steps),
                told(id, steps, runs)
            ));
        }
    }

    fn blame(&mut self, what: &str, id: &str, steps: &[Step], runs: &[Run]) {
        if self.bad.len() < SHOWN_MAX {
            self.bad.push(format!("{what}: {}", told(id, steps, runs)));
        }
    }
}

fn told(id: &str, steps: &[Step], runs: &[Run]) -> String {
    let step = |step: &Step| {
        format!(
            "{} {} {}/{} {}",
            step.at, step.to, step.node, step.attempt, step.reason
        )
    };
    let steps: Vec<_> = steps.iter().map(step).collect();
    let runs: Vec<_> = runs
        .iter()
        .map(|run| format!("{:?} to {:?}", run.begin, run.last))
        .collect();
    format!(
        "{id}:\n    {}\n    ledger: {}",
        steps.join("\n    "),
        runs.join(", ")
    )
}

/// One run as the ledger saw it.
#[derive(Debug, Clone)]
struct Run {
    token: String,
    attempt: u32,
    begin: Duration,
    last: Duration,
    /// Whether it came to an end of its own.
    ended: bool,
}

/// Compares.
pub(crate) fn of(
    accepted: &[Accepted],
    histories: &HashMap<String, Vec<Step>>,
    lines: &[Line],
    faults: &[Injected],
    left_behind: usize,
) -> Verdict {
    let runs = runs_by_task(lines);
    let mut verdict = Verdict {
        left_behind,
        runs: runs.values().map(Vec::len).sum(),
        ..Verdict::default()
    };
    for fault in faults {
        let (recovery, slowest) = recovery(fault, histories, &runs, lines);
        if recovery > Verdict::recovery_bound() && fault.executor.is_some() && verdict.slow.len() < SHOWN_MAX
        {
            verdict.slow.push(format!(
                "{} at {:?} took {recovery:?}: {slowest}",
                fault.cell, fault.began
            ));
        }
        let row = verdict.rows.entry(Some(fault.cell)).or_default();
        row.faults += 1;
        row.refused += fault.refused;
        row.recovery = row.recovery.max(recovery);
    }
    let mut ids = HashSet::new();
    for one in accepted {
        let cell = faults
            .iter()
            .rev()
            .find(|fault| fault.began <= one.at)
            .map(|fault| fault.cell);
        let steps = histories.get(&one.id).map_or(&[][..], Vec::as_slice);
        let runs = runs.get(&one.id).map_or(&[][..], Vec::as_slice);
        let fault = judge(one, steps, runs, ids.insert(&one.id));
        let row = verdict.rows.entry(cell).or_default();
        row.tasks += 1;
        match fault {
            None => continue,
            Some(Bad::Lost) => row.lost += 1,
            Some(Bad::Stuck) => row.stuck += 1,
            Some(Bad::Double) => row.double += 1,
            Some(Bad::Wrong) => row.wrong += 1,
        }
        let what = fault.map(|bad| format!("{bad:?}")).unwrap_or_default();
        verdict.blame(&what, &one.id, steps, runs);
    }
    verdict.tell_longest_wait(histories, &runs);
    verdict
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bad {
    /// Accepted, and no task; or one task for two submissions.
    Lost,
    /// Not ended.
    Stuck,
    /// Two successes, or two runs at the same time.
    Double,
    /// Ended otherwise than it must, or with a hole in its timeline.
    Wrong,
}

fn judge(one: &Accepted, steps: &[Step], runs: &[Run], is_new: bool) -> Option<Bad> {
    let Some(last) = steps.last().filter(|_| is_new) else {
        return Some(Bad::Lost);
    };
    let successes = steps.iter().filter(|step| step.to == "success").count();
    if successes > 1 || runs.windows(2).any(|pair| pair[0].last > pair[1].begin) {
        return Some(Bad::Double);
    }
    if !matches!(&*last.to, "success" | "dead" | "cancelled") {
        return Some(Bad::Stuck);
    }
    let dense = steps
        .windows(2)
        .all(|pair| pair[1].version == pair[0].version + 1);
    let effects = runs.iter().any(|run| run.ended);
    let ran = one.end != "success" || effects;
    (last.to != one.end || !dense || !ran).then_some(Bad::Wrong)
}

/// The runs of each task in the order of their beginning.
fn runs_by_task(lines: &[Line]) -> HashMap<String, Vec<Run>> {
    let mut tasks: HashMap<String, Vec<Run>> = HashMap::new();
    for line in lines {
        let runs = tasks.entry(line.task.clone()).or_default();
        let ended = matches!(line.mark, Mark::End | Mark::Fail);
        match runs.iter_mut().find(|run| run.token == line.token) {
            Some(run) => {
                run.begin = run.begin.min(line.at);
                run.last = run.last.max(line.at);
                run.ended |= ended;
            }
            None => runs.push(Run {
                token: line.token.clone(),
                attempt: line.attempt,
                begin: line.at,
                last: line.at,
                ended,
            }),
        }
    }
    for runs in tasks.values_mut() {
        runs.sort_by_key(|run| run.begin);
    }
    tasks
}

/// For a hurt executor: until the next attempt of each task began whose run it did not end. For anything else: the
/// longest time in which nothing began.
fn recovery(
    fault: &Injected,
    histories: &HashMap<String, Vec<Step>>,
    runs: &HashMap<String, Vec<Run>>,
    lines: &[Line],
) -> (Duration, String) {
    let Some(executor) = &fault.executor else {
        return (longest_silence(fault, lines), String::new());
    };
    let mut longest = Duration::ZERO;
    let mut slowest = String::new();
    for (task, steps) in histories {
        let here = |run: &&Run| {
            steps.iter().any(|step| {
                step.to == "running" && step.node == *executor && step.attempt == u64::from(run.attempt)
            })
        };
        let runs = runs.get(task).map_or(&[][..], Vec::as_slice);
        let before = runs.iter().rfind(|run| run.begin <= fault.began);
        let next = runs.iter().find(|run| run.begin > fault.began);
        if let (Some(_), Some(next)) = (before.filter(|run| !run.ended).filter(here), next)
            && next.begin - fault.began > longest
        {
            longest = next.begin - fault.began;
            slowest = told(task, steps, runs);
        }
    }
    (longest, slowest)
}

fn longest_silence(fault: &Injected, lines: &[Line]) -> Duration {
    let begins = lines
        .iter()
        .filter(|line| line.mark == Mark::Begin)
        .map(|line| line.at);
    let mut begins: Vec<_> = begins
        .filter(|at| (fault.began..=fault.ended).contains(at))
        .collect();
    begins.extend([fault.began, fault.ended]);
    begins.sort();
    let gaps = begins.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(version: u64, to: &str, node: &str, attempt: u64) -> Step {
        Step {
            version,
            to: to.into(),
            attempt,
            node: node.into(),
            at: 0,
            reason: String::new(),
        }
    }

    fn line(mark: Mark, attempt: u32, token: &str, ms: u64) -> Line {
        Line {
            mark,
            task: "t".into(),
            attempt,
            token: token.into(),
            at: Duration::from_millis(ms),
        }
    }

    fn verdict(steps: Vec<Step>, lines: &[Line]) -> Verdict {
        let one = Accepted {
            id: "t".into(),
            end: "success",
            at: Duration::from_millis(5),
        };
        let cell = Cell {
            target: Target::Executor,
            fault: Fault::Kill,
        };
        let fault = Injected {
            cell,
            began: Duration::from_millis(1),
            ended: Duration::from_millis(9_000),
            executor: Some("x".into()),
            refused: 0,
        };
        let histories = if steps.is_empty() {
            HashMap::new()
        } else {
            HashMap::from([("t".into(), steps)])
        };
        of(&[one], &histories, lines, &[fault], 0)
    }

    fn life() -> Vec<Step> {
        vec![
            step(1, "pending", "g", 0),
            step(2, "running", "x", 1),
            step(3, "timeout", "s", 1),
            step(4, "pending", "s", 1),
            step(5, "running", "y", 2),
            step(6, "success", "y", 2),
        ]
    }

    fn effects(second_begins: u64) -> [Line; 4] {
        [
            line(Mark::Begin, 1, "a", 0),
            line(Mark::Alive, 1, "a", 40),
            line(Mark::Begin, 2, "b", second_begins),
            line(Mark::End, 2, "b", second_begins + 100),
        ]
    }

    #[test]
    fn a_task_that_was_run_again_after_its_executor_died_is_well_and_its_wait_is_told() {
        let verdict = verdict(life(), &effects(3_500));
        assert!(verdict.is_clean(), "{verdict:?}");
        assert_eq!(verdict.recovery_after_kill(), Duration::from_millis(3_499));
    }

    #[test]
    fn two_runs_at_the_same_time_are_seen_and_a_late_next_attempt_too() {
        let both = verdict(life(), &effects(39));
        assert_eq!(both.sum().double, 1, "{both:?}");
        let late = verdict(life(), &effects(6_002));
        assert!(!late.is_clean() && late.sum().double == 0, "{late:?}");
    }

    #[test]
    fn what_is_missing_stuck_wrong_or_twice_is_each_its_own_fault() {
        let sums = |steps, lines: &[Line]| {
            let sum = verdict(steps, lines).sum();
            [sum.lost, sum.stuck, sum.double, sum.wrong]
        };
        assert_eq!(sums(vec![], &[]), [1, 0, 0, 0]);
        assert_eq!(sums(life()[..5].to_vec(), &effects(3_000)), [0, 1, 0, 0]);
        let mut dead = life();
        dead[5] = step(6, "dead", "y", 2);
        assert_eq!(sums(dead, &effects(3_000)), [0, 0, 0, 1]);
        let mut twice = life();
        twice.push(step(7, "success", "x", 2));
        assert_eq!(sums(twice, &effects(3_000)), [0, 0, 1, 0]);
        assert_eq!(
            sums(life(), &effects(3_000)[..3]),
            [0, 0, 0, 1],
            "a success without an effect"
        );
        let mut hole = life();
        hole.remove(2);
        assert_eq!(sums(hole, &effects(3_000)), [0, 0, 0, 1]);
    }
}
