//! An executor with its own handlers beside the built-in ones.

use std::process::ExitCode;

fn main() -> ExitCode {
    match gengfu_example_custom_handler::registry() {
        Ok(registry) => executor::main(registry),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
