//! Where the workers of a load run: as threads of this process, in further processes, on other machines. What one worker does
//! is left to [`worker`](crate::worker), when they begin to [`session`](crate::session).

pub mod client;
pub mod processes;
pub mod threads;
