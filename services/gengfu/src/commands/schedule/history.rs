//! `gengfu schedule history`.

use crate::client::Client;
use crate::commands::pages::gather;
use crate::commands::table;

/// What it takes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Its name.
    name: String,
    /// Only instants at or after: an instant, a day, or how long ago (24h).
    #[arg(long)]
    since: Option<String>,
    /// Only instants before.
    #[arg(long)]
    until: Option<String>,
    /// Only fired, skipped or missed ones.
    #[arg(long, value_parser = ["fired", "skipped", "missed"])]
    outcome: Option<String>,
    /// The oldest first instead of the newest.
    #[arg(long)]
    oldest_first: bool,
    /// At most about so many.
    #[arg(long, default_value_t = 50)]
    limit: u64,
    #[arg(long)]
    cursor: Option<String>,
}

pub(crate) async fn run(args: Args, client: &Client, json: bool) -> anyhow::Result<()> {
    let order = args.oldest_first.then(|| "oldest_first".to_owned());
    let filters = [
        ("since", args.since),
        ("until", args.until),
        ("outcome", args.outcome),
        ("order", order),
    ];
    let filters = filters
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let filters: Vec<_> = filters.collect();
    let path = format!("/schedules/{}/triggers", args.name);
    let columns = [
        "planned_at",
        "to",
        "count",
        "actual_at",
        "lateness_ms",
        "outcome",
        "reason",
        "task_id",
        "manual",
    ];
    table::list(
        &gather(client, &path, &filters, args.limit, args.cursor).await?,
        &columns,
        json,
    )
}
