//! A workload as it is described: `workload.toml` read, checked and held against its templates. Whatever is
//! wrong is said with file and line; what comes out can be started without further checks of the file.
//!
//! Everything is read at once, templates too: what changes on disk later does not change a run under way.

mod knob;
mod load;
mod metrics;
mod place;
mod protocol;
mod raw;
mod server;
mod templates;

use std::path::Component;

use ::load::drivers::http::HttpOperation;
use ::load::inputs::slo::Slo;
use ::load::inputs::units::parse_size;
use serde::de::DeserializeOwned;
use toml::Spanned;

pub use self::knob::{Kind, Knob, Value};
pub use self::load::{LoadDefinition, Operations};
pub use self::metrics::{Metrics, Ratio};
pub use self::place::{DefinitionError, instead};
pub use self::protocol::Protocol;
pub use self::server::{Ask, Probe, Ready, Server, Statistics, Version};
pub use self::templates::Template;

use self::place::Source;
use self::raw::{Peek, RawCommand, RawData, RawLoad, RawWorkload};
use crate::data::DataFile;
use crate::folder::Folder;

/// A workload: servers that can do the same work, and the work.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The name of its folder.
    pub name: String,
    /// What it is, in a few words.
    pub title: String,
    /// What it measures and why.
    pub about: String,
    /// The files that it serves.
    pub data: Vec<DataFile>,
    /// Its servers, by name.
    pub servers: Vec<Server>,
    /// The work.
    pub load: LoadDefinition,
    /// What is made of the engine's counters.
    pub metrics: Metrics,
    /// Where it comes from.
    pub folder: Folder,
    file: String,
    text: String,
}

impl Workload {
    /// Reads and checks the file of this name in a folder.
    pub fn read(folder: &Folder, file: &str) -> Result<Self, DefinitionError> {
        let label = folder.label(file);
        let text = folder.read(file).map_err(|why| DefinitionError {
            file: label.clone(),
            line: 1,
            message: format!("cannot be read: {why}"),
        })?;
        let source = Source { file: &label, text: &text };
        let peek: Peek = toml::from_str(&text).map_err(|e| source.toml_error(&e))?;
        if peek.load.protocol.has_keys() {
            Self::check::<RawCommand>(folder, file, source, LoadDefinition::check_keys)
        } else {
            Self::check::<HttpOperation>(folder, file, source, LoadDefinition::check_http)
        }
    }

    fn check<Op: DeserializeOwned>(
        folder: &Folder,
        file: &str,
        source: Source<'_>,
        check_load: impl Fn(Spanned<RawLoad<Op>>, Source<'_>) -> Result<LoadDefinition, DefinitionError>,
    ) -> Result<Self, DefinitionError> {
        let raw: RawWorkload<Op> = toml::from_str(source.text).map_err(|e| source.toml_error(&e))?;
        let protocol = raw.load.get_ref().protocol;
        let servers: Result<Vec<Server>, DefinitionError> = raw
            .server
            .into_iter()
            .map(|(name, server)| Server::check(&name, server, protocol, folder, source))
            .collect();
        let servers = servers?;
        if servers.is_empty() {
            return Err(source.error_at_line(1, "there is no server: describe one in [server.NAME]"));
        }
        let load = check_load(raw.load, source)?;
        Ok(Self {
            name: folder.name(),
            title: raw.title,
            about: raw.about,
            data: check_data(raw.data, source)?,
            servers,
            metrics: Metrics::check(raw.metrics, load.tallies, source)?,
            load,
            folder: folder.clone(),
            file: file.to_owned(),
            text: source.text.to_owned(),
        })
    }

    /// A server by name; the error says which there are.
    pub fn server(&self, name: &str) -> Result<&Server, String> {
        let names: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
        let found = self.servers.iter().find(|server| server.name == name);
        found.ok_or_else(|| format!("workload {} has no server {name:?}{}", self.name, instead(name, &names)))
    }

    /// By what it is found again: the name of a built-in one, the path of another.
    pub fn reference(&self) -> String {
        match self.folder.directory() {
            None => self.name.clone(),
            Some(directory) => directory.join(&self.file).display().to_string(),
        }
    }

    /// The objective that a capacity must meet.
    pub fn slo(&self) -> &Slo {
        &self.load.slo
    }

    /// Connections of the client.
    pub fn connections(&self) -> u32 {
        self.load.connections
    }

    /// All files that it was read from, name and text: what a record of a run must hold to be repeated.
    pub fn files(&self) -> Vec<(&str, &str)> {
        let templates = self.servers.iter().flat_map(|server| &server.config);
        let templates = templates.map(|template| (template.name.as_str(), template.text.as_str()));
        [(self.file.as_str(), self.text.as_str())].into_iter().chain(templates).collect()
    }
}

fn check_data(raw: RawData, source: Source<'_>) -> Result<Vec<DataFile>, DefinitionError> {
    let mut files: Vec<DataFile> = Vec::new();
    for file in raw.files {
        let (span, file) = (file.span(), file.into_inner());
        let refuse = |what: String| source.error(&span, format!("file {:?}: {what}", file.path));
        let mut parts = std::path::Path::new(&file.path).components().peekable();
        if parts.peek().is_none() || !parts.all(|part| matches!(part, Component::Normal(_))) {
            return Err(refuse("give a path below the data directory, without . and ..".to_owned()));
        }
        if files.iter().any(|earlier| earlier.path == file.path) {
            return Err(refuse("it is there twice".to_owned()));
        }
        let bytes = parse_size(file.size.get_ref())
            .map_err(|e| source.error(&file.size.span(), format!("size: {e}")))?;
        files.push(DataFile { path: file.path, bytes, content: file.content });
    }
    Ok(files)
}
