//! Lists over as many pages as it takes: a page may be short, even empty, and still have a next.

use serde_json::{Value, json};

use crate::client::Client;

/// Most items of one request.
const PAGE_MAX: u64 = 1_000;

/// Up to `limit` items from `cursor` on, and where to go on.
pub(crate) async fn gather(
    client: &Client,
    path: &str,
    filters: &[(&str, String)],
    limit: u64,
    mut cursor: Option<String>,
) -> anyhow::Result<Value> {
    let mut items: Vec<Value> = Vec::new();
    loop {
        let left = limit.saturating_sub(items.len() as u64).clamp(1, PAGE_MAX);
        let mut query = filters.to_vec();
        query.push(("limit", left.to_string()));
        query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
        let mut page = client.get(path, &query).await?;
        if let Value::Array(more) = page["items"].take() {
            items.extend(more);
        }
        cursor = page["next"].as_str().map(str::to_owned);
        if cursor.is_none() || items.len() as u64 >= limit {
            return Ok(json!({"items": items, "next": cursor}));
        }
    }
}
