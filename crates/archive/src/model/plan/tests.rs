//! What a plan file may have, and how its mistakes are reported.

use std::time::Duration;

use super::*;

const PLAN: &str = r#"
format = 2
showdown = "0.1.0"
command = ["showdown", "sweep", "memcached", "--vary", "threads=1,2", "--vary", "connections=1..1024"]
kind = "sweep"
workload = "cache"
length = "quick"
seed = 4028743217
blocks = 3

[measure]
metric = "capacity"
slo = "p99<2ms"

[load]
connections = 64
threads = 1

[cpus]
server = "0"
client = "1"

[warm_up]
min = "1s"
max = "30s"

[phases]
closed_loop = "2s"
search_step = "1s 500ms"
measure = "5s"
curve_step = "2s"

[[variants]]
name = "memcached"
server = "memcached"
knobs = { threads = 2, hash = "murmur3", cas = false, factor = 1.25 }

[[sweep]]
vary = "threads"
values = [1, 2]

[[sweep]]
vary = "connections"
values = [1, 2, 4, 8]
"#;

#[test]
fn a_plan_reads_back_from_what_it_writes() {
    let plan: Plan = PLAN.parse().unwrap();
    let again: Plan = toml::to_string(&plan).unwrap().parse().unwrap();
    assert_eq!(plan, again);
    let in_seconds = PLAN.replace("\"1s\"", "\"1\"").replace("\"30s\"", "\"30\"");
    assert_eq!(in_seconds.parse(), Ok(plan.clone()), "a number alone is seconds");
    assert_eq!(plan.sweep[0].vary, Vary::Knob("threads".into()));
    assert_eq!(plan.sweep[1].vary, Vary::Connections);
    assert_eq!(plan.phases.search_step, Duration::from_millis(1500));
    assert_eq!(plan.variants[0].knobs["hash"], KnobValue::Text("murmur3".into()));
    assert_eq!(plan.measure.slo(), Some("p99<2ms"));
}

#[test]
fn machines_read_back_and_a_plan_without_them_has_none() {
    let local: Plan = PLAN.parse().unwrap();
    assert!(local.hosts.is_empty() && local.is_here(&local.variants[0]));
    let host = PlannedHost {
        name: "old".to_owned(),
        ssh: Some("ops@old".to_owned()),
        address: "10.1.0.5".to_owned(),
        kind: None,
        cpus: Some("0-3".to_owned()),
        become_root: Some("sudo -n".to_owned()),
    };
    let variant = Variant { host: Some("old".to_owned()), ..local.variants[0].clone() };
    let remote = Plan { hosts: vec![host], variants: vec![variant], ..local };
    assert!(!remote.is_here(&remote.variants[0]));
    assert_eq!(toml::to_string(&remote).unwrap().parse(), Ok(remote));
}

#[test]
fn a_measure_that_replaced_another_reads_back() {
    let capacity = "metric = \"capacity\"\nslo = \"p99<2ms\"";
    let open = PLAN.replace(capacity, "metric = \"cpu_time\"").parse::<Plan>().unwrap();
    assert_eq!(open.measure, Measure::CpuTime { rate_per_s: None });
    let replaced = ReplacedMeasure { metric: "capacity".to_owned(), why: "the client".to_owned() };
    let decided = Plan {
        measure: Measure::CpuTime { rate_per_s: Some(17_000.0) },
        replaced: Some(replaced),
        fallback: Some(FallbackMeasure::CpuTime),
        ..open
    };
    assert_eq!(toml::to_string(&decided).unwrap().parse(), Ok(decided));
}

#[test]
fn an_unknown_key_is_refused_with_its_line() {
    let message = PLAN.replace("blocks = 3", "blockz = 3").parse::<Plan>().unwrap_err().to_string();
    assert!(message.starts_with("line 9: unknown key \"blockz\" (did you mean \"blocks\"?"), "{message}");
}

#[test]
fn a_plan_of_format_1_is_read_and_a_later_one_is_refused_by_its_number() {
    let old = PLAN
        .replace("format = 2", "format = 1")
        .replace("metric = ", "what = ")
        .replace("min = ", "least = ")
        .replace("max = ", "most = ");
    assert_eq!(old.parse(), PLAN.parse::<Plan>());
    let error = old.replace("blocks = 3", "blockz = 3").parse::<Plan>().unwrap_err();
    assert!(error.to_string().contains("unknown field `blockz`"), "{error}");
    let error = PLAN.replace("format = 2", "format = 3").parse::<Plan>().unwrap_err();
    assert!(error.to_string().starts_with("written in format 3"), "{error}");
}
