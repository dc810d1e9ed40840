//! Serves HTTP on the address of a role.

use std::{future::IntoFuture, io, net::SocketAddr, time::Duration};

use axum::Router;
use thiserror::Error;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{Health, Shutdown, health_router};

/// Why an address can't be served.
#[derive(Debug, Error)]
#[error("listen {listen:?} can't be used; give an address such as 127.0.0.1:7420 or 127.0.0.1:0")]
pub struct ServeError {
    listen: String,
    #[source]
    source: io::Error,
}

/// A server that answers. Dropping it ends it at once; [`Serving::stop`] lets it finish its answers.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    stop: Shutdown,
    server: JoinHandle<io::Result<()>>,
}

impl Serving {
    /// The address, with the port that was really taken.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no new connections and lets those that stand finish, for `grace` at most.
    pub async fn stop(mut self, grace: Duration) {
        self.stop.trigger();
        if tokio::time::timeout(grace, &mut self.server).await.is_err() {
            tracing::warn!("connections were cut, their answers took longer than the grace");
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Serves `router` on `listen` (`HOST:PORT`; port 0 takes a free one) and logs the address. It goes on while the
/// service drains, so that `/readyz` can say so: it ends with [`Serving`].
///
/// # Errors
/// When the address is none, or is taken.
pub async fn serve(listen: &str, router: Router) -> Result<Serving, ServeError> {
    let refuse = |source| ServeError {
        listen: listen.to_owned(),
        source,
    };
    let listener = TcpListener::bind(listen).await.map_err(refuse)?;
    let address = listener.local_addr().map_err(refuse)?;
    let stop = Shutdown::new();
    let stopped = stop.clone();
    let server = axum::serve(listener, router).with_graceful_shutdown(async move { stopped.wait().await });
    tracing::info!(address = %address, "listening");
    Ok(Serving {
        address,
        stop,
        server: tokio::spawn(server.into_future()),
    })
}

/// Serves only the endpoints that every role has.
///
/// # Errors
/// When the address is none, or is taken.
pub async fn serve_health(
    listen: &str,
    health: Health,
    metrics: impl Fn() -> String + Clone + Send + Sync + 'static,
) -> Result<Serving, ServeError> {
    serve(listen, health_router(health, metrics)).await
}
