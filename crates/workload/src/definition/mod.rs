//! A workload as it is described: `workload.toml` read, checked and held against its templates. Whatever is
//! wrong is said with file and line; what comes out can be started without further checks of the file.
//!
//! Everything is read at once, templates too: what changes on disk later does not change a run under way.

mod account;
mod knob;
mod load;
mod metrics;
mod protocol;
mod raw;
mod server;
mod servers_of;
mod source_text;
mod templates;

use std::collections::BTreeMap;
use std::path::Component;

use ::load::drivers::http::HttpOperation;
use ::load::drivers::smtp::MailOperation;
use ::load::inputs::slo::Slo;
use ::load::inputs::units::parse_size;
use serde::de::DeserializeOwned;
use toml::Spanned;

pub use self::account::DatabaseAccount;
pub use self::knob::{CERTIFICATE, INSTANCES, Knob, KnobType, RESUMPTION, TypedValue};
pub use self::load::{LoadDefinition, Operations, ServerAccess};
pub use self::metrics::{CounterRatio, Metrics};
pub use self::protocol::Protocol;
pub use self::server::{
    ReadyCheck, ReadyProbe, ServerDefinition, StatisticsQuery, StatisticsSource, VersionCommand,
};
pub use self::source_text::{DefinitionError, suggestion};
pub use self::templates::ConfigTemplate;

