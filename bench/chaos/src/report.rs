//! What is printed.

use std::path::Path;
use std::time::Duration;

use gengfu_chaos::act::LEDGER;
use serde_json::json;

use crate::verdict::{Row, Verdict};

/// How many processes of runs live that should have ended: all tasks have.
pub(crate) fn processes_left(ledger: &Path) -> usize {
    let ours = format!("{LEDGER}={}", ledger.display());
    let of_a_run = |environment: &[u8]| {
        let mut variables = environment.split(|byte| *byte == 0);
        let mut clone = variables.clone();
        variables.any(|one| one == ours.as_bytes()) && clone.any(|one| one.starts_with(b"GENGFU_TASK_ID="))
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let environments = processes.filter_map(|process| std::fs::read(process.path().join("environ")).ok());
    environments.filter(|environment| of_a_run(environment)).count()
}

/// Whether the machine has more than four times as much to do as it has processors for.
pub(crate) fn is_busy() -> bool {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = load
        .split(' ')
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0.0);
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    #[allow(clippy::cast_precision_loss)]
    let much = 4.0 * processors as f64;
    load > much
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn print_row(name: &str, row: &Row) {
    println!(
        "{name:32} {:6} {:7} {:6} {:6} {:8} {:6} {:9} {:>10}",
        row.faults,
        row.tasks,
        row.lost,
        row.stuck,
        row.double,
        row.wrong,
        row.refused,
        seconds(row.recovery)
    );
}

/// The table, what is wrong, and the line for programs.
pub(crate) fn print(verdict: &Verdict, seed: u64) {
    println!(
        "\n{:32} {:>6} {:>7} {:>6} {:>6} {:>8} {:>6} {:>9} {:>10}",
        "fault", "faults", "tasks", "lost", "stuck", "double", "wrong", "refused", "recovery"
    );
    println!(
        "{:32} {:>6} {:>7} {:>6} {:>6} {:>8} {:>6} {:>9} {:>10}",
        "", "", "", "", "", "success", "end", "writes", "longest"
    );
    for (cell, row) in &verdict.rows {
        let name = cell.map_or_else(|| "before the first".to_owned(), |cell| cell.to_string());
        print_row(&name, row);
    }
    let sum = verdict.sum();
    print_row("all", &sum);
    println!(
        "\nrecovery is, for a hurt executor, the time until the next attempt of what it ran began (killed: {} of {} allowed); for\n\
         anything else the longest time in which no run began. {} runs stand in the ledger; processes left behind: {}",
        seconds(verdict.recovery_after_kill()),
        seconds(Verdict::recovery_bound()),
        verdict.runs,
        verdict.left_behind,
    );
    if verdict.busy {
        println!("the machine had far more to do than it can: how long recovery took is told, not judged");
    }
    for bad in verdict.bad.iter().chain(&verdict.slow) {
        println!("{bad}");
    }
    let cells = verdict.rows.keys().flatten().count();
    let line = json!({
        "faults": sum.faults, "cells_run": cells, "tasks": sum.tasks,
        "lost": sum.lost, "stuck": sum.stuck, "double_success": sum.double, "wrong_end": sum.wrong,
        "refused_writes": sum.refused, "left_behind": verdict.left_behind,
        "longest_wait_ms": verdict.longest_wait_ms,
        "recovery_after_kill_ms": verdict.recovery_after_kill().as_millis(), "seed": seed,
    });
    println!("{line}");
}
