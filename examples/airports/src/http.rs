//! The HTTP client of the demo.

use std::time::Duration;

use anyhow::Context;

/// A client whose every call ends within `limit`.
pub(crate) fn client(limit: Duration) -> anyhow::Result<reqwest::Client> {
    // Whoever comes first installs it; a second time is no matter.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .connect_timeout(limit)
        .timeout(limit)
        .no_proxy()
        .build()
        .context("building an HTTP client")
}
