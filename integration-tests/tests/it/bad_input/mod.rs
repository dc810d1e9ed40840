//! Bad input gets an answer that names field and reason, and leaves nothing behind (issue 2, "Bad input").

mod absent;
mod configuration;
mod submissions;
