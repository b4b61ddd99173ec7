//! How many downloads a server has in progress at once before it breaks, how it feels to its clients on the way there, and how
//! long it takes to recover.
//!
//! [`plan()`] makes the plan of a run: a server of a workload, or a URL, and the steps. [`run`] checks what this machine can
//! carry, starts the server with as many workers as its connections need, changes the kernel settings that are too small, rises
//! from step to step, and writes the run directory after each one.
//!
//! | file | content |
//! |---|---|
//! | `plan` | from a request to a plan |
//! | `usual_steps` | steps where the user says nothing, and the steps of trials |
//! | `limits`, `preflight` | what this machine can carry, and which settings must change |
//! | `client`, `lateness` | whether the client was the limit, and whether it kept to its pace |
//! | `ladder` | which step comes next |
//! | `target` | the server, or the URL |
//! | `step` | one step: rise, maintain until steady, what was seen |
//! | `recovery` | what comes after the break |
//! | `ran_out` | what ran out, with its evidence |
//! | `observed_server` | what the steps see of the machine and of the server |
//! | `steps` | all steps, in order |
//! | `run` | a whole run, and its directory |
//! | `trials` | the same as the value of a trial of a comparison |
//! | `sentences` | the answer in a sentence |
//!
//! **Goals.** The figures are sums and merged histograms over all processes of the client. The run refuses rather than runs out of
//! memory. What was measured is kept, however the run ends. **Not goals.** The transfers themselves: `load::transfers`.

mod announced_length;
mod client;
mod error;
mod ladder;
mod lateness;
mod limits;
mod observed_server;
mod plan;
mod preflight;
mod ran_out;
mod recovery;
mod run;
mod sentences;
mod step;
mod steps;
mod target;
mod trials;
mod usual_steps;

pub use error::ConcurrencyError;
pub use plan::{ConcurrencyRequest, plan};
pub use preflight::settings_of_plan;
pub use run::{ConcurrencyPermissions, FinishedConcurrency, run};
pub use trials::BreakingPoints;
pub use usual_steps::{StepsRequest, steps_of_trials};
