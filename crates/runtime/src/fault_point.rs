//! Places at which a test ends, holds or hobbles this process, by name, instead of hoping to hit the moment.
//!
//! `GENGFU_FAULT` holds faults with commas between them:
//!
//! | fault | what happens |
//! |---|---|
//! | `kill:POINT` or `kill:POINT@N` | the process ends at once, without a word, when it reaches the point (for the N-th time) |
//! | `hold:POINT` or `hold:POINT@N` | whoever reaches the point (for the N-th time) waits there until the process gets SIGUSR1; everything else goes on |
//! | `off:DUTY` | the duty does nothing |
//!
//! All of it exists only with the feature `fault-points`. The tests switch it on for the whole workspace (it is a
//! dev-dependency of theirs); `cargo build -p gengfu`, which is what users get, has none of it, and `script/layers.py`
//! checks that. A new point stands in [`POINTS`] and in one call of [`reach`].

/// Every point, in the order in which a task passes them.
pub const POINTS: [&str; 4] = [
    // The scheduler, around the script that writes trigger records, cursors and tasks.
    "fire.before_script",
    "fire.after_script",
    // The scheduler, around each ready hint: of a fire, a release or a reclaim.
    "hint.before_send",
    "hint.after_send",
];

/// Every duty that can be switched off.
pub const DUTIES: [&str; 1] = [
    // The scheduler's scan for due schedules.
    "fire",
];

#[cfg(feature = "fault-points")]
pub use armed::{arm, is_off, reach};

/// The variable that names the faults.
pub const VARIABLE: &str = "GENGFU_FAULT";

/// A fault that can't be: a test that asked for it would test nothing.
#[derive(Debug, thiserror::Error)]
#[error("GENGFU_FAULT: {fault:?} is no fault; write kill:POINT, kill:POINT@N, hold:POINT, hold:POINT@N or off:DUTY, of the points {} and the duties {}", POINTS.join(", "), DUTIES.join(", "))]
pub struct Error {
    fault: String,
}

/// Passes a point: does nothing, but for what `GENGFU_FAULT` says.
#[cfg(not(feature = "fault-points"))]
pub async fn reach(_point: &'static str) {}

/// Whether a duty is switched off.
#[cfg(not(feature = "fault-points"))]
#[must_use]
pub const fn is_off(_duty: &'static str) -> bool {
    false
}

/// Reads the faults, so that a wrong one is known at the start. The faults that are armed, for the log.
///
/// # Errors
/// A fault that can't be.
#[cfg(not(feature = "fault-points"))]
pub const fn arm() -> Result<Option<&'static str>, Error> {
    Ok(None)
}

#[cfg(feature = "fault-points")]
mod armed {
    use std::sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    };

    use tokio::signal::unix::{SignalKind, signal};

    use super::{DUTIES, Error, POINTS, VARIABLE};

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Act {
        Kill,
        Hold,
        Off,
    }

    #[derive(Debug)]
    pub(super) struct Fault {
        pub(super) act: Act,
        pub(super) place: String,
        /// Before which pass it acts, from 1.
        pub(super) pass: u64,
        passes: AtomicU64,
    }

    #[derive(Debug, Default)]
    struct Faults {
        text: String,
        faults: Vec<Fault>,
    }

    static FAULTS: OnceLock<Faults> = OnceLock::new();

    fn faults() -> &'static Faults {
        // `arm` has told of a wrong one before.
        FAULTS.get_or_init(|| {
            let text = std::env::var(VARIABLE).unwrap_or_default();
            let faults = parse(&text).unwrap_or_default();
            Faults { text, faults }
        })
    }

    /// Reads the faults, so that a wrong one is known at the start. The faults that are armed, for the log.
    ///
    /// # Errors
    /// A fault that can't be.
    pub fn arm() -> Result<Option<&'static str>, Error> {
        parse(&std::env::var(VARIABLE).unwrap_or_default())?;
        Ok(Some(faults().text.as_str()).filter(|text| !text.is_empty()))
    }

    /// Passes a point: does nothing, but for what `GENGFU_FAULT` says.
    pub async fn reach(point: &'static str) {
        debug_assert!(POINTS.contains(&point), "{point} does not stand in POINTS");
        for fault in faults().faults.iter().filter(|fault| fault.place == point) {
            if fault.passes.fetch_add(1, Ordering::Relaxed) + 1 != fault.pass {
                continue;
            }
            match fault.act {
                // Nothing is flushed, dropped or said, as with SIGKILL.
                Act::Kill => std::process::abort(),
                Act::Hold => hold(point).await,
                Act::Off => {}
            }
        }
    }

    async fn hold(point: &'static str) {
        let Ok(mut released) = signal(SignalKind::user_defined1()) else {
            tracing::error!(point, "fault point can't hold: no handler for SIGUSR1");
            return;
        };
        tracing::warn!(point, "fault point holds");
        released.recv().await;
        tracing::warn!(point, "fault point goes on");
    }

    /// Whether a duty is switched off.
    #[must_use]
    pub fn is_off(duty: &'static str) -> bool {
        debug_assert!(DUTIES.contains(&duty), "{duty} does not stand in DUTIES");
        let mut faults = faults().faults.iter();
        faults.any(|fault| fault.act == Act::Off && fault.place == duty)
    }

    pub(super) fn parse(text: &str) -> Result<Vec<Fault>, Error> {
        let faults = text.split(',').map(str::trim).filter(|fault| !fault.is_empty());
        let parsed = faults.map(|fault| {
            one(fault).ok_or_else(|| Error {
                fault: fault.to_owned(),
            })
        });
        parsed.collect()
    }

    fn one(fault: &str) -> Option<Fault> {
        let (act, rest) = fault.split_once(':')?;
        let (place, pass) = rest.split_once('@').unwrap_or((rest, "1"));
        let (act, known) = match act {
            "kill" => (Act::Kill, POINTS.contains(&place)),
            "hold" => (Act::Hold, POINTS.contains(&place)),
            "off" => (Act::Off, DUTIES.contains(&place) && !rest.contains('@')),
            _ => return None,
        };
        let pass = pass.parse().ok().filter(|pass| *pass > 0)?;
        known.then(|| Fault {
            act,
            place: place.to_owned(),
            pass,
            passes: AtomicU64::new(0),
        })
    }
}

#[cfg(all(test, feature = "fault-points"))]
mod tests {
    use super::armed::{Act, parse};

    #[test]
    fn faults_are_read_with_their_passes() {
        let faults = parse("kill:fire.before_script@3, hold:hint.before_send,off:fire").unwrap();
        let read: Vec<_> = faults
            .iter()
            .map(|fault| (fault.act, fault.place.as_str(), fault.pass))
            .collect();
        assert_eq!(
            read,
            [
                (Act::Kill, "fire.before_script", 3),
                (Act::Hold, "hint.before_send", 1),
                (Act::Off, "fire", 1)
            ]
        );
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn a_fault_that_can_not_be_is_named() {
        for wrong in [
            "fire.off",
            "kill:fire",
            "off:hint.before_send",
            "hold:hint.before_send@0",
            "kill:hint.before_send@x",
            "off:fire@2",
            "stop:fire",
        ] {
            let error = parse(&format!("off:fire,{wrong}")).unwrap_err().to_string();
            assert!(error.contains(&format!("{wrong:?}")), "{error}");
            assert!(error.contains("fire.before_script"), "{error}");
        }
    }
}
