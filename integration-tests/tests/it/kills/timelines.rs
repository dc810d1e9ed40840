//! What the API says of each task, and what must hold of it.

use gengfu_integration_tests::Api;
use serde_json::Value;
use tokio::task::JoinSet;

/// Requests at a time.
const READERS: usize = 8;

/// The transitions of one task.
#[derive(Debug)]
pub(crate) struct Timeline {
    id: String,
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    version: u64,
    to: String,
    attempt: u64,
    node: String,
    lost: bool,
}

impl Step {
    fn read(item: &Value) -> Self {
        let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
        let number = |key: &str| item[key].as_u64().unwrap_or_else(|| panic!("no {key}: {item}"));
        Self {
            version: number("version"),
            to: text("to"),
            attempt: number("attempt"),
            node: text("node"),
            lost: item["error_class"] == "lost" && item["to"] == "timeout",
        }
    }
}

impl Timeline {
    /// Versions from 1 without a hole, and `success` once, as the last.
    pub(crate) fn check(&self) {
        let versions: Vec<_> = self.steps.iter().map(|step| step.version).collect();
        let dense: Vec<_> = (1..).take(versions.len()).collect();
        assert_eq!(versions, dense, "{}: {self:?}", self.id);
        let done = self.steps.iter().filter(|step| step.to == "success").count();
        assert_eq!(done, 1, "{self:?}");
        assert_eq!(
            self.steps.last().map(|step| step.to.as_str()),
            Some("success"),
            "{self:?}"
        );
    }

    /// The executor of each attempt that was lost.
    pub(crate) fn lost_at(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter(|step| step.lost).map(move |lost| {
            let began = |step: &&Step| step.to == "running" && step.attempt == lost.attempt;
            let run = self.steps.iter().find(began);
            run.unwrap_or_else(|| panic!("an attempt that never began was lost: {self:?}"))
                .node
                .as_str()
        })
    }
}

/// The timelines of all these tasks.
pub(crate) async fn read_all(api: &Api, ids: Vec<String>) -> Vec<Timeline> {
    let mut reading = JoinSet::new();
    for ids in ids.chunks(ids.len().div_ceil(READERS)) {
        reading.spawn(read(api.clone(), ids.to_vec()));
    }
    reading.join_all().await.into_iter().flatten().collect()
}

async fn read(api: Api, ids: Vec<String>) -> Vec<Timeline> {
    let mut timelines = Vec::with_capacity(ids.len());
    for id in ids {
        let answer = api.get(&format!("/api/v1/tasks/{id}/timeline")).await.unwrap();
        let body = answer.json();
        let items = body["items"]
            .as_array()
            .unwrap_or_else(|| panic!("{id}: {}", answer.text()));
        let steps = items.iter().map(Step::read).collect();
        timelines.push(Timeline { id, steps });
    }
    timelines
}
