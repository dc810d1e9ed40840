//! heartbeat, complete, fail, hand_back and stopped: what an executor says of its runs.

use bytes::Bytes;
use domain::{ErrorClass, Event, Rejection, Status, TaskId, Token};

use super::shard::{Place, Shard};
use crate::{Failure, Finish, Heartbeat, Origin, Verdict};

impl Shard {
    pub(super) fn heartbeat(&mut self, lease_ms: i64, leases: &[(TaskId, Token)]) -> Vec<Heartbeat> {
        leases
            .iter()
            .map(|(id, token)| self.renew(*id, *token, lease_ms).unwrap_or_else(Heartbeat::Lost))
            .collect()
    }

    fn renew(&mut self, id: TaskId, token: Token, lease_ms: i64) -> Result<Heartbeat, Rejection> {
        let task = &self.records.get(&id).ok_or(Rejection::Missing)?.task;
        if task.status != Status::Running {
            return Err(Rejection::Illegal);
        }
        if task.lease_token != Some(token) {
            return Err(Rejection::Fenced);
        }
        let said = task.stop.map_or(Heartbeat::Renewed, Heartbeat::Stop);
        self.shift(id, Place::Lease(self.now + lease_ms));
        Ok(said)
    }

    pub(super) fn complete(&mut self, origin: &Origin, ends: &[Finish]) -> Vec<Verdict> {
        let complete = |end: &Finish| {
            let event = Event::Complete { token: end.token };
            let verdict = self.apply(end.id, &event, origin, 0);
            self.count_refused(verdict);
            if verdict.is_ok() {
                self.keep_output(end.id, &end.output);
                if let Some(record) = self.records.get_mut(&end.id) {
                    record.result = end.result.clone();
                }
            }
            verdict
        };
        ends.iter().map(complete).collect()
    }

    pub(super) fn fail(&mut self, origin: &Origin, ends: &[Failure]) -> Vec<Verdict> {
        let fail = |end: &Failure| {
            let verdict = self.apply(end.id, &failed(end), origin, 0);
            self.count_refused(verdict);
            if verdict.is_ok() {
                self.keep_output(end.id, &end.output);
                if let Some(record) = self.records.get_mut(&end.id) {
                    record.error = end.error.clone();
                }
            }
            verdict
        };
        ends.iter().map(fail).collect()
    }

    pub(super) fn hand_back(&mut self, origin: &Origin, leases: &[(TaskId, Token)]) -> Vec<Verdict> {
        leases
            .iter()
            .map(|(id, token)| self.end_without_result(*id, &Event::HandBack { token: *token }, origin))
            .collect()
    }

    pub(super) fn stopped(&mut self, origin: &Origin, leases: &[(TaskId, Token)]) -> Vec<Verdict> {
        leases
            .iter()
            .map(|(id, token)| self.end_without_result(*id, &Event::Stopped { token: *token }, origin))
            .collect()
    }

    fn end_without_result(&mut self, id: TaskId, event: &Event, origin: &Origin) -> Verdict {
        let verdict = self.apply(id, event, origin, 0);
        self.count_refused(verdict);
        verdict
    }

    fn count_refused(&mut self, verdict: Verdict) {
        if matches!(verdict, Err(Rejection::Fenced | Rejection::Illegal)) {
            self.refused += 1;
        }
    }

    fn keep_output(&mut self, id: TaskId, output: &Bytes) {
        if let Some(record) = self.records.get_mut(&id).filter(|_| !output.is_empty()) {
            record.outputs.insert(record.task.attempt, output.clone());
        }
    }
}

fn failed(end: &Failure) -> Event {
    let (token, delay_ms) = (end.token, end.delay_ms);
    let class = match end.class {
        ErrorClass::Timeout => return Event::Overrun { token, delay_ms },
        // `lost` is the platform's own word; a handler that says it means that it may pass.
        ErrorClass::Lost | ErrorClass::Transient => ErrorClass::Transient,
        ErrorClass::Deterministic => ErrorClass::Deterministic,
    };
    Event::Fail {
        token,
        class,
        code: end.code.clone(),
        delay_ms,
    }
}
