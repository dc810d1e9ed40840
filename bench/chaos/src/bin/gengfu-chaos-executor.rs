//! An executor whose handler `chaos` tells the ledger what it does.

use std::process::ExitCode;

use gengfu_chaos::act::Chaos;
use handler::Registry;

fn main() -> ExitCode {
    let mut registry = Registry::new();
    let registered = Chaos::from_env().map(|chaos| registry.register("chaos", chaos));
    match registered {
        Ok(Ok(())) => executor::main(registry),
        // As the supervisor of a program it needs no handler.
        Ok(Err(_)) | Err(_) => executor::main(Registry::new()),
    }
}
