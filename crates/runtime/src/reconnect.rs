//! Down is normal (DESIGN section 5): what is not there is asked again, for ever.

use std::{fmt, time::Duration};

use crate::{Backoff, Dependency, Shutdown};

/// Calls `attempt` until it succeeds, and keeps the dependency's state up to date; `None` once it is time to stop.
///
/// Each attempt is given `timeout`. The dependency's change is logged once, not each attempt.
pub async fn reconnect<T, E, F>(
    dependency: &Dependency,
    shutdown: &Shutdown,
    timeout: Duration,
    mut attempt: impl FnMut() -> F,
) -> Option<T>
where
    E: fmt::Display,
    F: Future<Output = Result<T, E>>,
{
    let mut backoff = Backoff::default();
    loop {
        match shutdown.or_stop(tokio::time::timeout(timeout, attempt())).await? {
            Ok(Ok(connected)) => {
                dependency.ready();
                return Some(connected);
            }
            Ok(Err(error)) => dependency.not_ready(&format!("{error:#}")),
            Err(_) => dependency.not_ready("no answer in time"),
        }
        shutdown.or_stop(tokio::time::sleep(backoff.next_wait())).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Health;

    const TIMEOUT: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn it_tries_until_it_works() {
        let (health, shutdown) = (Health::new(), Shutdown::new());
        let redis = health.dependency("redis");
        let mut tries = 0;
        let connected = reconnect(&redis, &shutdown, TIMEOUT, || {
            tries += 1;
            let reasons = health.not_ready();
            let tried = tries;
            async move {
                match tried {
                    1 => Err("refused"),
                    2 => std::future::pending().await,
                    3 => Ok(reasons),
                    _ => unreachable!("it goes on after success"),
                }
            }
        });
        let seen = connected.await.unwrap();
        assert_eq!(seen[0].reason, "no answer in time");
        assert!(health.is_ready());
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_with_the_shutdown() {
        let (health, shutdown) = (Health::new(), Shutdown::new());
        let redis = health.dependency("redis");
        let stop = shutdown.clone();
        let connected: Option<()> = reconnect(&redis, &shutdown, TIMEOUT, || {
            let stop = stop.clone();
            async move {
                stop.trigger();
                Err("refused")
            }
        })
        .await;
        assert_eq!(connected, None);
        assert_eq!(health.not_ready()[0].reason, "refused");
    }
}
