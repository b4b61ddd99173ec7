//! One file for each verb or family of verbs.

#![deny(clippy::cast_possible_truncation)] // a count of the user's that is cut asks for something else

pub mod agent;
pub mod answer;
pub mod archive;
pub mod bakeoff;
pub mod clients;
pub mod completions;
pub mod concurrency;
pub mod confirm;
pub mod consent;
pub mod cost;
pub mod doctor;
pub mod execute;
pub mod explain;
pub mod hosts;
pub mod known_server;
pub mod load;
pub mod man;
pub mod meters;
pub mod options;
pub mod power;
pub mod published;
pub mod question;
pub mod resume;
pub mod runner;
pub mod selftest;
pub mod selftest_clients;
pub mod size;
pub mod tune;
pub mod tunings;
pub mod undo;
pub mod workloads;
