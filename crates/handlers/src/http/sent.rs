//! Knows whether a request went out: only then is the outcome unknown when no answer comes.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use handler::Progress;
use http_body::{Frame, SizeHint};

/// Set once a connection stands and the request is being written to it.
#[derive(Debug, Default)]
pub(super) struct SentMark(Arc<AtomicBool>);

impl SentMark {
    /// A body that sets the mark when it is asked for its bytes, which is when the head is written, and says how far it is.
    pub(super) fn body(&self, payload: Bytes, progress: &Progress) -> reqwest::Body {
        reqwest::Body::wrap(Marking {
            payload: Some(payload),
            mark: Arc::clone(&self.0),
            progress: progress.clone(),
            told: AtomicBool::new(false),
        })
    }

    /// Whether the request may have reached the other side.
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

struct Marking {
    payload: Option<Bytes>,
    mark: Arc<AtomicBool>,
    progress: Progress,
    /// Whether it was said that all of it is on its way.
    told: AtomicBool,
}

impl Marking {
    fn all_sent(&self) {
        if !self.told.swap(true, Ordering::Relaxed) {
            self.progress.phase("waiting_headers");
        }
    }
}

impl http_body::Body for Marking {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.mark.store(true, Ordering::Release);
        let payload = self.payload.take().filter(|payload| !payload.is_empty());
        match payload {
            Some(_) => self.progress.phase("sent"),
            None => self.all_sent(),
        }
        Poll::Ready(payload.map(|payload| Ok(Frame::data(payload))))
    }

    // An empty body must be asked for too, or it would never set the mark.
    fn is_end_stream(&self) -> bool {
        let ended = self.payload.is_none();
        if ended {
            self.all_sent();
        }
        ended
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.payload.as_ref().map_or(0, |payload| payload.len() as u64))
    }
}
