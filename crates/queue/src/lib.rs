//! What a queue of runs is: entries with their states, hosts with their leases, and the verbs that change both.
//!
//! A verb is written once, over [`Rows`]: what a store reads and writes within one transaction. So every store has the same rules,
//! and a store in memory is the model that the others are compared with.
//!
//! ```text
//!       pause/release       all hosts free, one transaction     before the child starts   exit 0, 3      in the archive
//! paused ◀─────────▶ waiting ──────────▶ claimed(token) ──────────▶ running ──────────▶ storing ──────────▶ done
//!                    │  ▲ lease lapsed, nothing begun (≤ 3) │         │  │ exit 1, 2       │ not stored
//!                    │  └───────────────────────────────────┘         │  └──▶ failed ◀─────┘
//!                    └──▶ cancelled ◀──── kill ───────────────────────┤
//!                                               lease lapsed ─────────┴──▶ lost ──▶ (a person) resume: waiting
//! host:  free ─▶ leased(token) ─▶ free      lost ─▶ quarantined ─▶ free: proved clean, or by a person with a reason
//! ```
//!
//! | file | content |
//! |---|---|
//! | `entry`, `host_row` | what a row has |
//! | `change` | which state follows which |
//! | `rows` | what a store does |
//! | `steps` | what several verbs do |
//! | `claims` | verbs of controllers: register, claim, renew, begin, finish |
//! | `orders` | verbs of people: submit, pause, release, move, kill, resume; clean hosts |
//! | `sequences` | entries that run one after the other |
//! | `lapses` | what happens when a controller is silent, decided by counters and a monotonic clock |
//! | `presence` | which controllers are there |
//! | `outlook` | why an entry waits, and about how long |
//! | `api` | what the API sends and takes |
//! | `arguments` | options of the verbs that start the second program, and the roles of people in them |
//! | `memory` | rows in memory |
//!
//! **Goals.** A measurement that has begun is never repeated without a person. No entry vanishes. A host has one lease at most.
//!
//! **Not goals.** Databases, time, plans: the crate `harness` has them.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests: a panic is a failure with a line"))]

pub mod api;
#[cfg(feature = "arguments")]
pub mod arguments;
mod change;
mod claims;
mod entry;
mod host_row;
mod lapses;
#[cfg(feature = "memory")]
pub mod memory;
mod orders;
mod outlook;
mod presence;
mod rows;
mod sequences;
mod steps;

pub use change::{Change, next_state};
pub use claims::{
    Claim, ControllerCall, NewController, Outcome, begin, claim, finish, note_run, refuse, register, renew,
};
pub use entry::{Attempt, Entry, EntryId, EntryState, MOST_ATTEMPTS, RefusedBy, Token};
pub use host_row::{ControllerRow, HostRow, HostState, Lease, host_identity};
pub use lapses::{LEASE, LeaseWatch, TRUST, lapse, lost_controller};
pub use orders::{NewEntry, Place, clean_host, kill, pause, place, release, resume, submit};
pub use outlook::{Outlook, outlook};
pub use presence::Presence;
pub use rows::{QueueError, QueueResult, Refusal, Rows, Sequence};
