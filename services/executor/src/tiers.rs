//! Which tier to ask next: by weight among those that had work when last asked.

use domain::Tier;

/// Tiers with their virtual time: each turn costs a tier the inverse of its weight.
#[derive(Debug, Default)]
pub(crate) struct Tiers {
    hot: [bool; 4],
    spent: [u64; 4],
}

const fn at(tier: Tier) -> usize {
    tier as usize - 1
}

impl Tiers {
    /// There was work; there may be more.
    pub(crate) fn heat(&mut self, tier: Tier) {
        if !self.hot[at(tier)] {
            // Who comes back starts beside the others: its absence earned it nothing.
            let lowest = (0..4)
                .filter(|other| self.hot[*other])
                .map(|other| self.spent[other])
                .min();
            self.spent[at(tier)] = self.spent[at(tier)].max(lowest.unwrap_or(0));
            self.hot[at(tier)] = true;
        }
    }

    /// There was no work.
    pub(crate) fn cool(&mut self, tier: Tier) {
        self.hot[at(tier)] = false;
    }

    /// The tier whose turn it is, if any is known to have work.
    pub(crate) fn next(&self) -> Option<Tier> {
        Tier::ALL
            .into_iter()
            .filter(|tier| self.hot[at(*tier)])
            .min_by_key(|tier| self.spent[at(*tier)])
    }

    /// Counts starts of a tier.
    pub(crate) fn spend(&mut self, tier: Tier, starts: usize) {
        self.spent[at(tier)] += starts as u64 * 1_000 / u64::from(tier.weight());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_follow_the_weights_and_none_starves() {
        let mut tiers = Tiers::default();
        Tier::ALL.into_iter().for_each(|tier| tiers.heat(tier));
        let mut starts = [0; 4];
        for _ in 0..150 {
            let tier = tiers.next().unwrap();
            tiers.spend(tier, 1);
            starts[at(tier)] += 1;
        }
        assert_eq!(starts, [80, 40, 20, 10]);
    }

    #[test]
    fn a_tier_that_was_away_gets_no_more_than_its_share() {
        let mut tiers = Tiers::default();
        tiers.heat(Tier::Normal);
        for _ in 0..1_000 {
            tiers.spend(Tier::Normal, 1);
        }
        tiers.heat(Tier::Low);
        let low = (0..30).filter(|_| {
            let tier = tiers.next().unwrap();
            tiers.spend(tier, 1);
            tier == Tier::Low
        });
        assert_eq!(low.count(), 10);
        tiers.cool(Tier::Low);
        assert_eq!(tiers.next(), Some(Tier::Normal));
    }
}
