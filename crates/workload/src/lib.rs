//! Turns a `workload.toml` into a running server, loaded data, and operations for the load engine.
//!
//! A [`Workload`] is data. It defines servers that can run the same operations (their packages, configuration, commands
//! and statistics), the knobs that a [`ServerVariant`] may set beside kernel settings, the files to serve, and the
//! operations with their expected replies. The folders of the repository's `workloads/` are built in. A user's own
//! service is one more such file: [`scaffold::create`] writes an example, and `docs/WORKLOAD.md` documents every key.
//!
//! [`Catalogue`] finds workloads by name, path or server. An [`Instance`] is a server that was started for one trial.
//! [`Instances`] are several copies of a server that share one load.
//!
//! # Goals
//!
//! - A mistake in a file is reported with file, line and the expected form, before anything is started.
//! - Servers run as ordinary processes with their own directory, configuration and port, and leave nothing behind.
//! - One reply of every operation is checked before the load: a server with wrong replies is not measured.
//! - Passwords are in no argument list, no run directory and no shown configuration.
//!
//! # Non-goals
//!
//! The crate `load` generates load, `host` supervises processes, and `bakeoff` plans trials and records them. No shell is
//! used, and no code of a workload runs in this process.
//!
//! # Example
//!
//! ```no_run
//! use workload::{Catalogue, Instance, StartLayout, StartOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (workload, variants) = Catalogue::default().resolve(None, &["nginx:sendfile=off"])?;
//! let host = host::Host::local();
//! let options = StartOptions {
//!     directory: "/tmp/trial".into(),
//!     cache: workload::data::default_cache()?,
//!     cpus: host.allowed_cpus()?,
//!     has_own_cpus: false,
//!     address: std::net::Ipv4Addr::LOCALHOST.into(),
//!     connections: 64,
//!     seed: 1,
//!     layout: StartLayout::of_start(1, 1),
//!     interrupted: Default::default(),
//!     host,
//! };
//! let mut nginx = Instance::start(&workload, &variants[0], &options)?;
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
mod digests;
mod folder;
mod instance;
mod instances;
mod names;
mod packed;
mod programs;
mod render;
pub mod scaffold;
mod started_server;
mod variant;

pub use catalogue::{Catalogue, DIRECTORY, LookupError};
pub use definition::{BINARY, BUILD_KNOBS, Knob, ServerDefinition, TypedValue, Workload};
pub use digests::hex;
pub use folder::{DEFINITION, Folder};
pub use instance::{
    ConfigurationError, EffectiveConfigFile, Instance, InstanceError, ObservedChange, ObservedValue,
    Observer, OperationCount, ServerFacts, ServerQueryError, StartLayout, StartOptions, StatisticsError,
    Verification, exposition, over as observed_over,
};
pub use instances::{Instances, Observers, ServerFiles};
pub use names::UnknownName;
pub use packed::{PackError, PackedWorkload};
pub use render::{RenderError, TemplateVariables};
pub use started_server::{StartedServer, has_certificate};
pub use variant::{ServerVariant, VariantError, VariantText, is_kernel_setting, names_host, on_host};
