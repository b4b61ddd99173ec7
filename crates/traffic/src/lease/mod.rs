//! A lease on the balancer itself. The health check of each server that a run adds goes to a *beacon*: a port of a process beside the run,
//! which asks the server itself and listens only while the run renews its lease. When the run, that process or both die or stop, nobody
//! listens, and the balancer alone stops sending within two failed checks.
//!
//! ```text
//!  run ──renewals──▶ lease process ──probe──▶ server
//!      ◀──answers──        ▲
//!                          │ health check: the beacon
//!                      balancer ──requests──▶ server
//! ```
//!
//! After the loss of the lease, the process closes its beacons first, then gives the servers weight 0, reads it back and takes them out of
//! service. A beacon that was closed never listens again. So a server whose weight is not 0 yet never becomes healthy again.
//!
//! | module | content |
//! |---|---|
//! | [`protocol`] | what run and process send one another |
//! | [`owner`] | the run's end |
//! | [`process`] | the process |
//! | [`beacon`] | the port that a health check goes to, and the probe behind it |

pub mod beacon;
pub mod owner;
pub mod process;
pub mod protocol;

pub use owner::{Lease, LeaseError};
pub use process::lease_main;
pub use protocol::{LeaseMember, Probe};
