//! Schedules, and the policy engine that decides about them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use domain::Millis;
use plan::{Plan, Standing};

use crate::simulation::{Books, Town};

/// Schedules with where they stand, the one due next first.
pub(crate) struct Plans<'p> {
    plans: &'p [Plan],
    standings: Vec<Standing>,
    due: BinaryHeap<Reverse<(Millis, usize)>>,
}

impl<'p> Plans<'p> {
    /// Schedules that were declared just before `from`.
    pub(crate) fn new(plans: &'p [Plan], from: Millis) -> Self {
        let cursor = from.saturating_sub(1);
        let due = plans
            .iter()
            .enumerate()
            .filter_map(|(index, plan)| plan.next_after(cursor).map(|next| Reverse((next.due, index))));
        Self {
            plans,
            standings: vec![Standing::at(cursor); plans.len()],
            due: due.collect(),
        }
    }

    /// One schedule: everything that is due, slice by slice.
    fn play_one(&mut self, index: usize, now: Millis, books: &mut Books) {
        loop {
            let slice = self.plans[index].slice(&self.standings[index], now);
            books.enter(index, now, &slice.records);
            self.standings[index] = slice.standing;
            if slice.more {
                continue;
            }
            self.due.extend(slice.next.map(|next| Reverse((next.due, index))));
            return;
        }
    }
}

impl Town for Plans<'_> {
    fn next_due(&mut self) -> Option<Millis> {
        self.due.peek().map(|Reverse((due, _))| *due)
    }

    fn play(&mut self, now: Millis, books: &mut Books) {
        while let Some(Reverse((due, index))) = self.due.peek().copied()
            && due <= now
        {
            self.due.pop();
            self.play_one(index, now, books);
        }
    }
}
