//! Plays a call to the store until it is answered.

use std::future::Future;
use std::time::Duration;

use runtime::Backoff;
use store::{Error, Nonce};

/// A nonce of its own for a call.
pub(crate) fn nonce() -> Nonce {
    let mut nonce = [0; 16];
    // Without randomness of the system nothing here is safe; it has never been seen to fail.
    getrandom::fill(&mut nonce).unwrap_or_else(|error| panic!("the system gives no random bytes: {error}"));
    nonce
}

/// Plays `call` with one nonce again and again while the store does not answer, at most for `limit`.
pub(crate) async fn answered<T, F: Future<Output = Result<T, Error>>>(
    limit: Duration,
    call: impl Fn(Nonce) -> F,
) -> Result<T, Error> {
    let nonce = nonce();
    let started = tokio::time::Instant::now();
    let mut backoff = Backoff::default();
    loop {
        match call(nonce).await {
            Err(error) if error.is_passing() && started.elapsed() < limit => {
                tokio::time::sleep(backoff.next_wait()).await;
            }
            answer => return answer,
        }
    }
}
