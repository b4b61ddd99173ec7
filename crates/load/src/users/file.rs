//! Reads a scenario from a file for a load without a workload: the tables `[load.users]` and `[[load.op]]`, as a workload has
//! them. The rest of a workload's file is of no concern here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::outside::{OutsideMix, RawOutside};
use super::outside_spec::Outside;
use super::parse::{RawUsers, ScenarioError};
use super::plan::{UserPlan, VisitArrivals};
use crate::drivers::RegisteredProtocol;
use crate::drivers::mix::{MixError, OperationMix};
use crate::drivers::protocol::ServerAccess;
use crate::inputs::numbers::put_numbers;
use notation::mistakes::message_of;
use notation::source_text::{FileError, SourceText};

/// Users and what they do.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The operations.
    pub mix: OperationMix,
    /// Their order and delays.
    pub plan: UserPlan,
    /// What is done outside the mix.
    pub outside: Outside<OutsideMix>,
    /// How many users there are, or visits at once.
    pub count: u32,
    /// The visits that arrive; none where users stay.
    pub visits: Option<VisitArrivals>,
    /// The folder of the file.
    pub folder: PathBuf,
}

/// Why a file is no scenario.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioFileError {
    /// It cannot be read.
    #[error("{}: {source}: give a file with [load.users] and [[load.op]]", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A mistake in it.
    #[error(transparent)]
    Mistake(#[from] FileError),
}

impl Scenario {
    /// Reads the scenario of a file for a protocol. `numbers` stand in the place of their names, if the file has `[load.numbers]`.
    pub fn read(
        path: &Path,
        protocol: RegisteredProtocol,
        numbers: &BTreeMap<String, u64>,
    ) -> Result<Self, ScenarioFileError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScenarioFileError::Read { path: path.to_owned(), source })?;
        let folder = std::path::absolute(path).ok().and_then(|path| path.parent().map(Path::to_owned));
        let folder = folder.unwrap_or_else(|| PathBuf::from("."));
        let source = SourceText { file: &path.to_string_lossy(), text: &text };
        parse(&text, protocol, folder, numbers)
            .map_err(|(at, reason)| source.error(&(at..at), reason.replace('\n', " ")).into())
    }
}

/// Why a text is no scenario, after how many bytes.
type Refused = (usize, String);

fn of_toml(error: &toml::de::Error, text: &str) -> Refused {
    (error.span().map_or(0, |span| span.start), message_of(error, text))
}

fn of_users(error: ScenarioError, text: &str) -> Refused {
    match error {
        ScenarioError::Toml(error) => of_toml(&error, text),
        ScenarioError::At { span, what } => (span.start, what),
    }
}

fn of_mix(error: MixError, text: &str) -> Refused {
    match error {
        MixError::Toml(error) => of_toml(&error, text),
        MixError::Operation { span, error } => (span.start, error.to_string()),
        MixError::NoSection(missing) => (0, missing.to_owned()),
    }
}

fn missing(what: &str) -> Refused {
    (0, format!("there is no {what}: see docs/SCENARIOS.md"))
}

