//! Which files of this executor may become batches.

use std::fs::File;
use std::io::{Error, ErrorKind};
use std::path::{Component, Path, PathBuf};

use handler::HandlerError;

/// The files whose rows may be read on an executor (`executor.files`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePolicy {
    /// Every file that the process may read.
    Any,
    /// These, and what lies below those that are folders; absolute paths.
    Only(Vec<PathBuf>),
}

impl FilePolicy {
    /// Opens a file of at most so many bytes.
    pub(super) fn open(&self, path: &Path, most: u64) -> Result<File, HandlerError> {
        self.permit(path, path)?;
        let unreadable = |error: Error| unreadable(path, error);
        // A link must not lead out of what is permitted.
        let real = path.canonicalize().map_err(unreadable)?;
        self.permit(path, &real)?;
        let found = real.metadata().map_err(unreadable)?;
        if !found.is_file() {
            return Err(refused("not_a_file", path, "is no plain file"));
        }
        if found.len() > most {
            let reason = format!(
                "has {} bytes, more than limits.source_bytes = {most}",
                found.len()
            );
            return Err(refused("source_too_large", path, &reason));
        }
        File::open(&real).map_err(unreadable)
    }

    fn permit(&self, asked: &Path, path: &Path) -> Result<(), HandlerError> {
        let permitted = match self {
            Self::Any => true,
            Self::Only(entries) => {
                let plain = path.components().all(|part| part != Component::ParentDir);
                let below = |entry: &PathBuf| {
                    path.starts_with(entry) || entry.canonicalize().is_ok_and(|entry| path.starts_with(entry))
                };
                plain && entries.iter().any(below)
            }
        };
        if permitted {
            return Ok(());
        }
        let reason =
            "may not be read on this executor; add it, or a folder above it, to executor.files to permit it";
        Err(refused("file_not_allowed", asked, reason))
    }
}

fn refused(code: &'static str, path: &Path, reason: &str) -> HandlerError {
    HandlerError::deterministic(code, format!("{} {reason}", path.display()))
}

/// A file that is not there yet may come; one that this process may not read needs a person.
fn unreadable(path: &Path, error: Error) -> HandlerError {
    let kind = error.kind();
    let failed = match kind {
        ErrorKind::PermissionDenied => HandlerError::deterministic("file_permission", error),
        ErrorKind::NotFound => HandlerError::transient("file_missing", error),
        _ => HandlerError::transient("source_unreadable", error),
    };
    failed.context(format!("opening {}", path.display()))
}

#[cfg(test)]
mod tests {
    use domain::ErrorClass;

    use super::*;

    fn code(opened: Result<File, HandlerError>) -> (ErrorClass, String) {
        let error = opened.unwrap_err();
        assert!(error.message.contains('/'), "{error}");
        (error.class, error.code.into_owned())
    }

    #[test]
    fn only_what_lies_below_a_permitted_folder_is_opened_whatever_leads_to_it() {
        let root = tempfile::tempdir().unwrap();
        let (inside, outside) = (root.path().join("in"), root.path().join("out"));
        for folder in [&inside, &outside] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("a.csv"), "n\n1\n").unwrap();
        }
        std::os::unix::fs::symlink(outside.join("a.csv"), inside.join("link.csv")).unwrap();
        std::os::unix::fs::symlink(&inside, root.path().join("other")).unwrap();
        let policy = FilePolicy::Only(vec![inside.clone(), root.path().join("other")]);
        let not_allowed = (ErrorClass::Deterministic, "file_not_allowed".to_owned());
        for path in [
            outside.join("a.csv"),
            outside.join("missing.csv"),
            inside.join("link.csv"),
            inside.join("../out/a.csv"),
        ] {
            assert_eq!(code(policy.open(&path, 99)), not_allowed, "{}", path.display());
        }
        for path in [inside.join("a.csv"), root.path().join("other/a.csv")] {
            policy.open(&path, 4).unwrap();
        }
        FilePolicy::Any.open(&inside.join("../out/a.csv"), 99).unwrap();
        let (large, missing) = (inside.join("a.csv"), inside.join("b.csv"));
        let gone = (ErrorClass::Transient, "file_missing".to_owned());
        assert_eq!(code(policy.open(&large, 3)).1, "source_too_large");
        assert_eq!(code(policy.open(&missing, 3)), gone);
        assert_eq!(code(policy.open(&inside, 3)).1, "not_a_file");
        assert_eq!(code(FilePolicy::Only(Vec::new()).open(&large, 99)), not_allowed);
    }
}
