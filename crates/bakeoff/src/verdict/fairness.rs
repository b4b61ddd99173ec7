//! The fairness audit: the facts in which the variants differ, and what each difference means for the comparison.
//!
//! A result of 2006 shrank from 8× to 4.5× once both sides used the same allocator. So the report lists every fact in
//! which the variants differ, and marks those that make the comparison one of apples with oranges.

use std::collections::{BTreeMap, BTreeSet};

use archive::model::{COMPANION_FACTS, Difference, DifferenceClass, Facts, OneSidedTuning, Plan, Variant};
use workload::{BINARY, BUILD_KNOBS};

use crate::machines::differences::machine_differences;
use crate::machines::shared_kernel::are_on_different_machines;

/// Facts whose difference means that one side does less work, or does it by other means.
const APPLES_TO_ORANGES: &[(&str, &str)] = &[
    (
        "allocator",
        "the allocator alone can change throughput by tens of percent: use the same one on both sides, or compare allocators",
    ),
    ("libc", "the C libraries differ in allocator, memcpy and locks: use the same one on both sides"),
    ("preload", "the preloaded libraries differ: preload the same on both sides"),
    ("durability", "the sides differ in what data they lose in a crash: set the same durability"),
    ("appendonly", "one side writes every change to disk and the other does not: set the same durability"),
    ("appendfsync", "the sides write to disk at different intervals: set the same durability"),
    (
        "access_log",
        "one side writes a log line for each request and the other does not: log on both sides or on neither",
    ),
];

/// Facts that are expected to differ between different servers.
const EXPECTED_OF_OTHER_SERVERS: &[&str] =
    &["version", "build", "executable", "argv", "cmdline", "package", "name", "digest", "knobs.", "config"];

/// Facts that follow from the program of a server.
const OF_BINARY: &[&str] = &["version", "build", "executable", "binary", "package"];

/// The path of the program that runs.
const EXECUTABLE: &str = "executable";

/// Facts that differ at every start and do not matter.
const INCIDENTAL: &[&str] = &["pid", "started", "port", "dir", "cwd"];

/// Facts of a process that follow from its machine, which has facts of its own.
const OF_CPUS: &[&str] = &["status.Cpus_allowed_list", "status.Mems_allowed_list"];

/// All differences between the variants, the most serious first.
pub fn differences(plan: &Plan, facts: &Facts) -> Vec<Difference> {
    let sides: Vec<(String, BTreeMap<String, String>)> =
        facts.variants.iter().map(|variant| (variant.name.clone(), variant.flat())).collect();
    let on_machines = are_on_different_machines(plan, facts);
    let keys: BTreeSet<&String> = sides.iter().flat_map(|(_, facts)| facts.keys()).collect();
    let servers: BTreeSet<&str> = plan.variants.iter().map(|variant| variant.server.as_str()).collect();
    let varied = varied_knobs(&plan.variants);
    let builds = build_knobs(&plan.variants, facts);
    let mut differences: Vec<Difference> = keys
        .into_iter()
        .filter(|key| !(on_machines && OF_CPUS.contains(&fact_of(key))))
        .filter(|key| !INCIDENTAL.iter().any(|word| key.split('.').any(|part| part == *word)))
        .filter_map(|key| {
            let values: BTreeMap<String, String> = sides
                .iter()
                .filter_map(|(name, facts)| Some((name.clone(), facts.get(key)?.clone())))
                .collect();
            let distinct: BTreeSet<&String> = values.values().collect();
            let differs = distinct.len() > 1 || (values.len() < sides.len() && servers.len() == 1);
            let values = without_common_lines(&values);
            let (class, remark) = if let Some(knob) = knob_that_explains(&values, &plan.variants) {
                (DifferenceClass::TheVariantItself, format!("it follows from {knob}"))
            } else {
                let (fact, are_other_programs) = match of_companion(key) {
                    None => (key.as_str(), servers.len() > 1),
                    Some((companion, fact)) => (fact, are_other_programs(companion, &sides)),
                };
                classify(fact, are_other_programs, &varied, builds.first().copied())
            };
            differs.then(|| Difference { key: key.clone(), values, class, remark })
        })
        .collect();
    differences.extend(machine_differences(plan, facts));
    differences.extend(plan.one_sided.iter().map(|one| of_tuning(one, plan)));
    differences.sort_by(|a, b| (a.class, &a.key).cmp(&(b.class, &b.key)));
    differences
}

