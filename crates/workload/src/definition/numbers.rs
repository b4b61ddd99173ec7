//! `[load.numbers]`: numbers in the operations that follow from the server's knobs and from how many users there are, such as the persons
//! of a database that grows with its users. Each is a template; operations have its value in the arguments of their functions.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use load::drivers::RegisteredProtocol;
use load::inputs::numbers::NUMBERS;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::server::ServerDefinition;
use super::source::mix::RawMix;
use super::source::raw::RawWorkload;
use super::source::source_text::{DefinitionError, SourceText};
use super::values::knob_type::TypedValue;
use super::{LoadDefinition, Workload};
use crate::folder::Folder;
use crate::render::{TemplateVariables, USERS};

/// Larger numbers are a mistake in a template.
const MOST: u64 = 1 << 53;

/// The templates of `[load.numbers]`, by name, with their places in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadNumbers(BTreeMap<String, (Range<usize>, String)>);

impl LoadNumbers {
    /// Removes the table from a file.
    pub(super) fn take(file: &mut DeTable<'_>, source: SourceText<'_>) -> Result<Self, DefinitionError> {
        let Some(DeValue::Table(load)) = file.get_mut("load").map(Spanned::get_mut) else {
            return Ok(Self::default());
        };
        let Some(table) = load.remove(NUMBERS) else { return Ok(Self::default()) };
        let span = table.span();
        let DeValue::Table(table) = table.into_inner() else {
            return Err(source.error(&span, "numbers: write them as a table [load.numbers]"));
        };
        let mut numbers = BTreeMap::new();
        for (name, value) in table {
            let (name, span) = (name.into_inner().into_owned(), value.span());
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_plain) {
                let what = format!(
                    "numbers: {name:?}: write its name in small letters, digits and underscores, with a letter first"
                );
                return Err(source.error(&span, what));
            }
            let DeValue::String(template) = value.into_inner() else {
                let what = format!("numbers: {name}: give a template, such as \"{{{{ 100 * users }}}}\"");
                return Err(source.error(&span, what));
            };
            numbers.insert(name, (span, template.into_owned()));
        }
        Ok(Self(numbers))
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The numbers of a server with these knobs, and the defaults of others, for this many users.
    pub(super) fn values(
        &self,
        server: &ServerDefinition,
        knobs: &BTreeMap<String, TypedValue>,
        users: u32,
        source: SourceText<'_>,
    ) -> Result<BTreeMap<String, u64>, DefinitionError> {
        let mut variables = TemplateVariables::default();
        for knob in &server.knobs {
            // The default of a knob may follow from the server's machine, which the client does not know.
            let default = knob.default_value(&TemplateVariables::default()).ok();
            if let Some(value) = knobs.get(&knob.name).or(default.as_ref()) {
                variables.set(&knob.name, value);
            }
        }
        variables.set(USERS, users);
        let mut values = BTreeMap::new();
        for (name, (span, template)) in &self.0 {
            let refused = |why: &str| {
                let what = format!("numbers: {name} of server {:?} with {users} users: {why}", server.name);
                source.error(span, what)
            };
            let text = variables.render(template).map_err(|error| {
                refused(&format!(
                    "{}: its template may have users, and knobs whose default is no template",
                    error.message
                ))
            })?;
            let number = text.trim().parse().ok().filter(|number| *number <= MOST);
            let number =
                number.ok_or_else(|| refused(&format!("{:?} is not a whole number", text.trim())))?;
            values.insert(name.clone(), number);
        }
        Ok(values)
    }
}

/// A file without its numbers, which operations have in the place of the names.
pub(super) struct FileParts<'t> {
    pub raw: RawWorkload,
    pub mix: RawMix<'t>,
    pub numbers: LoadNumbers,
}

impl<'t> FileParts<'t> {
    /// Reads the file, whose load has this protocol.
    pub fn read(source: SourceText<'t>, protocol: RegisteredProtocol) -> Result<Self, DefinitionError> {
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
    ) -> Result<Cow<'_, Self>, DefinitionError> {
        if self.numbers.is_empty() {
            return Ok(Cow::Borrowed(self));
        }
        // What does not exist has been refused, or will be.
        let Ok(server) = self.server(server) else { return Ok(Cow::Borrowed(self)) };
        let label = self.folder.label(&self.file);
        let source = SourceText { file: &label, text: &self.text };
        let values = self.numbers.values(server, knobs, users, source)?;
        if values == self.load.numbers {
            return Ok(Cow::Borrowed(self));
        }
        let FileParts { raw, mix, .. } = FileParts::read(source, self.load.protocol)?;
        let load = LoadDefinition::check(raw.load, mix, values, source)?;
        Ok(Cow::Owned(Self { load, ..self.clone() }))
    }

    /// The numbers in a file for a load of servers that are not started from it: those of its first server's defaults, for this many users
    /// or as many as the file says. None where it has no `[load.numbers]`, and then it need be no whole workload.
    pub fn numbers_in(path: &Path, users: Option<u32>) -> Result<BTreeMap<String, u64>, DefinitionError> {
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
