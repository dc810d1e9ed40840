//! The configuration that all roles share: defaults, then a file, then the environment, then flags (DESIGN section 9).
//!
//! `config.default.toml` beside this crate says what each key means; a test keeps it true.

mod check;
mod load;
mod nearest;
mod print;
mod values;

use serde::{Deserialize, Serialize};

pub use load::{Error, Loaded, Sources};
pub use values::{Address, HumanDuration, LogFormat, Secret};

/// The default configuration file, with a comment on every key.
pub const DEFAULT_FILE: &str = include_str!("../../config.default.toml");

/// All settings. A role reads its own and ignores the others'.
///
/// To serialize it gives secrets away; [`Config::print`] masks them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The role's HTTP address; empty for the role's own default, see [`Config::listen_or`].
    pub listen: String,
    /// The way of messages.
    pub nats: Nats,
    /// The store of tasks.
    pub redis: Redis,
    /// What is logged, and how.
    pub log: Log,
    /// How long ended tasks stay in the store.
    pub retention: Retention,
    /// The executor.
    pub executor: Executor,
    /// The dispatcher.
    pub dispatcher: Dispatcher,
    /// The scheduler.
    pub scheduler: Scheduler,
    /// How people are told.
    pub notify: Notify,
    /// Where history goes.
    pub archive: Archive,
    /// What is too much.
    pub limits: Limits,
    /// Who may do what.
    pub auth: Auth,
    /// Traces.
    pub telemetry: Telemetry,
}

/// `nats.*`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Nats {
    /// One address or several, separated by commas.
    pub url: Address,
    /// Replicas of each stream.
    pub replicas: u8,
    /// Age at which events leave their stream.
    pub events_max_age: HumanDuration,
    /// Size at which the oldest events leave their stream.
    pub events_max_bytes: u64,
    /// Size at which the stream of submissions refuses further ones.
    pub submit_max_bytes: u64,
    /// Age at which a hint is worth nothing.
    pub hints_max_age: HumanDuration,
    /// Limit of one call.
    pub timeout: HumanDuration,
}

/// `redis.*`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Redis {
    /// `redis://`, `rediss://`, `redis+cluster://` or `redis+sentinel://`.
    pub url: Address,
    /// Partitions of a store that is used for the first time.
    pub partitions: u16,
    /// Limit of one call.
    pub timeout: HumanDuration,
}

/// `log.*`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Log {
    /// How a line looks.
    pub format: LogFormat,
    /// A level, or directives.
    pub level: String,
}

/// `retention.*`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Retention {
    /// Age of tasks in `success`.
    pub success: HumanDuration,
    /// Their number in a partition.
    pub success_max: u64,
    /// Age of tasks in `dead`.
    pub dead: HumanDuration,
    /// Their number in a partition.
    pub dead_max: u64,
    /// Age of tasks in `cancelled`.
    pub cancelled: HumanDuration,
    /// Their number in a partition.
    pub cancelled_max: u64,
    /// Age of trigger records.
    pub triggers: HumanDuration,
    /// Their number a schedule.
    pub triggers_max: u32,
    /// How long an idempotency key answers at least.
    pub keys: HumanDuration,
}

/// `executor.*`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Executor {
    /// Programs that the `command` handler may run.
    pub commands: Vec<String>,
    /// Files and folders whose rows the fan-out of a schedule may read.
    pub files: Vec<String>,
    /// The pool that it works for.
    pub pool: String,
    /// Tasks at once.
    pub concurrency: u32,
    /// How long a claim lasts without a heartbeat.
    pub lease: HumanDuration,
    /// How long running tasks may go on after SIGTERM.
    pub drain_grace: HumanDuration,
    /// The name of this executor; empty for host name and process id.
    pub id: String,
}

/// `dispatcher.*`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dispatcher {
    /// How much work, in time of the pool's completions, is sent ahead of its free slots.
    pub window: HumanDuration,
}

/// `scheduler.*`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scheduler {
    /// How late the record of a planned instant may be before it is told as missing.
    pub absence_grace: HumanDuration,
}

