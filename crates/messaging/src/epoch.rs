//! The store's epoch as the events stream remembers it: a word in the stream's metadata, which no limit forgets.

use std::error::Error as StdError;

use async_nats::jetstream::Context;

use crate::{Bus, Error, streams::EVENTS};

type Boxed = Box<dyn StdError + Send + Sync>;

/// The key in the metadata of the events stream.
const EPOCH: &str = "gengfu_epoch";

impl Bus {
    /// The epoch of the store whose events the stream holds; none where it never had any.
    ///
    /// # Errors
    /// NATS is away, or gives no answer in time.
    pub async fn epoch(&self) -> Result<Option<String>, Error> {
        self.core.link.ready_epoch()?;
        let kept = self.core.js.word(EVENTS, EPOCH).await;
        kept.map_err(|error| Error::set_up(EVENTS, error))
    }

    /// Notes the epoch of the store whose events the stream holds from now on.
    ///
    /// # Errors
    /// NATS is away, or did not take it.
    pub async fn keep_epoch(&self, epoch: &str) -> Result<(), Error> {
        self.core.link.ready_epoch()?;
        let kept = self.core.js.keep_word(EVENTS, EPOCH, epoch).await;
        kept.map_err(|error| Error::set_up(EVENTS, error))
    }
}

/// Words in the metadata of streams.
pub(crate) trait Words {
    /// The word of this key, if there is one.
    async fn word(&self, stream: &str, key: &str) -> Result<Option<String>, Boxed>;
    /// Keeps a word.
    async fn keep_word(&self, stream: &str, key: &str, word: &str) -> Result<(), Boxed>;
}

impl Words for Context {
    async fn word(&self, stream: &str, key: &str) -> Result<Option<String>, Boxed> {
        let stream = self.get_stream(stream).await?;
        Ok(stream.cached_info().config.metadata.get(key).cloned())
    }

    async fn keep_word(&self, stream: &str, key: &str, word: &str) -> Result<(), Boxed> {
        let stream = self.get_stream(stream).await?;
        let mut config = stream.cached_info().config.clone();
        config.metadata.insert(key.to_owned(), word.to_owned());
        self.update_stream(&config).await?;
        Ok(())
    }
}
