//! Prints the nanoseconds that one next fire costs, for each expression of the cases and some rare ones; the last line is
//! one JSON object. `script/bench next` runs it.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::time::Instant;

use gengfu_calendar::{DstGap, Options, Timestamp, Timetable, Timing, Zone};

/// Expressions whose next fire is far away, or never comes.
const RARE: [(&str, &str, DstGap); 6] = [
    ("0 0 29 2 *", "America/New_York", DstGap::Shift),
    ("0 0 0 */28 2 0", "Europe/Berlin", DstGap::Shift),
    ("0 0 0 29 2 ? 9996", "America/New_York", DstGap::Shift),
    ("30 2 * 3 0#2", "America/New_York", DstGap::Skip),
    ("*/7 2 * 3 0L", "Europe/Berlin", DstGap::Shift),
    ("0-59 2 8-14 3 ?", "Africa/Casablanca", DstGap::Shift),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/cron.json");
    let cases: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let mut costs = Vec::new();
    for case in cases["next"].as_array().into_iter().flatten() {
        let text = |key: &str| case[key].as_str().unwrap_or_default();
        costs.push(measure(text("cron"), text("zone"), DstGap::Shift, text("after"))?);
    }
    costs.sort_unstable();
    println!("{:>9} ns  median of the cases", costs[costs.len() / 2]);
    let mut rare = 0;
    for (cron, zone, gap) in RARE {
        rare = rare.max(measure(cron, zone, gap, "2026-03-01T00:00:00Z")?);
    }
    let median = costs[costs.len() / 2];
    println!(
        r#"{{"cases":{},"median ns":{median},"rarest ns":{rare}}}"#,
        costs.len()
    );
    Ok(())
}

/// The median cost of a call, in nanoseconds.
fn measure(cron: &str, zone: &str, dst_gap: DstGap, after: &str) -> Result<u128, Box<dyn std::error::Error>> {
    let options = Options {
        dst_gap,
        ..Options::default()
    };
    let timetable = Timetable::new(Timing::parse(cron, None)?, Zone::named(zone)?, options)?;
    let after: Timestamp = after.parse()?;
    let mut rounds: Vec<u128> = (0..101)
        .map(|_| {
            let begun = Instant::now();
            for _ in 0..10 {
                std::hint::black_box(timetable.next_after(std::hint::black_box(after)));
            }
            begun.elapsed().as_nanos() / 10
        })
        .collect();
    rounds.sort_unstable();
    println!("{:>9} ns  {cron:<24} {zone}", rounds[50]);
    Ok(rounds[50])
}
