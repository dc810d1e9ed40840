//! Owns order: admits submissions and moves ready tasks into JetStream by tier.
