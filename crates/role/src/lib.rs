//! What a process of any role does around its work: it reads the settings, starts log and traces, answers on
//! `/livez`, `/readyz` and `/metrics`, connects, waits for what is away, and ends with the right exit code.
//!
//! Start reading at [`run`]. What a role does once it is connected stands in its service.

mod epoch;
mod error;
mod process;
mod settings;
mod wiring;

pub use error::{Error, chain};
pub use process::{Process, block_on, run, work};
pub use settings::{Args, flags, refuse, telemetry};
pub use wiring::{OpenStore, Wiring};
