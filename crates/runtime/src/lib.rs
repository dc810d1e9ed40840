//! What every service process needs: configuration, signals, drain, health endpoints.
