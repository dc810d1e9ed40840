//! Plays a call to the store until it is answered (I12): the loops of the services can wait, and a lost reply is no loss.

use std::future::Future;
use std::time::Duration;

use crate::{Error, Nonce};
use runtime::Backoff;

/// A nonce of its own for a call.
/// # Panics
/// Where the system gives no random bytes: nothing would be safe then.
#[must_use]
pub fn nonce() -> Nonce {
    let mut nonce = [0; 16];
    // Without randomness of the system nothing here is safe; it has never been seen to fail.
    getrandom::fill(&mut nonce).unwrap_or_else(|error| panic!("the system gives no random bytes: {error}"));
    nonce
}

/// Plays `call` with one nonce again and again while the store does not answer, at most for `limit`.
///
/// # Errors
/// The store's, once `limit` is over or where waiting does not help.
pub async fn answered<T, F: Future<Output = Result<T, Error>>>(
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn away() -> Error {
        Error::Unavailable("cut".into())
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_answer_is_asked_for_with_the_same_nonce() {
        let nonces = RefCell::new(Vec::new());
        let answer = answered(Duration::from_secs(60), |nonce| {
            nonces.borrow_mut().push(nonce);
            let lost = nonces.borrow().len() < 4;
            async move { if lost { Err(away()) } else { Ok(7) } }
        });
        assert_eq!(answer.await.unwrap(), 7);
        assert!(nonces.borrow().len() == 4 && nonces.borrow().windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_with_its_limit_and_at_once_where_waiting_is_no_help() {
        let lost = answered(Duration::from_secs(5), |_| async { Err::<(), _>(away()) });
        assert!(matches!(lost.await, Err(Error::Unavailable(_))));
        let plays = RefCell::new(0);
        let wrong = answered(Duration::from_secs(60), |_| {
            *plays.borrow_mut() += 1;
            async { Err::<(), _>(Error::Unusable("no".into())) }
        });
        assert!(matches!(wrong.await, Err(Error::Unusable(_))));
        assert_eq!(*plays.borrow(), 1);
    }
}
