//! claim: dispatched tasks become one executor's, each under a lease with a new fencing token (I3, I4).

use domain::{Event, Rejection, Status, Token};

use super::shard::{Place, Shard};
use crate::{Claim, ClaimItem, Claimed, Origin};

impl Shard {
    pub(super) fn claim(&mut self, origin: &Origin, claim: &Claim) -> Vec<Claimed> {
        claim
            .items
            .iter()
            .map(|item| {
                self.claim_one(origin, claim, item)
                    .unwrap_or_else(Claimed::Refused)
            })
            .collect()
    }

    fn claim_one(&mut self, origin: &Origin, claim: &Claim, item: &ClaimItem) -> Result<Claimed, Rejection> {
        let record = self.records.get(&item.id).ok_or(Rejection::Missing)?;
        if !record.task.status.is_claimable() {
            return Err(Rejection::Illegal);
        }
        if record.task.next_run_time > self.now {
            return Err(Rejection::NotDue);
        }
        let Place::Dispatched(until) = record.place else {
            return Err(Rejection::Moved);
        };
        if self.paused.contains(&record.task.task_type) {
            return Err(Rejection::Paused);
        }
        let micros = u64::try_from(self.now).unwrap_or(0) * 1_000;
        let token = Token::next(self.last_token, micros, item.random);
        let event = Event::Claim {
            token,
            executor_id: claim.executor_id.clone(),
            dispatched_at: until - self.dispatch_lease_ms,
            effective_tier: item.effective_tier,
        };
        let (status, _) = self.apply(item.id, &event, origin, claim.lease_ms)?;
        if status != Status::Running {
            return Ok(Claimed::Expired);
        }
        self.last_token = token.number();
        let record = self.records.get(&item.id).ok_or(Rejection::Missing)?;
        Ok(Claimed::Run {
            task: Box::new(record.task.clone()),
            payload: record.payload.clone(),
        })
    }
}
