//! Lists: `{"items": […], "next": CURSOR|null}`.

use serde::Serialize;
use store::Page;

use crate::{body::Params, refusal::Refusal};

/// Most items of a page.
pub(crate) const LIMIT_MAX: usize = 1_000;
/// Items of a page that says no limit.
const LIMIT: usize = 100;

/// A page of a list.
#[derive(Debug, Serialize)]
pub(crate) struct Items<T> {
    pub(crate) items: Vec<T>,
    pub(crate) next: Option<String>,
}

impl<T> Items<T> {
    /// A list that comes whole.
    pub(crate) const fn whole(items: Vec<T>) -> Self {
        Self { items, next: None }
    }
}

/// The page that `limit` and `cursor` ask for.
pub(crate) fn page(params: &Params) -> Result<Page, Refusal> {
    let limit = params.read("limit", |text| match text.parse() {
        Ok(limit @ 1..=LIMIT_MAX) => Ok(limit),
        Ok(_) | Err(_) => Err(format!("is a number from 1 to {LIMIT_MAX}")),
    })?;
    Ok(Page {
        limit: limit.unwrap_or(LIMIT),
        cursor: params.get("cursor").map(str::to_owned),
    })
}
