//! The load of a workload: the mix of operations, and how the client applies it.

use std::collections::BTreeMap;
use std::time::Duration;

use load::drivers::mix::OperationMix;
use load::drivers::protocol::ServerAccess;
use load::drivers::registry::list_of;
use load::drivers::{PROTOCOLS, RegisteredProtocol};
use load::inputs::slo::Slo;
use load::inputs::units::parse_duration;
use load::users::outside::OutsideMix;
use load::users::outside_spec::Outside;
use load::users::{RawUsers, UserPlan, VisitArrivals};
use toml::Spanned;

use super::source::mix::{ParsedMix, RawMix, of_users};
use super::source::raw::RawLoad;
use crate::names::available;
use notation::source_text::{FileError, SourceText};

/// The default number of connections: enough for a few cores, few enough for any server.
pub(super) const CONNECTIONS: u32 = 64;

/// The default timeout: no reply takes this long, not even the largest file on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The load of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadDefinition {
    /// The protocol of the operations. A server may have another one with the same operations.
    pub protocol: RegisteredProtocol,
    /// The SLO that a capacity must meet; none for a runner, whose load has no capacity.
    pub slo: Option<Slo>,
    /// Connections of the client.
    pub connections: u32,
    /// The longest wait for a reply, or for a message of a runner.
    pub timeout: Duration,
    /// Whether operations take so long that they are timed one by one.
    pub is_one_by_one: bool,
    /// Whether connections use TLS.
    pub is_tls: bool,
    /// The operation that runs by default, in a workload whose operations are not mixed.
    pub default_operation: Option<String>,
    /// The operations.
    pub mix: OperationMix,
    /// The users who carry them out, one a connection; none where each is independent.
    pub users: Option<UserPlan>,
    /// When these users arrive; none where they stay.
    pub visits: Option<VisitArrivals>,
    /// What users do outside the mix.
    pub outside: Outside<OutsideMix>,
    /// The names of the operations of the mix, in the order of the mix.
    pub names: Vec<String>,
    /// The names of the driver's counters.
    pub counters: &'static [&'static str],
    /// The numbers of `[load.numbers]` that its operations have.
    pub numbers: BTreeMap<String, u64>,
}

impl LoadDefinition {
    /// Whether users carry out the mix. One operation alone has none: it is repeated.
    pub fn has_users(&self, on_op: Option<&str>) -> bool {
        self.users.is_some() && on_op.is_none()
    }

