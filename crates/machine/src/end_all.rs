//! Ends several connections. What the end of one does is left to its owner.

use std::thread;

/// Drops what has connections, all at the same time: each waits for the end of its agent.
pub fn end_all<C: Send>(connected: impl IntoIterator<Item = C>) {
    thread::scope(|scope| {
        for one in connected {
            scope.spawn(move || drop(one));
        }
    });
}
