//! Calls of the store that are played again with the same nonce where their answer was lost (I12).

use std::{future::Future, time::Duration};

use tokio::time::Instant;

use store::{Error, Nonce};

/// Plays of one call.
const PLAYS: u32 = 3;
/// Wait before the second play; doubled before the third.
const WAIT: Duration = Duration::from_millis(50);

/// No further play after so long: a store that hangs has used up the client's patience by then.
const PATIENCE: Duration = Duration::from_secs(3);

/// Plays a call up to three times within some seconds, as long as the store gives no answer.
///
/// # Errors
/// The last answer's.
pub(crate) async fn play<T, F>(mut call: impl FnMut(Nonce) -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let nonce = nonce()?;
    let (mut played, began) = (1, Instant::now());
    loop {
        match call(nonce).await {
            Err(Error::Unavailable(_)) if played < PLAYS && began.elapsed() < PATIENCE => {
                tokio::time::sleep(WAIT * played).await;
                played += 1;
            }
            answer => return answer,
        }
    }
}

fn nonce() -> Result<Nonce, Error> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce)
        .map_err(|error| Error::Unusable(format!("this host gives no randomness: {error}")))?;
    Ok(nonce)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_lost_answer_is_asked_for_with_the_same_nonce() {
        let mut nonces = Vec::new();
        let answer = play(|nonce| {
            nonces.push(nonce);
            let lost = nonces.len() < 3;
            async move {
                if lost {
                    Err(Error::Unavailable("cut".into()))
                } else {
                    Ok(7)
                }
            }
        })
        .await;
        assert_eq!(answer.unwrap(), 7);
        assert!(nonces.len() == 3 && nonces.iter().all(|nonce| *nonce == nonces[0]));
    }

    #[tokio::test(start_paused = true)]
    async fn it_gives_up_and_never_repeats_a_refusal() {
        let mut plays = 0;
        let answer: Result<(), _> = play(|_| {
            plays += 1;
            async { Err(Error::Unavailable("cut".into())) }
        })
        .await;
        assert!(matches!(answer, Err(Error::Unavailable(_))));
        assert_eq!(plays, 3);
        let mut plays = 0;
        let answer: Result<(), _> = play(|_| {
            plays += 1;
            async { Err(Error::Full("memory".into())) }
        })
        .await;
        assert!(matches!(answer, Err(Error::Full(_))));
        assert_eq!(plays, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_hangs_is_not_asked_again() {
        let mut plays = 0;
        let answer: Result<(), _> = play(|_| {
            plays += 1;
            async {
                tokio::time::advance(Duration::from_secs(5)).await;
                Err(Error::Unavailable("timed out".into()))
            }
        })
        .await;
        assert!(answer.is_err());
        assert_eq!(plays, 1);
    }
}
