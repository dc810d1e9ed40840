//! The Rust SDK: what a task handler implements, and what it is given.
//!
//! A handler is a [`TaskHandler`] (bytes in, bytes out) or a [`TypedHandler`] (JSON in, JSON out, through
//! [`typed`]), registered under a name in a [`Registry`]. The executor calls it once for each attempt and gives
//! it a [`TaskContext`]; tests do the same with [`TaskContext::for_test`]. The executor service's `main(registry)` is
//! the whole `main` of a binary that runs them beside the built-in ones; `examples/custom-handler` shows it.
//!
//! ```
//! # use gengfu_handler as handler;
//! use handler::{HandlerError, Registry, TaskContext, TypedHandler, typed};
//!
//! #[derive(serde::Deserialize)]
//! struct Order { id: u64 }
//!
//! struct Ship;
//!
//! #[handler::async_trait]
//! impl TypedHandler for Ship {
//!     type Payload = Order;
//!     type Output = String;
//!
//!     async fn run(&self, ctx: &TaskContext, order: Order) -> Result<String, HandlerError> {
//!         ctx.output().line(&format!("attempt {} of order {}", ctx.attempt(), order.id));
//!         if order.id == 0 {
//!             return Err(HandlerError::deterministic("no_such_order", "order 0 does not exist"));
//!         }
//!         Ok(format!("shipped under {}", ctx.idempotency_key()))
//!     }
//! }
//!
//! let mut registry = Registry::new();
//! registry.register("ship", typed(Ship)).expect("the name is free");
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod context;
mod error;
mod lease;
mod lines;
mod output;
mod progress;
mod registry;
mod stop;
mod task_handler;
mod typed;

pub use async_trait::async_trait;
pub use bytes::Bytes;
pub use context::{Builder, TaskContext};
pub use domain::{ErrorClass, Millis, TaskId};
pub use error::HandlerError;
pub use lease::{LeaseKeeper, LeaseTerm};
pub use lines::{Lines, LinesError};
pub use output::{OUTPUT_BYTES_DEFAULT, Output};
pub use progress::{Progress, ProgressView};
pub use registry::{RESERVED, RegisterError, Registry};
pub use stop::{StopReason, StopSignal, Stopper};
pub use task_handler::TaskHandler;
pub use typed::{Typed, TypedHandler, typed};
