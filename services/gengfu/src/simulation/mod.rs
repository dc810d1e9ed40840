//! Schedules on a virtual clock: the clock jumps from one due moment to the next, and nobody is there in an outage.
//!
//! What lives on the clock is a [`Town`]. [`Plans`] asks the policy engine, as the scheduler does; a scheduler with a
//! store in memory could stand in its place. [`Books`] keeps what happened.

mod books;
mod plans;

use domain::Millis;

pub(crate) use books::{Books, Line};
pub(crate) use plans::Plans;

/// A time in which nobody fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outage {
    pub(crate) from: Millis,
    /// The first moment at which somebody is there again.
    pub(crate) to: Millis,
}

/// What has to be called when its time has come.
pub(crate) trait Town {
    /// When it next has something to do; none: never again.
    fn next_due(&mut self) -> Option<Millis>;

    /// Does everything that is due by now, and moves its next moment past it.
    fn play(&mut self, now: Millis, books: &mut Books);
}

/// Plays a town up to a moment, which is excluded. Outages may overlap, in any order.
pub(crate) fn run(town: &mut impl Town, until: Millis, outages: &[Outage], books: &mut Books) {
    let mut outages = outages.to_vec();
    outages.sort_unstable_by_key(|outage| outage.from);
    while let Some(due) = town.next_due() {
        // In order of their beginnings, one pass leads out of all that overlap.
        let now = outages.iter().fold(due, |now, outage| {
            if outage.from <= now && now < outage.to {
                outage.to
            } else {
                now
            }
        });
        if now >= until {
            return;
        }
        town.play(now, books);
    }
}
