//! One seed: a town, its faults, and its rest.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::{Millis, TaskId, Violation, schedule_partition};
use futures::FutureExt;
use plan::Schedule;
use store::{Origin, Page, PlanStore, PutSchedule, TaskFilter, TaskStore, TriggerRange};

use crate::faults::{self, Act};
use crate::host::{self, START_MS};
use crate::mutation::Mutation;
use crate::people::BUSY_MS;
use crate::process::Process;
use crate::rng::Rng;
use crate::roles::Role;
use crate::world::{LEASE_MS, Trace, World};

/// How long the town may take to come to rest.
const REST_MS: i64 = 60_000;
/// How long the recorder may take: a delivery that was lost comes again when the wait for its ack is over, 120 s.
const READ_MS: i64 = 150_000;
/// How long after its lease's end a task is taken back at the latest: one lease after an outage, 2 s (I4), and what
/// the steps of the simulation may add.
const RECLAIM_MS: i64 = LEASE_MS + 2_000 + 500;
const SCHEDULES: [&str; 2] = ["often", "seldom"];

/// What came of a seed.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) seed: u64,
    pub(crate) found: Vec<Violation>,
    pub(crate) tasks: usize,
    pub(crate) trace: Trace,
    /// Simulated time in milliseconds.
    pub(crate) lasted_ms: i64,
}

impl Outcome {
    /// Whether one of these was seen broken.
    pub(crate) fn broke(&self, invariants: &[&str]) -> bool {
        self.found
            .iter()
            .any(|found| invariants.contains(&found.invariant))
    }
}

/// Runs a seed, on a thread of its own: what a thread keeps in it, such as the keys of hash maps, comes from the seed.
pub(crate) fn run(seed: u64, mutation: Option<Mutation>, traced: bool) -> Outcome {
    let thread = std::thread::Builder::new().name(format!("seed {seed}"));
    let ran = thread.spawn(move || {
        host::simulate(seed);
        Town::new(seed, mutation, traced).live(seed)
    });
    ran.unwrap().join().unwrap()
}

struct Town {
    world: Arc<World>,
    rng: Rng,
    processes: Vec<Process>,
    now_us: i64,
    plans: Vec<plan::Plan>,
}

/// The model never waits.
fn now<T>(call: impl Future<Output = Result<T, store::Error>>) -> T {
    call.now_or_never().unwrap().unwrap()
}

impl Town {
    fn new(seed: u64, mutation: Option<Mutation>, traced: bool) -> Self {
        let mut rng = Rng(seed);
        let mut roles = vec![
            Role::People,
            Role::Scheduler,
            Role::Dispatcher,
            Role::Executor,
            Role::Recorder,
        ];
        roles.extend([Role::Executor]);
        for more in [Role::Scheduler, Role::Dispatcher, Role::Recorder] {
            if rng.chance(350) {
                roles.push(more);
            }
        }
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let name = |role: &Role| {
            let word = format!("{role:?}").to_lowercase();
            let count = counts.entry(word.clone()).or_default();
            *count += 1;
            format!("{word}-{count}")
        };
        let names = roles.iter().map(name).collect();
        let partitions = u16::try_from(*rng.pick(&[1, 1, 2])).unwrap_or(1);
        let world = World::new(names, partitions, mutation, traced, &mut rng);
        let (store, bus) = faults::weather(&mut rng);
        *world.weather() = store;
        world.bus().weather = bus;
        let processes = (0..)
            .zip(roles)
            .map(|(who, role)| Process::new(who, role, Arc::clone(&world)))
            .collect();
        let mut town = Self {
            world,
            rng,
            processes,
            now_us: 0,
            plans: Vec::new(),
        };
        town.declare();
        town
    }

