//! Admission of any number of tasks: which go together in one call.

use std::collections::HashMap;

use domain::Partition;

use crate::{BATCH_MAX, NewTask};

/// Most payload bytes of one call (DESIGN section 6).
const CALL_BYTES: usize = 512 * 1024;

/// Tasks of one partition that go in one call of [`crate::TaskStore::admit`].
#[derive(Debug, Default)]
pub struct AdmitCall {
    /// Where they live.
    pub partition: Partition,
    /// The place of each among all that were given.
    pub places: Vec<usize>,
    /// The tasks.
    pub tasks: Vec<NewTask>,
    bytes: usize,
}

impl AdmitCall {
    fn of(partition: Partition) -> Self {
        Self {
            partition,
            ..Self::default()
        }
    }
}

/// Groups tasks by partition, in calls of bounded count and bytes; the order within a partition stays.
#[must_use]
pub fn admit_calls(tasks: Vec<NewTask>, partitions: u16) -> Vec<AdmitCall> {
    let mut full = Vec::new();
    let mut open: HashMap<Partition, AdmitCall> = HashMap::new();
    for (place, task) in tasks.into_iter().enumerate() {
        let partition = task.id.partition(partitions);
        let call = open.entry(partition).or_insert_with(|| AdmitCall::of(partition));
        let bytes = call.bytes + task.payload.len();
        if call.tasks.len() == BATCH_MAX || (bytes > CALL_BYTES && !call.tasks.is_empty()) {
            full.push(std::mem::replace(call, AdmitCall::of(partition)));
        }
        call.bytes += task.payload.len();
        call.places.push(place);
        call.tasks.push(task);
    }
    full.extend(open.into_values());
    full
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use domain::{TaskId, Tier};

    use super::*;

    fn tasks(count: usize, payload: usize) -> Vec<NewTask> {
        let payload = Bytes::from(vec![0; payload]);
        let one = |number: usize| {
            let mut random = [0; 10];
            random[8..].copy_from_slice(&u16::try_from(number).unwrap().to_be_bytes());
            NewTask {
                id: TaskId::new(0, random),
                task_type: "t".into(),
                pool: "p".into(),
                tier: Tier::Normal,
                payload: payload.clone(),
                payload_sha256: [0; 32],
                idempotency_key: String::new(),
                key_window_ms: 0,
                delay_ms: 0,
                at: 0,
                expire_after_ms: 0,
                max_retry: 0,
                max_lost: 1,
                run_timeout_ms: 1,
                schedule_id: String::new(),
                planned_at: 0,
                batch_id: None,
                batch_row: 0,
                parent_id: None,
                sampled: false,
                trace_link: String::new(),
                rejected: None,
                direct: false,
            }
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn calls_hold_one_partition_each_and_are_bounded() {
        let tasks = tasks(1_000, 10);
        let ids: Vec<_> = tasks.iter().map(|task| task.id).collect();
        let calls = admit_calls(tasks, 4);
        assert!(calls.iter().map(|call| call.partition).max() == Some(3));
        let mut seen = vec![false; 1_000];
        for call in &calls {
            assert!(call.tasks.len() <= BATCH_MAX && call.tasks.len() == call.places.len());
            assert!(call.places.is_sorted());
            for (place, task) in call.places.iter().zip(&call.tasks) {
                assert_eq!((task.id, task.id.partition(4)), (ids[*place], call.partition));
                assert!(!std::mem::replace(&mut seen[*place], true));
            }
        }
        assert!(seen.into_iter().all(|seen| seen));
    }

    #[test]
    fn large_payloads_make_small_calls() {
        let calls = admit_calls(tasks(7, 200 * 1024), 1);
        let sizes: Vec<_> = calls.iter().map(|call| call.tasks.len()).collect();
        assert_eq!(sizes, [2, 2, 2, 1]);
        assert!(calls.iter().all(|call| call.bytes <= CALL_BYTES));
    }
}
