//! In what the sides differ, and what each difference means for the comparison.
//!
//! A result of 2006 shrank from 8× to 4.5× once both sides used the same allocator. So every fact in which
//! the variants differ is named beside the verdict, and those that make a comparison one of apples with
//! oranges are called that.

use std::collections::{BTreeMap, BTreeSet};

use archive::model::{Difference, DifferenceClass, Facts, Plan, VariantFacts};

/// Facts whose difference means that one side does less, or does it with other means.
const APPLES_TO_ORANGES: &[(&str, &str)] = &[
    (
        "allocator",
        "another allocator can be worth tens of per cent by itself: give both sides the same, or compare allocators",
    ),
    ("libc", "another C library brings another allocator, memcpy and locks"),
    ("preload", "a library is preloaded on one side only"),
    ("durability", "one side keeps data that the other may lose"),
    ("appendonly", "one side writes every change to disk, the other does not"),
    ("appendfsync", "the sides promise different durability"),
    ("access_log", "one side writes a log line for each request, the other does not"),
];

/// Facts that follow from comparing different servers.
const EXPECTED_OF_OTHER_SERVERS: &[&str] =
    &["version", "build", "executable", "argv", "cmdline", "package", "name", "digest", "knobs.", "config"];

/// Facts that differ from start to start and mean nothing.
const INCIDENTAL: &[&str] = &["pid", "started", "port", "dir", "cwd"];

/// All differences between the variants, the weightiest first.
pub fn differences(plan: &Plan, facts: &Facts) -> Vec<Difference> {
    let sides: Vec<(String, BTreeMap<String, String>)> =
        facts.variants.iter().map(|variant| (variant.name.clone(), flat(variant))).collect();
    let keys: BTreeSet<&String> = sides.iter().flat_map(|(_, facts)| facts.keys()).collect();
    let servers: BTreeSet<&str> = plan.variants.iter().map(|variant| variant.server.as_str()).collect();
    let varied: BTreeSet<&str> =
        plan.variants.iter().flat_map(|variant| variant.knobs.keys()).map(String::as_str).collect();
    let mut found: Vec<Difference> = keys
        .into_iter()
        .filter(|key| !INCIDENTAL.iter().any(|word| key.split('.').any(|part| part == *word)))
        .filter_map(|key| {
            let values: BTreeMap<String, String> = sides
                .iter()
                .filter_map(|(name, facts)| Some((name.clone(), facts.get(key)?.clone())))
                .collect();
            let distinct: BTreeSet<&String> = values.values().collect();
            let differs = distinct.len() > 1 || (values.len() < sides.len() && servers.len() == 1);
            let (class, remark) = classify(key, servers.len() > 1, &varied);
            let values = without_common_lines(&values);
            differs.then(|| Difference { key: key.clone(), values, class, remark })
        })
        .collect();
    found.sort_by(|a, b| (a.class, &a.key).cmp(&(b.class, &b.key)));
    found
}

/// What a program says of its build takes a page, of which a line differs: only such lines are kept, on one.
fn without_common_lines(values: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let is_common = |line: &str| values.values().all(|text| text.lines().any(|other| other == line));
    values
        .iter()
        .map(|(name, text)| {
            let own: Vec<&str> = text.lines().filter(|line| !is_common(line)).map(str::trim).collect();
            (name.clone(), own.join("; "))
        })
        .collect()
}

fn flat(variant: &VariantFacts) -> BTreeMap<String, String> {
    let mut flat = variant.facts.clone();
    for (name, value) in [
        ("version", &variant.version),
        ("build", &variant.build),
        ("allocator", &variant.allocator),
        ("libc", &variant.libc),
    ] {
        if !value.is_empty() {
            flat.insert(name.to_owned(), value.clone());
        }
    }
    for (knob, value) in &variant.knobs {
        flat.insert(format!("knobs.{knob}"), value.to_string());
    }
    flat
}

fn classify(key: &str, other_servers: bool, varied: &BTreeSet<&str>) -> (DifferenceClass, String) {
    let knob = key.strip_prefix("knobs.");
    if knob.is_some_and(|knob| varied.contains(knob)) {
        return (DifferenceClass::TheVariantItself, "this is what is compared".to_owned());
    }
    let grave = APPLES_TO_ORANGES
        .iter()
        .find(|(word, _)| key.split(['.', '_']).any(|part| part == *word) || knob == Some(word));
    if let Some((_, remark)) = grave {
        return (DifferenceClass::ApplesToOranges, (*remark).to_owned());
    }
    if other_servers && EXPECTED_OF_OTHER_SERVERS.iter().any(|start| key.starts_with(start)) {
        return (DifferenceClass::Expected, "the servers are different programs".to_owned());
    }
    (
        DifferenceClass::Unexplained,
        "nobody asked for this difference: see whether it can be removed".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(name: &str, facts: &[(&str, &str)]) -> VariantFacts {
        let flat = facts.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        VariantFacts { name: name.to_owned(), facts: flat, ..VariantFacts::default() }
    }

    #[test]
    fn what_was_not_asked_for_is_named_and_an_allocator_is_called_what_it_is() {
        let class = |key, other| classify(key, other, &BTreeSet::from(["mpm"])).0;
        assert_eq!(class("knobs.mpm", false), DifferenceClass::TheVariantItself);
        assert_eq!(class("allocator", true), DifferenceClass::ApplesToOranges);
        assert_eq!(class("version", true), DifferenceClass::Expected);
        assert_eq!(class("version", false), DifferenceClass::Unexplained);
    }

    #[test]
    fn of_a_page_of_text_only_the_lines_that_differ_are_shown() {
        let values = [("a", "Server: 2.4\n  MPM: event\n"), ("b", "Server: 2.4\n  MPM: worker\n")];
        let values = values.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let shown = without_common_lines(&values);
        assert_eq!((shown["a"].as_str(), shown["b"].as_str()), ("MPM: event", "MPM: worker"));
    }

    #[test]
    fn what_is_the_same_on_both_sides_is_no_difference() {
        let (a, b) = (
            variant("a", &[("kernel", "6.1"), ("pid", "7")]),
            variant("b", &[("kernel", "6.1"), ("pid", "8")]),
        );
        assert_eq!(flat(&a)["kernel"], flat(&b)["kernel"]);
    }
}
