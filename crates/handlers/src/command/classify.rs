//! What the end of a program means (DESIGN section 7).

use std::collections::BTreeMap;

use domain::{ErrorClass, clip_error};
use handler::HandlerError;

use super::message::Report;

/// Success, or the failure that this report is.
pub(super) fn outcome(report: &Report, classes: &BTreeMap<u16, ErrorClass>) -> Result<(), HandlerError> {
    match report {
        Report::Exited { code: 0 } => Ok(()),
        Report::Exited { code } => {
            let class = classes
                .get(&u16::from(*code))
                .copied()
                .unwrap_or_else(|| class_of(*code));
            Err(HandlerError::new(
                class,
                format!("exit_{code}"),
                format!("exited with code {code}"),
            ))
        }
        Report::Signaled { signal } => {
            let message = format!("was ended by signal {signal}");
            Err(HandlerError::transient(format!("signal_{signal}"), message))
        }
        Report::NotStarted {
            code,
            transient,
            message,
        } => {
            let class = if *transient {
                ErrorClass::Transient
            } else {
                ErrorClass::Deterministic
            };
            Err(HandlerError::new(class, code.clone(), message.as_str()))
        }
        Report::Started { .. } | Report::SupervisorLost => {
            let message = "its supervisor went away without a report";
            Err(HandlerError::transient("supervisor_lost", message).with_unknown_outcome())
        }
    }
}

/// The class of an exit code that is no success: those of sysexits.h that no repetition mends, and the shell's two
/// for a program that can't be run, are deterministic.
const fn class_of(code: u8) -> ErrorClass {
    match code {
        64..=68 | 72 | 77 | 78 | 126 | 127 => ErrorClass::Deterministic,
        _ => ErrorClass::Transient,
    }
}

/// The failure with the end of what the program said about it.
pub(super) fn with_stderr(mut error: HandlerError, last_errors: &[u8]) -> HandlerError {
    let said = String::from_utf8_lossy(last_errors);
    let said = said.trim();
    if !said.is_empty() {
        error.message = clip_error(&format!("{}: {said}", error.message));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_have_the_classes_of_the_design() {
        for code in [64, 65, 66, 67, 68, 72, 77, 78, 126, 127] {
            assert_eq!(class_of(code), ErrorClass::Deterministic, "{code}");
        }
        for code in [1, 2, 69, 70, 71, 73, 74, 75, 76, 79, 125, 128, 137, 255] {
            assert_eq!(class_of(code), ErrorClass::Transient, "{code}");
        }
    }

    #[test]
    fn a_type_may_see_a_code_in_its_own_way() {
        let classes = BTreeMap::from([(3, ErrorClass::Deterministic), (64, ErrorClass::Transient)]);
        let class = |code| outcome(&Report::Exited { code }, &classes).unwrap_err().class;
        assert_eq!(class(3), ErrorClass::Deterministic);
        assert_eq!(class(64), ErrorClass::Transient);
        assert_eq!(class(65), ErrorClass::Deterministic);
    }
}
