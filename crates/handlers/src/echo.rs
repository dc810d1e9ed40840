//! `echo`: the result is the payload, byte by byte.

use handler::{Bytes, HandlerError, TaskContext, TaskHandler, async_trait};

pub(crate) struct Echo;

#[async_trait]
impl TaskHandler for Echo {
    async fn run(&self, _: &TaskContext, payload: Bytes) -> Result<Bytes, HandlerError> {
        Ok(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_in_are_bytes_out() {
        let payload = Bytes::from_static(b"\0\xff 9007199254740993 \xf0\x9f\x8c\x99");
        let result = Echo.run(&TaskContext::for_test("echo"), payload.clone()).await;
        assert_eq!(result.unwrap(), payload);
    }
}
