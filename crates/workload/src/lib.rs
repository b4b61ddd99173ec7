//! A `workload.toml` made into a running server, loaded data and operations for the engine.
//!
//! A [`Workload`] is data: servers that can do the same work (how to install, configure, start and ask them),
//! the knobs that a [`ServerVariant`] may set beside those of the kernel, the files to serve, the operations and what is expected of each. Two
//! are built in, from the repository's `workloads/`; a user's own service is one more file of the same kind,
//! which [`scaffold::create`] begins. [`Catalogue`] finds workloads by name, path or server, [`Instance`] is
//! a server of one, started for one trial, and [`Instances`] are several like it behind one load.
//!
//! # Goals
//!
//! - A mistake in a file is told with file, line and what was expected, before anything is started.
//! - Servers run as ordinary processes from a directory of ours, with our configuration, on a port of ours,
//!   and leave nothing behind.
//! - A server that answers wrongly is not measured: one reply of every operation is checked first.
//! - Passwords are in no argument list, no record and no shown configuration.
//!
//! # Non-goals
//!
//! How load is made is `load`'s; how processes are kept is `host`'s; which trials there are, and what is kept
//! of them, is `bakeoff`'s. There is no shell, and no code of a workload runs in this process.
//!
//! # Example
//!
//! ```no_run
//! use workload::{Catalogue, Instance, StartOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (workload, variants) = Catalogue::default().resolve(None, &["nginx:sendfile=off"])?;
//! let host = host::Host::local();
//! let stage = StartOptions {
//!     directory: "/tmp/trial".into(),
//!     cache: workload::data::default_cache(),
//!     cpus: host.allowed_cpus()?,
//!     port: None,
//!     seed: 1,
//!     interrupted: Default::default(),
//!     host,
//! };
//! let mut nginx = Instance::start(&workload, &variants[0], &stage)?;
//! nginx.populate(&Default::default())?;
//! nginx.check(&Default::default())?;
//! let spec = nginx.load_spec(Some("get-1k"))?.with_requests(1_000);
//! let outcome = load::engine::run(&spec, &Default::default(), &mut |_| {})?;
//! assert_eq!(outcome.total.succeeded(), 1_000);
//! nginx.stop()?;
//! # Ok(())
//! # }
//! ```

mod catalogue;
pub mod data;
pub mod definition;
mod folder;
mod instance;
mod instances;
mod programs;
mod render;
pub mod scaffold;
mod variant;

pub use catalogue::{Catalogue, DIRECTORY, LookupError};
pub use definition::{Knob, ServerDefinition, TypedValue, Workload};
pub use folder::{DEFINITION, Folder};
pub use instance::{EffectiveConfigFile, Instance, InstanceError, OperationCount, ServerFacts, StartOptions};
pub use instances::Instances;
pub use variant::{ServerVariant, VariantError, VariantText, is_kernel_setting};
