//! An executor with a handler that never gives its thread back before it is done, as users' code sometimes is. The
//! tests start it.

use std::process::ExitCode;
use std::time::Duration;

use handler::{HandlerError, Registry, TaskContext, TypedHandler, async_trait, typed};

/// Blocks its thread for as many milliseconds as the payload says.
struct Block;

#[async_trait]
impl TypedHandler for Block {
    type Payload = u64;
    type Output = ();

    #[expect(
        clippy::disallowed_methods,
        reason = "to block the thread is what this handler is for"
    )]
    async fn run(&self, _: &TaskContext, ms: u64) -> Result<(), HandlerError> {
        std::thread::sleep(Duration::from_millis(ms));
        Ok(())
    }
}

fn main() -> ExitCode {
    let mut registry = Registry::new();
    match registry.register("block", typed(Block)) {
        Ok(()) => executor::main(registry),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
