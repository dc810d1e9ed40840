//! Which programs an executor runs, and which file a program's name means.

use std::{
    env,
    ffi::OsStr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use handler::HandlerError;

/// The programs that `command` may run on an executor (`executor.commands`).
///
/// Whoever may define types can give any argument to a program of the list, so a shell in it permits everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandPolicy {
    /// Every program.
    Any,
    /// These, by absolute path or by name in the executor's PATH.
    Only(Vec<String>),
}

impl CommandPolicy {
    /// The file of `program`, if it may run with an environment that sets the variables `env`.
    pub(super) fn permit<'a>(
        &self,
        program: &str,
        env: impl IntoIterator<Item = &'a str>,
    ) -> Result<PathBuf, HandlerError> {
        let path = env::var_os("PATH").unwrap_or_default();
        let file = find(program, &path);
        if let Self::Only(permitted) = self {
            let same = |entry: &String| entry == program || file.is_some() && find(entry, &path) == file;
            if !permitted.iter().any(same) {
                return Err(HandlerError::deterministic(
                    "program_not_allowed",
                    format!(
                        "{program} may not run on this executor; add it to executor.commands to permit it"
                    ),
                ));
            }
            // A variable of the dynamic linker would load other code into a permitted program.
            if let Some(name) = env.into_iter().find(|name| name.starts_with("LD_")) {
                return Err(HandlerError::deterministic(
                    "env_not_allowed",
                    format!("{name} may not be set where executor.commands lists the programs; take it out"),
                ));
            }
        }
        file.ok_or_else(|| {
            let message = format!("{program} is no program in the executor's PATH");
            HandlerError::deterministic("program_not_found", message)
        })
    }
}

/// The file that a name means in `path`; a path with a slash means itself.
fn find(program: &str, path: &OsStr) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program));
    }
    env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(programs: &[&str]) -> CommandPolicy {
        CommandPolicy::Only(programs.iter().map(|&program| program.to_owned()).collect())
    }

    fn code(result: Result<PathBuf, HandlerError>) -> String {
        result.unwrap_err().code.into_owned()
    }

    #[test]
    fn a_program_not_listed_is_refused_and_the_message_says_where_to_list_it() {
        let error = only(&[]).permit("sh", []).unwrap_err();
        assert_eq!(error.code, "program_not_allowed");
        assert!(error.message.contains("executor.commands"));
        assert_eq!(code(only(&["sh"]).permit("/tmp/sh", [])), "program_not_allowed");
        assert_eq!(
            code(only(&["sh"]).permit("/tmp/../bin/cat", [])),
            "program_not_allowed"
        );
    }

    #[test]
    fn a_name_and_its_path_are_the_same_program() {
        let file = CommandPolicy::Any.permit("sh", []).unwrap();
        assert!(file.is_absolute());
        let path = file.to_str().unwrap();
        assert_eq!(only(&[path]).permit("sh", []).unwrap(), file);
        assert_eq!(only(&["sh"]).permit(path, []).unwrap(), file);
        assert_eq!(
            code(CommandPolicy::Any.permit("no-such-program", [])),
            "program_not_found"
        );
    }

    #[test]
    fn a_listed_program_can_not_be_made_another_by_its_environment() {
        assert_eq!(
            code(only(&["sh"]).permit("sh", ["LD_PRELOAD"])),
            "env_not_allowed"
        );
        assert!(only(&["sh"]).permit("sh", ["PATH"]).is_ok());
        assert!(CommandPolicy::Any.permit("sh", ["LD_PRELOAD"]).is_ok());
    }
}
