//! Random numbers that a seed makes (splitmix64).

/// A generator; a copy goes on alike.
#[derive(Debug, Clone)]
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A generator of its own, so that more draws in one place change none in another.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    /// From `low` up to `high`, both included.
    pub(crate) fn range(&mut self, low: i64, high: i64) -> i64 {
        let span = (high - low + 1).unsigned_abs().max(1);
        low + i64::try_from(self.next() % span).unwrap_or(0)
    }

    /// True so many times in a thousand.
    pub(crate) fn chance(&mut self, permille: i64) -> bool {
        permille > 0 && self.range(0, 999) < permille
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let last = i64::try_from(of.len()).unwrap_or(1) - 1;
        &of[usize::try_from(self.range(0, last)).unwrap_or(0)]
    }

    pub(crate) fn shuffle<T>(&mut self, of: &mut [T]) {
        for at in (1..of.len()).rev() {
            let with = usize::try_from(self.range(0, i64::try_from(at).unwrap_or(0))).unwrap_or(0);
            of.swap(at, with);
        }
    }
}
