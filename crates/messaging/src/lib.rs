//! Subjects, streams, envelopes, publisher and consumers; the only user of async-nats.
