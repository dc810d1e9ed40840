//! `gengfu schedule backlog`: what was missed, and what shall become of it.

use calendar::Timestamp;
use serde_json::{Value, json};

use crate::client::{Client, line};
use crate::commands::pages::gather;
use crate::commands::{instant, table};
use crate::usage::Usage;

/// What it takes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Its name; without it, every schedule that missed something.
    #[arg(required_if_eq_any([("choose", "skip"), ("choose", "fire_once"), ("choose", "catch_up"), ("choose", "range")]))]
    name: Option<String>,
    /// What shall become of it.
    #[arg(long, value_name = "CHOICE", value_parser = ["skip", "fire_once", "catch_up", "range"])]
    choose: Option<String>,
    /// Where a range begins.
    #[arg(long, value_name = "INSTANT", value_parser = instant::parse, requires = "choose")]
    from: Option<Timestamp>,
    /// Where a range ends; excluded.
    #[arg(long, value_name = "INSTANT", value_parser = instant::parse, requires = "choose")]
    to: Option<Timestamp>,
    /// The most fires of a catch-up.
    #[arg(long, value_name = "N", requires = "choose")]
    max: Option<u32>,
    /// How old a fire of a catch-up may be, such as 2h.
    #[arg(long, value_name = "D", requires = "choose")]
    within: Option<String>,
    /// How many tasks a time, such as 10/m; all at once if not given.
    #[arg(long, value_name = "N/D", requires = "choose")]
    rate: Option<String>,
    /// Only says what would fire.
    #[arg(long, requires = "choose")]
    dry_run: bool,
    /// Why; kept in the tasks' timelines.
    #[arg(long, default_value = "")]
    reason: String,
}

pub(crate) async fn run(args: Args, client: &Client, json: bool) -> anyhow::Result<()> {
    let Some(name) = &args.name else {
        let columns = ["name", "state", "count", "first", "last", "policy"];
        let answer = gather(client, "/backlog", &[], u64::MAX, None).await?;
        return table::list(&answer, &columns, json);
    };
    let path = format!("/schedules/{name}/backlog");
    if args.choose.is_none() {
        return show(&client.get(&path, &[]).await?, json);
    }
    if args.choose.as_deref() == Some("range") && (args.from.is_none() || args.to.is_none()) {
        return Err(Usage::said("--choose range: needs --from and --to; give both").into());
    }
    let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let body = json!({
        "choice": args.choose, "from": text(args.from), "to": text(args.to), "max": args.max,
        "within": args.within, "rate": args.rate, "dry_run": args.dry_run, "reason": args.reason,
    });
    table::one(&client.post(&path, body.to_string().into_bytes()).await?, json)
}

fn show(answer: &Value, json: bool) -> anyhow::Result<()> {
    if json {
        return line(&answer.to_string());
    }
    let text = |name: &str| answer[name].as_str().unwrap_or_default();
    let more = if answer["exact"] == false { " or more" } else { "" };
    match answer["count"].as_u64().unwrap_or(0) {
        0 => return line("nothing was missed"),
        count => line(&format!(
            "{count}{more} missed, {} to {}; its policy is {}\n",
            text("first"),
            text("last"),
            text("policy")
        ))?,
    }
    table::rows(
        answer["would"].as_array().map_or(&[], Vec::as_slice),
        &["choice", "fires", "passed", "first", "last"],
    )
}