    /// Checks the load as it is written in the file, with these numbers.
    pub(super) fn check(
        raw: Spanned<RawLoad>,
        mut mix: RawMix<'_>,
        numbers: BTreeMap<String, u64>,
        source: SourceText<'_>,
    ) -> Result<Self, FileError> {
        let span = raw.span();
        let raw = raw.into_inner();
        let refuse = |what: String| source.error(&span, format!("load: {what}"));
        let protocol = raw.protocol;
        check_fields(&raw, source)?;
        mix.put_numbers(&numbers);
        let ParsedMix { mix, users, outside } = mix.parse(protocol, &span, source)?;
        let access = ServerAccess { authority: "localhost".to_owned(), ..ServerAccess::default() };
        let spec = protocol.spec(&mix, &access).expect("the protocol has parsed this mix");
        let (names, counters) = spec.names().map_err(|e| refuse(e.to_string()))?;
        let mut all_names = names.clone();
        for outside in outside.specs(protocol, &access).iter() {
            all_names.extend(outside.protocol.names().map_err(|e| refuse(e.to_string()))?.0);
        }
        if let Some(name) = repeated(&all_names) {
            return Err(refuse(format!("two operations are called {name:?}: give each its own name")));
        }
        if let Some(alone) = raw.alone.as_ref().filter(|alone| !names.contains(alone.get_ref())) {
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            let name = alone.get_ref();
            let what = format!("alone: there is no operation {name:?}{}", available(name, &known));
            return Err(source.error(&alone.span(), what));
        }
        let is_runner = protocol.makes_own_load();
        if users.is_some()
            && let Some(own) = raw.connections.as_ref()
        {
            let what = "connections: each user has one: give [load.users] its count, and leave this out";
            return Err(source.error(&own.span(), what));
        }
        let visits = users.as_ref().map(RawUsers::visits).transpose();
        let visits = visits.map_err(|error| of_users(error, source))?.flatten();
        if visits.as_ref().is_some_and(|visits| visits.rate.length().is_some()) {
            return Err(refuse(
                "users: arrivals: steps and ramps are for `showdown load --scenario`: give one rate, such as \"poisson:20/s\""
                    .to_owned(),
            ));
        }
        let count = users.as_ref().map(RawUsers::count);
        let users = users
            .map(|users| users.plan(&names, counters).map_err(|error| of_users(error, source)))
            .transpose()?;
        let slo = match &raw.slo {
            Some(slo) => {
                Some(slo.get_ref().parse().map_err(|e| source.error(&slo.span(), format!("slo: {e}")))?)
            }
            None if is_runner => None,
            None => {
                return Err(refuse("give an SLO, such as slo = \"p99<5ms\"".to_owned()));
            }
        };
        let timeout = raw.timeout.as_ref().map(|text| {
            parse_duration(text.get_ref()).map_err(|e| source.error(&text.span(), format!("timeout: {e}")))
        });
        let connections = count.or(raw.connections.as_ref().map(|connections| *connections.get_ref()));
        Ok(Self {
            protocol,
            slo,
            // To the client a runner is one peer.
            connections: connections.unwrap_or(if is_runner { 1 } else { CONNECTIONS }),
            timeout: timeout.transpose()?.unwrap_or(TIMEOUT),
            is_one_by_one: raw.one_by_one.as_ref().is_some_and(|is_long| *is_long.get_ref()),
            is_tls: raw.tls.as_ref().is_some_and(|is_tls| *is_tls.get_ref()),
            default_operation: raw.alone.as_ref().map(|name| name.get_ref().clone()),
            mix,
            users,
            visits,
            outside,
            names,
            counters,
            numbers,
        })
    }

    /// Whether the program under test makes its load itself.
    pub fn is_runner(&self) -> bool {
        self.protocol.makes_own_load()
    }

    /// Only the operation of this name, if there is one.
    pub fn only(&self, name: &str) -> Option<OperationMix> {
        let at = self.names.iter().position(|known| known == name)?;
        Some(self.mix.only(at))
    }
}

/// The first name that is there twice.
fn repeated(names: &[String]) -> Option<&String> {
    names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)).map(|(_, name)| name)
}

/// Refuses fields that the protocol does not have.
pub(super) fn check_fields(raw: &RawLoad, source: SourceText<'_>) -> Result<(), FileError> {
    let protocol = raw.protocol;
    if protocol.makes_own_load() {
        let why = "a runner makes its own load, see docs/BYOD.md";
        if let Some(slo) = &raw.slo {
            return Err(source.error(&slo.span(), format!("slo: it is for open loops, and {why}")));
        }
        if let Some(connections) = &raw.connections {
            let what = format!("connections: {why}: define a knob for their number");
            return Err(source.error(&connections.span(), what));
        }
        if let Some(socket) = &raw.socket {
            return Err(source.error(&socket.span(), format!("socket: {why}")));
        }
    } else if let Some(is_long) = &raw.one_by_one {
        return Err(source.error(&is_long.span(), "one_by_one: it is for runners"));
    }
    if let Some(connections) = raw.connections.as_ref().filter(|connections| *connections.get_ref() == 0) {
        return Err(source.error(&connections.span(), "connections: give at least one"));
    }
    if !has_tls(&protocol)
        && let Some(tls) = raw.tls.as_ref()
    {
        let names: Vec<&str> = PROTOCOLS.iter().filter(|p| has_tls(p)).map(|p| p.name()).collect();
        return Err(source.error(&tls.span(), format!("tls: it is for {}", list_of(&names))));
    }
    Ok(())
}

/// Whether connections of the protocol can begin with TLS.
fn has_tls(protocol: &RegisteredProtocol) -> bool {
    protocol.schemes().iter().any(|scheme| scheme.is_tls)
}
