//! Handlers of JSON payloads with a type, and the adapter that makes them task handlers.

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

use crate::{HandlerError, TaskContext, TaskHandler};

/// A handler that reads its payload from JSON and writes its result as JSON.
#[async_trait]
pub trait TypedHandler: Send + Sync + 'static {
    /// What the payload is read as. An empty payload is read as `null`.
    type Payload: DeserializeOwned + Send;
    /// What the result is written from.
    type Output: Serialize + Send;

    /// Runs one attempt; as [`TaskHandler::run`].
    ///
    /// # Errors
    /// What went wrong; its class decides whether there is another attempt.
    async fn run(&self, ctx: &TaskContext, payload: Self::Payload) -> Result<Self::Output, HandlerError>;
}

/// A [`TypedHandler`] as a [`TaskHandler`]; made by [`typed`].
#[derive(Debug, Clone)]
pub struct Typed<H>(H);

/// Makes a task handler of a typed one.
///
/// A payload that does not parse is a deterministic failure with code `invalid_input` that names line and column;
/// a result that cannot be written as JSON is one with code `invalid_output`.
pub const fn typed<H: TypedHandler>(handler: H) -> Typed<H> {
    Typed(handler)
}

#[async_trait]
impl<H: TypedHandler> TaskHandler for Typed<H> {
    async fn run(&self, ctx: &TaskContext, payload: Bytes) -> Result<Bytes, HandlerError> {
        let text: &[u8] = if payload.is_empty() { b"null" } else { &payload };
        let parsed = serde_json::from_slice(text)
            .map_err(|error| HandlerError::deterministic("invalid_input", error).context("payload"))?;
        let output = self.0.run(ctx, parsed).await?;
        serde_json::to_vec(&output)
            .map(Bytes::from)
            .map_err(|error| HandlerError::deterministic("invalid_output", error).context("result"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ErrorClass;

    #[derive(serde::Deserialize)]
    struct Pair {
        left: u64,
        right: u64,
    }

    struct Sum;

    #[async_trait]
    impl TypedHandler for Sum {
        type Payload = Pair;
        type Output = u64;

        async fn run(&self, _: &TaskContext, pair: Pair) -> Result<u64, HandlerError> {
            Ok(pair.left + pair.right)
        }
    }

    struct Nothing;

    #[async_trait]
    impl TypedHandler for Nothing {
        type Payload = ();
        type Output = ();

        async fn run(&self, _: &TaskContext, (): ()) -> Result<(), HandlerError> {
            Ok(())
        }
    }

    async fn run(handler: impl TaskHandler, payload: &'static str) -> Result<Bytes, HandlerError> {
        handler
            .run(&TaskContext::for_test("sum"), Bytes::from(payload))
            .await
    }

    #[tokio::test]
    async fn json_goes_in_and_comes_out() {
        let result = run(typed(Sum), r#"{"left": 9007199254740993, "right": 1}"#).await;
        assert_eq!(result.unwrap(), "9007199254740994");
        assert_eq!(run(typed(Nothing), "").await.unwrap(), "null");
    }

    #[tokio::test]
    async fn a_payload_that_does_not_parse_says_where_and_is_not_retried() {
        let error = run(typed(Sum), "{\"left\": 1,\n \"right\": \"x\"}")
            .await
            .unwrap_err();
        assert_eq!(
            (error.class, &*error.code),
            (ErrorClass::Deterministic, "invalid_input")
        );
        assert!(error.message.contains("line 2 column 13"), "{}", error.message);
        let error = run(typed(Sum), r#"{"left": 1}"#).await.unwrap_err();
        assert!(
            error.message.contains("missing field `right`"),
            "{}",
            error.message
        );
    }
}
