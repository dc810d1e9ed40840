//! Real servers, real processes, real kills.
