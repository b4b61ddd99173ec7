//! Values of a server's knobs for very many connections: as many workers as their descriptors need, and timeouts that outlast a
//! slow client. `showdown concurrency` takes those that the user does not set.

use std::collections::BTreeMap;

use toml::Spanned;

use super::knob::Knob;
use crate::definition::values::knob_type::TypedValue;
use crate::names::UnknownName;
use crate::render::TemplateVariables;
use notation::source_text::{FileError, SourceText};

/// Templates of values, by the name of the knob. They may use `transfers`, `descriptors` (the most of a process) and `cpus`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConcurrencyKnobs(BTreeMap<String, String>);

/// Why a value has no place: it is no template of these variables, or its knob does not accept it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("concurrency: knob {knob:?}: {problem}")]
pub struct ConcurrencyKnobError {
    /// The knob.
    pub knob: String,
    /// What is wrong.
    pub problem: String,
}

impl ConcurrencyKnobs {
    pub(in crate::definition) fn check(
        raw: BTreeMap<String, Spanned<String>>,
        knobs: &[Knob],
        source: SourceText<'_>,
    ) -> Result<Self, FileError> {
        let mut templates = BTreeMap::new();
        for (name, template) in raw {
            let span = template.span();
            let names: Vec<&str> = knobs.iter().map(|knob| knob.name.as_str()).collect();
            if !names.contains(&name.as_str()) {
                let unknown = UnknownName::new("concurrency".to_owned(), "knob", &name, &names);
                return Err(source.error(&span, unknown.to_string()));
            }
            templates.insert(name, template.into_inner());
            let all = Self(templates.clone());
            // Small, and as large as it gets.
            for (transfers, descriptors) in [(1, 1_024), (1_000_000, 20_000)] {
                all.values(knobs, transfers, descriptors, 2)
                    .map_err(|error| source.error(&span, error.to_string()))?;
            }
        }
        Ok(Self(templates))
    }

    /// The values for this many transfers at once, where a process may have this many descriptors.
    pub fn values(
        &self,
        knobs: &[Knob],
        transfers: u32,
        descriptors: u64,
        cpus: usize,
    ) -> Result<BTreeMap<String, TypedValue>, ConcurrencyKnobError> {
        let mut variables = TemplateVariables::default();
        variables.set("transfers", transfers);
        // A limit of a thousand million would make tables of that size.
        variables.set("descriptors", descriptors.min(1 << 20));
        variables.set("cpus", cpus);
        let value = |(name, template): (&String, &String)| {
            let wrong = |problem: String| ConcurrencyKnobError { knob: name.clone(), problem };
            let text = variables.render(template).map_err(|error| wrong(error.message))?;
            let knob = knobs.iter().find(|knob| knob.name == *name);
            let knob = knob.ok_or_else(|| wrong("there is no such knob".to_owned()))?;
            Ok((name.clone(), knob.parse(&text).map_err(|error| wrong(error.to_string()))?))
        };
        self.0.iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    #[test]
    fn workers_have_descriptors_for_all_transfers() {
        let workload = Catalogue::default().find("download").expect("a built-in workload");
        for server in ["nginx", "lighttpd"] {
            let server = workload.server(server).expect("a server");
            let number = |values: &BTreeMap<String, TypedValue>, name: &str| match values.get(name) {
                Some(TypedValue::Integer(number)) => *number,
                other => panic!("{name} is {other:?}"),
            };
            let [workers, connections] = match server.name.as_str() {
                "nginx" => ["worker_processes", "worker_connections"],
                _ => ["max_worker", "max_connections"],
            };
            let all = [1, 2_000, 50_000, 1_000_000].map(|transfers| (transfers, 20_000));
            for (transfers, descriptors) in all.into_iter().chain([(2_000, 192), (20_000, 960)]) {
                let values =
                    server.concurrency.values(&server.knobs, transfers, descriptors, 2).expect("values");
                let (workers, connections) = (number(&values, workers), number(&values, connections));
                assert!(workers * connections > i64::from(transfers), "{transfers}: {values:?}");
                assert!(connections < descriptors.cast_signed(), "{transfers}: {values:?}");
            }
        }
    }
}
