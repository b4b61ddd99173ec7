//! Locks a mutex and ignores poisoning: no critical section leaves its state half-written, so a panic of another thread changes nothing.
//! An interface: every file here that shares state locks with this. The lock of a machine is [`host::lock`].

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a thread has panicked with the lock.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