fn parse(
    text: &str,
    protocol: RegisteredProtocol,
    folder: PathBuf,
    numbers: &BTreeMap<String, u64>,
) -> Result<Scenario, Refused> {
    let mut file = DeTable::parse(text).map_err(|error| of_toml(&error, text))?;
    let load = file.get_mut().remove("load").map(Spanned::into_inner);
    let Some(DeValue::Table(mut load)) = load else { return Err(missing("[load.users]")) };
    let users = load.remove("users").ok_or_else(|| missing("[load.users]"))?;
    let operations = load.remove("op").map(Spanned::into_inner);
    let Some(DeValue::Array(operations)) = operations else { return Err(missing("[[load.op]]")) };
    let mut operations: Vec<_> = operations.into_iter().collect();
    for operation in &mut operations {
        put_numbers(operation, numbers);
    }
    let outside = RawOutside::take(&mut operations).map_err(|error| of_users(error, text))?;
    let (raw, own) = RawUsers::take(users, &mut operations, protocol.user_keys())
        .map_err(|error| of_users(error, text))?;
    let section = protocol.mix_section().and_then(|section| load.remove(section.name));
    let outside = outside.parse(protocol, section.as_ref(), &own).map_err(|error| of_mix(error, text))?;
    let mix = protocol.parse_mix(section, Some(own), operations).map_err(|error| of_mix(error, text))?;
    let access = ServerAccess { authority: "localhost".to_owned(), ..ServerAccess::default() };
    let spec = protocol.spec(&mix, &access).expect("the protocol has parsed this mix");
    let (names, counters) = spec.names().map_err(|error| (0, error.to_string()))?;
    let plan = raw.plan(&names, counters).map_err(|error| of_users(error, text))?;
    let visits = raw.visits().map_err(|error| of_users(error, text))?;
    Ok(Scenario { mix, plan, outside, count: raw.count(), visits, folder })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http() -> RegisteredProtocol {
        RegisteredProtocol::by_name("http").expect("a protocol")
    }

    const SHOP: &str = r#"
title = "the rest of a workload"
[load]
protocol = "http"
[load.users]
count = 5
delay = { think = "1s" }
values = { token = 32 }
next.home = { login = 100 }
next.login = { home = 50, login = 50 }
[[load.op]]
name = "home"
path = "/"
capture = { token = { between = ["token=", ";"] } }
[[load.op]]
name = "login"
[[load.op.step]]
path = "/login"
form = { token = "{{ token }}" }
[[load.op.step]]
path = "/"
"#;

    #[test]
    fn a_scenario_is_read_from_a_file_or_a_workload() {
        let scenario = parse(SHOP, http(), PathBuf::from("/w"), &BTreeMap::new()).expect("a scenario");
        assert_eq!((scenario.count, scenario.plan.operations()), (5, 2));
    }

    #[test]
    fn other_protocols_have_walks_and_delays_too() {
        let text = |operations: &str| {
            format!(
                "[load.users]\ncount = 2\ndelay = {{ think = \"5ms\" }}\nnext.a = {{ b = 100 }}\nnext.b = {{ a = 90, b = 10 }}\n{operations}"
            )
        };
        let keys = "[load.keyspace]\nkeys = 10\nvalue_size = \"10\"\n[[load.op]]\ncommand = \"get\"\n[[load.op]]\ncommand = \"set\"\n";
        let tables = "[load.tables]\ntables = 1\nrows = 10\n[[load.op]]\ntransaction = \"point-select\"\n\
                      [[load.op]]\ntransaction = \"read-write\"\ndelay = { cycle = \"1s\" }\n";
        for (protocol, operations, names) in [
            ("memcache", keys, ["get", "set"]),
            ("redis", keys, ["get", "set"]),
            ("postgres", tables, ["point-select", "read-write"]),
        ] {
            let protocol = RegisteredProtocol::by_name(protocol).expect("a protocol");
            let text = text(operations)
                .replace("next.a", &format!("next.{}", names[0]))
                .replace("next.b", &format!("next.{}", names[1]))
                .replace("{ b =", &format!("{{ {} =", names[1]))
                .replace("{ a = 90, b =", &format!("{{ {} = 90, {} =", names[0], names[1]));
            let scenario = parse(&text, protocol, PathBuf::from("/w"), &BTreeMap::new());
            let scenario = scenario.unwrap_or_else(|(at, why)| panic!("{why}: {}", &text[at..]));
            assert_eq!(scenario.plan.operations(), 2);
        }
        let cookies = "[load.users]\ncount = 2\ncookies = 2\n".to_owned() + keys;
        let memcache = RegisteredProtocol::by_name("memcache").expect("a protocol");
        let (_, why) =
            parse(&cookies, memcache, PathBuf::from("/w"), &BTreeMap::new()).expect_err("they are for HTTP");
        assert!(why.contains("unknown key \"cookies\""), "{why}");
    }

    #[test]
    fn a_mistake_has_its_line() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("shop.toml");
        let error = |text: &str| {
            std::fs::write(&path, text).expect("a file");
            Scenario::read(&path, http(), &BTreeMap::new()).expect_err("a mistake").to_string()
        };
        for (from, to, expected) in [
            (
                "login = 100",
                "login = 99",
                "shop.toml:9: next.home: the row adds up to 99 per cent: make it 100",
            ),
            (
                "token = { between",
                "tokn = { between",
                "shop.toml:11: home: capture: there is no value \"tokn\"",
            ),
            ("path = \"/login\"", "path = \"/{{ tokn }}\"", "shop.toml:17: login, step 1: \"tokn\" is not"),
            (
                "path = \"/login\"",
                "pth = \"/login\"",
                "shop.toml:18: unknown key \"pth\" (did you mean \"path\"?",
            ),
            ("[load.users]", "[load.user]", "shop.toml:1: there is no [load.users]"),
            ("count = 5", "", "shop.toml:5: users: give a count of users who stay, or arrivals of visits"),
        ] {
            let message = error(&SHOP.replace(from, to));
            assert!(message.contains(expected), "{message}");
        }
    }
}
