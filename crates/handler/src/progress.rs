//! What a run does now, for whoever asks why it takes so long.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Most characters of a phase.
const PHASE_CHARS: usize = 100;

/// The phase of a run. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Mutex<Doing>>);

#[derive(Debug, Default)]
struct Doing {
    phase: Option<(Cow<'static, str>, Instant)>,
    span: Option<(&'static str, Instant)>,
    process: Option<u32>,
}

/// What a run does, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgressView {
    /// The phase that the handler named last, and for how long it has been in it.
    pub phase: Option<(String, Duration)>,
    /// The span that the handler entered last, and how long ago.
    pub span: Option<(&'static str, Duration)>,
    /// The process under which everything runs that the handler started.
    pub process: Option<u32>,
}

impl Progress {
    /// Names what comes next: a word or two, such as `reading the file`. It is shown by `gengfu task explain`, so it
    /// holds no secret.
    pub fn phase(&self, phase: impl Into<Cow<'static, str>>) {
        let mut phase = phase.into();
        if phase.chars().nth(PHASE_CHARS).is_some() {
            phase = phase.chars().take(PHASE_CHARS).collect::<String>().into();
        }
        self.lock().phase = Some((phase, Instant::now()));
    }

    /// Notes that the handler entered a span; executors do it.
    pub fn entered(&self, span: &'static str) {
        self.lock().span = Some((span, Instant::now()));
    }

    /// Names the process under which everything runs that the handler starts; none where nothing runs any more.
    pub fn process(&self, pid: Option<u32>) {
        self.lock().process = pid;
    }

    /// What is known now.
    #[must_use]
    pub fn view(&self) -> ProgressView {
        let doing = self.lock();
        ProgressView {
            phase: doing
                .phase
                .as_ref()
                .map(|(phase, since)| (phase.to_string(), since.elapsed())),
            span: doing.span.map(|(span, since)| (span, since.elapsed())),
            process: doing.process,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Doing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_stands_in_every_clone_and_is_bounded() {
        let progress = Progress::default();
        let clone = progress.clone();
        assert_eq!(clone.view(), ProgressView::default());
        progress.phase("reading");
        progress.phase("夜".repeat(200));
        progress.entered("load");
        progress.process(Some(7));
        let view = clone.view();
        assert_eq!(view.phase.unwrap().0.chars().count(), PHASE_CHARS);
        assert_eq!((view.span.unwrap().0, view.process), ("load", Some(7)));
    }
}
