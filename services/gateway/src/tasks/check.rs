//! Checks submissions against the types, and looks once for a type that this gateway has not heard of yet.

use std::sync::Arc;

use admission::{Problem, Submission, TypeTable, check};
use store::NewTask;

use crate::{gate::Gate, refusal::Refusal};

impl Gate {
    /// Turns a submission into a task.
    ///
    /// # Errors
    /// 422 with every problem, 413 for a payload over the limit, 503 where the types can't be read.
    pub(crate) async fn check(&self, submission: Submission<'_>) -> Result<NewTask, Refusal> {
        let table = self.types_for([submission.task_type]).await?;
        self.check_with(submission, &table).map_err(Refusal::invalid)
    }

    /// The same with types that are at hand.
    pub(crate) fn check_with(
        &self,
        submission: Submission<'_>,
        table: &TypeTable,
    ) -> Result<NewTask, Vec<Problem>> {
        check(submission, table, &self.limits)
    }

    /// The types; read anew where one of these is missing.
    pub(crate) async fn types_for<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<Arc<TypeTable>, store::Error> {
        let table = self.types().await?;
        let known = names
            .into_iter()
            .all(|name| name.is_empty() || table.get(name).is_some());
        if known {
            Ok(table)
        } else {
            self.types.refresh().await
        }
    }
}
