//! From rows to the tasks that they become, part by part.

use std::sync::Arc;

use admission::{KnownType, Limits, Problem, Submission, TypeTable, check};
use domain::{Millis, TaskId};
use handler::HandlerError;
use rows::{Fault, Reader, Row};
use serde_json::{Value, json};
use store::NewTask;
use tokio::sync::mpsc;

use super::source::{Fetched, refused};

/// Rows of a part.
const ROWS: usize = 512;
/// Bytes of a part, about.
const BYTES: usize = 1024 * 1024;
/// Bytes kept of a row that is too large to be stored whole.
const ROW_KEPT: usize = 4 * 1024;

/// What the tasks of rows have in common.
pub(super) struct RowTasks {
    pub(super) parent: TaskId,
    /// The planned instant; 0: none.
    pub(super) planned_at: Millis,
    pub(super) each: Arc<KnownType>,
    pub(super) types: Arc<TypeTable>,
    pub(super) limits: Limits,
    /// Most rows.
    pub(super) most: u64,
}

/// Some rows.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) tasks: Vec<NewTask>,
    /// Those of them that are dead from the start.
    pub(super) rejected: u64,
    bytes: usize,
}

impl RowTasks {
    /// Checks the whole source, then sends its rows; ends early where nobody takes them any more.
    pub(super) fn read(&self, fetched: &Fetched, parts: &mpsc::Sender<Part>) -> Result<(), HandlerError> {
        let open = || Reader::open(&fetched.source, &fetched.how, &self.each).map_err(refused);
        let rows = open()?.count().map_err(refused)?;
        if rows > self.most {
            let name = fetched.source.name();
            return Err(HandlerError::deterministic(
                "too_many_rows",
                format!(
                    "{name} has {rows} rows, at most {} may become tasks (limits.source_rows, or max_rows of the schedule); nothing was submitted",
                    self.most
                ),
            ));
        }
        let mut part = Part::default();
        for row in open()? {
            let task = self.task(row.map_err(refused)?)?;
            part.bytes += task.payload.len();
            part.rejected += u64::from(task.rejected.is_some());
            part.tasks.push(task);
            let full = part.tasks.len() >= ROWS || part.bytes >= BYTES;
            if full && parts.blocking_send(std::mem::take(&mut part)).is_err() {
                return Ok(());
            }
        }
        if !part.tasks.is_empty() {
            // Nobody takes it where the run was ended.
            let _ = parts.blocking_send(part);
        }
        Ok(())
    }

    /// The task of a row; of a bad one a task that is dead and says why.
    fn task(&self, row: Row) -> Result<NewTask, HandlerError> {
        let Row { line, content } = row;
        let fault = match content {
            Err(fault) => fault,
            Ok(payload) => match self.checked(line, payload.clone(), None)? {
                Ok(task) => return Ok(task),
                Err(problem) => Fault {
                    column: problem.field.strip_prefix("payload.").map(str::to_owned),
                    reason: problem.reason,
                    row: payload,
                },
            },
        };
        let why = json!({"line": line, "column": fault.column, "reason": fault.reason}).to_string();
        let whole = Value::from(fault.row.as_str()).to_string();
        if let Ok(task) = self.checked(line, whole, Some(why.clone()))? {
            return Ok(task);
        }
        let start = &fault.row[..fault.row.floor_char_boundary(ROW_KEPT)];
        let kept = self.checked(line, Value::from(start).to_string(), Some(why))?;
        kept.map_err(|problem| {
            HandlerError::deterministic("invalid_input", format!("line {line}: {problem}"))
        })
    }

    /// The task, or what is wrong with the payload; other faults are those of the type, and of every row.
    fn checked(
        &self,
        line: u64,
        payload: String,
        rejected: Option<String>,
    ) -> Result<Result<NewTask, Problem>, HandlerError> {
        let key = format!("{}/{line}", self.parent);
        let batch_row = u32::try_from(line)
            .map_err(|_| HandlerError::deterministic("too_many_rows", format!("there is a line {line}")))?;
        let submission = Submission {
            task_type: &self.each.spec().name,
            payload: payload.into(),
            idempotency_key: &key,
            batch_id: Some(self.parent),
            batch_row,
            parent_id: Some(self.parent),
            planned_at: self.planned_at,
            rejected,
            ..Submission::default()
        };
        let problem = match check(submission, &self.types, &self.limits) {
            Ok(task) => return Ok(Ok(task)),
            Err(problems) => problems.into_iter().next(),
        };
        match problem {
            Some(problem) if problem.field.starts_with("payload") => Ok(Err(problem)),
            Some(problem) => Err(HandlerError::transient("no_handler", problem.to_string())),
            None => Err(HandlerError::transient("no_handler", "refused without a reason")),
        }
    }
}
