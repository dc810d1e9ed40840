//! Compiles the .proto files without an installed protoc.

use std::{error::Error, path::Path};

const FILES: [&str; 4] = ["submit", "hint", "event", "control"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=gengfu");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = FILES.map(|name| root.join(format!("gengfu/v1/{name}.proto")));
    let descriptors = protox::compile(files, [root])?;
    prost_build::Config::new().bytes(["."]).compile_fds(descriptors)?;
    Ok(())
}
