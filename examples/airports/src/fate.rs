//! How the endpoint answers: decided by a hash of row and attempt, so that every run fails in the same places.

/// What the endpoint does with one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// 200.
    Accept,
    /// 503: the caller may try again.
    Unavailable,
    /// No answer within the caller's patience.
    Hang,
    /// 422, at every attempt of this row.
    Refuse,
}

const REFUSED_PER_MILLE: u64 = 10;
const UNAVAILABLE_PER_MILLE: u64 = 30;
const HANG_PER_MILLE: u64 = 10;

impl Fate {
    /// The fate of one attempt on a row.
    pub(crate) fn of(row: &str, attempt: u32) -> Self {
        if hash(row, 0) % 1_000 < REFUSED_PER_MILLE {
            return Self::Refuse;
        }
        match hash(row, u64::from(attempt) + 1) % 1_000 {
            draw if draw < UNAVAILABLE_PER_MILLE => Self::Unavailable,
            draw if draw < UNAVAILABLE_PER_MILLE + HANG_PER_MILLE => Self::Hang,
            _ => Self::Accept,
        }
    }
}

/// FNV-1a with SplitMix64's finish: the same on every machine and in every version.
fn hash(row: &str, salt: u64) -> u64 {
    let seed = 0xcbf2_9ce4_8422_2325 ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = row.bytes().fold(seed, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows;

    /// Per mille of the airports whose attempt has this fate.
    fn share(attempt: u32, fate: Fate) -> usize {
        let rows = rows::read(rows::FILE.as_ref()).unwrap();
        rows.iter().filter(|row| Fate::of(row, attempt) == fate).count() * 1_000 / rows.len()
    }

    #[test]
    fn the_airports_fail_in_the_stated_shares() {
        for attempt in 1..=3 {
            assert!(
                (5..=15).contains(&share(attempt, Fate::Refuse)),
                "refused {}",
                share(attempt, Fate::Refuse)
            );
            assert!(
                (22..=38).contains(&share(attempt, Fate::Unavailable)),
                "{}",
                share(attempt, Fate::Unavailable)
            );
            assert!(
                (5..=15).contains(&share(attempt, Fate::Hang)),
                "hang {}",
                share(attempt, Fate::Hang)
            );
        }
    }

    #[test]
    fn a_refused_row_is_refused_at_every_attempt_and_another_gets_through() {
        for row in rows::read(rows::FILE.as_ref()).unwrap() {
            let refused = (1..=7)
                .filter(|attempt| Fate::of(&row, *attempt) == Fate::Refuse)
                .count();
            assert!(refused == 0 || refused == 7, "{row}");
            assert!(
                refused == 7 || (1..=7).any(|attempt| Fate::of(&row, attempt) == Fate::Accept),
                "{row}"
            );
        }
    }
}
