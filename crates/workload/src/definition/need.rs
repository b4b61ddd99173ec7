//! What a server needs of the system besides the program that it is started with: a compiler, a library, a source. Finding and
//! installing it is left to `host`.

use std::collections::BTreeMap;

use host::packages::{Dependency, DependencyKind};
use toml::Spanned;

use super::knobs::knob::Knob;
use super::source::raw::RawNeed;
use super::values::knob_type::TypedValue;
use notation::source_text::{FileError, SourceText};

/// Something that a server needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// What it is.
    pub dependency: Dependency,
    /// The values of knobs without which it is not needed, by the names of these.
    pub only_with: BTreeMap<String, NeededValue>,
}

/// A value of a knob without which something is not needed.
#[derive(Clone, Debug, PartialEq)]
pub struct NeededValue {
    /// The value.
    pub value: TypedValue,
    /// Whether the knob has it where nobody sets it.
    pub is_default: bool,
}

impl Need {
    /// Checks it as it is written in the file.
    pub(super) fn check(
        raw: Spanned<RawNeed>,
        knobs: &[Knob],
        source: SourceText<'_>,
    ) -> Result<Self, FileError> {
        let span = raw.span();
        let refuse = |what: String| source.error(&span, format!("needs: {what}"));
        let RawNeed { program, library, path, packages, remedy, only_with } = raw.into_inner();
        let (kind, name) = match (program, library, path) {
            (Some(name), None, None) => (DependencyKind::Program, name),
            (None, Some(name), None) => (DependencyKind::Library, name),
            (None, None, Some(name)) => (DependencyKind::Path, name),
            _ => return Err(refuse("give one of program, library and path".to_owned())),
        };
        match kind {
            DependencyKind::Path if !name.starts_with('/') => {
                return Err(refuse(format!("{name:?} is not an absolute path")));
            }
            DependencyKind::Program | DependencyKind::Library if name.is_empty() || name.contains('/') => {
                return Err(refuse(format!(
                    "{name:?} is not the name of a program or a library: for a path, use path"
                )));
            }
            _ => {}
        }
        let needed = only_with.into_iter().map(|(name, text)| {
            let knob = knobs.iter().find(|knob| knob.name == name);
            let knob = knob.ok_or_else(|| refuse(format!("only_with: the server has no knob {name:?}")))?;
            let value = knob.parse(&text);
            let value = value.map_err(|error| refuse(format!("only_with: {name}: {error}")))?;
            // A template has its value at each start, and what is needed is asked before.
            let default = knob.parse(&knob.default);
            let default =
                default.map_err(|_| refuse(format!("only_with: {name}: its default is a template")))?;
            let is_default = value == default;
            Ok((name, NeededValue { value, is_default }))
        });
        let only_with = needed.collect::<Result<_, FileError>>()?;
        Ok(Self { dependency: Dependency { kind, name, packages, remedy }, only_with })
    }

    /// Whether it is needed where these knobs are set; the others have their defaults.
    pub(crate) fn applies(&self, set: &BTreeMap<String, TypedValue>) -> bool {
        let has = |(name, needed): (&String, &NeededValue)| {
            set.get(name).map_or(needed.is_default, |value| *value == needed.value)
        };
        self.only_with.iter().all(has)
    }
}
