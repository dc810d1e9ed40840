//! Calls to the store: limited in time, and named by a nonce that lives until the answer came (I12).

use std::time::Duration;

use store::Nonce;

use crate::error::Error;

/// Limit of one call; the store's client has its own, which is shorter.
const LIMIT: Duration = Duration::from_secs(6);

/// The answer of the store, unless it takes too long.
pub(crate) async fn in_time<T>(call: impl Future<Output = Result<T, store::Error>>) -> Result<T, Error> {
    match tokio::time::timeout(LIMIT, call).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Error::Late),
    }
}

/// The nonce of a verb that is called again and again. A call whose answer was lost is played again with the same, so
/// that hints and events of the lost answer still go out.
#[derive(Debug, Default)]
pub(crate) struct Verb(Option<Nonce>);

impl Verb {
    /// The nonce for the next play.
    pub(crate) fn nonce(&mut self) -> Result<Nonce, Error> {
        if let Some(nonce) = self.0 {
            return Ok(nonce);
        }
        let mut nonce = Nonce::default();
        getrandom::fill(&mut nonce).map_err(Error::Random)?;
        self.0 = Some(nonce);
        Ok(nonce)
    }

    /// The answer came: the next play is another call.
    pub(crate) const fn answered(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_lives_until_the_answer() {
        let mut verb = Verb::default();
        let first = verb.nonce().unwrap();
        assert_eq!(verb.nonce().unwrap(), first);
        verb.answered();
        assert_ne!(verb.nonce().unwrap(), first);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_stays_silent_is_an_error() {
        let silent = in_time(std::future::pending::<Result<(), store::Error>>()).await;
        assert!(matches!(silent, Err(Error::Late)));
    }
}
