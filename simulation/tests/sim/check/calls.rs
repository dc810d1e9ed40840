//! What one call may answer: repeats (I12), tokens and leases (I3, I4), due times (I11), acks (rule 2).

use domain::{Millis, Rejection, Status, TaskId, Token};
use messaging::memory::Letter;
use proto::Message;
use store::{Admitted, Claim, Claimed, Dispatched, Heartbeat, NewTask, Nonce, Verdict};

use super::{Check, Lease};
use crate::store::Play;
use crate::world::Who;

impl Check {
    /// A repeat is answered as the first call was.
    pub(crate) fn repeated(&mut self, verb: &'static str, nonce: Nonce, digest: impl FnOnce() -> u64) {
        let Some(first) = self.first_answers.get(&nonce) else {
            return;
        };
        if *first != digest() {
            self.say("I12", format!("{verb} was played again and answered otherwise"));
        }
    }

    /// The same key is the same task, and another payload is a conflict (I1).
    pub(crate) fn admitted(&mut self, tasks: &[NewTask], items: &[Admitted]) {
        for (task, item) in tasks.iter().zip(items) {
            if task.idempotency_key.is_empty() {
                continue;
            }
            let key = (task.task_type.clone(), task.idempotency_key.clone());
            let known = self.keys.get(&key).copied();
            match (item, known) {
                (Admitted::Created { id, .. }, None) => {
                    self.keys.insert(key, (*id, task.payload_sha256));
                }
                (Admitted::Created { id, .. }, Some((first, _))) => {
                    self.say("I1", format!("key {} made {first}, and now {id}", key.1));
                }
                (Admitted::Existing { id, .. }, Some((first, sha)))
                    if *id == first && sha == task.payload_sha256 => {}
                (Admitted::Conflict { id }, Some((first, sha)))
                    if *id == first && sha != task.payload_sha256 => {}
                (item, known) => self.say("I1", format!("key {} of {known:?} answers {item:?}", key.1)),
            }
        }
    }

    /// Only what is due is dispatched (I11).
    pub(crate) fn dispatched(&mut self, play: Play, dispatched: &Dispatched) {
        for (id, _, due) in &dispatched.tasks {
            if *due > play.now {
                self.say("I11", format!("{id} was dispatched {} ms early", due - play.now));
            }
        }
    }

    /// A claim takes a task that nobody has, with a token that nobody had (I3).
    pub(crate) fn claimed(&mut self, play: Play, claim: &Claim, items: &[Claimed]) {
        for item in items {
            let Claimed::Run { task, .. } = item else { continue };
            let id = task.id;
            let Some(token) = task.lease_token else {
                self.say("I4", format!("{id} runs without a token"));
                continue;
            };
            if task.next_run_time > play.now {
                let early = task.next_run_time - play.now;
                self.say("I11", format!("{id} was claimed {early} ms early"));
            }
            if !self.tokens.insert(token) {
                self.say("I3", format!("{id} got a token that was given before"));
            }
            let end = play.now + claim.lease_ms;
            match self.tasks.get_mut(&id) {
                Some(seen) if seen.status.is_claimable() && seen.lease.is_none() => {
                    seen.lease = Some(Lease { token, end });
                    seen.attempts += 1;
                }
                other => {
                    let before = other.map(|seen| seen.status);
                    self.say("I3", format!("{id} was claimed out of {before:?}, under a lease"));
                }
            }
        }
    }

    fn holds(&self, id: TaskId, token: Token) -> bool {
        self.tasks
            .get(&id)
            .and_then(|seen| seen.lease)
            .is_some_and(|lease| lease.token == token)
    }

