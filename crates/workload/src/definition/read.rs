//! Reads `workload.toml`, and checks that its parts fit together. Each part is checked by the file of its name.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Component, Path};

use ::load::drivers::RegisteredProtocol;
use ::load::inputs::numbers::NUMBERS;
use ::load::inputs::units::parse_size;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::knobs::numbers::LoadNumbers;
use super::load::{CONNECTIONS, check_fields};
use super::servers_of::ServerOwner;
use super::source::mix::RawMix;
use super::source::raw::{RawData, RawProtocolOnly, RawServer, RawWorkload};
use super::values::knob_type::TypedValue;
use super::{FileError, LoadDefinition, Metrics, ServerDefinition, Workload};
use crate::data::DataFile;
use crate::folder::{Folder, Unpacked};
use crate::names::available;
use notation::source_text::SourceText;

impl Workload {
    /// Reads and checks the file of this name in a folder.
    pub fn read(folder: &Folder, file: &str) -> Result<Self, FileError> {
        let label = folder.label(file);
        let text = folder.read(file).map_err(|why| FileError {
            file: label.clone(),
            line: 1,
            message: format!("cannot read this file: {why}"),
        })?;
        let source = SourceText { file: &label, text: &text };
        let only_protocol: RawProtocolOnly = toml::from_str(&text).map_err(|e| source.toml_error(&e))?;
        let protocol = only_protocol.load.protocol;
        let FileParts { raw, mix, numbers } = FileParts::read(source, protocol)?;
        let raw_load = raw.load.get_ref();
        check_fields(raw_load, source)?;
        let socket = raw_load.socket.clone();
        let is_tls = raw_load.tls.as_ref().is_some_and(|is_tls| *is_tls.get_ref());
        let users = raw_load.connections.as_ref().map(|connections| *connections.get_ref());
        let users = mix.user_count().or(users).unwrap_or(CONNECTIONS);
        let mut data = check_data(raw.data, source)?;
        let (servers, server_folder) = match &raw.servers_of {
            None => {
                let servers = with_socket(raw.server, socket.as_ref());
                (check_servers(servers, protocol, is_tls, folder, source)?, folder.clone())
            }
            Some(name) => {
                if let Some(own) = raw.server.values().next() {
                    let what = "servers_of: a workload with servers_of defines no servers: remove [server] or servers_of";
                    return Err(source.error(&own.span(), what));
                }
                if let Some(socket) = &socket {
                    let what =
                        "socket: the servers of another workload have their own: remove socket or servers_of";
                    return Err(source.error(&socket.span(), what));
                }
                let owner = ServerOwner::find(name, folder, source)?;
                let shared = owner.servers(protocol, name, source)?;
                let owner_source = owner.source();
                if data.is_empty() {
                    data = check_data(shared.data, owner_source)?;
                }
                let servers = check_servers(shared.server, protocol, is_tls, &owner.folder, owner_source)?;
                (servers, owner.folder)
            }
        };
        // The last ones are those of the first server: each server must have them.
        let mut values = BTreeMap::new();
        for server in servers.iter().rev() {
            values = numbers.values((&server.name, &server.knobs), &BTreeMap::new(), users, source)?;
        }
        let load = LoadDefinition::check(raw.load, mix, values, source)?;
        let unknown = |server: &ServerDefinition| {
            let counter = server.statistics.as_ref()?.client_counter.as_deref()?;
            (!load.counters.contains(&counter)).then(|| {
                format!(
                    "server {:?}: there is no counter {counter:?}{}",
                    server.name,
                    available(counter, load.counters)
                )
            })
        };
        if let Some(what) = servers.iter().find_map(unknown) {
            return Err(source.error_at_line(1, what));
        }
        Ok(Self {
            name: folder.name(),
            title: raw.title,
            about: raw.about,
            data,
            servers,
            metrics: Metrics::check(raw.metrics, &load.names, load.counters, source)?,
            load,
            numbers,
            folder: folder.clone(),
            server_folder,
            unpacked: Unpacked::default(),
            file: file.to_owned(),
            text: source.text.to_owned(),
        })
    }
}

/// A file without its numbers, which operations have in the place of the names.
struct FileParts<'t> {
    raw: RawWorkload,
    mix: RawMix<'t>,
    numbers: LoadNumbers,
}

