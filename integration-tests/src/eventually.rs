//! Waiting for something to become true, with a deadline, and nothing that a fixed sleep would hide.

use std::fmt::Debug;
use std::panic::Location;
use std::time::{Duration, Instant};

/// How long [`eventually!`](crate::eventually) waits unless told otherwise: long, as it costs only where a test fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

const PAUSE: Duration = Duration::from_millis(10);

/// Evaluates an expression again and again until it holds, and gives its value: a `bool` that is true, an `Option`
/// that is `Some`, a `Result` that is `Ok`. Panics at the deadline, with the expression and its last error.
///
/// ```ignore
/// let task = eventually!(api.get("/api/v1/tasks/1").await);
/// eventually!(within Duration::from_secs(60), done.load(Ordering::Relaxed));
/// ```
#[macro_export]
macro_rules! eventually {
    (within $limit:expr, $condition:expr $(,)?) => {{
        let poll = $crate::Poll::new($limit, stringify!($condition));
        loop {
            match $crate::Settled::settled($condition) {
                Ok(value) => break value,
                Err(unsettled) => poll.again(&unsettled).await,
            }
        }
    }};
    ($condition:expr $(,)?) => { $crate::eventually!(within $crate::PATIENCE, $condition) };
}

/// What an expression can be for [`eventually!`](crate::eventually).
pub trait Settled {
    /// What is given when it holds.
    type Value;
    /// The value, or what to say of it at the deadline.
    fn settled(self) -> Result<Self::Value, String>;
}

impl Settled for bool {
    type Value = ();
    fn settled(self) -> Result<(), String> {
        if self { Ok(()) } else { Err("false".to_owned()) }
    }
}

impl<T> Settled for Option<T> {
    type Value = T;
    fn settled(self) -> Result<T, String> {
        self.ok_or_else(|| "None".to_owned())
    }
}

impl<T, E: Debug> Settled for Result<T, E> {
    type Value = T;
    fn settled(self) -> Result<T, String> {
        self.map_err(|error| format!("{error:?}"))
    }
}

/// One wait of [`eventually!`](crate::eventually).
#[derive(Debug)]
pub struct Poll {
    started: Instant,
    limit: Duration,
    condition: &'static str,
    at: &'static Location<'static>,
}

impl Poll {
    /// Begins to wait.
    #[track_caller]
    pub fn new(limit: Duration, condition: &'static str) -> Self {
        Self {
            started: Instant::now(),
            limit,
            condition,
            at: Location::caller(),
        }
    }

    /// Lets the rest of the program run before the next look.
    ///
    /// # Panics
    /// At the deadline.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is what stands in for sleeping everywhere else"
    )]
    pub async fn again(&self, last: &str) {
        assert!(
            self.started.elapsed() < self.limit,
            "{}: not within {:?}: {} (last: {last})",
            self.at,
            self.limit,
            self.condition
        );
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_gives_the_value_once_there_is_one() {
        let mut looks = 0;
        let value = eventually!({
            looks += 1;
            (looks == 3).then_some("here")
        });
        assert_eq!((value, looks), ("here", 3));
    }

    #[tokio::test]
    #[should_panic(expected = "(last: \"still no\")")]
    async fn it_panics_at_the_deadline_with_the_last_error() {
        eventually!(within Duration::ZERO, Err::<(), _>("still no"));
    }
}
