//! Which tunings a situation calls for, in which order, and why the others are not tried.

use workload::Catalogue;
use workload::definition::Workload;

use super::*;
use crate::catalogue::TuningCatalogue;

fn static_web() -> Workload {
    Catalogue::with("/nowhere").find("static-web").unwrap()
}

fn situation(server: &ServerDefinition) -> Situation<'_> {
    let mut variables = TemplateVariables::default();
    variables.set("cpus", 2);
    let knobs = server
        .knobs
        .iter()
        .filter_map(|knob| Some((knob.name.clone(), knob.default_value(&variables).ok()?.to_string())));
    let kernel = [("net.core.somaxconn", "4096"), ("net.ipv4.tcp_autocorking", "1")];
    let kernel = kernel.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Situation {
        server,
        values: knobs.chain(kernel).collect(),
        figures: [("server.kernel".to_owned(), 0.8), ("tcp.accepts".to_owned(), 0.0)].into(),
        cpus: 2,
        cpu_mask: Some("3".to_owned()),
        memory_mb: 16_384,
        nodes: 1,
        can_reserve_huge_pages: true,
        is_root: true,
        may_weaken_durability: false,
        may_weaken_security: false,
        allowed_kernel: Vec::new(),
    }
}

fn built_in(id: &str) -> Tuning {
    TuningCatalogue::built_in().all().iter().find(|tuning| tuning.id == id).unwrap().clone()
}

fn chosen(situation: &Situation<'_>) -> (Vec<String>, BTreeMap<String, String>) {
    let (candidates, not_tried) = choose(TuningCatalogue::built_in().all(), situation);
    let ids = candidates.iter().map(|candidate| candidate.tuning.id.clone()).collect();
    (ids, not_tried.into_iter().map(|not| (not.tuning, not.why)).collect())
}

#[test]
fn evidence_comes_first_and_what_nothing_calls_for_is_not_tried() {
    let workload = static_web();
    let nginx = workload.server("nginx").unwrap();
    let (ids, not) = chosen(&situation(nginx));
    assert_eq!(ids[0], "nginx-open-file-cache", "the kernel takes most of its time: {ids:?}");
    assert!(
        ids.contains(&"allocator".to_owned()) && ids.contains(&"kernel-tcp-autocorking".to_owned()),
        "{ids:?}"
    );
    assert!(!ids.iter().any(|id| id.starts_with("apache-")) && !not.contains_key("apache-mmap"));
    assert_eq!(
        not["nginx-keepalive-requests"],
        "nothing calls for it: tcp.accepts is 0, and it is tried where tcp.accepts is at least 10"
    );
    assert_eq!(not["nginx-sendfile"], "it is so already");
    assert_eq!(not["boot-mitigations"], "it needs a restart of the machine");
    assert!(not["nginx-access-log-buffer"].ends_with("pass --allow durability to try it"), "{not:?}");
    assert_eq!(not["kernel-huge-pages"], "this kernel has no /sys/kernel/mm/transparent_hugepage/enabled");
}

#[test]
fn what_a_machine_does_not_have_is_said() {
    let workload = static_web();
    let nginx = workload.server("nginx").unwrap();
    let poor = Situation { is_root: false, cpus: 1, ..situation(nginx) };
    let (_, not) = chosen(&poor);
    assert_eq!(not["kernel-tcp-autocorking"], "it needs root");
    assert_eq!(not["nginx-reuseport"], "it needs several CPUs for the server");
    assert_eq!(not["kernel-numa-balancing"], "it needs root");
    let asked = Situation { may_weaken_durability: true, ..situation(nginx) };
    let without_log = &chosen(&asked).1["nginx-access-log-buffer"];
    assert_eq!(without_log, "it changes something only with access_log=on: tune nginx:access_log=on");
    let logging = ("access_log".to_owned(), "on".to_owned());
    let values = asked.values.iter().map(|(name, value)| (name.clone(), value.clone())).chain([logging]);
    let asked = Situation { values: values.collect(), ..asked };
    assert!(chosen(&asked).0.contains(&"nginx-access-log-buffer".to_owned()));
}

