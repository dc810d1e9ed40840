//! The audit on real servers: clean where all is well, and every kind of damage is found.

#![allow(clippy::unwrap_used)]

// Every other crate knows it by this name.
extern crate gengfu_audit as audit;

mod clean;
mod damage;
mod ledger;
mod town;
