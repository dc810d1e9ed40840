//! Owns work: claims, runs handlers, heartbeats, completes.