/// The companion that a fact is of, and the fact; none for a fact of the server itself.
fn of_companion(key: &str) -> Option<(&str, &str)> {
    key.strip_prefix(COMPANION_FACTS)?.split_once('.')
}

/// A fact without the companion that it is of.
fn fact_of(key: &str) -> &str {
    of_companion(key).map_or(key, |(_, fact)| fact)
}

/// Whether the sides have different programs as the companion of this name: an application in two languages.
fn are_other_programs(companion: &str, sides: &[(String, BTreeMap<String, String>)]) -> bool {
    let key = format!("{COMPANION_FACTS}{companion}.executable");
    let programs: BTreeSet<&String> = sides.iter().filter_map(|(_, facts)| facts.get(&key)).collect();
    programs.len() > 1
}

/// A tuning that one variant has. What was tried on the other and does not gain there follows from what is compared.
fn of_tuning(one: &OneSidedTuning, plan: &Plan) -> Difference {
    let value = |variant: &Variant| if variant.name == one.variant { "kept" } else { "not kept" };
    let values = plan.variants.iter().map(|variant| (variant.name.clone(), value(variant).to_owned()));
    Difference {
        key: format!("tuning.{}", one.tuning),
        values: values.collect(),
        class: if one.was_tried { DifferenceClass::Expected } else { DifferenceClass::Unexplained },
        remark: format!("{} has this tuning, the other has not: {}", one.variant, one.why),
    }
}

/// A program's build information takes a page, and one line of it differs: keeps the lines that differ, on one line.
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

/// The knob that the variants differ in, and whose value stands in this fact of each of them: the build of Apache names
/// its MPM.
fn knob_that_explains<'a>(values: &BTreeMap<String, String>, variants: &'a [Variant]) -> Option<&'a str> {
    /// A shorter value, such as `2` or `on`, stands in many texts by chance.
    const SHORTEST: usize = 4;
    let knobs = variants.first()?.knobs.keys();
    let names_it = |knob: &&String| {
        variants.iter().all(|variant| {
            let value = variant.knobs.get(*knob).map(ToString::to_string);
            let text = values.get(&variant.name);
            value.zip(text).is_some_and(|(value, text)| {
                value.len() >= SHORTEST
                    && text.split(|c: char| !c.is_alphanumeric()).any(|word| word == value)
            })
        })
    };
    knobs.filter(|_| variants.len() > 1).find(names_it).map(String::as_str)
}

/// The knobs that variants set.
fn varied_knobs(variants: &[Variant]) -> BTreeSet<&str> {
    variants.iter().flat_map(|variant| variant.knobs.keys()).map(String::as_str).collect()
}

/// The knobs that variants set and whose values are builds of one program: `binary`, those that the workload has for programs and images,
/// and those whose value is the executable of each variant.
pub(super) fn build_knobs<'p>(variants: &'p [Variant], facts: &Facts) -> Vec<&'p str> {
    let mut builds = Vec::new();
    for knob in varied_knobs(variants) {
        let (mut is_listed, mut are_executables) = (false, true);
        for variant in variants {
            let listed = fact_of_variant(facts, variant, BUILD_KNOBS).unwrap_or_default();
            is_listed |= listed.split(", ").any(|listed| listed == knob);
            let value = variant.knobs.get(knob).map(ToString::to_string);
            are_executables &=
                value.is_some() && value.as_deref() == fact_of_variant(facts, variant, EXECUTABLE);
        }
        if knob == BINARY || is_listed || are_executables {
            builds.push(knob);
        }
    }
    builds
}

fn fact_of_variant<'f>(facts: &'f Facts, variant: &Variant, key: &str) -> Option<&'f str> {
    let of_variant = facts.variants.iter().find(|facts| facts.name == variant.name)?;
    of_variant.facts.get(key).map(String::as_str)
}