    /// Types and schedules, as an apply writes them.
    fn declare(&mut self) {
        let spec = |text: &str| serde_json::from_str(text).unwrap();
        now(self.world.model.put_types(&[
            spec(r#"{"name":"sim.play","handler":"play","run_timeout":"3s","max_retry":3,"backoff":["500ms","2s"]}"#),
            spec(
                r#"{"name":"sim.other","handler":"play","tier":"high","run_timeout":"3s","max_retry":2,
                    "backoff":["100ms"],"max_lost":2,"on_unknown_outcome":"dead"}"#,
            ),
        ]));
        let overlap = *self.rng.pick(&["allow", "skip"]);
        let misfire = *self.rng.pick(&["skip", "fire_once", "catch_up"]);
        for (name, every) in SCHEDULES.into_iter().zip(["1s", "4s"]) {
            let text = format!(
                r#"{{"name":"{name}","type":"sim.play","every":"{every}","zone":"UTC","end":"2025-11-30T00:00:10Z",
                    "overlap":"{overlap}","misfire":"{misfire}"}}"#
            );
            let plan = Schedule::parse(&text).unwrap().plan(|_| None).unwrap();
            self.put(name, &plan);
            self.plans.push(plan);
        }
    }

    fn put(&self, name: &str, plan: &plan::Plan) {
        let (schedule, next) = (plan.schedule(), plan.next_after(START_MS));
        let item = PutSchedule {
            name: name.to_owned(),
            spec: schedule.to_json().into(),
            overlap: schedule.overlap,
            queue_max: schedule.queue_max,
            max_fires: 0,
            seen: None,
            anchor: START_MS,
            next: next.map_or(0, |next| next.planned_at),
            due: next.map_or(0, |next| next.due),
            owed: Vec::new(),
        };
        let partition = schedule_partition(name, self.world.model.partitions());
        let nonce = store::playing::nonce();
        let put = now(self
            .world
            .model
            .put_schedules(partition, nonce, &Origin::default(), &[item]));
        assert!(put.iter().all(Result::is_ok), "{put:?}");
    }

    fn live(mut self, seed: u64) -> Outcome {
        let acts = faults::acts(&mut self.rng, &self.processes);
        for process in &mut self.processes {
            process.start(0);
        }
        let mut acts = acts.into_iter().peekable();
        while self.now_us < (BUSY_MS + 500) * 1_000 && self.is_well() {
            self.round(60, acts.peek().map(|(at_us, _)| *at_us));
            while let Some((_, act)) = acts.next_if(|(at_us, _)| *at_us <= self.now_us) {
                self.happen(act);
            }
        }
        faults::heal(self.now_us, &self.world, &mut self.processes);
        self.rest();
        for process in &mut self.processes {
            process.kill(self.now_us);
        }
        let mut check = self.world.check();
        let (found, tasks) = (std::mem::take(&mut check.found), check.tasks.len());
        drop(check);
        Outcome {
            seed,
            found,
            tasks,
            trace: self.world.told(),
            lasted_ms: self.now_us / 1_000,
        }
    }

    fn is_well(&self) -> bool {
        self.world.check().found.is_empty()
    }

    fn happen(&mut self, act: Act) {
        faults::happen(act, self.now_us, &self.world, &mut self.processes);
    }

    /// Lets every process run for a moment, one after the other in any order, and looks at what came of it.
    fn round(&mut self, longest_ms: i64, act_us: Option<i64>) {
        let until_us = self.now_us + self.rng.range(1, longest_ms) * 1_000;
        let until_us = act_us.map_or(until_us, |at_us| until_us.min(at_us.max(self.now_us + 1_000)));
        let mut order: Vec<usize> = (0..self.processes.len()).collect();
        self.rng.shuffle(&mut order);
        for who in order {
            self.processes[who].run(self.now_us, until_us);
        }
        self.now_us = until_us;
        host::set(until_us, 0);
        self.world.bus().tick(until_us);
        if self.world.check().take_changed() {
            self.look();
        }
    }

    /// Counters against the picture of tasks.
    fn look(&self) {
        let (model, partitions) = (&self.world.model, self.world.model.partitions());
        for partition in 0..partitions {
            let stats = now(model.stats(partition));
            let queues = now(model.queues(partition, &["default".to_owned()]));
            self.world.check().counts(partition, partitions, &stats, &queues);
        }
    }

    fn patience_ms(&self) -> i64 {
        if self.has_ended() { READ_MS } else { REST_MS }
    }

    fn has_rest(&self) -> bool {
        self.has_ended() && self.world.check().is_read()
    }

    /// Everything but what the recorder has still to read.
    fn has_ended(&self) -> bool {
        let check = self.world.check();
        check.talking == 0 && check.all_ended(START_MS + self.now_us / 1_000) && check.promises_are_kept()
    }

    /// Without faults everything comes to its end, and in time.
    fn rest(&mut self) {
        let healed_us = self.now_us;
        let waited_ms = |now_us: i64| (now_us - healed_us) / 1_000;
        while self.is_well() && waited_ms(self.now_us) < self.patience_ms() {
            self.round(100, None);
            if waited_ms(self.now_us) > RECLAIM_MS {
                let at = START_MS + self.now_us / 1_000;
                self.world.check().overdue_leases(at, RECLAIM_MS);
            }
            if waited_ms(self.now_us) > 5_000 && self.has_rest() {
                break;
            }
        }
        if self.is_well() {
            self.judge(waited_ms(self.now_us));
        }
    }

    fn judge(&self, waited_ms: i64) {
        let model = &self.world.model;
        let page = Page {
            limit: 1_000,
            cursor: None,
        };
        let listed = now(model.list(&TaskFilter::default(), &page));
        let views: BTreeMap<TaskId, _> = listed
            .items
            .into_iter()
            .map(|view| (view.task.id, view))
            .collect();
        let mut counted: BTreeMap<String, u64> = BTreeMap::new();
        for (_, field, count) in now(model.hours(0)) {
            *counted.entry(field).or_default() += count;
        }
        let mut check = self.world.check();
        if check.talking > 0 {
            let talking = check.talking;
            check.say(
                "I1",
                format!("{talking} clients got no answer, {waited_ms} ms after the last fault"),
            );
        }
        check.left_over(START_MS + self.now_us / 1_000, waited_ms);
        check.accepted_are_there(&views);
        check.promised_are_there();
        check.effects_fit();
        check.all_read(&counted);
        drop(check);
        for plan in &self.plans {
            self.judge_schedule(plan);
        }
    }

    fn judge_schedule(&self, plan: &plan::Plan) {
        let (model, name) = (&self.world.model, &plan.schedule().name);
        let cursor: Millis = now(model.schedule(name)).map_or(0, |view| view.plan.cursor);
        let page = Page {
            limit: 1_000,
            cursor: None,
        };
        let records = now(model.triggers(name, &TriggerRange::default(), &page)).items;
        let at = START_MS + self.now_us / 1_000;
        self.world.check().ledger(plan, START_MS, cursor, at, &records);
    }
}
