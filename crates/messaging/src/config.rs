//! What the bus needs to know.

use std::{fmt, time::Duration};

/// How to reach NATS, and how the streams and the publisher are set up.
#[derive(Clone)]
pub struct Config {
    /// One or more servers, separated by commas; may carry user and password or a token, and is never logged.
    pub url: String,
    /// The connection's name, as operators see it on the server: the role and the node.
    pub name: String,
    /// Copies of each stream in a cluster, 1 to 5.
    pub replicas: usize,
    /// The largest message that is ever published, in bytes; a server that takes less is refused.
    pub message_bytes: usize,
    /// The most that submissions may take on disk, in bytes; a full stream refuses more.
    pub submit_bytes: i64,
    /// The most that hints of each kind may take in memory, in bytes.
    pub hint_bytes: i64,
    /// Hints older than this are dropped; the dispatch lease must be as long.
    pub hint_age: Duration,
    /// The most that events may take on disk, in bytes; the oldest go first.
    pub events_bytes: i64,
    /// Events older than this are dropped.
    pub events_age: Duration,
    /// Publishes in flight, not acknowledged yet.
    pub window: usize,
    /// Bytes in flight, not acknowledged yet.
    pub window_bytes: usize,
    /// How long a publish waits for room in the window and for its acknowledgement, each.
    pub ack_timeout: Duration,
    /// How long a request waits for its answer.
    pub request_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            url: "nats://127.0.0.1:4222".to_owned(),
            name: "gengfu".to_owned(),
            replicas: 1,
            message_bytes: 576 * 1024,
            submit_bytes: 1 << 30,
            hint_bytes: 64 << 20,
            hint_age: Duration::from_secs(10),
            events_bytes: 2 << 30,
            events_age: Duration::from_secs(7 * 24 * 3600),
            window: 512,
            window_bytes: 32 << 20,
            ack_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(5),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("url", &"***")
            .field("name", &self.name)
            .field("replicas", &self.replicas)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Config;

    #[test]
    fn the_url_is_masked() {
        let config = Config {
            url: "nats://u:secret@h".into(),
            ..Config::default()
        };
        assert!(!format!("{config:?}").contains("secret"));
    }
}
