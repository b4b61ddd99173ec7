//! Removes the mix from `[load]`: the operations in `[[load.op]]`, and the table of their keys, tables or sessions. The
//! registration of the protocol parses both, so no file of this folder names a protocol.

use std::collections::BTreeMap;
use std::ops::Range;

use load::drivers::mix::{MixError, OperationMix};
use load::drivers::registry::list_of;
use load::drivers::{PROTOCOLS, RegisteredProtocol};
use load::inputs::numbers::{NUMBERS, put_numbers};
use load::users::outside::{OutsideMix, RawOutside};
use load::users::outside_spec::Outside;
use load::users::{RawUsers, ScenarioError};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::names::available;
use notation::source_text::{FileError, SourceText};

/// A mix that a protocol has parsed.
pub struct ParsedMix {
    /// The operations.
    pub mix: OperationMix,
    /// Who carries them out, if they have users.
    pub users: Option<RawUsers>,
    /// What users do outside the mix.
    pub outside: Outside<OutsideMix>,
}

/// The parts of a mix as the file has them.
pub struct RawMix<'t> {
    section: Option<Spanned<DeValue<'t>>>,
    /// The users who carry it out, and the keys of theirs that are of the protocol.
    users: Option<(RawUsers, DeTable<'t>)>,
    /// What users do outside the mix.
    outside: RawOutside<'t>,
    operations: Vec<Spanned<DeValue<'t>>>,
}

impl<'t> RawMix<'t> {
    /// Removes the mix from a file, so that the rest has the same fields for every protocol.
    pub fn take(
        file: &mut DeTable<'t>,
        protocol: RegisteredProtocol,
        source: SourceText<'_>,
    ) -> Result<Self, FileError> {
        let mut mix =
            Self { section: None, users: None, outside: RawOutside::default(), operations: Vec::new() };
        let Some(DeValue::Table(load)) = file.get_mut("load").map(Spanned::get_mut) else { return Ok(mix) };
        if let Some(operations) = load.remove("op") {
            let span = operations.span();
            let DeValue::Array(operations) = operations.into_inner() else {
                return Err(source.error(&span, "op: write each operation as a table [[load.op]]"));
            };
            mix.operations.extend(operations);
        }
        let own = protocol.mix_section().map(|section| section.name);
        mix.section = own.and_then(|name| load.remove(name));
        if let Some(users) = load.remove("users") {
            mix.outside = RawOutside::take(&mut mix.operations).map_err(|error| of_users(error, source))?;
            let taken = RawUsers::take(users, &mut mix.operations, protocol.user_keys());
            mix.users = Some(taken.map_err(|error| of_users(error, source))?);
        }
        let sections = section_names();
        let tables = load.iter().filter(|(_, value)| matches!(value.get_ref(), DeValue::Table(_)));
        if let Some((name, table)) = tables.into_iter().next() {
            let name = name.get_ref();
            let what = if sections.contains(&name.as_ref()) {
                format!("{name}: it is for {}", protocols_with(name))
            } else {
                let known: Vec<&str> = sections.iter().copied().chain(["users", NUMBERS]).collect();
                format!("load: there is no table {name:?}{}", available(name, &known))
            };
            return Err(source.error(&table.span(), what));
        }
        Ok(mix)
    }

    /// How many users there are, if there are any.
    pub fn user_count(&self) -> Option<u32> {
        self.users.as_ref().map(|(users, _)| users.count())
    }

    /// Puts numbers in the place of their names.
    pub fn put_numbers(&mut self, numbers: &BTreeMap<String, u64>) {
        self.operations.iter_mut().for_each(|operation| put_numbers(operation, numbers));
        self.outside.put_numbers(numbers);
    }

    /// Parses and checks the mix. `load` is the span of `[load]`. Returns the users as well, whose plan needs the names.
    pub fn parse(
        self,
        protocol: RegisteredProtocol,
        load: &Range<usize>,
        source: SourceText<'_>,
    ) -> Result<ParsedMix, FileError> {
        if self.operations.is_empty() {
            return Err(source.error(load, "load: give at least one [[load.op]]"));
        }
        let of_mix = |error| match error {
            MixError::Toml(error) => source.toml_error(&error),
            MixError::Operation { span, error } => source.error(&span, error.to_string()),
            MixError::NoSection(missing) => source.error(load, format!("load: {missing}")),
        };
        let (users, own) = self.users.unzip();
        let outside = match &own {
            Some(own) => self.outside.parse(protocol, self.section.as_ref(), own).map_err(of_mix)?,
            None => Outside::default(),
        };
        let mix = protocol.parse_mix(self.section, own, self.operations).map_err(of_mix)?;
        Ok(ParsedMix { mix, users, outside })
    }
}

/// An error of users, at its place.
pub fn of_users(error: ScenarioError, source: SourceText<'_>) -> FileError {
    match error {
        ScenarioError::Toml(error) => source.toml_error(&error),
        ScenarioError::At { span, what } => source.error(&span, what),
    }
}

fn section_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = PROTOCOLS.iter().filter_map(|p| p.mix_section()).map(|s| s.name).collect();
    names.dedup();
    names
}

/// The protocols whose mix has this table.
fn protocols_with(section: &str) -> String {
    let has = |protocol: &&RegisteredProtocol| protocol.mix_section().is_some_and(|own| own.name == section);
    list_of(&PROTOCOLS.iter().filter(has).map(|protocol| protocol.name()).collect::<Vec<_>>())
}
