//! Where the programs are: named by a variable, on `PATH`, or in `.tools/bin` where script/bootstrap puts them.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Finds a program: the variable's value first, then `PATH`, then the checkout's `.tools/bin`.
pub fn find(name: &str, variable: &str) -> Result<PathBuf> {
    let missing = || Error::NoProgram {
        name: name.to_owned(),
        variable: variable.to_owned(),
    };
    if let Some(named) = std::env::var_os(variable).filter(|value| !value.is_empty()) {
        let path = PathBuf::from(named);
        return if path.is_file() { Ok(path) } else { Err(missing()) };
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&search)
        .chain([repository().join(".tools/bin")])
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .ok_or_else(missing)
}

/// The folder with this build's binaries, for example `target/debug`.
pub fn target_dir() -> PathBuf {
    let test = std::env::current_exe().unwrap_or_default();
    let folder = test.parent().unwrap_or(Path::new("."));
    // A test binary lies in `deps`, one below the others.
    if folder.ends_with("deps") {
        folder.parent().unwrap_or(folder).to_owned()
    } else {
        folder.to_owned()
    }
}

/// The `gengfu` binary of this build, or the one that `GENGFU_BIN` names.
pub fn gengfu_binary() -> Result<PathBuf> {
    let path = std::env::var_os("GENGFU_BIN").map_or_else(|| target_dir().join("gengfu"), PathBuf::from);
    if path.is_file() {
        Ok(path)
    } else {
        Err(Error::NotBuilt(path))
    }
}

fn repository() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}
