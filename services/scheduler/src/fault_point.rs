//! Places at which a test ends or hobbles this process, named in `GENGFU_FAULT`: `kill:fire.before_script`, or
//! `fire.off`; several with commas. Without the feature `fault-points` there is nothing here.

/// Whether a duty is switched off.
#[cfg(feature = "fault-points")]
pub(crate) fn is_off(duty: &str) -> bool {
    named(&format!("{duty}.off"))
}

/// Ends the process at once if it is to die here.
#[cfg(feature = "fault-points")]
pub(crate) fn reach(point: &str) {
    if named(&format!("kill:{point}")) {
        std::process::abort();
    }
}

#[cfg(feature = "fault-points")]
fn named(fault: &str) -> bool {
    let faults = std::env::var("GENGFU_FAULT").unwrap_or_default();
    faults.split(',').any(|named| named == fault)
}

#[cfg(not(feature = "fault-points"))]
pub(crate) const fn is_off(_: &str) -> bool {
    false
}

#[cfg(not(feature = "fault-points"))]
pub(crate) const fn reach(_: &str) {}
