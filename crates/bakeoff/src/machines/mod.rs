//! The machines of a run: which ones there are, what they share, how a block's servers are started on them, and how they are named in
//! an answer. What can be asked of a machine is left to the crate `machine`.

pub mod differences;
pub mod load_clients;
pub mod network_paths;
pub mod network_survey;
pub mod of_run;
pub mod open;
pub mod power;
pub mod prepared;
pub mod shared_cpus;
pub mod shared_kernel;
pub mod text;
