//! The built-in handlers, one file each, made from a type's definition by [`build`].

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod build;
pub mod command;
mod echo;
mod fail;
pub mod http;
mod reclassify;
mod secrets;
mod settings;
mod sleep;

pub use build::{BUILT_IN, Options, build};
pub use command::CommandPolicy;
pub use secrets::Secrets;
pub use settings::BuildError;