use self::raw::{
    RawCommand, RawData, RawLoad, RawProtocolOnly, RawRunnerOperation, RawServer, RawTransaction, RawWorkload,
};
use self::servers_of::ServerOwner;
use self::source_text::SourceText;
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
    pub servers: Vec<ServerDefinition>,
    /// The work.
    pub load: LoadDefinition,
    /// What is made of the engine's counters.
    pub metrics: Metrics,
    /// Where it comes from.
    pub folder: Folder,
    /// Where its servers come from: its own folder, or that of the workload that it borrows them of.
    pub server_folder: Folder,
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
        let source = SourceText { file: &label, text: &text };
        let peek: RawProtocolOnly = toml::from_str(&text).map_err(|e| source.toml_error(&e))?;
        match peek.load.protocol.kind() {
            protocol::Kind::Requests => {
                Self::check::<HttpOperation>(folder, file, source, LoadDefinition::check_http)
            }
            protocol::Kind::Keys => {
                Self::check::<RawCommand>(folder, file, source, LoadDefinition::check_keys)
            }
            protocol::Kind::Tables => {
                Self::check::<RawTransaction>(folder, file, source, LoadDefinition::check_tables)
            }
            protocol::Kind::Mail => {
                Self::check::<MailOperation>(folder, file, source, LoadDefinition::check_mail)
            }
            protocol::Kind::Own => {
                Self::check::<RawRunnerOperation>(folder, file, source, LoadDefinition::check_runner)
            }
        }
    }

    fn check<Op: DeserializeOwned>(
        folder: &Folder,
        file: &str,
        source: SourceText<'_>,
        check_load: impl Fn(Spanned<RawLoad<Op>>, SourceText<'_>) -> Result<LoadDefinition, DefinitionError>,
    ) -> Result<Self, DefinitionError> {
        let raw: RawWorkload<Op> = toml::from_str(source.text).map_err(|e| source.toml_error(&e))?;
        let protocol = raw.load.get_ref().protocol;
        let is_tls = raw.load.get_ref().tls.as_ref().is_some_and(|word| *word.get_ref());
        let load = check_load(raw.load, source)?;
        let mut data = check_data(raw.data, source)?;
        let (servers, server_folder) = match &raw.servers_of {
            None => (check_servers(raw.server, protocol, is_tls, folder, source)?, folder.clone()),
            Some(name) => {
                if let Some(own) = raw.server.values().next() {
                    let what = "servers_of: the servers are another workload's: leave [server] out, or this";
                    return Err(source.error(&own.span(), what));
                }
                let lender = ServerOwner::find(name, folder, source)?;
                let lent = lender.lend(protocol, name, source)?;
                let place = lender.source();
                if data.is_empty() {
                    data = check_data(lent.data, place)?;
                }
                (check_servers(lent.server, protocol, is_tls, &lender.folder, place)?, lender.folder)
            }
        };
        let unknown = |server: &ServerDefinition| {
            let counter = server.statistics.as_ref()?.client_counter.as_deref()?;
            (!load.counters.contains(&counter)).then(|| {
                format!(
                    "server {:?}: there is no counter {counter:?}{}",
                    server.name,
                    suggestion(counter, load.counters)
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
            folder: folder.clone(),
            server_folder,
            file: file.to_owned(),
            text: source.text.to_owned(),
        })
    }

    /// A server by name; the error says which there are.
    pub fn server(&self, name: &str) -> Result<&ServerDefinition, String> {
        let names: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
        let found = self.servers.iter().find(|server| server.name == name);
        found.ok_or_else(|| {
            format!("workload {} has no server {name:?}{}", self.name, suggestion(name, &names))
        })
    }

    /// Whether its servers are another workload's.
    pub fn uses_servers_of_another(&self) -> bool {
        self.server_folder != self.folder
    }

    /// By what it is found again: the name of a built-in one, the path of another.
    pub fn reference(&self) -> String {
        match self.folder.directory() {
            None => self.name.clone(),
            Some(directory) => directory.join(&self.file).display().to_string(),
        }
    }

    /// The objective that a capacity must meet; none where there is no capacity, only throughput.
    pub fn slo(&self) -> Option<&Slo> {
        self.load.slo.as_ref()
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

fn check_servers(
    servers: BTreeMap<String, Spanned<RawServer>>,
    protocol: Protocol,
    is_tls: bool,
    folder: &Folder,
    source: SourceText<'_>,
) -> Result<Vec<ServerDefinition>, DefinitionError> {
    if servers.is_empty() {
        return Err(source.error_at_line(1, "there is no server: describe one in [server.NAME]"));
    }
    let check = |(name, server): (String, _)| {
        ServerDefinition::check(&name, server, protocol, is_tls, folder, source)
    };
    servers.into_iter().map(check).collect()
}

fn check_data(raw: RawData, source: SourceText<'_>) -> Result<Vec<DataFile>, DefinitionError> {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    /// The example of the design, whole.
    const MY_API: &str = r#"title = "My API"

[server.api]
start   = ["./my-api", "--port", "{{ port }}", "--workers", "{{ workers }}"]
ready   = { http = "/health", within = "10s" }
version = ["./my-api", "--version"]

[server.api.knobs.workers]
about   = "worker threads"
default = 2
range   = "1..64"

[load]
protocol = "http"
slo      = "p99<20ms"

[[load.op]]
name   = "list"
weight = 90
path   = "/items?page={{ uniform(1, 100) }}"
expect = { status = 200, contains = "items" }
"#;

    fn read(text: &str) -> Result<Workload, String> {
        let folder = tempfile::tempdir().expect("there is a place for temporary files");
        std::fs::write(folder.path().join("workload.toml"), text).expect("it can be written");
        let read = Workload::read(&Folder::Disk(folder.path().to_owned()), "workload.toml");
        let here = format!("{}/", folder.path().display());
        read.map_err(|error| error.to_string().replace(&here, ""))
    }

    /// What is said when `from` in the example is `to`.
    fn refused(from: &str, to: &str) -> String {
        assert!(MY_API.contains(from), "{from}");
        read(&MY_API.replacen(from, to, 1)).expect_err(to)
    }

    #[test]
    fn a_service_of_one_s_own_is_one_file() -> Result<(), String> {
        let workload = read(MY_API)?;
        let server = workload.server("api")?;
        assert_eq!(
            server.ready,
            ReadyCheck { probe: ReadyProbe::Http("/health".into()), within: Duration::from_secs(10) }
        );
        assert_eq!(
            server.version,
            Some(VersionCommand { run: vec!["./my-api".into(), "--version".into()], after: String::new() })
        );
        assert_eq!((workload.connections(), workload.load.names), (64, vec!["list".to_owned()]));
        Ok(())
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_what_was_expected() {
        let range = refused("\"1..64\"", "\"64..1\"");
        assert_eq!(range, "workload.toml:11: knob \"workers\": range \"64..1\" goes down: write it as 1..64");
        for (from, to, said) in [
            ("title = \"My API\"\n", "", "workload.toml:1: missing field `title`"),
            ("title =", "titel =", ":1: there is no field \"titel\" here: did you mean \"title\"?"),
            ("weight =", "wieght =", ":19: there is no field \"wieght\" here: did you mean \"weight\"?"),
            ("\"http\"\nslo", "\"htp\"\nslo", ":14: there is no value \"htp\" here: did you mean \"http\"?"),
            ("p99<20ms", "p99<20", ":15: slo: \"p99<20\" is not an objective such as p99<5ms"),
            ("= 90", "= \"much\"", ":19: invalid type: string \"much\", expected f64"),
            ("= 90", "= -1", "load: "),
            (
                "uniform(1, 100)",
                "unifrom(1, 100)",
                ":17: operation \"list\": \"unifrom(1, 100)\" is not uniform(A, B)",
            ),
            (
                "{{ workers }}",
                "{{ wokers }}",
                ":4: \"{{ wokers }}\": there is no variable \"wokers\": did you mean \"workers\"?",
            ),
            (
                "{{ workers }}",
                "2",
                ":8: knob \"workers\" does nothing: use {{ workers }} in start, config or environment",
            ),
            (
                "{{ workers }}",
                "{{ workers | no }}{{ password }}",
                ":4: \"{{ workers | no }}{{ password }}\": a password is for files",
            ),
            ("[\"./my-api\", \"--version\"]", "[]", ":6: a command is a list of words with a program first"),
            ("[\"./my-api\", \"--version\"]", "\"v\"", ":6: invalid type: string \"v\", expected a command"),
            ("http = \"/health\"", "http = \"/\", tcp = true", ":5: ready: give one of"),
            ("\"/health\"", "\"health\"", ":5: \"health\" is no path: write it as /path"),
            ("\"10s\"", "\"10\"", ":5: ready: within: \"10\" is not a time above 0"),
            (
                "knobs.workers",
                "knobs.port",
                ":8: knob \"port\": templates have another variable of that name",
            ),
            ("knobs.workers", "knobs.Workers", ":8: knob \"Workers\": a name is of small letters"),
            (
                "[server.api]",
                "[server.\"a:b\"]\nstart = [\"x\"]\n[server.api]",
                ": server \"a:b\": a name is of letters",
            ),
            ("ready ", "config = [\"api.conf\"]\nready ", ":5: config "),
            ("ready ", "config = [\"../x\"]\nready ", ":5: config \"../x\": give the plain name of a file"),
            (
                "ready ",
                "protocol = \"redis\"\nready ",
                ":5: server \"api\": the operations are for another kind",
            ),
            ("ready ", "statistics = { http = \"/\" }\nready ", ":5: missing field `counters`"),
            ("ready ", "packages = { debian = \"-y\" }\nready ", ":5: \"-y\" is no name of a package"),
            (
                "[load]",
                "[data]\nfiles = [{ path = \"../a\", size = \"1k\" }]\n[load]",
                ":14: file \"../a\": give a path below",
            ),
            (
                "[load]",
                "[data]\nfiles = [{ path = \"a\", size = \"1t\" }]\n[load]",
                ":14: size: \"1t\" is not a size",
            ),
            ("[load]", "[load]\nconnections = 0", ":14: connections: give at least one"),
            (
                "[load]",
                "[load.keyspace]\nkeys = 1\nvalue_size = \"1\"\n[load]",
                "keyspace: it is for memcache and redis",
            ),
        ] {
            let error = refused(from, to);
            assert!(error.starts_with("workload.toml:") && error.contains(said), "{to}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_store_has_a_key_space_and_commands() {
        let store = |load: &str| {
            read(&format!(
                "title = \"S\"\n[server.s]\nstart = [\"s\"]\n[load]\nprotocol = \"redis\"\nslo = \"p99<5ms\"\n{load}"
            ))
        };
        let keyspace = "[load.keyspace]\nkeys = 10\nvalue_size = \"1k\"\n";
        let workload = store(&format!("{keyspace}[[load.op]]\ncommand = \"get\"\n")).expect("a store");
        assert_eq!(workload.load.counters, ["hits", "misses"]);
        assert!(workload.load.only("get").is_ok());
        assert_eq!(workload.load.only("set"), Err("has no operation \"set\": there is get".to_owned()));

        let error = store("[[load.op]]\ncommand = \"get\"\n").expect_err("no keys");
        assert!(error.contains("a store needs [load.keyspace] with keys and value_size"), "{error}");
        let error = store(&format!("{keyspace}[[load.op]]\ncommand = \"incr\"\n")).expect_err("no command");
        assert!(
            error.contains(":11: there is no value \"incr\" here: there are get, set, delete"),
            "{error}"
        );
        let twice = format!("{keyspace}[[load.op]]\ncommand = \"get\"\n").repeat(1)
            + "[[load.op]]\ncommand = \"get\"\n";
        let error = store(&twice).expect_err("one name for two");
        assert!(error.contains("two operations are called \"get\""), "{error}");
    }

    proptest! {
        #[test]
        fn no_change_of_a_character_makes_it_panic(at in 0..MY_API.len(), with in "\\PC{0,2}") {
            let mut text = MY_API.to_owned();
            text.replace_range(at..=at, &with);
            let _ = read(&text);
        }
    }
}
