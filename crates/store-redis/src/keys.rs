//! The keys of a partition. All carry its hash tag, so that a script touches one slot of a cluster.

use domain::{Partition, TaskId, Tier, key_digest};
use store::{NewTask, Nonce};

/// The keys that every verb is given first, in order; the scripts write `K_` and the name. Value: the key's tail.
pub(crate) const PARTITION_KEYS: [(&str, &str); 15] = [
    ("NONCE", "n:"),
    ("META", "m"),
    ("OUTBOX", "o"),
    ("COUNTERS", "c"),
    ("BATCHES", "bc"),
    ("DUE", "due"),
    ("DISPATCHED", "disp"),
    ("LEASES", "lease"),
    ("DEAD", "dead"),
    ("ALL", "all"),
    ("SUCCESS", "es"),
    ("CANCELLED", "ec"),
    ("CONTROL", "ctl"),
    ("PLAN", "plan"),
    ("LIVE", "live"),
];

/// The keys that every verb of the plan table is given after those, in order; their names stand in `plan.lua`.
pub(crate) const PLAN_KEYS: [&str; 4] = ["spec", "plandue", "planname", "trold"];

/// A key: text, then perhaps raw bytes of an id.
pub(crate) type Key = Vec<u8>;

/// Names the keys of one partition.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    prefix: String,
}

impl Keys {
    pub(crate) fn of(partition: Partition) -> Self {
        Self {
            prefix: format!("{{gf:{partition:02}}}:"),
        }
    }

    pub(crate) fn named(&self, tail: &str) -> Key {
        [self.prefix.as_bytes(), tail.as_bytes()].concat()
    }

    fn raw(&self, tail: &str, bytes: &[u8]) -> Key {
        [self.prefix.as_bytes(), tail.as_bytes(), bytes].concat()
    }

    /// The keys of every verb, with the nonce of the call.
    pub(crate) fn partition(&self, nonce: &Nonce) -> Vec<Key> {
        let mut keys: Vec<_> = PARTITION_KEYS.iter().map(|(_, tail)| self.named(tail)).collect();
        keys[0].extend_from_slice(nonce);
        keys
    }

    pub(crate) fn task(&self, id: TaskId) -> Key {
        self.raw("t:", id.as_bytes())
    }

    pub(crate) fn idempotency(&self, task_type: &str, key: &str) -> Key {
        self.raw("i:", &key_digest(task_type, key)[..16])
    }

    pub(crate) fn batch(&self, batch: Option<TaskId>) -> Key {
        self.raw("b:", batch.as_ref().map_or(&[], |id| id.as_bytes().as_slice()))
    }

    /// The keys of every verb of the plan table.
    pub(crate) fn plan(&self) -> Vec<Key> {
        PLAN_KEYS.iter().map(|tail| self.named(tail)).collect()
    }

    /// The records of a schedule's instants, and the ranges among them by their end.
    pub(crate) fn ledger(&self, schedule: &str) -> [Key; 2] {
        [
            self.named(&format!("tr:{schedule}")),
            self.named(&format!("trr:{schedule}")),
        ]
    }

    pub(crate) fn turns(&self, pool: &str, tier: Tier) -> Key {
        self.named(&format!("qv:{pool}:{}", tier as u8))
    }

    pub(crate) fn heads(&self, pool: &str, tier: Tier) -> Key {
        self.named(&format!("qh:{pool}:{}", tier as u8))
    }

    pub(crate) fn queue(&self, pool: &str, tier: Tier, task_type: &str) -> Key {
        self.named(&format!("q:{pool}:{}:{task_type}", tier as u8))
    }

    /// The keys of a submission, as the scripts take them.
    pub(crate) fn admission(&self, task: &NewTask) -> [Key; 6] {
        let [queue, turns, heads] = self.line(&task.pool, task.tier, &task.task_type);
        [
            self.task(task.id),
            self.idempotency(&task.task_type, &task.idempotency_key),
            queue,
            turns,
            heads,
            self.batch(task.batch_id),
        ]
    }

    /// Queue, turns and heads of a task.
    pub(crate) fn line(&self, pool: &str, tier: Tier, task_type: &str) -> [Key; 3] {
        [
            self.queue(pool, tier, task_type),
            self.turns(pool, tier),
            self.heads(pool, tier),
        ]
    }
}

/// A key of the control state's home.
pub(crate) fn control(tail: &str) -> String {
    format!("{{gf:ctl}}:{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_partition_has_its_tag() {
        let keys = Keys::of(7);
        let id = TaskId::new(1, [2; 10]);
        let mut all = keys.partition(&[1; 16]);
        all.extend(keys.line("p", Tier::Low, "a.b"));
        all.extend(keys.plan());
        all.extend(keys.ledger("nightly"));
        all.extend([
            keys.task(id),
            keys.idempotency("a", "k"),
            keys.batch(Some(id)),
            keys.batch(None),
        ]);
        assert!(all.iter().all(|key| key.starts_with(b"{gf:07}:")));
        assert_eq!(keys.partition(&[1; 16])[1], b"{gf:07}:m");
    }
}
