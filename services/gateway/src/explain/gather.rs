//! Reads the facts, and only those that the task's status asks for.

use std::time::{Duration, Instant};

use domain::{Millis, Status, SubState, Task, Tier};
use futures::future::try_join_all;
use proto::{ProbeReply, ProbeRequest};
use store::{ScheduleView, TaskView};

use super::facts::{Before, Facts, Pool};
use crate::{gate::Gate, refusal::Refusal};

/// Longest wait for an executor's answer about a run.
const PROBE_LIMIT: Duration = Duration::from_millis(1_500);

pub(super) async fn facts(gate: &Gate, view: TaskView) -> Result<Facts, Refusal> {
    let task = &view.task;
    let store = &gate.store;
    let (now, timeline) = (store.ping().await?, store.timeline(task.id).await?);
    let (_, types) = store.types().await?;
    let spec = types.into_iter().find(|spec| spec.name == task.task_type);
    let mut facts = Facts {
        now: now.max(task.update_time),
        timeline,
        pause: None,
        pool: Pool::default(),
        deaf: gate.bus.state().reason(),
        before: None,
        lease: None,
        usual: None,
        probe: None,
        spec,
        view,
    };
    let task = &facts.view.task;
    match task.status {
        Status::Pending | Status::Retrying => {
            facts.pause = store.pauses().await?.remove(&task.task_type);
            facts.pool = pool(gate, &task.pool, task.tier, facts.now).await?;
            if facts.view.sub_state == Some(SubState::Blocked) {
                facts.before = before(gate, &facts.view).await?;
            }
        }
        Status::Running => {
            facts.lease = store.lease(task.id).await?;
            facts.usual = store.run_times().await?.remove(&task.task_type);
            facts.probe = Some(probe(gate, task).await);
        }
        Status::Success | Status::Failed | Status::Timeout | Status::Dead | Status::Cancelled => {}
    }
    Ok(facts)
}

/// Asks the executor what the run waits for. Without an answer the rest is explained all the same.
async fn probe(gate: &Gate, task: &Task) -> Result<ProbeReply, String> {
    let asked = ProbeRequest {
        task_id: task.id.as_bytes().to_vec().into(),
    };
    let answer = gate.bus.probe(&task.executor_id, &asked, PROBE_LIMIT).await;
    answer.map_err(|error| error.to_string())
}

async fn pool(gate: &Gate, name: &str, tier: Tier, now: Millis) -> Result<Pool, Refusal> {
    let mut pool = Pool {
        name: name.to_owned(),
        ..Pool::default()
    };
    for ((of, _), executor) in gate.credit.executors(Instant::now()) {
        if of == name {
            pool.executors += 1;
            pool.slots += u64::from(executor.slots);
            pool.free += u64::from(executor.free);
        }
    }
    let pools = [name.to_owned()];
    let partitions = 0..gate.store.partitions();
    let lines = try_join_all(partitions.map(|partition| gate.store.queues(partition, &pools))).await?;
    for line in lines.into_iter().flatten().filter(|line| line.tier == tier) {
        pool.ready += line.ready;
        if line.oldest > 0 {
            pool.oldest_ready_ms = pool.oldest_ready_ms.max(now - line.oldest);
        }
    }
    Ok(pool)
}

/// The first of the schedule's live tasks, if it is another.
async fn before(gate: &Gate, view: &TaskView) -> Result<Option<Before>, Refusal> {
    let schedule: Option<ScheduleView> = gate.store.schedule(&view.task.schedule_id).await?;
    let Some(schedule) = schedule else { return Ok(None) };
    let mut earlier = schedule.live.iter().take_while(|live| live.id != view.task.id);
    let Some(first) = earlier.next() else {
        return Ok(None);
    };
    let found = gate.store.get(first.id).await?;
    Ok(Some(Before {
        task_id: first.id,
        status: found.as_ref().map(|found| found.task.status.as_str()),
        tasks: earlier.count() + 1,
        schedule: schedule.plan.name.clone(),
        overlap: schedule.plan.overlap.as_str(),
        stopping: found.is_some_and(|found| found.task.stop.is_some()),
    }))
}