impl<'t> FileParts<'t> {
    /// Reads the file, whose load has this protocol.
    fn read(source: SourceText<'t>, protocol: RegisteredProtocol) -> Result<Self, FileError> {
        let mut table = DeTable::parse(source.text).map_err(|e| source.toml_error(&e))?;
        let numbers = LoadNumbers::take(table.get_mut(), source)?;
        let mix = RawMix::take(table.get_mut(), protocol, source)?;
        let raw = RawWorkload::deserialize(toml::Deserializer::from(table));
        Ok(Self { raw: raw.map_err(|e| source.toml_error(&e))?, mix, numbers })
    }
}

impl Workload {
    /// The workload whose operations have the numbers of a server with these knobs and this many users: itself, if it has them already.
    pub(crate) fn with_numbers(
        &self,
        server: &str,
        knobs: &BTreeMap<String, TypedValue>,
        users: u32,
    ) -> Result<Cow<'_, Self>, FileError> {
        if self.numbers.is_empty() {
            return Ok(Cow::Borrowed(self));
        }
        // What does not exist has been refused, or will be.
        let Ok(server) = self.server(server) else { return Ok(Cow::Borrowed(self)) };
        let label = self.folder.label(&self.file);
        let source = SourceText { file: &label, text: &self.text };
        let values = self.numbers.values((&server.name, &server.knobs), knobs, users, source)?;
        if values == self.load.numbers {
            return Ok(Cow::Borrowed(self));
        }
        let FileParts { raw, mix, .. } = FileParts::read(source, self.load.protocol)?;
        let load = LoadDefinition::check(raw.load, mix, values, source)?;
        Ok(Cow::Owned(Self { load, ..self.clone() }))
    }

    /// The numbers in a file for a load of servers that are not started from it: those of its first server's defaults, for this many users
    /// or as many as the file says. None where it has no `[load.numbers]`, and then it need be no whole workload.
    pub fn numbers_in(path: &Path, users: Option<u32>) -> Result<BTreeMap<String, u64>, FileError> {
        // What cannot be read has no numbers; whoever reads the operations says why.
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let file = DeTable::parse(&text).ok();
        let load = file.as_ref().and_then(|file| file.get_ref().get("load"));
        let has_numbers = match load.map(Spanned::get_ref) {
            Some(DeValue::Table(load)) => load.contains_key(NUMBERS),
            _ => false,
        };
        let (Some(name), true) = (path.file_name(), has_numbers) else { return Ok(BTreeMap::new()) };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let workload = Self::read(&Folder::Disk(folder.to_owned()), &name.to_string_lossy())?;
        let users = users.unwrap_or(workload.load.connections);
        let first = workload.servers.first().map_or("", |server| server.name.as_str());
        Ok(workload.with_numbers(first, &BTreeMap::new(), users)?.load.numbers.clone())
    }
}

/// The servers, where those without a socket have this one.
fn with_socket(
    mut servers: BTreeMap<String, Spanned<RawServer>>,
    socket: Option<&Spanned<String>>,
) -> BTreeMap<String, Spanned<RawServer>> {
    for server in servers.values_mut() {
        let own = &mut server.get_mut().socket;
        *own = own.take().or_else(|| socket.cloned());
    }
    servers
}

fn check_servers(
    servers: BTreeMap<String, Spanned<RawServer>>,
    protocol: RegisteredProtocol,
    is_tls: bool,
    folder: &Folder,
    source: SourceText<'_>,
) -> Result<Vec<ServerDefinition>, FileError> {
    if servers.is_empty() {
        return Err(source.error_at_line(1, "there is no server: define one in [server.NAME]"));
    }
    let check = |(name, server): (String, _)| {
        ServerDefinition::check(&name, server, protocol, is_tls, folder, source)
    };
    servers.into_iter().map(check).collect()
}

fn check_data(raw: RawData, source: SourceText<'_>) -> Result<Vec<DataFile>, FileError> {
    let mut files: Vec<DataFile> = Vec::new();
    for file in raw.files {
        let (span, file) = (file.span(), file.into_inner());
        let refuse = |what: String| source.error(&span, format!("file {:?}: {what}", file.path));
        let mut parts = Path::new(&file.path).components().peekable();
        if parts.peek().is_none() || !parts.all(|part| matches!(part, Component::Normal(_))) {
            return Err(refuse("give a path below the data directory, without . and ..".to_owned()));
        }
        if files.iter().any(|earlier| earlier.path == file.path) {
            return Err(refuse("it is listed twice".to_owned()));
        }
        let bytes = parse_size(file.size.get_ref())
            .map_err(|e| source.error(&file.size.span(), format!("size: {e}")))?;
        files.push(DataFile { path: file.path, bytes, content: file.content });
    }
    Ok(files)
}
