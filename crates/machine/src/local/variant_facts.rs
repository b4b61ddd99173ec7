//! The facts of running instances, as the archive has them. What a difference between two variants means is left to
//! `bakeoff`.

use std::collections::BTreeMap;

use archive::model::{COMPANION_FACTS, KnobValue, VariantFacts};
use host::process::ProcessTree;
use host::{Host, secrets};
use workload::{Instance, Instances, TypedValue};

/// A workload's knob value as the archive has it.
pub fn knob_value(value: &TypedValue) -> KnobValue {
    match value {
        TypedValue::Switch(on) => KnobValue::Flag(*on),
        TypedValue::Integer(number) => KnobValue::Integer(*number),
        TypedValue::Number(number) => KnobValue::Number(*number),
        TypedValue::Text(text) => KnobValue::Text(text.clone()),
    }
}

/// The facts of a companion of the first instance, named after it. Others should be alike.
fn companion_facts(host: &Host, name: &str, companion: &Instance) -> BTreeMap<String, String> {
    let server = companion.facts();
    let leader = companion.tree().leader();
    let process = leader.and_then(|process| host.process_facts(process.pid)).unwrap_or_default();
    let mut facts = process.flat();
    // Addresses and directories differ at every start.
    facts.retain(|key, _| !key.contains("command_line"));
    facts.extend(server.further);
    facts.insert("version".to_owned(), server.version);
    facts.insert("build".to_owned(), server.build);
    facts.retain(|_, value| !value.is_empty());
    facts.into_iter().map(|(key, value)| (format!("{COMPANION_FACTS}{name}.{key}"), value)).collect()
}

/// The facts of these instances of the variant with this name, which run with these kernel settings.
pub fn variant_facts(
    host: &Host,
    instances: &Instances,
    name: &str,
    kernel_settings: &[(String, String)],
) -> VariantFacts {
    let first = instances.first();
    let server = first.facts();
    let of_tree = |tree: ProcessTree| {
        tree.leader().and_then(|process| host.process_facts(process.pid)).unwrap_or_default()
    };
    let mut processes = instances.own_trees().into_iter().map(of_tree);
    let process = processes.next().unwrap_or_default();
    let mut facts = process.flat();
    if instances.have_own_cpus() {
        // A user who may not have control groups divides by affinity alone.
        facts.entry("zone".to_owned()).or_insert_with(|| "affinity".to_owned());
    }
    // Instances should be alike: facts in which one differs are listed with its number.
    for (number, other) in (2..).zip(processes) {
        let own = other.flat().into_iter().filter(|(key, value)| facts.get(key) != Some(value));
        let own: Vec<_> = own.map(|(key, value)| (format!("instance {number}.{key}"), value)).collect();
        facts.extend(own);
    }
    // These have fields of their own, because a difference in them invalidates a comparison.
    facts.retain(|key, _| !key.starts_with("allocator") && key != "libc" && !key.contains("command_line"));
    facts.extend(server.further);
    for (part, companion) in first.companions() {
        facts.extend(companion_facts(host, part, companion));
    }
    for value in facts.values_mut() {
        *value = secrets::mask_text(value);
    }
    // Every trial has its own directory: a knob that contains its path is the same on all sides.
    // A default may contain a password.
    let directory = first.directory().display().to_string();
    let to_record = |value: KnobValue| match value {
        KnobValue::Text(text) => KnobValue::Text(secrets::mask_text(&text.replace(&directory, "{{ dir }}"))),
        other => other,
    };
    let knobs = first.knobs().iter().map(|(name, value)| (name.clone(), to_record(knob_value(value))));
    let kernel_settings = kernel_settings.iter().map(|(name, text)| (name.clone(), text.as_str().into()));
    VariantFacts {
        name: name.to_owned(),
        version: server.version,
        build: server.build,
        allocator: process.allocator.map(|allocator| allocator.name).unwrap_or_default(),
        libc: process.libc.unwrap_or_default(),
        knobs: knobs.chain(kernel_settings).collect(),
        config: Vec::new(),
        facts,
    }
}
