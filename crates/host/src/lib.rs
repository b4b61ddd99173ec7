//! One machine: its facts, telemetry, processes, CPUs, kernel settings and packages.
//!
//! # Guide
//!
//! A [`Host`] is the interface to a machine. It starts and stops servers, assigns CPUs, records facts and telemetry,
//! changes and restores kernel settings, finds or installs programs, and checks whether the machine is fit for
//! benchmarking. A host is always the machine of this process: another one is reached through an agent there, see the
//! crate `machine`.
//!
//! - [`Host::start`]: starts a [`ServerCommand`] as a [`ServerProcess`], checks it and stops it. [`process`]: what the kernel says of
//!   its processes.
//! - [`ports`]: finds free ports, and the owner of a taken port.
//! - [`affinity`]: CPUs and cores, and their division between server and client. [`cgroup`]: limits of CPU and memory.
//! - [`squeeze`]: takes CPU time, memory or a disk's time beside a server.
//! - [`facts`]: a machine and a server's process as data, and the differences of two of them.
//! - [`telemetry`]: samples of the activity of a machine and of a server's processes.
//! - [`knobs`]: kernel settings, journalled before a change, and always restored.
//! - [`journal_file`]: lines that are on disk before what they say is done.
//! - [`lock`]: one measurement at a time on a machine.
//! - [`scratch`]: directories that are removed, also after their process was killed.
//! - [`regular_file`]: files that another user may replace by a link.
//! - [`packages`]: programs, and the packages that contain them.
//! - [`doctor`]: checks of this machine, with a remedy for each problem.
//!
//! **Goals.**
//!
//! - Every server that was started is stopped, and every changed setting is restored, also after SIGKILL.
//! - Everything that does not need root works for an ordinary user.
//! - Telemetry takes less than 1 % of a core at 1 Hz, and never more than 3 %.
//! - Errors contain the thing, the reason and the remedy.
//!
//! **Non-goals.** Other crates define workloads, check the answers of servers and the validity of trials. This crate
//! does not use containers, service managers or shells: a server is processes, whoever starts them.
//!
//! # Example: start, sample and stop a server
//!
//! ```no_run
//! use std::net::Ipv4Addr;
//! use std::time::Duration;
//!
//! use host::process::tcp_probe;
//! use host::telemetry::SampledServer;
//! use host::{Host, ServerCommand, affinity};
//!
//! fn measure() -> Result<(), Box<dyn std::error::Error>> {
//!     let host = Host::local();
//!     let ip = Ipv4Addr::LOCALHOST.into();
//!     let port = host.free_ports(ip, 1)?[0];
//!     let cpus = affinity::split(&host.cores(&host.allowed_cpus()?));
//!
//!     let argv = ["memcached".into(), "-l".into(), ip.to_string(), "-p".into(), port.to_string()];
//!     let server = host.start(&ServerCommand {
//!         cpus: Some(cpus.server),
//!         ..ServerCommand::new("memcached", argv, "/tmp", "/tmp/memcached.log")
//!     })?;
//!     server.wait_ready(Duration::from_secs(10), tcp_probe((ip, port).into()))?;
//!
//!     let sampled = SampledServer { name: "server".into(), trees: vec![server.tree()] };
//!     let sampler = host.sample(vec![sampled], Duration::from_secs(1))?;
//!     cpus.client.pin_this_thread()?;
//!     // … generate load …
//!     let recording = sampler.stop();
//!     server.check()?;
//!     server.stop()?;
//!     println!("{:?} cores", recording.mean("server.cpu.user", 0..=u64::MAX));
//!     Ok(())
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     // First of all: this program is its own supervisor.
//!     host::supervisor_main(std::env::args_os()).unwrap_or_else(|| match measure() {
//!         Ok(()) => std::process::ExitCode::SUCCESS,
//!         Err(_) => std::process::ExitCode::FAILURE,
//!     })
//! }
//! ```

pub mod affinity;
mod control_groups;
pub mod doctor;
pub mod facts;
mod files;
mod host;
pub mod knobs;
mod locks;
pub mod packages;
pub mod ports;
pub mod process;
mod roles;
mod root;
mod scheduling;
pub mod secrets;
pub mod squeeze;
mod supervisor;
pub mod telemetry;

pub use affinity::CpuSet;
pub use control_groups::cgroup;
pub use facts::{HostFacts, ProcessFacts};
pub use files::{journal_file, ownership, regular_file, scratch};
pub use host::Host;
pub use locks::{lock, lock_owner};
pub use process::{Readiness, ServerCommand};
pub use roles::supervisor_main;
pub use scheduling::schedule_as_batch;
pub use supervisor::{ServerProcess, Stopped};
