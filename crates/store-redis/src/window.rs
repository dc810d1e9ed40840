//! Parts of the lists of tasks, read in one step, so that a trim in between shifts nothing.

use std::ops::Range;

use domain::{Partition, TaskId};
use store::Error;

use crate::connect::RedisStore;
use crate::keys::Keys;
use crate::queue::id_of;

/// A part of a list; its positions stay true however much is trimmed off the list's head.
pub(crate) struct Window {
    /// How many were trimmed.
    pub(crate) trimmed: u64,
    /// The position after the list's last.
    pub(crate) end: u64,
    /// The ids from the first asked position that is still there.
    pub(crate) ids: Vec<TaskId>,
}

impl RedisStore {
    /// The tasks at these positions, of a batch or of all.
    pub(crate) async fn window(
        &self,
        partition: Partition,
        batch: Option<TaskId>,
        positions: Range<u64>,
    ) -> Result<Window, Error> {
        let keys = Keys::of(partition);
        let list = batch.map_or_else(|| keys.named("all"), |batch| keys.batch(Some(batch)));
        let whole = if batch.is_none() { "1" } else { "0" };
        let args = [
            positions.start.to_string(),
            positions.end.to_string(),
            whole.to_owned(),
        ];
        let args = args.map(String::into_bytes);
        let (trimmed, end, ids): (u64, u64, Vec<Vec<u8>>) = self
            .run(&self.scripts.window, &[keys.named("m"), list], &args)
            .await?;
        Ok(Window {
            trimmed,
            end,
            ids: ids.iter().map(|id| id_of(id)).collect::<Result<_, _>>()?,
        })
    }
}