    pub(crate) fn renewed(
        &mut self,
        play: Play,
        lease_ms: i64,
        leases: &[(TaskId, Token)],
        beats: &[Heartbeat],
    ) {
        for ((id, token), beat) in leases.iter().zip(beats) {
            match beat {
                Heartbeat::Renewed | Heartbeat::Stop(_) if play.again => {}
                Heartbeat::Renewed | Heartbeat::Stop(_) => {
                    if !self.holds(*id, *token) {
                        self.say(
                            "I3",
                            format!("{id} was renewed with a token that is not the lease's"),
                        );
                    } else if let Some(lease) = self.tasks.get_mut(id).and_then(|seen| seen.lease.as_mut()) {
                        lease.end = play.now + lease_ms;
                    }
                }
                Heartbeat::Lost(_) => {}
            }
        }
    }

    /// Only the holder of the lease ends a run (I3).
    pub(crate) fn ended(&mut self, leases: &[(TaskId, Token)], verdicts: &[Verdict]) {
        for ((id, token), verdict) in leases.iter().zip(verdicts) {
            match verdict {
                Ok(_) if !self.holds(*id, *token) => {
                    self.say(
                        "I3",
                        format!("{id} was ended with a token that is not the lease's"),
                    );
                }
                Err(Rejection::Fenced) if self.holds(*id, *token) => {
                    self.say("I3", format!("{id} was refused to the holder of its lease"));
                }
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Only an expired lease is reclaimed, and none for one lease after an outage (I4).
    pub(crate) fn reclaimed(&mut self, play: Play, lease_ms: i64, items: &[(TaskId, Verdict)]) {
        let recent = |(start, end): &&(Millis, Millis)| {
            (end - start) * 2 > lease_ms && play.now < end + lease_ms && *end <= play.now
        };
        let outage = self.outages.iter().find(recent).copied();
        for (id, verdict) in items {
            if verdict.is_err() {
                continue;
            }
            if let Some((start, end)) = outage {
                let (long, ago) = (end - start, play.now - end);
                self.say(
                    "I4",
                    format!("{id} was reclaimed {ago} ms after an outage of {long} ms"),
                );
            }
            match self.tasks.get(id).and_then(|seen| seen.lease) {
                Some(lease) if lease.end < play.now => {}
                Some(lease) => {
                    let left = lease.end - play.now;
                    self.say("I4", format!("{id} was reclaimed, its lease had {left} ms left"));
                }
                None => self.say("I4", format!("{id} was reclaimed without a lease")),
            }
        }
    }

    /// A process knows what became of its claim.
    pub(crate) fn answered(&mut self, who: Who, ids: impl Iterator<Item = TaskId>) {
        self.answers.extend(ids.map(|id| (who, id)));
    }

    /// A process starts anew and knows nothing.
    pub(crate) fn forget(&mut self, who: Who) {
        self.answers.retain(|(other, _)| *other != who);
    }

    /// A hint may only be acked by whoever knows the answer to its claim.
    pub(crate) fn acked(&mut self, who: Who, letter: &Letter) {
        let Ok(hint) = proto::WorkHint::decode(letter.payload.clone()) else {
            return;
        };
        for item in &hint.items {
            let known = TaskId::from_slice(&item.task_id).is_ok_and(|id| self.answers.contains(&(who, id)));
            if !known {
                self.say(
                    "rule 2",
                    "a hint was acked before the store answered its claim".into(),
                );
            }
        }
    }

    /// Leases that ended so long ago that somebody should have taken the tasks back (I4).
    pub(crate) fn overdue_leases(&mut self, now: Millis, grace_ms: i64) {
        let late = |seen: &super::Seen| {
            let end = seen.lease.map(|lease| lease.end);
            seen.status == Status::Running && end.is_some_and(|end| end + grace_ms < now)
        };
        let found: Vec<_> = self
            .tasks
            .iter()
            .filter(|(_, seen)| late(seen))
            .map(|(id, _)| *id)
            .collect();
        for id in found {
            self.say(
                "I4",
                format!("{id} is not taken back, {grace_ms} ms after its lease ended"),
            );
        }
    }
}
