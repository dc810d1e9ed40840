//! The whole town as processes: one of each role and some executors, with a NATS and a Redis of their own.

use std::time::Duration;

use gengfu_integration_tests::{Api, Gengfu, GengfuBuilder, NatsServer, RedisServer, eventually};
use serde_json::{Value, json};

/// How long anything may take on a machine that is busy; it costs only where a test fails.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The servers and every role but the executors, which each test starts as it needs them.
pub(crate) struct Town {
    pub(crate) api: Api,
    pub(crate) gateway: Gengfu,
    /// Scheduler, dispatcher, recorder.
    pub(crate) roles: Vec<Gengfu>,
    pub(crate) redis: RedisServer,
    pub(crate) nats: NatsServer,
    settings: Vec<(String, String)>,
}

impl Town {
    /// Starts it, and waits until every role is ready.
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// As [`Town::start`], with settings of every process, the executors too, in TOML's writing.
    pub(crate) async fn start_with(settings: &[(&str, &str)]) -> Self {
        let town = Self::begin(
            RedisServer::start_new().unwrap(),
            NatsServer::start_new().unwrap(),
            settings,
        );
        for role in town.roles.iter().chain([&town.gateway]) {
            ready(role).await;
        }
        town
    }

    /// Starts the roles, with both servers stopped.
    pub(crate) fn start_without_servers() -> Self {
        let (mut redis, mut nats) = (
            RedisServer::start_new().unwrap(),
            NatsServer::start_new().unwrap(),
        );
        redis.stop().unwrap();
        nats.stop().unwrap();
        Self::begin(redis, nats, &[])
    }

    fn begin(redis: RedisServer, nats: NatsServer, settings: &[(&str, &str)]) -> Self {
        let settings: Vec<_> = settings
            .iter()
            .map(|(key, toml)| ((*key).to_owned(), (*toml).to_owned()))
            .collect();
        let start = |role| role_with(role, &redis, &nats, &settings).start().unwrap();
        let gateway = start("gateway");
        Self {
            api: gateway.api().unwrap(),
            gateway,
            roles: ["scheduler", "dispatcher", "recorder"].map(start).into(),
            redis,
            nats,
            settings,
        }
    }

    /// A further role of this town, not yet started.
    pub(crate) fn role(&self, role: &str) -> GengfuBuilder {
        role_with(role, &self.redis, &self.nats, &self.settings)
    }

    /// The scheduler that was started first.
    pub(crate) fn scheduler(&mut self) -> &mut Gengfu {
        &mut self.roles[0]
    }

    /// Starts an executor of this name.
    pub(crate) fn executor(&self, name: &str, slots: u32) -> Gengfu {
        self.role("executor")
            .set_text("executor.id", name)
            .set("executor.concurrency", slots)
            .start()
            .unwrap()
    }

    /// Declares types, as `gengfu apply` does.
    pub(crate) async fn declare(&self, types: &Value) {
        let answer = self
            .api
            .post("/api/v1/apply", &json!({ "types": types }))
            .await
            .unwrap();
        assert!(answer.status.is_success(), "{}", answer.text());
    }

    /// Submits one task and gives its id.
    pub(crate) async fn submit(&self, task_type: &str, payload: &Value) -> String {
        let body = json!({ "task_type": task_type, "payload": payload });
        let answer = self.api.post("/api/v1/tasks", &body).await.unwrap();
        assert!(answer.status.is_success(), "{}", answer.text());
        answer.json()["task_id"].as_str().unwrap().to_owned()
    }

    /// A task as the API shows it.
    pub(crate) async fn task(&self, id: &str) -> Value {
        self.api.get(&format!("/api/v1/tasks/{id}")).await.unwrap().json()
    }

    /// Every process: the gateway, the other roles, and an executor of this town.
    pub(crate) fn processes<'a>(&'a self, executor: &'a Gengfu) -> Vec<&'a Gengfu> {
        [&self.gateway]
            .into_iter()
            .chain(&self.roles)
            .chain([executor])
            .collect()
    }

    /// How many tasks there are, of every status.
    pub(crate) async fn tasks(&self) -> u64 {
        let answer = self.api.get("/api/v1/stats").await.unwrap();
        let stats = answer.json();
        let counts = stats["tasks"]
            .as_object()
            .unwrap_or_else(|| panic!("{}", answer.text()));
        counts.values().filter_map(Value::as_u64).sum()
    }
}

fn role_with(
    role: &str,
    redis: &RedisServer,
    nats: &NatsServer,
    settings: &[(String, String)],
) -> GengfuBuilder {
    let bare = Gengfu::role(role, &redis.url(), &nats.url());
    settings
        .iter()
        .fold(bare, |builder, (key, toml)| builder.set(key, toml))
}

/// Waits until a process says that it is ready.
pub(crate) async fn ready(process: &Gengfu) {
    let api = process.api().unwrap();
    eventually!(within LIMIT, api.is_ready().await);
}
