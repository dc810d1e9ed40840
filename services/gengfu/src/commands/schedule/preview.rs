//! `gengfu schedule preview`: when an expression fires, by the same function that fires it.

use calendar::{
    Dialect, DstGap, DstOverlap, Every, Fire, Options, Timestamp, Timetable, Timing, Zone, cron, zone,
};
use serde_json::{Value, json};

use crate::client::{Client, line, note};
use crate::commands::{instant, table};
use crate::usage::Usage;

/// Most fires of one preview.
const COUNT_MAX: i64 = 10_000;

/// What it takes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A schedule of the server; without it, an expression.
    #[arg(conflicts_with_all = ["cron", "every", "zone", "dst_gap", "dst_overlap", "dialect"])]
    name: Option<String>,
    /// The cron expression: 5, 6 or 7 fields, or a shorthand such as @daily.
    #[arg(
        long,
        value_name = "EXPR",
        required_unless_present_any = ["every", "name"],
        conflicts_with = "every",
        allow_hyphen_values = true
    )]
    cron: Option<String>,
    /// A fixed interval instead, such as 90s, counted from 1970-01-01T00:00:00Z.
    #[arg(long, value_name = "D")]
    every: Option<String>,
    /// The time zone by its IANA name, such as Asia/Shanghai.
    #[arg(long, required_unless_present = "name")]
    zone: Option<String>,
    /// The instant after which the fires come; now if not given.
    #[arg(long, value_name = "INSTANT", value_parser = instant::parse)]
    after: Option<Timestamp>,
    /// How many fires.
    #[arg(long, default_value = "10", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=COUNT_MAX))]
    count: u32,
    /// What becomes of a fixed time that the clock jumps over.
    #[arg(long, default_value = "shift", value_name = "shift|skip", value_parser = gap)]
    dst_gap: DstGap,
    /// On which pass a fixed time fires that the clock shows twice.
    #[arg(long, default_value = "first", value_name = "first|second|both", value_parser = overlap)]
    dst_overlap: DstOverlap,
    /// How numbers of weekdays count: from 0 = Sunday, or as Quartz does from 1 = Sunday.
    #[arg(long, value_name = "cron|quartz", value_parser = dialect)]
    dialect: Option<Dialect>,
}

/// The word of a policy, as it stands in definitions.
fn word<T: serde::de::DeserializeOwned>(text: &str, words: &str) -> Result<T, String> {
    serde_json::from_value(json!(text)).map_err(|_| format!("write {words}"))
}

fn gap(text: &str) -> Result<DstGap, String> {
    word(text, "shift or skip")
}

fn overlap(text: &str) -> Result<DstOverlap, String> {
    word(text, "first, second or both")
}

fn dialect(text: &str) -> Result<Dialect, String> {
    word(text, "cron or quartz")
}

fn timing(args: &Args) -> Result<Timing, Usage> {
    match (&args.cron, &args.every) {
        (Some(text), _) => Timing::parse(text, args.dialect)
            .map_err(|error: cron::Error| Usage::new("--cron", &error, &error.hint())),
        (None, Some(text)) => Every::parse(text)
            .map(Timing::Every)
            .map_err(|error| Usage::new("--every", &error, &error.hint())),
        (None, None) => Ok(Timing::At(Timestamp::UNIX_EPOCH)), // clap asks for one of them
    }
}

fn timetable(args: &Args) -> Result<Timetable, Usage> {
    let timing = timing(args)?;
    let zone = args.zone.as_deref().unwrap_or_default();
    let zone = Zone::named(zone).map_err(|error| Usage::new("--zone", &error, &error.hint()))?;
    let options = Options {
        dst_gap: args.dst_gap,
        dst_overlap: args.dst_overlap,
        ..Options::default()
    };
    Timetable::new(timing, zone, options).map_err(|error| Usage::new("--cron", &error, &error.hint()))
}

pub(crate) async fn run(args: &Args, client: &Client, json: bool) -> anyhow::Result<()> {
    match &args.name {
        Some(name) => of_schedule(name, args, client, json).await,
        None => alone(args, json),
    }
}

/// What the server plans for one of its schedules.
async fn of_schedule(name: &str, args: &Args, client: &Client, json: bool) -> anyhow::Result<()> {
    let mut query = vec![("count", args.count.to_string())];
    query.extend(args.after.map(|after| ("after", after.to_string())));
    let answer = client.get(&format!("/schedules/{name}/preview"), &query).await?;
    let items = answer["items"].as_array().map_or(&[][..], Vec::as_slice);
    if json {
        let instants: Vec<_> = items.iter().map(|item| item["at"].clone()).collect();
        return line(&json!(instants).to_string());
    }
    for warning in answer["warnings"].as_array().into_iter().flatten() {
        note(&format!("warning: {}", warning.as_str().unwrap_or_default()));
    }
    let text = |name: &str| answer[name].as_str().unwrap_or_default();
    line(text("describe"))?;
    line(text("fires_a_day"))?;
    let batch = answer["batch"].as_str();
    batch.map_or(Ok(()), |batch| line(&format!("each fire is {batch}")))?;
    line(&format!("zone data {}\n", text("zone_data")))?;
    let rows: Vec<Value> = items.iter().map(shown).collect();
    let mut columns = vec!["local", "day", "utc", "marks"];
    columns.extend(batch.map(|_| "rows_from"));
    table::rows(&rows, &columns)?;
    if items.len() < args.count as usize {
        line("no further fire")?;
    }
    Ok(())
}

fn shown(item: &Value) -> Value {
    let marks = item["marks"].as_array().into_iter().flatten();
    let marks: Vec<_> = marks.filter_map(Value::as_str).collect();
    json!({
        "local": item["local"], "day": item["day"], "utc": item["at"], "marks": marks.join("; "),
        "rows_from": item["rows_from"],
    })
}

fn alone(args: &Args, json: bool) -> anyhow::Result<()> {
    let timetable = timetable(args)?;
    let after = args.after.unwrap_or_else(Timestamp::now);
    let fires: Vec<Fire> = timetable.fires_after(after).take(args.count as usize).collect();
    if json {
        let instants: Vec<String> = fires.iter().map(|fire| fire.at.to_string()).collect();
        return line(&json!(instants).to_string());
    }
    for warning in timetable.timing().warnings() {
        note(&format!("warning: {warning}"));
    }
    line(&timetable.describe())?;
    line(&timetable.fires_a_day().to_string())?;
    line(&format!("zone data {}\n", zone::version()))?;
    let rows: Vec<Value> = fires.iter().map(row).collect();
    table::rows(&rows, &["local", "day", "utc", "marks"])?;
    if fires.len() < args.count as usize {
        line("no further fire")?;
    }
    Ok(())
}

fn row(fire: &Fire) -> Value {
    json!({
        "local": fire.to_string(),
        "day": fire.local.weekday(),
        "utc": fire.at.to_string(),
        "marks": fire.marks.words().join("; "),
    })
}
