//! The states of a task and of its two executors, and what can happen next.

use stateright::{Model, Property};

/// Claims of one behaviour; enough for every executor to have been late once.
const CLAIMS_MAX: u8 = 4;
/// Hints on their way at once.
const HINTS_MAX: u8 = 2;

/// What the store compares with the token of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fence {
    /// A token that no other claim ever had.
    FreshToken,
    /// The number of the attempt; one that was lost is not spent, and a failover forgets the last.
    AttemptNumber,
    /// Nothing: whoever says that a running task is done is believed.
    None,
}

/// The rules under test.
#[derive(Debug, Clone)]
pub(crate) struct Claims {
    pub(crate) fence: Fence,
}

/// A claim that the store granted. `number` is what nobody in the system sees: which claim it really is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Grant {
    number: u8,
    token: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Status {
    Pending,
    Running {
        grant: Grant,
        /// The lease is over, and nobody has taken the task back yet.
        expired: bool,
    },
    Success,
}

/// The record as the store has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Record {
    status: Status,
    attempt: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Executor {
    Idle,
    /// It works, and may have been stopped in place for as long as it likes.
    Runs(Grant),
}

/// Everything at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    record: Record,
    /// What a failover would bring back.
    replica: Record,
    executors: [Executor; 2],
    /// Ends of runs that are on their way, or come again.
    writes: Vec<Grant>,
    hints: u8,
    claims: u8,
    /// A write was taken that was not the holder's.
    wrongly_ended: bool,
    /// A renewed lease was given to another.
    late_write_refused: bool,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    SendHint,
    LoseHint,
    Claim(usize),
    /// The claim was made and its answer is lost for good: nobody runs, the lease will end.
    ClaimAndDie,
    Heartbeat(usize),
    Expire,
    Reclaim,
    /// The run ended; the write goes out.
    Finish(usize),
    Crash(usize),
    /// A write arrives; it may have waited for any time, and may come again.
    Arrive(usize, bool),
    Replicate,
    Failover,
}

impl Claims {
    fn grant(&self, state: &mut State) -> Grant {
        state.claims += 1;
        state.record.attempt += 1;
        let grant = Grant {
            number: state.claims,
            token: match self.fence {
                Fence::FreshToken | Fence::None => state.claims,
                Fence::AttemptNumber => state.record.attempt,
            },
        };
        state.record.status = Status::Running {
            grant,
            expired: false,
        };
        grant
    }

    fn passes(&self, held: Grant, shown: Grant) -> bool {
        match self.fence {
            Fence::FreshToken | Fence::AttemptNumber => held.token == shown.token,
            Fence::None => true,
        }
    }

    fn arrive(&self, state: &mut State, shown: Grant) {
        if let Status::Running { grant, .. } = state.record.status
            && self.passes(grant, shown)
        {
            state.wrongly_ended |= grant.number != shown.number;
            state.record.status = Status::Success;
        } else {
            state.late_write_refused = true;
        }
    }

    fn renew(&self, state: &mut State, who: usize) {
        let Executor::Runs(mine) = state.executors[who] else {
            return;
        };
        match &mut state.record.status {
            // Past its end too, where nobody reclaimed (I4).
            Status::Running { grant, expired } if self.passes(*grant, mine) => *expired = false,
            Status::Pending | Status::Running { .. } | Status::Success => {
                state.executors[who] = Executor::Idle;
            }
        }
    }

    fn apply(&self, state: &mut State, action: &Action) {
        match *action {
            Action::SendHint => state.hints += 1,
            Action::LoseHint => state.hints -= 1,
            Action::Claim(who) => {
                state.hints -= 1;
                if state.record.status == Status::Pending {
                    state.executors[who] = Executor::Runs(self.grant(state));
                }
            }
            Action::ClaimAndDie => {
                state.hints -= 1;
                self.grant(state);
            }
            Action::Heartbeat(who) => self.renew(state, who),
            Action::Expire => {
                if let Status::Running { expired, .. } = &mut state.record.status {
                    *expired = true;
                }
            }
            Action::Reclaim => {
                state.record.status = Status::Pending;
                // A lost executor costs no attempt.
                state.record.attempt -= 1;
            }
            Action::Finish(who) => {
                if let Executor::Runs(grant) = state.executors[who] {
                    state.writes.push(grant);
                    state.writes.sort_by_key(|write| write.number);
                    state.executors[who] = Executor::Idle;
                }
            }
            Action::Crash(who) => state.executors[who] = Executor::Idle,
            Action::Arrive(at, again) => {
                let shown = if again {
                    state.writes[at]
                } else {
                    state.writes.remove(at)
                };
                self.arrive(state, shown);
            }
            Action::Replicate => state.replica = state.record,
            Action::Failover => state.record = state.replica,
        }
    }
}

impl Model for Claims {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let record = Record {
            status: Status::Pending,
            attempt: 0,
        };
        vec![State {
            record,
            replica: record,
            executors: [Executor::Idle; 2],
            writes: Vec::new(),
            hints: 0,
            claims: 0,
            wrongly_ended: false,
            late_write_refused: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let pending = state.record.status == Status::Pending;
        if state.hints < HINTS_MAX {
            actions.push(Action::SendHint);
        }
        if state.hints > 0 {
            actions.push(Action::LoseHint);
            if pending && state.claims < CLAIMS_MAX {
                actions.push(Action::ClaimAndDie);
            }
        }
        for (who, executor) in state.executors.iter().enumerate() {
            match executor {
                Executor::Idle if state.hints > 0 && (!pending || state.claims < CLAIMS_MAX) => {
                    actions.push(Action::Claim(who));
                }
                Executor::Idle => {}
                Executor::Runs(_) => {
                    actions.extend([Action::Heartbeat(who), Action::Finish(who), Action::Crash(who)]);
                }
            }
        }
        match state.record.status {
            Status::Running { expired: false, .. } => actions.push(Action::Expire),
            Status::Running { expired: true, .. } => actions.push(Action::Reclaim),
            Status::Pending | Status::Success => {}
        }
        for at in 0..state.writes.len() {
            actions.extend([Action::Arrive(at, false), Action::Arrive(at, true)]);
        }
        if state.replica != state.record {
            actions.extend([Action::Replicate, Action::Failover]);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        self.apply(&mut state, &action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("only the holder of the lease ends the run", |_, state: &State| {
                !state.wrongly_ended
            }),
            Property::sometimes("a run succeeds", |_, state: &State| {
                state.record.status == Status::Success
            }),
            Property::sometimes("a late write is refused", |_, state: &State| {
                state.late_write_refused
            }),
            Property::sometimes("two believe that they hold the lease", |_, state: &State| {
                matches!(state.executors, [Executor::Runs(_), Executor::Runs(_)])
            }),
        ]
    }
}
