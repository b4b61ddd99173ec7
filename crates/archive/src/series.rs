//! Series: runs that ask one question at different times. The key of a series is made of what decides what a run measures; what may change
//! from one run to the next, such as a kernel, a version or the number of blocks, is a fact of a run and not part of the key.

use serde::Serialize;
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, fmt::Write};

use crate::model::{Axis, KnobValue, Measure, Plan, PlannedBackground, RunKind};

/// Bytes of the digest in a key. Two series of one archive with the same key are not to be expected.
const KEY_BYTES: usize = 8;

/// What decides what a run measures.
#[derive(Serialize)]
struct SeriesQuestion<'p> {
    kind: RunKind,
    workload: &'p str,
    on_op: Option<&'p str>,
    measure: &'p Measure,
    connections: u32,
    background: Option<&'p PlannedBackground>,
    variants: Vec<SeriesVariant<'p>>,
    sweep: &'p [Axis],
}

/// What decides what a variant is.
#[derive(Serialize)]
struct SeriesVariant<'p> {
    name: &'p str,
    server: &'p str,
    /// The kind of its machine; the name of the machine where the plan says no kind; none of this machine.
    host: Option<&'p str>,
    knobs: &'p BTreeMap<String, KnobValue>,
}

/// The key of the series of a plan, 16 hexadecimal digits: the same for all runs with the same workload, measure, load and variants
/// with their knobs, on the same kinds of hosts.
pub fn series_key(plan: &Plan) -> String {
    let mut variants = Vec::new();
    for variant in &plan.variants {
        let host = plan.host_of(variant).map(|host| host.kind.as_deref().unwrap_or(&host.name));
        let (name, server, knobs) = (variant.name.as_str(), variant.server.as_str(), &variant.knobs);
        variants.push(SeriesVariant { name, server, host, knobs });
    }
    let question = SeriesQuestion {
        kind: plan.kind,
        workload: &plan.workload,
        on_op: plan.on_op.as_deref(),
        measure: &plan.measure,
        connections: plan.load.connections,
        background: plan.background.as_ref(),
        variants,
        sweep: &plan.sweep,
    };
    let text = serde_json::to_vec(&question).unwrap_or_default();
    let mut key = String::new();
    for byte in &Sha256::digest(&text)[..KEY_BYTES] {
        let _ = write!(key, "{byte:02x}");
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Run, example};

    #[test]
    fn a_repetition_is_of_the_series_and_another_question_is_not() {
        let root = tempfile::tempdir().unwrap();
        let id = example::comparison(root.path(), 2).unwrap();
        let plan = Run::open(&root.path().join(id.as_str())).unwrap().plan.unwrap();
        let key = series_key(&plan);
        assert!(key.len() == 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit()), "{key}");
        let later = Plan {
            seed: plan.seed ^ 1,
            blocks: plan.blocks + 5,
            showdown: "9.9.9".to_owned(),
            tags: vec!["nightly".to_owned()],
            ..plan.clone()
        };
        assert_eq!(series_key(&later), key);
        let mut tuned = plan.clone();
        tuned.variants[0].knobs.insert("workers".to_owned(), KnobValue::Integer(4));
        let measured = Plan { measure: Measure::MaxThroughput, ..plan.clone() };
        let mut busier = plan.clone();
        busier.load.connections += 1;
        let mut reversed = plan.clone();
        reversed.variants.reverse();
        for other in [tuned, measured, busier, reversed] {
            assert_ne!(series_key(&other), key, "{other:?}");
        }
    }
}
