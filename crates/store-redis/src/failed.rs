//! What an error of the client means for the caller of the store.

use redis::RedisError;
use store::Error;

/// The store's error for one of the client.
pub(crate) fn failed(error: RedisError) -> Error {
    match error.code() {
        Some("OOM") => Error::Full("the memory of Redis is full (maxmemory)".into()),
        Some("GFLOST") => Error::Lost(error.detail().unwrap_or("its epoch is another").to_owned()),
        Some("GFFULL") => Error::Full(error.detail().unwrap_or("the outbox is full").to_owned()),
        Some("MISCONF") => Error::Unavailable(
            format!(
                "Redis can't write to its disk: {}",
                error.detail().unwrap_or("it does not say why")
            )
            .into(),
        ),
        Some("WRONGTYPE" | "NOPERM" | "NOAUTH" | "WRONGPASS") => Error::Unusable(error.to_string()),
        // It is no master, not yet, or not any more: where a failover is on, another will be soon.
        Some("READONLY" | "LOADING" | "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN") => {
            Error::Unavailable(Box::new(error))
        }
        _ if error.to_string().contains("Error running script")
            || error.to_string().contains("user_script") =>
        {
            Error::Corrupt(error.to_string())
        }
        _ => Error::Unavailable(Box::new(error)),
    }
}
