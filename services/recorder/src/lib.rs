//! Owns memory: reads every transition in order and keeps statistics.
