//! Owns the face: the HTTP API.
