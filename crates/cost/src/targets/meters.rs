//! The tables `[power.NAME]` of a file of targets: meters on the network. A file may have nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ::power::SourceDescription;
pub(super) use ::power::SourceKeys;
use serde::Deserialize;
use toml::Spanned;

use super::error::TargetsError;
use super::target::Targets;
use notation::source_text::{FileError, SourceText};

/// The file's other keys are not looked at.
#[derive(Deserialize)]
struct MeterTables {
    #[serde(default)]
    power: BTreeMap<String, Spanned<SourceKeys>>,
}

/// What a file has: meters, and machines with what they cost.
#[derive(Debug)]
pub struct TargetsFile {
    /// The meters, in the order of their names.
    pub meters: Vec<SourceDescription>,
    /// The machines; or why there are none, as in a file that only has meters.
    pub targets: Result<Targets, FileError>,
}

impl TargetsFile {
    /// Reads a file. It is an error if the meters are wrong.
    pub fn read(path: &Path) -> Result<Self, TargetsError> {
        let label = path.display().to_string();
        let text =
            fs::read_to_string(path).map_err(|source| TargetsError::Read { path: label.clone(), source })?;
        Ok(Self { meters: parse_meters(&label, &text)?, targets: Targets::parse(&label, &text) })
    }
}

/// Parses a file's text; errors begin with its name and a line.
fn parse_meters(file: &str, text: &str) -> Result<Vec<SourceDescription>, FileError> {
    let source = SourceText { file, text };
    let tables: MeterTables = toml::from_str(text).map_err(|error| source.toml_error(&error))?;
    check(&source, tables.power)
}

/// Checks the keys of each table.
pub(super) fn check(
    source: &SourceText<'_>,
    tables: BTreeMap<String, Spanned<SourceKeys>>,
) -> Result<Vec<SourceDescription>, FileError> {
    let checked = tables.into_iter().map(|(name, keys)| {
        let span = keys.span();
        let described = keys.into_inner().check(&name);
        described.map_err(|why| source.error(&span, format!("power.{name}: {why}")))
    });
    checked.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"pue = "not looked at"

[power.rack]
kind    = "apc-rpdu2"
address = "10.0.0.9"
outlet  = 5

[power.bmc]
kind     = "redfish"
address  = "https://10.0.0.10"
boundary = "wall"
user     = "operator"
password_env = "BMC_PASSWORD"
"#;

    #[test]
    fn a_file_may_have_meters_only() {
        let meters = parse_meters("targets.toml", FILE).unwrap();
        let names: Vec<&str> = meters.iter().map(|meter| meter.about().name.as_str()).collect();
        assert_eq!(names, ["bmc", "rack"]);
        assert!(parse_meters("targets.toml", "currency = \"EUR\"").unwrap().is_empty());
    }

    #[test]
    fn a_mistake_has_its_line() {
        let message = |text: &str| parse_meters("targets.toml", text).unwrap_err().to_string();
        let secret = FILE.replace("password_env = \"BMC_PASSWORD\"", "password = \"hunter2\"");
        let refused = message(&secret);
        assert!(refused.starts_with("targets.toml:13: unknown key \"password\""), "{refused}");
        assert!(!refused.contains("hunter2"));
        let outlet = message(&FILE.replace("outlet  = 5", "outlet  = 0"));
        assert_eq!(outlet, "targets.toml:3: power.rack: outlet: PDUs count from 1");
    }

    #[test]
    fn the_keys_of_meters_are_checked_with_those_of_targets() {
        let text = "currency = \"EUR\"\n[target.a]\nnameplate = \"275 W\"\n[power.b]\nkind = \"shelly\"\n";
        let error = Targets::parse("targets.toml", text).unwrap_err().to_string();
        assert!(error.starts_with("targets.toml:4: power.b: address is missing"), "{error}");
    }
}
