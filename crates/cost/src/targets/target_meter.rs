//! The key `meter` of a target: one meter, or one for each host of its kind.

use std::collections::{BTreeMap, BTreeSet};

use ::power::{NamedSource, SourceDescription};
use toml::{Spanned, Value};

use notation::source_text::{FileError, SourceText};

/// The meters of the machines of a target, by their names: a `[power.NAME]` of the file, or a meter of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetMeter {
    /// One meter.
    One(String),
    /// A meter for each host, by the host's name.
    OfHosts(BTreeMap<String, String>),
}

impl TargetMeter {
    /// The meter of a host; none is a machine without a name. The error is one line without the name of the target.
    pub fn of(&self, host: Option<&str>) -> Result<&str, String> {
        match (self, host) {
            (Self::One(name), _) => Ok(name),
            (Self::OfHosts(meters), Some(host)) => meters.get(host).map(String::as_str).ok_or_else(|| {
                format!("meter: there is none of host {host}: add {host} = \"NAME\" to the table of meters")
            }),
            (Self::OfHosts(_), None) => Err(
                "meter: it is a table of hosts, and the server runs on none of them: write meter = \"NAME\""
                    .to_owned(),
            ),
        }
    }

    /// Reads the value of the key. Each meter is one of the file's, or one of this machine's.
    pub(super) fn check(
        raw: Spanned<Value>,
        source: &SourceText<'_>,
        known: &[SourceDescription],
    ) -> Result<Self, FileError> {
        let span = raw.span();
        let refused = |why: String| source.error(&span, format!("meter: {why}"));
        let check = |name: &str| {
            if known.iter().any(|known| known.about().name == name) || NamedSource::is_local_name(name) {
                return Ok(());
            }
            Err(refused(format!(
                "there is no [power.{name}] in this file: write it, or name a meter of this machine as `showdown power` does (rapl-package)"
            )))
        };
        match raw.into_inner() {
            Value::String(name) => check(&name).map(|()| Self::One(name)),
            Value::Table(table) => {
                let mut meters = BTreeMap::new();
                let mut taken = BTreeSet::new();
                for (host, value) in table {
                    let Value::String(name) = value else { return Err(refused(example())) };
                    check(&name)?;
                    if !taken.insert(name.clone()) {
                        return Err(refused(format!(
                            "{name} is the meter of two hosts, and would count the watts of both: give each its own"
                        )));
                    }
                    meters.insert(host, name);
                }
                if meters.is_empty() { Err(refused(example())) } else { Ok(Self::OfHosts(meters)) }
            }
            _ => Err(refused(example())),
        }
    }
}

fn example() -> String {
    "write it as \"rack\", or for the hosts of a kind as { HOST = \"rack-1\", OTHER = \"rack-2\" }".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::Targets;

    /// A file whose target has this meter.
    fn parse(meter: &str) -> Result<TargetMeter, String> {
        let plug =
            |name: &str| format!("[power.{name}]\nkind = \"shelly\"\naddress = \"http://10.0.0.31\"\n");
        let text =
            format!("currency = \"EUR\"\n[target.a]\nmeter = {meter}\n{}{}", plug("desk"), plug("shelf"));
        let parsed = Targets::parse("targets.toml", &text).map_err(|error| error.to_string())?;
        Ok(parsed.targets[0].meter.clone().unwrap())
    }

    #[test]
    fn a_target_names_a_meter_of_the_file_or_of_this_machine() {
        let desk = parse("\"desk\"").unwrap();
        assert_eq!((desk.of(None), desk.of(Some("any"))), (Ok("desk"), Ok("desk")));
        assert_eq!(parse("\"rapl-package\""), Ok(TargetMeter::One("rapl-package".to_owned())));
        let error = parse("\"dekc\"").unwrap_err();
        assert!(error.starts_with("targets.toml:3: meter: there is no [power.dekc] in this file"), "{error}");
    }

    #[test]
    fn a_kind_has_a_meter_for_each_of_its_hosts() {
        let kind = parse("{ h1 = \"desk\", h2 = \"shelf\" }").unwrap();
        assert_eq!((kind.of(Some("h1")), kind.of(Some("h2"))), (Ok("desk"), Ok("shelf")));
        let missing = kind.of(Some("h3")).unwrap_err();
        assert_eq!(missing, "meter: there is none of host h3: add h3 = \"NAME\" to the table of meters");
        assert!(kind.of(None).unwrap_err().contains("the server runs on none of them"));
        for (meter, why) in [
            ("{ h1 = \"desk\", h2 = \"desk\" }", "desk is the meter of two hosts"),
            ("{ h1 = 5 }", "write it as \"rack\", or for the hosts of a kind as"),
            ("{}", "write it as \"rack\""),
            ("5", "write it as \"rack\""),
        ] {
            let error = parse(meter).unwrap_err();
            assert!(error.starts_with("targets.toml:3: meter: ") && error.contains(why), "{error}");
        }
    }
}
