//! `gengfu schedule simulate`: what would fire in a time, by the real policies, and what an outage would do to it.

use std::path::PathBuf;

use anyhow::bail;
use calendar::Timestamp;
use domain::Millis;
use plan::Plan;
use serde_json::{Value, json};

use crate::client::{line, note};
use crate::commands::{definitions, instant, table};
use crate::simulation::{self, Books, Line, Outage, Plans};
use crate::usage::Usage;

/// The longest time that is simulated: milliseconds of ten years.
const SPAN_MAX_MS: i64 = 3_660 * 86_400_000;
/// How many of the busiest minutes are told.
const BUSIEST: usize = 10;

/// What it takes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files of definitions (YAML or JSON), or - for standard input.
    #[arg(short = 'f', long = "file", required = true, num_args = 1.., value_name = "FILE")]
    file: Vec<PathBuf>,
    /// When it begins: the schedules are declared just before.
    #[arg(long, value_name = "INSTANT", value_parser = instant::parse)]
    from: Timestamp,
    /// When it ends; excluded.
    #[arg(long, value_name = "INSTANT", value_parser = instant::parse)]
    to: Timestamp,
    /// A time in which nobody fires; may be given again.
    #[arg(long, value_name = "FROM..TO", value_parser = outage)]
    outage: Vec<Outage>,
}

fn outage(text: &str) -> Result<Outage, String> {
    let (from, to) = text.split_once("..").ok_or("write FROM..TO")?;
    let (from, to) = (instant::parse(from)?, instant::parse(to)?);
    if to <= from {
        return Err("it ends before it begins".into());
    }
    Ok(Outage {
        from: from.as_millisecond(),
        to: to.as_millisecond(),
    })
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    let (from, until) = (args.from.as_millisecond(), args.to.as_millisecond());
    if until <= from {
        let said = format!("--to: {} is not after --from; give a later instant", args.to);
        return Err(Usage::said(said).into());
    }
    if until - from > SPAN_MAX_MS {
        return Err(Usage::said("--to: is more than ten years after --from; simulate a shorter time").into());
    }
    let plans = definitions::plans(&args.file)?;
    if plans.is_empty() {
        bail!("the files declare no schedules; write them under schedules:");
    }
    let mut books = Books::new(plans.len());
    simulation::run(&mut Plans::new(&plans, from), until, &args.outage, &mut books);
    for plan in &plans {
        warn(plan, from, until);
    }
    match json {
        true => line(&report(args, &plans, &books).to_string()),
        false => show(&plans, &books),
    }
}

/// What is not wrong and yet should be known.
fn warn(plan: &Plan, from: Millis, until: Millis) {
    let name = &plan.schedule().name;
    for warning in plan.warnings() {
        note(&format!("warning: {name}: {warning}"));
    }
    if let Some(fire) = plan.first_uncovered_after(from)
        && fire.at.as_millisecond() < until
    {
        note(&format!(
            "warning: {name}: {}, from {fire} on",
            fire.marks.words().join("; ")
        ));
    }
}

/// Instants in JSON are UTC.
fn utc(at: Millis) -> Value {
    json!(Timestamp::from_millisecond(at).map_or_else(|_| String::new(), |at| at.to_string()))
}

fn report(args: &Args, plans: &[Plan], books: &Books) -> Value {
    let schedules: Vec<Value> = plans
        .iter()
        .zip(&books.lines)
        .map(|(plan, line)| row(plan, line, &utc))
        .collect();
    json!({
        "from": utc(args.from.as_millisecond()),
        "to": utc(args.to.as_millisecond()),
        "fires": books.lines.iter().map(|line| line.fires).sum::<u64>(),
        "schedules": schedules,
        "busiest": busiest(books),
    })
}

fn busiest(books: &Books) -> Vec<Value> {
    let minutes = books.busiest(BUSIEST).into_iter();
    minutes
        .map(|(minute, fires)| json!({"minute": utc(minute), "fires": fires}))
        .collect()
}

fn row(plan: &Plan, line: &Line, shown: &dyn Fn(Millis) -> Value) -> Value {
    json!({
        "name": plan.schedule().name,
        "fires": line.fires,
        "caught_up": line.caught_up,
        "skipped": line.skipped,
        "missed": line.missed,
        "first": line.first.map(shown),
        "last": line.last.map(shown),
    })
}

fn show(plans: &[Plan], books: &Books) -> anyhow::Result<()> {
    let local = |plan: &Plan, line: &Line| {
        let zone = plan.timetable().zone().clone();
        row(plan, line, &|at| match Timestamp::from_millisecond(at) {
            Ok(at) => json!(zone.show(at)),
            Err(_) => Value::Null,
        })
    };
    let rows: Vec<Value> = plans
        .iter()
        .zip(&books.lines)
        .map(|(plan, line)| local(plan, line))
        .collect();
    table::rows(
        &rows,
        &["name", "fires", "caught_up", "skipped", "missed", "first", "last"],
    )?;
    line("\nthe busiest minutes, tasks that run on not counted:")?;
    table::rows(&busiest(books), &["minute", "fires"])
}
