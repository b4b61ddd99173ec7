//! A workload as `workload.toml` defines it. Reading checks the file and its templates; an error names file and line.
//! A workload that was read can be started without further checks of the file.
//!
//! Everything is read at once, templates too: a later change on disk does not affect a run in progress.

#![deny(clippy::cast_possible_truncation)] // a count of the user's that is cut sends other requests

mod account;
mod companion;
mod external;
mod external_check;
mod knobs;
mod load;
mod metrics;
mod need;
mod observation;
mod probe;
mod read;
mod server;
mod servers_of;
mod source;
mod statistics;
mod templates;
mod values;
mod whole_server;

use std::path::PathBuf;

use ::load::drivers::mix::OperationMix;
use ::load::inputs::slo::Slo;

pub use self::account::DatabaseAccount;
pub use self::external::{PidSource, StopMethod};
pub use self::knobs::allocator::{ALLOCATOR, MALLOC_ARENAS, PreloadedAllocator};
pub use self::knobs::binary::{BINARY, BUILD_KNOBS};
pub(crate) use self::knobs::binary::{build_knobs, named_program, own_build, with_binary};
pub use self::knobs::concurrency::{ConcurrencyKnobError, ConcurrencyKnobs};
pub use self::knobs::knob::{
    CERTIFICATE, DefaultValueError, INSTANCES, ISOLATED_CPUS, ISOLATION, Knob, RESUMPTION,
};
pub use self::knobs::numbers::LoadNumbers;
pub use self::load::LoadDefinition;
pub use self::metrics::{CounterRatio, Metrics, RatioTooLow};
pub use self::need::{Need, NeededValue};
pub use self::observation::{Observation, ObservedDefinition, number as limit_number};
pub use self::probe::{HttpProbe, ProbeTarget};
pub use self::server::{
    CompanionDefinition, NoSuchKnob, ReadyCheck, ReadyProbe, ServerDefinition, VersionCommand,
};
pub use self::statistics::{StatisticsQuery, StatisticsSource};
pub use self::templates::ConfigTemplate;
pub use self::values::knob_type::{InvalidValue, KnobEffect, KnobType, RangeError, TypedValue};
pub use self::values::text_form::{PatternError, TextForm, TextRule};
pub use notation::source_text::{FileError, SourceText};

use crate::data::DataFile;
use crate::folder::{Folder, Unpacked};
use crate::names::UnknownName;

/// A workload: servers that can run the same operations, and the load.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The name of its folder.
    pub name: String,
    /// What it is, in a few words.
    pub title: String,
    /// What it measures.
    pub about: String,
    /// The files that it serves.
    pub data: Vec<DataFile>,
    /// Its servers, by name.
    pub servers: Vec<ServerDefinition>,
    /// The operations and how they are mixed.
    pub load: LoadDefinition,
    /// The templates of the numbers in these operations.
    numbers: LoadNumbers,
    /// How results name and count its operations.
    pub metrics: Metrics,
    /// Its folder.
    pub folder: Folder,
    /// The folder of its servers' files: its own, or that of the workload in `servers_of`.
    pub server_folder: Folder,
    /// Its files on disk, while a load sends them.
    pub(crate) unpacked: Unpacked,
    file: String,
    text: String,
}

impl Workload {
    /// A server by name.
    pub fn server(&self, name: &str) -> Result<&ServerDefinition, UnknownName> {
        let names: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
        let found = self.servers.iter().find(|server| server.name == name);
        found.ok_or_else(|| UnknownName::new(format!("workload {}", self.name), "server", name, &names))
    }

    /// Only the operation of this name.
    pub fn only(&self, name: &str) -> Result<OperationMix, UnknownName> {
        let names: Vec<&str> = self.load.names.iter().map(String::as_str).collect();
        self.load
            .only(name)
            .ok_or_else(|| UnknownName::new(format!("workload {}", self.name), "operation", name, &names))
    }

    /// Whether its servers are those of another workload.
    pub fn uses_servers_of_another(&self) -> bool {
        self.server_folder != self.folder
    }

    /// The reference with which [`Catalogue::find`](crate::Catalogue::find) finds it again: the name of a built-in
    /// workload, the path of another.
    pub fn reference(&self) -> String {
        match self.folder.directory() {
            None => self.name.clone(),
            Some(directory) => directory.join(&self.file).display().to_string(),
        }
    }

    /// The name of its definition in its folder.
    pub(crate) fn definition_file(&self) -> &str {
        &self.file
    }

    /// The directory in which the load finds the files that it sends. A built-in workload without users sends none.
    pub(crate) fn load_folder(&self) -> Option<PathBuf> {
        match self.folder.directory() {
            Some(directory) => Some(directory.to_owned()),
            None if self.load.users.is_some() => self.unpacked.directory(&self.folder),
            None => None,
        }
    }

    /// The SLO that a capacity must meet; none for a runner, whose load has no capacity.
    pub fn slo(&self) -> Option<&Slo> {
        self.load.slo.as_ref()
    }

    /// Connections of the client.
    pub fn connections(&self) -> u32 {
        self.load.connections
    }

    /// All files that it was read from, with name and text. A run directory keeps them so that the run can be repeated.
    pub fn files(&self) -> Vec<(&str, &str)> {
        let of_companions = self.servers.iter().flat_map(|server| &server.companions);
        let processes = self.servers.iter().chain(of_companions.map(|companion| &companion.process));
        let templates = processes.flat_map(|process| &process.config);
        let templates = templates.map(|template| (template.name.as_str(), template.text.as_str()));
        [(self.file.as_str(), self.text.as_str())].into_iter().chain(templates).collect()
    }
}

#[cfg(test)]
mod tests;
