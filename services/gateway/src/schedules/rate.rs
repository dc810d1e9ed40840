//! How fast many fires become due: `10/m`.

use domain::Millis;

/// So many a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate {
    count: i64,
    unit_ms: i64,
}

impl Rate {
    /// Reads `10/s`, `10/m`, `10/h` or `10/d`.
    ///
    /// # Errors
    /// What would be right.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let read = text.split_once('/').and_then(|(count, unit)| {
            let unit_ms = match unit {
                "s" => 1_000,
                "m" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return None,
            };
            let count = count
                .parse()
                .ok()
                .filter(|count| (1..=1_000_000).contains(count))?;
            Some(Self { count, unit_ms })
        });
        read.ok_or_else(|| "is no rate; write how many a time, such as 5/s, 10/m or 100/h".to_owned())
    }

    /// How long the fire of this number waits, from 0.
    pub(crate) const fn delay_ms(self, number: usize) -> Millis {
        (number as i64).saturating_mul(self.unit_ms) / self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fires_are_spread_evenly() {
        let rate = Rate::parse("4/m").unwrap();
        assert_eq!(
            [0, 1, 2, 4].map(|number| rate.delay_ms(number)),
            [0, 15_000, 30_000, 60_000]
        );
        for wrong in ["", "4", "0/s", "4/w", "-1/s", "4/m/s", "fast"] {
            assert!(Rate::parse(wrong).is_err(), "{wrong}");
        }
    }
}
