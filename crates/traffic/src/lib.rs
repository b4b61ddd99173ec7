//! Live traffic: a candidate behind a real load balancer, step by step, and back at the first breach.
//!
//! | module | content |
//! |---|---|
//! | [`balancer`] | HAProxy by its admin socket, its log, and what somebody else changes at it |
//! | [`lease`] | a health check that dies with the run: the balancer alone stops sending |
//! | [`journal`], [`recovery`] | what is changed at a balancer is on disk before, and undone after |
//! | [`control`] | `--status` and `--abort`, by anybody who may |
//! | [`name`] | names of backends and servers |
//! | [`mail`] | what the logs of mail servers say: deferrals, duplicates, the queue |
//! | [`live`] | all of these for one run: what the deciding part calls |
//! | [`observation`] | what one second looks like, and what is asked of a balancer: the interface of the parts that observe and act and the parts that decide |
//! | [`guard`] | what ends every run: changes by others, missing data, hard limits |
//! | [`rollout`] | a canary against a fresh control |
//! | [`plan`] | the file that says where the balancer is, which servers take part, and what ends a step |
//! | [`ramp`] | multiples of one old server's share, until the candidate breaches |
//! | [`shift`] | a whole run: from second to second, with its record and its page |
//! | [`weights`] | which weights a run has set, and the only ways to change them |
//!
//! **Goals.** Users are never worse off than before: no data is a breach, a rollback only lowers weights, and a change by somebody else
//! stops the run. The deciding part is pure: seconds in, actions and an answer out, without a clock and without input or output.
//! **Not goals.** Copies of requests (`showdown load` repeats traffic), and balancers that cannot set a weight while they run.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests: a panic is a failure with a line")
)]

pub mod balancer;
pub mod control;
pub mod guard;
pub mod journal;
pub mod lease;
pub mod live;
pub mod mail;
pub mod name;
pub mod observation;
pub mod plan;
pub mod ramp;
pub mod recovery;
pub mod rollout;
pub mod shift;
pub mod weights;
