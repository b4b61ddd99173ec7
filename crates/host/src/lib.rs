//! One machine: what it is, what it does, and what we do to it.
//!
//! # The guide
//!
//! A [`Host`] is the one way to a machine. It starts servers and sees to it that they are gone afterwards,
//! says who may run on which CPU, records facts and telemetry, changes settings and puts them back, finds
//! programs or has them installed, and judges whether the machine is fit to measure on. Today a host is the
//! machine that we run on. All that goes in and out is plain data or a handle, so one behind SSH can follow
//! without a change to those who use it.
//!
//! - [`process`]: a [`ServerCommand`] becomes a [`Running`] server, which is watched and stopped.
//! - [`ports`]: why a port cannot be had, and which ones can.
//! - [`affinity`]: CPUs and cores, and their split between server and client. [`cgroup`]: the limits on them.
//! - [`facts`]: a machine and a server's process as data, and how two of either differ.
//! - [`telemetry`]: samples of what a machine and a server's processes do.
//! - [`knobs`]: settings of the kernel, journalled before they are changed, put back whatever happens.
//! - [`packages`]: programs, and the packages that they come in.
//! - [`doctor`]: what is wrong with this machine for our purpose, and the mend.
//!
//! **Goals.** Servers started are servers stopped, and what was changed is put back, also after SIGKILL; an
//! ordinary user gets all that an ordinary user can have; to watch costs less than 1 % of a core; errors name
//! the thing, the reason and the mend.
//!
//! **Non-goals.** What a workload is, whether a server answers well, and whether a trial is valid are for
//! others to say. There are no containers, no service managers and no shells here: a server is a process.
//!
//! # A server, started, watched and stopped
//!
//! ```no_run
//! use std::net::Ipv4Addr;
//! use std::time::Duration;
//!
//! use host::process::tcp_probe;
//! use host::telemetry::Watch;
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
//!     let watch = Watch { name: "server".into(), trees: vec![server.tree()] };
//!     let sampler = host.sample(vec![watch], Duration::from_secs(1))?;
//!     cpus.client.pin_this_thread()?;
//!     // … load it …
//!     let recording = sampler.stop();
//!     server.check()?;
//!     server.stop()?;
//!     println!("{:?} cores", recording.mean("server.cpu.user", 0..=u64::MAX));
//!     Ok(())
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     // Before all else: this program is its own keeper.
//!     host::keeper_main(std::env::args_os()).unwrap_or_else(|| match measure() {
//!         Ok(()) => std::process::ExitCode::SUCCESS,
//!         Err(_) => std::process::ExitCode::FAILURE,
//!     })
//! }
//! ```

pub mod affinity;
pub mod cgroup;
mod courtesy;
pub mod doctor;
pub mod facts;
mod host;
mod keeper;
pub mod knobs;
mod os_release;
pub mod packages;
pub mod ports;
pub mod process;
mod root;
mod steal;
pub mod telemetry;

pub use affinity::CpuSet;
pub use facts::{Facts, ProcessFacts};
pub use host::Host;
pub use keeper::keeper_main;
pub use process::{Readiness, Running, ServerCommand};
