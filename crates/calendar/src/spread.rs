//! Spread: schedules of the same instant start at different moments, each always at its own.

use jiff::Timestamp;

/// The delay of a schedule's fires, in milliseconds: derived from the name alone, below `spread_ms`, and short enough
/// that a fire never comes as late as the next planned instant. The planned instant itself stays as it is.
///
/// FNV-1a, as it must give the same answer in every version, on every host.
#[must_use]
pub fn spread_delay_ms(name: &str, spread_ms: i64, planned: Timestamp, next: Option<Timestamp>) -> i64 {
    if spread_ms <= 0 {
        return 0;
    }
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    // The low bits of FNV depend on the last characters only weakly; fold the high ones in.
    let mixed = (hash ^ hash >> 32) & (i64::MAX as u64);
    let room_ms = next
        .map_or(i64::MAX, |next| next.as_millisecond() - planned.as_millisecond())
        .max(1);
    mixed as i64 % spread_ms % room_ms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_delay_depends_on_the_name_alone() {
        let delay = spread_delay_ms("room-report", 600_000, at(0), Some(at(86_400)));
        assert_eq!(delay, spread_delay_ms("room-report", 600_000, at(86_400), None));
        assert_eq!(delay, 385_503, "a new version must keep it");
        assert_ne!(delay, spread_delay_ms("room-report2", 600_000, at(0), None));
    }

    #[test]
    fn the_delay_never_reaches_the_next_instant() {
        for index in 0..1_000 {
            let delay = spread_delay_ms(&format!("s{index}"), 600_000, at(0), Some(at(60)));
            assert!((0..60_000).contains(&delay));
        }
        assert_eq!(spread_delay_ms("x", 0, at(0), None), 0);
    }

    #[test]
    fn delays_fill_the_spread_evenly() {
        let mut tenths = [0; 10];
        for index in 0..10_000 {
            tenths[(spread_delay_ms(&format!("schedule-{index}"), 10_000, at(0), None) / 1_000) as usize] +=
                1;
        }
        assert!(
            tenths.iter().all(|count| (800..1_200).contains(count)),
            "{tenths:?}"
        );
    }
}