/// What a difference of this fact means. `build` is the knob by which the variants are other builds of one program, if there is one.
fn classify(
    key: &str,
    other_servers: bool,
    varied: &BTreeSet<&str>,
    build: Option<&str>,
) -> (DifferenceClass, String) {
    let knob = key.strip_prefix("knobs.");
    if knob.is_some_and(|knob| varied.contains(knob)) {
        return (DifferenceClass::TheVariantItself, "this is what the comparison is about".to_owned());
    }
    if let Some(build) = build
        && OF_BINARY.iter().any(|start| key.starts_with(start))
    {
        return (DifferenceClass::TheVariantItself, format!("it follows from {build}"));
    }
    let apples_to_oranges = APPLES_TO_ORANGES
        .iter()
        .find(|(word, _)| key.split(['.', '_']).any(|part| part == *word) || knob == Some(word));
    if let Some((_, remark)) = apples_to_oranges {
        return (DifferenceClass::ApplesToOranges, (*remark).to_owned());
    }
    if other_servers && EXPECTED_OF_OTHER_SERVERS.iter().any(|start| key.starts_with(start)) {
        return (DifferenceClass::Expected, "expected: the servers are different programs".to_owned());
    }
    (
        DifferenceClass::Unexplained,
        "the plan does not ask for this difference: remove it if you can".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use archive::model::VariantFacts;

    use super::*;
    use crate::testing::plan::PLAN;

    fn variant(name: &str, facts: &[(&str, &str)]) -> VariantFacts {
        let flat = facts.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        VariantFacts { name: name.to_owned(), facts: flat, ..VariantFacts::default() }
    }

    #[test]
    fn differences_are_classified_by_what_they_mean() {
        let class = |key, other| classify(key, other, &BTreeSet::from(["mpm"]), None).0;
        assert_eq!(class("knobs.mpm", false), DifferenceClass::TheVariantItself);
        assert_eq!(class("allocator", true), DifferenceClass::ApplesToOranges);
        assert_eq!(class("version", true), DifferenceClass::Expected);
        assert_eq!(class("version", false), DifferenceClass::Unexplained);
        let of_builds = |key| classify(key, false, &BTreeSet::from(["binary"]), Some("binary")).0;
        for key in ["knobs.binary", "version", "build_id", "binary.sha256"] {
            assert_eq!(of_builds(key), DifferenceClass::TheVariantItself, "{key}");
        }
        assert_eq!(of_builds("allocator"), DifferenceClass::ApplesToOranges);
    }

    /// Two variants of `shop` that differ in one knob, and facts of other builds.
    fn of_builds(knob: &str, values: [&str; 2], executables: [&str; 2], listed: &str) -> (Plan, Facts) {
        let mut plan: Plan = PLAN.parse().expect("a plan");
        let mut facts = Facts::default();
        for (variant, (value, executable)) in
            plan.variants.iter_mut().zip(values.into_iter().zip(executables))
        {
            variant.server = "shop".to_owned();
            variant.knobs.insert(knob.to_owned(), value.into());
            let seen = [(EXECUTABLE, executable), ("build_id", value), (BUILD_KNOBS, listed)];
            facts.variants.push(self::variant(&variant.name, &seen));
        }
        (plan, facts)
    }

    #[test]
    fn what_follows_from_a_program_or_an_image_of_the_workloads_own_is_explained() {
        let (old, new) = ("/srv/shop-old", "/srv/shop-new");
        let images = ["registry.example/api:1", "registry.example/api:2"];
        for (knob, values, executables, listed) in [
            ("program", [old, new], [old, new], ""),
            ("program", [old, new], ["/usr/bin/java", "/opt/bin/java"], "binary, program"),
            ("image", images, ["/app/api", "/api"], "image"),
        ] {
            let (plan, facts) = of_builds(knob, values, executables, listed);
            let found = differences(&plan, &facts);
            for key in [EXECUTABLE, "build_id"] {
                let one = found.iter().find(|difference| difference.key == key).expect("it differs");
                assert_eq!(
                    (one.class, one.remark.as_str()),
                    (DifferenceClass::TheVariantItself, &*format!("it follows from {knob}"))
                );
            }
        }
        let (plan, facts) = of_builds("threads", ["4", "8"], ["/app/api", "/api"], "image");
        let found = differences(&plan, &facts);
        let one = found.iter().find(|difference| difference.key == "build_id").expect("it differs");
        assert_eq!(one.class, DifferenceClass::Unexplained, "another knob explains no other build");
    }

    #[test]
    fn a_fact_that_names_the_value_of_a_knob_follows_from_it() {
        let variant = |mpm: &str| Variant {
            name: mpm.to_owned(),
            server: "apache".to_owned(),
            host: None,
            knobs: [("mpm".to_owned(), mpm.into())].into(),
        };
        let variants = [variant("event"), variant("prefork")];
        let values = |texts: [&str; 2]| {
            variants
                .each_ref()
                .map(|variant| variant.name.clone())
                .into_iter()
                .zip(texts.map(str::to_owned))
                .collect()
        };
        let build = values(["Server MPM: event", "Server MPM: prefork; forked: yes"]);
        assert_eq!(knob_that_explains(&build, &variants), Some("mpm"));
        assert_eq!(knob_that_explains(&values(["gcc 12", "gcc 13"]), &variants), None);
        assert_eq!(knob_that_explains(&build, &variants[..1]), None);
    }

    #[test]
    fn only_the_lines_that_differ_are_kept() {
        let values = [("a", "Server: 2.4\n  MPM: event\n"), ("b", "Server: 2.4\n  MPM: worker\n")];
        let values = values.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let shown = without_common_lines(&values);
        assert_eq!((shown["a"].as_str(), shown["b"].as_str()), ("MPM: event", "MPM: worker"));
    }

    #[test]
    fn a_tuning_that_one_side_got_is_named_and_explained_where_it_was_tried_on_the_other() {
        let mut plan: Plan = PLAN.parse().expect("a plan");
        let one = |tuning: &str, was_tried| OneSidedTuning {
            tuning: tuning.to_owned(),
            variant: "nginx".to_owned(),
            why: "it does not gain 1 %".to_owned(),
            was_tried,
        };
        plan.one_sided = vec![one("allocator", true), one("kernel-rps", false)];
        let found = differences(&plan, &Facts::default());
        let of = |key: &str| found.iter().find(|difference| difference.key == key).expect("it is named");
        assert_eq!(of("tuning.allocator").class, DifferenceClass::Expected);
        assert_eq!(of("tuning.kernel-rps").class, DifferenceClass::Unexplained);
        assert_eq!(of("tuning.allocator").values["apache"], "not kept");
    }

    fn of_shop(name: &str, database: &str, application: &str) -> VariantFacts {
        let facts = [
            ("companion.database.executable", "/usr/sbin/mariadbd"),
            ("companion.database.version", database),
            ("companion.application.executable", application),
            ("companion.application.version", application),
            ("companion.application.allocator.name", application),
        ];
        variant(name, &facts)
    }

    #[test]
    fn one_database_of_two_versions_is_unexplained_and_an_application_in_two_languages_is_expected() {
        let plan: Plan = PLAN.parse().expect("a plan");
        let variants = vec![of_shop("nginx", "10.11", "/bin/php"), of_shop("apache", "11.4", "/bin/ruby")];
        let found = differences(&plan, &Facts { variants, ..Facts::default() });
        let class =
            |key: &str| found.iter().find(|difference| difference.key == key).map(|found| found.class);
        assert_eq!(class("companion.database.executable"), None);
        assert_eq!(class("companion.database.version"), Some(DifferenceClass::Unexplained));
        assert_eq!(class("companion.application.version"), Some(DifferenceClass::Expected));
        assert_eq!(class("companion.application.allocator.name"), Some(DifferenceClass::ApplesToOranges));
    }

    #[test]
    fn equal_facts_are_no_difference() {
        let (a, b) = (
            variant("a", &[("kernel", "6.1"), ("pid", "7")]),
            variant("b", &[("kernel", "6.1"), ("pid", "8")]),
        );
        assert_eq!(a.flat()["kernel"], b.flat()["kernel"]);
    }
}
