//! Tells which span a future entered last, so that somebody can say what it is about.

use std::{
    cell::RefCell,
    pin::Pin,
    sync::Arc,
    task::{Context as TaskContext, Poll},
};

use tracing::{Subscriber, span::Id};
use tracing_subscriber::{
    layer::{Context, Layer},
    registry::LookupSpan,
};

type Tell = Arc<dyn Fn(&'static str) + Send + Sync>;

thread_local! {
    /// Whom the spans concern that are entered now in this thread.
    static LISTENER: RefCell<Option<Tell>> = const { RefCell::new(None) };
}

/// A future whose spans are told. Those of what it spawns elsewhere are not.
pub struct Watched<F> {
    inner: Pin<Box<F>>,
    tell: Tell,
}

impl<F> std::fmt::Debug for Watched<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watched").finish_non_exhaustive()
    }
}

/// Calls `tell` with the name of every span that `future` enters. It is called while the future is polled, so it must
/// not wait.
pub fn watched<F: Future>(future: F, tell: impl Fn(&'static str) + Send + Sync + 'static) -> Watched<F> {
    Watched {
        inner: Box::pin(future),
        tell: Arc::new(tell),
    }
}

impl<F: Future> Future for Watched<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<F::Output> {
        let before = LISTENER.replace(Some(Arc::clone(&self.tell)));
        let _restored = Restored(before);
        self.inner.as_mut().poll(context)
    }
}

/// Gives the thread back as it was, also where a poll panics.
struct Restored(Option<Tell>);

impl Drop for Restored {
    fn drop(&mut self) {
        LISTENER.set(self.0.take());
    }
}

/// The part of the subscriber that sees spans being entered.
pub(crate) struct Entered;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Entered {
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        // A span that is entered while another's name is told is not told.
        let tell = LISTENER
            .try_with(|listener| listener.try_borrow().ok()?.clone())
            .ok()
            .flatten();
        if let Some(tell) = tell
            && let Some(metadata) = context.metadata(id)
        {
            tell(metadata.name());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tracing::Instrument;
    use tracing_subscriber::{Registry, layer::SubscriberExt};

    use super::*;

    #[tokio::test]
    async fn the_spans_of_a_future_are_told_and_no_others() {
        let subscriber = Registry::default().with(Entered);
        let _here = tracing::subscriber::set_default(subscriber);
        let told = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&told);
        let work = async {
            async { tokio::task::yield_now().await }
                .instrument(tracing::info_span!("load", secret = "x"))
                .await;
            tracing::info_span!("count").in_scope(|| {});
        };
        tracing::info_span!("before").in_scope(|| {});
        watched(work, move |name| keep.lock().unwrap().push(name)).await;
        tracing::info_span!("after").in_scope(|| {});
        let mut told = told.lock().unwrap().clone();
        told.dedup();
        assert_eq!(told, ["load", "count"]);
    }
}
