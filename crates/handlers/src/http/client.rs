//! The one client of all `http` types: its connections are kept and shared.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use handler::HandlerError;

use super::resolve::Resolver;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Shorter than what common servers wait before they close an idle connection (5 s), so that no request is sent
/// into a connection that is just being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// An HTTP client that is made when it is first needed; clones share it and its connections.
///
/// It follows no redirect, repeats no request, uses no proxy, and trusts the certificates that the system trusts.
#[derive(Debug, Clone, Default)]
pub struct Client(Arc<OnceLock<reqwest::Client>>);

impl Client {
    /// The client itself; failing to make one is transient, `http_client`.
    pub(super) fn get(&self) -> Result<&reqwest::Client, HandlerError> {
        if let Some(client) = self.0.get() {
            return Ok(client);
        }
        let client = make().map_err(|error| {
            HandlerError::transient("http_client", error).context("making the HTTP client")
        })?;
        Ok(self.0.get_or_init(|| client))
    }
}

fn make() -> reqwest::Result<reqwest::Client> {
    // Err means that the process has a provider already, which serves as well.
    let _already = rustls::crypto::ring::default_provider().install_default();
    // On a machine without any trusted certificate, plain http still works and https says what is wrong.
    settings()
        .build()
        .or_else(|_| settings().tls_certs_only([]).build())
}

fn settings() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(concat!("gengfu/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .dns_resolver(Resolver)
}
