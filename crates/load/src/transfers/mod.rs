//! Very many downloads in progress at once: the client reads each at a set pace, so that it stays open.
//!
//! A *transfer* is one client's download from the connect call to the last byte. When it ends, the same client begins another, so
//! that the number of those that want one stays. [`Transfers`] runs them in processes of their own, and adds up what they
//! report once a second; nothing but sums and histograms crosses from process to process.
//!
//! | file | content |
//! |---|---|
//! | `spec` | what is downloaded and at which pace, and the orders to the processes |
//! | `wheel` | the timer wheel that decides whose turn it is |
//! | `waiting` | the poller of those that wait for their first byte |
//! | `download` | the socket of a transfer, and its reply |
//! | `slot` | the state of a client, and when clients begin |
//! | `worker` | the loop of a process: begin, read, give up, begin again |
//! | `record` | the counts and times of a second |
//! | `process`, `processes` | both ends of the pipes between the processes |
//!
//! # How very many are possible
//!
//! - A timer wheel and not readiness decides who reads: a transfer in progress is in no epoll instance. Only those that wait for
//!   their first byte are, so that it is timed when it arrives.
//! - The receive buffer is small, so that what is on its way is in the server's queue, or not sent at all.
//! - A process has no more transfers than descriptors, and source addresses of 127/8 give the ports.
//! - A transfer takes about 200 bytes of a process.
//!
//! The pace is kept in an open loop: each read is due at an instant that follows from the one before and from the bytes that it
//! got, also where the client is late. How late turns were is recorded: it says whether the client was the limit. What the window
//! had no room for meanwhile is lost: a read that is later than [`most_late`] begins the pace of its transfer anew, and the time that
//! was lost is recorded.

mod child;
mod download;
mod process;
mod processes;
mod record;
mod slot;
mod spec;
#[cfg(test)]
mod tests;
mod waiting;
mod wheel;
mod worker;

pub(crate) use process::serve;
pub use processes::{Transfers, TransfersError};
pub use record::{Advances, TransferSecond, TransferTimes};
pub(crate) use spec::TransferAssignment;
pub use spec::{SMALLEST_WINDOW, TransferSpec, TransferSpecError, most_late};