#[test]
fn a_mask_names_the_server_s_cpus() {
    let mask = |cpus: &str| cpu_mask(&cpus.parse().expect("CPUs"));
    assert_eq!([mask("4-7"), mask("0,31"), mask("32")], [Some("f0".into()), Some("80000001".into()), None]);
}

#[test]
fn a_value_that_the_knob_does_not_accept_is_named() {
    let workload = static_web();
    let nginx = workload.server("nginx").unwrap();
    let mut wrong = built_in("nginx-open-file-cache");
    wrong.levels[0].set.insert("open_file_cache".to_owned(), "many".to_owned());
    let (candidates, not) = choose(&[wrong], &situation(nginx));
    assert!(candidates.is_empty());
    assert!(not[0].why.starts_with("open_file_cache: \"many\" is not a whole number"), "{}", not[0].why);
}

#[test]
fn a_tuning_for_this_server_with_a_knob_that_it_does_not_have_says_so() {
    let workload = static_web();
    let nginx = workload.server("nginx").unwrap();
    let mut wrong = built_in("nginx-open-file-cache");
    wrong.levels[0].set = [("open_file_cash".to_owned(), "1000".to_owned())].into();
    let (candidates, not) = choose(&[wrong], &situation(nginx));
    assert!(candidates.is_empty());
    assert_eq!(not[0].why, "nginx has no knob open_file_cash");
}

#[test]
fn a_user_s_own_knobs_are_tunings() {
    let workload = static_web();
    let nginx = workload.server("nginx").unwrap();
    let tunings = knobs_as_tunings(nginx, &situation(nginx).values);
    let of = |id: &str| {
        let tuning = tunings.iter().find(|tuning| tuning.id == id).unwrap();
        tuning.levels.iter().flat_map(|level| level.set.values().cloned()).collect::<Vec<_>>()
    };
    assert_eq!(of("knob-sendfile"), ["off"]);
    assert_eq!(of("knob-worker_processes"), ["1", "4"]);
    assert!(tunings.iter().all(|tuning| tuning.id != "knob-allocator"));
}

/// An implementation of one's own has the knobs of the others.
#[test]
fn a_user_s_knob_that_changes_the_work_is_no_tuning_and_durability_needs_consent() {
    let workload = Catalogue::with("/nowhere").find("olio").unwrap();
    let server = workload.server("olio-java").unwrap();
    let values = ["rows", "data_seed", "scale", "sessions", "geocoder_latency", "pool", "flush_at_commit"];
    let values = values.map(|name| (name.to_owned(), server.knob(name).unwrap().default.clone()));
    let here = Situation { values: values.into(), ..situation(server) };
    let tunings = knobs_as_tunings(server, &here.values);
    let names: Vec<&str> = tunings.iter().map(|tuning| tuning.id.as_str()).collect();
    assert_eq!(names, ["knob-flush_at_commit", "knob-pool"]);
    let (candidates, not_tried) = choose(&tunings, &here);
    assert!(candidates.iter().all(|candidate| candidate.tuning.id == "knob-pool"));
    assert!(not_tried[0].why.contains("pass --allow durability"), "{}", not_tried[0].why);
}

/// A worker of the other applications is a worker of the machine. One of Rails is a thread of each process, of which there are as many as CPUs.
#[test]
fn threads_of_each_process_do_not_grow_with_the_cpus() {
    assert!(!built_in("olio-application-workers").servers.contains(&"olio-rails".to_owned()));
    let threads = built_in("olio-rails-threads");
    let values: Vec<&str> =
        threads.levels.iter().map(|level| level.set["application_workers"].as_str()).collect();
    assert_eq!((threads.servers, values), (vec!["olio-rails".to_owned()], vec!["2", "4"]));
}
