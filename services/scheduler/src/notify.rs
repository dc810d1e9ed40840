//! What people have to know: one line in the log, and one message to a webhook where there is one.

use std::{fmt, time::Duration};

use calendar::Timestamp;
use domain::Millis;
use hmac::{Hmac, KeyInit, Mac};
use runtime::{Backoff, Shutdown};
use serde::Serialize;
use sha2::Sha256;
use telemetry::Metrics;
use tokio::sync::mpsc;

/// Notices that wait for the webhook; further ones stand in the log only.
const WAITING_MAX: usize = 256;
/// Tries of one notice.
const TRIES: u32 = 5;
/// Limit of one try.
const TRY_LIMIT: Duration = Duration::from_secs(5);

/// Where notices go besides the log.
#[derive(Clone, Default)]
pub struct Webhook {
    /// The address that takes a POST; empty for none.
    pub url: String,
    /// The key of the signature; empty for none.
    pub secret: String,
}

/// Both may hold secrets.
impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").finish_non_exhaustive()
    }
}

/// One thing that people have to know.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Notice {
    /// What kind of thing, such as `absent_trigger`.
    pub(crate) kind: &'static str,
    /// The schedule.
    pub(crate) schedule: String,
    /// The planned instant, in UTC.
    pub(crate) planned_at: String,
    /// How many of its planned instants this is about.
    pub(crate) count: usize,
    /// The sentence.
    pub(crate) text: String,
}

/// An instant as notices show it.
pub(crate) fn shown(at: Millis) -> String {
    Timestamp::from_millisecond(at).unwrap_or_default().to_string()
}

/// The way to people.
#[derive(Debug)]
pub(crate) struct Notices {
    metrics: Metrics,
    webhook: Option<mpsc::Sender<Notice>>,
}

/// What waits for the webhook.
#[derive(Debug)]
pub(crate) struct Outgoing {
    webhook: Webhook,
    metrics: Metrics,
    waiting: mpsc::Receiver<Notice>,
}

impl Notices {
    /// The way, and what has to be played for the webhook, where there is one.
    pub(crate) fn new(webhook: Webhook, metrics: Metrics) -> (Self, Option<Outgoing>) {
        if webhook.url.is_empty() {
            let webhook = None;
            return (Self { metrics, webhook }, None);
        }
        let (sender, waiting) = mpsc::channel(WAITING_MAX);
        let outgoing = Outgoing {
            webhook,
            metrics: metrics.clone(),
            waiting,
        };
        let webhook = Some(sender);
        (Self { metrics, webhook }, Some(outgoing))
    }

    /// Tells people. Never waits.
    pub(crate) fn tell(&self, notice: Notice) {
        tracing::error!(
            kind = notice.kind,
            schedule = notice.schedule,
            planned_at = notice.planned_at,
            count = notice.count,
            text = notice.text,
            "notice"
        );
        if let Some(webhook) = &self.webhook
            && webhook.try_send(notice).is_err()
        {
            self.metrics.notice("dropped");
        }
    }
}

impl Outgoing {
    /// Sends what waits, one after the other, until the shutdown.
    pub(crate) async fn send_all(mut self, shutdown: Shutdown) {
        let client = reqwest::Client::builder()
            .connect_timeout(TRY_LIMIT)
            .timeout(TRY_LIMIT)
            .redirect(reqwest::redirect::Policy::none())
            .build();
        let client = match client {
            Ok(client) => client,
            Err(error) => {
                tracing::error!(%error, "notices can't be sent to the webhook");
                return;
            }
        };
        while let Some(Some(notice)) = shutdown.or_stop(self.waiting.recv()).await {
            let sent = shutdown.or_stop(self.send(&client, &notice)).await;
            let end = if sent == Some(true) { "sent" } else { "failed" };
            self.metrics.notice(end);
        }
    }

    async fn send(&self, client: &reqwest::Client, notice: &Notice) -> bool {
        let Ok(body) = serde_json::to_vec(notice) else {
            return false;
        };
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));
        for attempt in 1..=TRIES {
            match self.post(client, body.clone()).await {
                Ok(()) => return true,
                Err(error) => tracing::warn!(attempt, error, "the webhook did not take a notice"),
            }
            if attempt < TRIES {
                tokio::time::sleep(backoff.next_wait()).await;
            }
        }
        false
    }

    /// One try; the address is no part of the error, for it may hold a secret.
    async fn post(&self, client: &reqwest::Client, body: Vec<u8>) -> Result<(), String> {
        let at = Timestamp::now().as_second().to_string();
        let mut request = client
            .post(&self.webhook.url)
            .header("content-type", "application/json")
            .header("gengfu-timestamp", &at);
        if !self.webhook.secret.is_empty() {
            let signature = signature(&self.webhook.secret, &at, &body);
            request = request.header("gengfu-signature", format!("sha256={signature}"));
        }
        let answer = request.body(body).send().await;
        let status = answer.map_err(|error| error.without_url().to_string())?.status();
        if status.is_success() {
            Ok(())
        } else {
            Err(format!("it answered {status}"))
        }
    }
}

/// HMAC-SHA256 of timestamp, a dot and body, in hexadecimal digits.
fn signature(secret: &str, at: &str, body: &[u8]) -> String {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
        return String::new();
    };
    mac.update(at.as_bytes());
    mac.update(b".");
    mac.update(body);
    let digest = mac.finalize().into_bytes();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_the_one_that_others_compute() {
        // printf '1764460800.{"a":1}' | openssl dgst -sha256 -hmac key
        let expected = "fbc116b00af0e7ff248a81751fed47826f18c9451d973f20d307bb0f70022a50";
        assert_eq!(signature("key", "1764460800", br#"{"a":1}"#), expected);
    }

    #[test]
    fn what_may_be_secret_is_not_shown() {
        let webhook = Webhook {
            url: "https://h/token".into(),
            secret: "s3cret".into(),
        };
        assert_eq!(format!("{webhook:?}"), "Webhook { .. }");
    }
}
