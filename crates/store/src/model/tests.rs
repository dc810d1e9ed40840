//! The conformance suite on the model, and what only the model shows.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use domain::{TaskId, Token};

use super::{Clock, Model};
use crate::suite::Harness;
use crate::{Finish, Origin, PlanStore, TaskStore};

struct ModelHarness(Mutex<Arc<Model>>);

impl ModelHarness {
    fn new() -> Self {
        Self(Mutex::new(Arc::new(Model::new(1, Clock::standing(0)))))
    }
}

#[async_trait]
impl Harness for ModelHarness {
    async fn fresh(&self) -> Arc<dyn PlanStore> {
        let clock = Clock::standing(1_764_460_800_000);
        let model = Arc::new(Model::new(4, clock));
        *self.0.lock().unwrap() = Arc::clone(&model);
        model
    }

    async fn advance(&self, ms: i64) {
        self.0.lock().unwrap().clock().advance(ms);
    }

    async fn lose(&self) {
        self.0.lock().unwrap().lose();
    }
}

crate::task_store_suite!(ModelHarness::new());

#[test]
fn a_real_clock_goes_on_from_the_hosts() {
    let clock = Clock::real();
    let before = clock.now();
    clock.advance(60_000);
    assert!(before > 1_700_000_000_000 && clock.now() >= before + 60_000);
}

#[tokio::test]
async fn writes_with_a_lost_lease_are_counted() {
    let model = Model::new(1, Clock::real());
    let (id, token) = (TaskId::new(1, [0; 10]), Token([1; 16]));
    let new = crate::suite::plain(id);
    model.admit(0, [1; 16], &Origin::default(), &[new]).await.unwrap();
    let end = Finish {
        id,
        token,
        result: "".into(),
        output: "".into(),
    };
    for nonce in [[2; 16], [2; 16], [3; 16]] {
        model
            .complete(0, nonce, &Origin::default(), std::slice::from_ref(&end))
            .await
            .unwrap();
    }
    assert_eq!(model.refused_writes(0), 2, "a repeat is no second write");
}
