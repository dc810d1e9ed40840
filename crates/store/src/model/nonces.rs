//! The first answers of calls, by nonce (I12).

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::fmt;

use crate::{Error, Nonce};

/// Most answers kept; older ones are forgotten, as a real store forgets them with time.
const KEPT_MAX: usize = 100_000;

/// First answers.
#[derive(Default)]
pub(super) struct Nonces {
    answers: HashMap<Nonce, Box<dyn Any + Send>>,
    order: VecDeque<Nonce>,
}

impl fmt::Debug for Nonces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} answers", self.answers.len())
    }
}

impl Nonces {
    /// The first answer of this call, if it was played before.
    pub(super) fn first<T: Clone + 'static>(&self, nonce: &Nonce) -> Result<Option<T>, Error> {
        let Some(answer) = self.answers.get(nonce) else {
            return Ok(None);
        };
        answer
            .downcast_ref::<T>()
            .cloned()
            .map(Some)
            .ok_or_else(|| Error::Corrupt("the nonce belongs to a call of another verb".into()))
    }

    pub(super) fn keep<T: Send + 'static>(&mut self, nonce: Nonce, answer: T) {
        self.answers.insert(nonce, Box::new(answer));
        self.order.push_back(nonce);
        if self.order.len() > KEPT_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.answers.remove(&oldest);
        }
    }
}
