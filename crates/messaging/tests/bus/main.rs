//! The bus against a real nats-server.

#![allow(clippy::unwrap_used)]

// Every other crate knows it by this name.
extern crate gengfu_messaging as messaging;

mod admit;
mod broadcast;
mod connect;
mod events;
mod heal;
mod look;
mod nats;
mod publish;
mod streams;
mod submit;
mod work;
