//! Rules that a type alone doesn't hold. Each refusal is one sentence that names the key, the value and a right one.

use std::net::SocketAddr;

use super::{Config, HumanDuration};

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

type Refusal = Result<(), (&'static str, String)>;

impl Config {
    /// Checks what depends on no service; on refusal the key, and what is wrong with its value.
    pub(super) fn check(&self) -> Refusal {
        self.check_addresses()?;
        self.check_durations()?;
        self.check_executor()?;
        number("redis.partitions", u64::from(self.redis.partitions), 1, 1_024)?;
        number("nats.replicas", u64::from(self.nats.replicas), 1, 5)?;
        number(
            "limits.payload_bytes",
            self.limits.payload_bytes,
            1,
            16 * super::MIB,
        )?;
        number(
            "limits.output_bytes",
            self.limits.output_bytes,
            0,
            16 * super::MIB,
        )?;
        number(
            "limits.result_bytes",
            self.limits.result_bytes,
            1,
            16 * super::MIB,
        )?;
        let sources = &self.limits;
        number("limits.source_bytes", sources.source_bytes, 1, 1 << 40)?;
        number("limits.source_rows", sources.source_rows, 1, u64::from(u32::MAX))?;
        number(
            "limits.outbox_entries",
            self.limits.outbox_entries,
            1,
            100_000_000,
        )?;
        number(
            "limits.memory_percent",
            u64::from(self.limits.memory_percent),
            1,
            100,
        )?;
        ensure("log.level", level_is_known(&self.log.level), || {
            format!(
                "{:?} is no level; write error, warn, info, debug or trace",
                self.log.level
            )
        })?;
        let ratio = self.telemetry.sample_ratio;
        ensure("telemetry.sample_ratio", (0.0..=1.0).contains(&ratio), || {
            format!("{ratio} is no share; give 0 to 1")
        })
    }

    fn check_addresses(&self) -> Refusal {
        const REDIS: [&str; 4] = ["redis://", "rediss://", "redis+cluster://", "redis+sentinel://"];
        addresses(
            "nats.url",
            &self.nats.url,
            &["nats://", "tls://"],
            "nats://127.0.0.1:4222",
        )?;
        address("redis.url", &self.redis.url, &REDIS, "redis://127.0.0.1:6379")?;
        if !self.telemetry.otlp_endpoint.is_empty() {
            let (endpoint, right) = (&self.telemetry.otlp_endpoint, "http://127.0.0.1:4318");
            address(
                "telemetry.otlp_endpoint",
                endpoint,
                &["http://", "https://"],
                right,
            )?;
        }
        let webhook = self.notify.webhook_url.expose();
        let fits = webhook.is_empty() || webhook.starts_with("http://") || webhook.starts_with("https://");
        ensure("notify.webhook_url", fits, || {
            "is no address of a webhook; write one such as https://hooks.example.com/gengfu".into()
        })?;
        let listen = &self.listen;
        let named = |text: &str| {
            let port = text
                .rsplit_once(':')
                .filter(|(host, _)| !host.is_empty())
                .map(|(_, port)| port);
            port.is_some_and(|port| port.parse::<u16>().is_ok())
        };
        let fits = listen.is_empty() || listen.parse::<SocketAddr>().is_ok() || named(listen);
        ensure("listen", fits, || {
            format!("{listen:?} is no address; write one such as 127.0.0.1:7420 or 127.0.0.1:0")
        })
    }

    fn check_durations(&self) -> Refusal {
        let (second, day) = (HumanDuration::secs(1), HumanDuration::days(1));
        for (key, value, least, most) in [
            (
                "nats.timeout",
                self.nats.timeout,
                HumanDuration::millis(10),
                HumanDuration::secs(300),
            ),
            (
                "redis.timeout",
                self.redis.timeout,
                HumanDuration::millis(10),
                HumanDuration::secs(300),
            ),
            ("nats.hints_max_age", self.nats.hints_max_age, second, day),
            (
                "nats.events_max_age",
                self.nats.events_max_age,
                HumanDuration::secs(60),
                HumanDuration::days(3_650),
            ),
            ("executor.lease", self.executor.lease, second, day),
            (
                "scheduler.absence_grace",
                self.scheduler.absence_grace,
                second,
                day,
            ),
            (
                "executor.drain_grace",
                self.executor.drain_grace,
                HumanDuration::millis(0),
                day,
            ),
            (
                "dispatcher.window",
                self.dispatcher.window,
                HumanDuration::millis(1),
                HumanDuration::secs(10),
            ),
        ] {
            ensure(key, (least..=most).contains(&value), || {
                format!("{value} is out of range; give {least} to {most}")
            })?;
        }
        Ok(())
    }

    fn check_executor(&self) -> Refusal {
        let executor = &self.executor;
        number("executor.concurrency", u64::from(executor.concurrency), 1, 65_536)?;
        ensure("executor.pool", domain::valid_pool(&executor.pool), || {
            format!(
                "{:?} is no pool; write one word of a-z, 0-9, _ and -",
                executor.pool
            )
        })?;
        let fits = |file: &String| file == "*" || file.starts_with('/');
        let wrong = executor.files.iter().find(|file| !fits(file));
        ensure("executor.files", wrong.is_none(), || {
            format!(
                "{:?} is no absolute path; write one such as /data/in, or * for every file",
                wrong.map_or("", String::as_str)
            )
        })?;
        let fits = executor.id.len() <= 100 && executor.id.bytes().all(|byte| byte.is_ascii_graphic());
        ensure("executor.id", fits, || {
            "is no name; write at most 100 characters without spaces".into()
        })
    }
}

fn ensure(key: &'static str, fits: bool, sentence: impl FnOnce() -> String) -> Refusal {
    if fits { Ok(()) } else { Err((key, sentence())) }
}

fn number(key: &'static str, value: u64, least: u64, most: u64) -> Refusal {
    ensure(key, (least..=most).contains(&value), || {
        format!("{value} is out of range; give {least} to {most}")
    })
}

/// Whether an address begins with one of the schemes and goes on after it.
fn is_of(address: &str, schemes: &[&str]) -> bool {
    let mut rests = schemes.iter().filter_map(|scheme| address.strip_prefix(scheme));
    rests.any(|rest| !rest.is_empty())
}

fn address(key: &'static str, address: &super::Address, schemes: &[&str], right: &str) -> Refusal {
    ensure(key, is_of(address.expose(), schemes), || {
        no_address(address, right)
    })
}

/// Several, each with its scheme; elsewhere the commas are the address's own.
fn addresses(key: &'static str, address: &super::Address, schemes: &[&str], right: &str) -> Refusal {
    let fits = address.expose().split(',').all(|one| is_of(one.trim(), schemes));
    ensure(key, fits, || no_address(address, right))
}

fn no_address(address: &super::Address, right: &str) -> String {
    format!("{address:?} is no address of its kind; write one such as {right}")
}

fn level_is_known(level: &str) -> bool {
    level.split(',').all(|part| match part.split_once('=') {
        Some((target, word)) => !target.is_empty() && LEVELS.contains(&word),
        None => LEVELS.contains(&part),
    })
}