/// `notify.*`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Notify {
    /// Where notices are posted; empty for nowhere.
    pub webhook_url: Secret,
    /// The key of their signature; empty for none.
    pub webhook_secret: Secret,
}

/// `archive.*`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Archive {
    /// Its address; empty for none.
    pub url: Address,
}

/// `limits.*`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of a payload.
    pub payload_bytes: u64,
    /// Bytes kept of what a handler prints.
    pub output_bytes: u64,
    /// Bytes of a result.
    pub result_bytes: u64,
    /// Bytes of a file, an answer or a list that becomes a batch by the fan-out of a schedule.
    pub source_bytes: u64,
    /// Rows of such a batch.
    pub source_rows: u64,
    /// Entries that may wait in a partition's outbox before admission stops.
    pub outbox_entries: u64,
    /// Percent of the store's memory at which admission stops.
    pub memory_percent: u8,
}

/// `auth.*`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Auth {
    /// Whether a gateway on loopback asks for a token too.
    pub required: bool,
}

/// `telemetry.*`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Telemetry {
    /// The base address of a collector; empty for no traces.
    pub otlp_endpoint: Address,
    /// The share of tasks that are traced, 0 to 1.
    pub sample_ratio: f64,
    /// The service's name in traces; empty for `gengfu-` and the role.
    pub service_name: String,
}

const MIB: u64 = 1024 * 1024;

impl Default for Nats {
    fn default() -> Self {
        Self {
            url: Address::from("nats://127.0.0.1:4222"),
            replicas: 1,
            events_max_age: HumanDuration::days(7),
            events_max_bytes: 4_096 * MIB,
            submit_max_bytes: 1_024 * MIB,
            hints_max_age: HumanDuration::secs(10),
            timeout: HumanDuration::secs(5),
        }
    }
}

impl Default for Redis {
    fn default() -> Self {
        let url = Address::from("redis://127.0.0.1:6379");
        Self {
            url,
            partitions: domain::PARTITIONS_DEFAULT,
            timeout: HumanDuration::secs(5),
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self {
            format: LogFormat::Json,
            level: "info".into(),
        }
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            success: HumanDuration::days(1),
            success_max: 100_000,
            dead: HumanDuration::days(30),
            dead_max: 100_000,
            cancelled: HumanDuration::days(7),
            cancelled_max: 100_000,
            triggers: HumanDuration::days(30),
            triggers_max: 10_000,
            keys: HumanDuration::days(1),
        }
    }
}

impl Default for Executor {
    fn default() -> Self {
        Self {
            commands: Vec::new(),
            files: Vec::new(),
            pool: "default".into(),
            concurrency: 64,
            lease: HumanDuration::secs(30),
            drain_grace: HumanDuration::secs(25),
            id: String::new(),
        }
    }
}

impl Default for Dispatcher {
    fn default() -> Self {
        Self {
            window: HumanDuration::millis(20),
        }
    }
}

impl Default for Scheduler {
    fn default() -> Self {
        Self {
            absence_grace: HumanDuration::secs(60),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            payload_bytes: 262_144,
            output_bytes: 65_536,
            result_bytes: 262_144,
            source_bytes: 1_024 * MIB,
            source_rows: 1_000_000,
            outbox_entries: 100_000,
            memory_percent: 85,
        }
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            otlp_endpoint: Address::default(),
            sample_ratio: 1.0,
            service_name: String::new(),
        }
    }
}

impl Config {
    /// The address to listen on: the configured one, or the role's default.
    #[must_use]
    pub fn listen_or<'a>(&'a self, default: &'a str) -> &'a str {
        if self.listen.is_empty() {
            default
        } else {
            &self.listen
        }
    }

    /// The name of this process in logs, traces and timelines: `executor.id`, or role, host and process id.
    #[must_use]
    pub fn node(&self, role: &str) -> String {
        if role == "executor" && !self.executor.id.is_empty() {
            return self.executor.id.clone();
        }
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = if host.trim().is_empty() {
            "localhost"
        } else {
            host.trim()
        };
        format!("{role}-{host}-{}", std::process::id())
    }
}

#[cfg(test)]
mod tests;
