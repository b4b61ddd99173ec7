//! A sampler's thread: it works until it is told to stop, or until nobody needs its result. What it does is left to samplers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use crate::ProfileError;

/// Tells whoever waits for it that the work has begun, or why it cannot.
pub(crate) struct Started(Sender<Result<(), ProfileError>>);

impl Started {
    /// The receiver waits for it.
    pub(crate) fn tell(&self, begun: Result<(), ProfileError>) {
        let _ = self.0.send(begun);
    }
}

/// A thread that inherits the CPUs of its creator, and its result.
#[derive(Debug)]
pub(crate) struct Background<T> {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Background<T> {
    /// Starts the work; it must end soon after the flag is set, and is woken for that. Returns when the work has told that it has
    /// begun.
    pub(crate) fn start(
        name: &str,
        work: impl FnOnce(&AtomicBool, &Started) -> T + Send + 'static,
    ) -> Result<Self, ProfileError> {
        let stop = Arc::new(AtomicBool::new(false));
        let for_thread = Arc::clone(&stop);
        let (sender, has_started) = mpsc::channel();
        let started = Started(sender);
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(&for_thread, &started))
            .map_err(ProfileError::Thread)?;
        has_started.recv().map_err(|_| ended())??;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Ends the work.
    pub(crate) fn stop(mut self) -> Result<T, ProfileError> {
        self.end().ok_or_else(ended)
    }
}

impl<T> Background<T> {
    fn end(&mut self) -> Option<T> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take()?;
        thread.thread().unpark();
        thread.join().ok()
    }
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        // Nobody needs the result.
        let _ = self.end();
    }
}

/// A sampler has no result.
pub(crate) fn ended() -> ProfileError {
    ProfileError::Thread(io::Error::other("its thread has ended"))
}
