//! What a server needs of the system besides the program that it is started with: a compiler, a library, a source. Finding and
//! installing it is left to `host`.

use std::collections::BTreeMap;

use host::packages::{Dependency, DependencyKind};
use toml::Spanned;

use super::knob::Knob;
use super::knob_type::TypedValue;
use super::raw::RawNeed;
use super::source_text::{DefinitionError, SourceText};

/// Something that a server needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What it is.
    pub dependency: Dependency,
    /// Knobs with the values without which it is not needed.
    pub only_with: BTreeMap<String, String>,
}

impl Need {
    /// Checks it as it is written in the file.
    pub(super) fn check(
        raw: Spanned<RawNeed>,
        knobs: &[Knob],
        source: SourceText<'_>,
    ) -> Result<Self, DefinitionError> {
        let span = raw.span();
        let refuse = |what: String| source.error(&span, format!("needs: {what}"));
        let RawNeed { program, library, path, packages, only_with } = raw.into_inner();
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
        for (knob, value) in &only_with {
            let Some(known) = knobs.iter().find(|known| known.name == *knob) else {
                return Err(refuse(format!("only_with: the server has no knob {knob:?}")));
            };
            known.parse(value).map_err(|error| refuse(format!("only_with: {knob}: {error}")))?;
            // A template has its value at each start, and what is needed is asked before.
            known
                .parse(&known.default)
                .map_err(|_| refuse(format!("only_with: {knob}: its default is a template")))?;
        }
        Ok(Self { dependency: Dependency { kind, name, packages }, only_with })
    }

    /// Whether it is needed with these values of the server's knobs; the others have their defaults.
    pub(crate) fn applies(&self, knobs: &[Knob], set: &BTreeMap<String, TypedValue>) -> bool {
        let has = |(name, wanted): (&String, &String)| {
            knobs.iter().find(|knob| knob.name == *name).is_some_and(|knob| {
                let value = set.get(name).cloned().or_else(|| knob.parse(&knob.default).ok());
                value.is_some() && value == knob.parse(wanted).ok()
            })
        };
        self.only_with.iter().all(has)
    }
}
