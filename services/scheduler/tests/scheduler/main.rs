//! The scheduler between a store in memory and a real nats-server.

#![allow(clippy::unwrap_used)]

// Every other crate knows it by this name.
extern crate gengfu_scheduler as scheduler;

mod absences;
mod duties;
mod fires;
mod follow;
mod misfires;
mod outages;
mod replicas;
mod schedules;
mod town;
