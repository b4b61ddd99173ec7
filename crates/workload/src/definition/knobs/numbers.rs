//! `[load.numbers]`: numbers in the operations that follow from the server's knobs and from how many users there are, such as the persons
//! of a database that grows with its users. Each is a template; operations have its value in the arguments of their functions.

use std::collections::BTreeMap;
use std::ops::Range;

use load::inputs::numbers::NUMBERS;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::knob::Knob;
use crate::definition::values::knob_type::TypedValue;
use crate::render::{TemplateVariables, USERS};
use notation::source_text::{FileError, SourceText};

/// Larger numbers are a mistake in a template.
const MOST: u64 = 1 << 53;

/// The templates of `[load.numbers]`, by name, with their places in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadNumbers(BTreeMap<String, (Range<usize>, String)>);

impl LoadNumbers {
    /// Removes the table from a file.
    pub(in crate::definition) fn take(
        file: &mut DeTable<'_>,
        source: SourceText<'_>,
    ) -> Result<Self, FileError> {
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
    pub(in crate::definition) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The numbers of a server with these knobs, and the defaults of others, for this many users.
    pub(in crate::definition) fn values(
        &self,
        (server, defined): (&str, &[Knob]),
        knobs: &BTreeMap<String, TypedValue>,
        users: u32,
        source: SourceText<'_>,
    ) -> Result<BTreeMap<String, u64>, FileError> {
        let mut variables = TemplateVariables::default();
        for knob in defined {
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
                let what = format!("numbers: {name} of server {server:?} with {users} users: {why}");
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

/// Whether a name may have this letter.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_'
}
