//! `count-words`: a handler with a typed payload and a typed result.

use std::collections::BTreeMap;

use handler::{HandlerError, TaskContext, TypedHandler, async_trait};
use serde::{Deserialize, Serialize};

/// Words after which the loop looks whether it should go on.
const CHUNK_WORDS: usize = 4_096;

/// The payload: `{"text": "…"}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// What to count.
    pub text: String,
}

/// The result: `{"words": 5, "distinct": 4, "most_frequent": "the"}`.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Number of words.
    pub words: usize,
    /// Number of different words, letter case aside.
    pub distinct: usize,
    /// The word that stands most often; of several, the first in order.
    pub most_frequent: String,
}

/// Counts the words of a text.
#[derive(Debug)]
pub struct CountWords;

#[async_trait]
impl TypedHandler for CountWords {
    type Payload = Text;
    type Output = Counts;

    async fn run(&self, ctx: &TaskContext, payload: Text) -> Result<Counts, HandlerError> {
        let mut counts = BTreeMap::<String, usize>::new();
        let mut words = 0;
        for word in payload
            .text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
        {
            *counts.entry(word.to_lowercase()).or_default() += 1;
            words += 1;
            if words % CHUNK_WORDS == 0 {
                // Others share this thread; and a run that must end now should not count on.
                tokio::task::yield_now().await;
                if let Some(reason) = ctx.stop().reason() {
                    return Err(HandlerError::stopped(reason));
                }
            }
        }
        // It would fail in the same way at every attempt, so none is wasted on it.
        let Some(most_frequent) = most_frequent(&counts) else {
            return Err(HandlerError::deterministic("no_words", "the text has no words"));
        };
        // `gengfu task logs` shows it.
        ctx.output()
            .line(&format!("{words} words at attempt {}", ctx.attempt()));
        Ok(Counts {
            words,
            distinct: counts.len(),
            most_frequent,
        })
    }
}

fn most_frequent(counts: &BTreeMap<String, usize>) -> Option<String> {
    let (word, _) = counts.iter().rev().max_by_key(|(_, count)| **count)?;
    Some(word.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use handler::{Bytes, ErrorClass, StopReason, Stopper, TaskHandler, typed};

    #[tokio::test]
    async fn words_are_counted_letter_case_aside() {
        let ctx = TaskContext::for_test("count");
        let payload = Text {
            text: "The watch strikes, the town sleeps.".into(),
        };
        let counts = CountWords.run(&ctx, payload).await.unwrap();
        assert_eq!(
            counts,
            Counts {
                words: 6,
                distinct: 5,
                most_frequent: "the".into()
            }
        );
        assert_eq!(ctx.output().finish(), "6 words at attempt 1\n");
    }

    #[tokio::test]
    async fn of_words_that_stand_equally_often_the_first_in_order_is_named() {
        let payload = Text { text: "b a c".into() };
        let counts = CountWords
            .run(&TaskContext::for_test("count"), payload)
            .await
            .unwrap();
        assert_eq!(counts.most_frequent, "a");
    }

    #[tokio::test]
    async fn a_text_without_words_is_not_tried_again() {
        let payload = Text { text: " … ".into() };
        let error = CountWords
            .run(&TaskContext::for_test("count"), payload)
            .await
            .unwrap_err();
        assert_eq!(
            (error.class, &*error.code),
            (ErrorClass::Deterministic, "no_words")
        );
    }

    #[tokio::test]
    async fn a_run_that_must_end_stops_counting() {
        let (stopper, signal) = Stopper::new();
        let id = TaskContext::for_test("count").task_id();
        let ctx = TaskContext::builder(id, "count").stop(signal).build();
        stopper.stop(StopReason::Cancelled);
        let payload = Text {
            text: "word ".repeat(CHUNK_WORDS),
        };
        assert_eq!(CountWords.run(&ctx, payload).await.unwrap_err().code, "cancelled");
    }

    #[tokio::test]
    async fn as_a_task_it_takes_and_gives_json() {
        let ctx = TaskContext::for_test("count");
        let handler = crate::registry().unwrap().get("count-words").unwrap();
        let result = handler
            .run(&ctx, Bytes::from(r#"{"text": "one"}"#))
            .await
            .unwrap();
        assert_eq!(result, r#"{"words":1,"distinct":1,"most_frequent":"one"}"#);
        let error = typed(CountWords)
            .run(&ctx, Bytes::from(r#"{"txet": "one"}"#))
            .await
            .unwrap_err();
        assert_eq!(error.code, "invalid_input");
        assert!(error.message.contains("txet"), "{}", error.message);
    }
}
