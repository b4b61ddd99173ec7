//! Plans that are right, and one mistake in each key.

use super::*;

const PLAN: &str = r#"
[balancer]
socket = "/run/haproxy/admin.sock"
backend = "web"
log = "127.0.0.1:5140"

[old]
servers = ["old1", "old2"]

[candidate]
name = "candidate"
address = "127.0.0.1:8081"

[control]
name = "control"
address = "127.0.0.1:8082"

[rules]
objective = "p99<200ms"
"#;

fn parse(text: &str) -> Result<ShiftPlan, PlanError> {
    ShiftPlan::parse(text, Path::new("plan.toml"), Overrides::default())
}

#[test]
fn a_short_plan_has_the_usual_numbers() {
    let plan = parse(PLAN).unwrap();
    let rules = plan.canary_rules().unwrap();
    assert_eq!(rules.steps.len(), 5);
    assert_eq!((rules.dwell_s, rules.longest_s, rules.margin, rules.alpha), (300, 3600, 1.25, 0.01));
    assert_eq!(
        rules.hard,
        HardLimits { failed: 0.02, late: 0.5, deferred: 0.5, queued_s: 600, objective_ms: 200 }
    );
    assert_eq!(plan.canary_participants().unwrap().control.as_ref().map(Name::as_str), Some("control"));
    // Of two old servers, two old servers' share is a half.
    assert_eq!(plan.ramp_rules().unwrap().multiples, [1.0, 1.5, 2.0]);
}

#[test]
fn an_objective_keeps_its_milliseconds() {
    for (text, objective_ms) in
        [("p99<1ms", 1), ("p99<1001ms", 1001), ("p99<0.57s", 570), ("p99<=60s", 60_000)]
    {
        let plan = parse(&PLAN.replace("p99<200ms", text)).unwrap();
        assert_eq!(plan.canary_rules().unwrap().hard.objective_ms, objective_ms, "{text}");
    }
}

#[test]
fn options_replace_keys() {
    let overrides = Overrides { dwell: Some(Duration::from_secs(7)), max_share: Some(0.01) };
    let plan = ShiftPlan::parse(PLAN, Path::new("plan.toml"), overrides).unwrap();
    let rules = plan.canary_rules().unwrap();
    assert_eq!((rules.dwell_s, rules.steps.len()), (7, 1));
    assert!(plan.ramp_rules().unwrap_err().to_string().starts_with("plan.toml:18: [rules] max_share: "));
}

/// What is replaced in the plan, by what, and a part of what is said about it.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "p99<200ms",
        "p99<200us",
        "plan.toml:19: [rules] objective: \"p99<200us\" is not one percentile of the response time in whole ms",
    ),
    ("p99<200ms", "p99<1.5ms", "\"p99<1.5ms\" is not one percentile of the response time in whole ms"),
    ("p99<200ms", "p99<200ms,errors<0.1%", "write it as hard_failed, such as hard_failed = \"0.1%\""),
    ("p99<200ms", "p99<200ms,p50<10ms", "[rules] objective: \"p99<200ms,p50<10ms\" is not one percentile"),
    ("p99<200ms\"", "p99<200ms\"\nmargin = 0.5", "plan.toml:20: [rules] margin: a ratio above 1"),
    ("p99<200ms\"", "p99<200ms\"\nsteps = [4, 1]", "[rules] steps: rising weights"),
    (
        "p99<200ms\"",
        "p99<200ms\"\ndwell = \"2h\"",
        "plan.toml:18: [rules] longest: a step has no time beyond its dwell",
    ),
    ("p99<200ms\"", "p99<200ms\"\nalpha = \"x\"", "plan.toml:20: [rules] alpha: \"x\" is not a percentage"),
    ("p99<200ms\"", "p99<200ms\"\nalpha = \"0.01\"", "with its sign: such as 2%"),
    ("p99<200ms\"", "p99<200ms\"\nalpha = \"100%\"", "[rules] alpha: every second alarm may be a false one"),
    ("p99<200ms\"", "p99<200ms\"\nhard_late = \"120%\"", "plan.toml:20: [rules] hard_late: \"120%\" is not"),
    ("p99<200ms\"", "p99<200ms\"\nhard_queued = \"5ms\"", "[rules] hard_queued: it is shorter than a second"),
    ("p99<200ms\"", "p99<200ms\"\ndwell = 5", "plan.toml:20: invalid type: integer `5`, expected a string"),
    (
        "backend = \"web\"",
        "backend = \"web\"\nlease = \"100ms\"",
        "plan.toml:5: [balancer] lease: it is shorter",
    ),
    ("/run/haproxy/admin.sock", "", "plan.toml:3: [balancer] socket: \"\" is not the path of a socket"),
    ("/run/haproxy/admin.sock", "127.0.0.1:9999", "[balancer] socket: \"127.0.0.1:9999\" is not the path"),
    (
        "127.0.0.1:8082",
        "127.0.0.1:8081",
        "plan.toml:16: [control] address: 127.0.0.1:8081 is the candidate's, too",
    ),
    ("[\"old1\", \"old2\"]", "\"old1\"", "plan.toml:8: invalid type: string \"old1\", expected a sequence"),
    ("p99<200ms\"", "p99<200ms\"\nmargn = 2", "unknown key \"margn\" (did you mean \"margin\"?"),
    (
        "127.0.0.1:8081",
        "8081",
        "plan.toml:12: [candidate] address: \"8081\" is not an IP address with a port",
    ),
    ("127.0.0.1:8081", "localhost:8081", "\"localhost:8081\" is not an IP address with a port"),
    ("\"old1\", \"old2\"", "", "[old] servers: name the servers"),
    ("\"control\"", "\"old1\"", "plan.toml:15: [control] name: old1 is named twice"),
    ("\"old2\"", "\"old1\"", "plan.toml:8: [old] servers: old1 is named twice"),
    ("backend = \"web\"", "backend = \"a;b\"", "[balancer] backend: \"a;b\" is no name"),
    ("127.0.0.1:5140", "10.0.0.1:514", "[balancer] log: \"10.0.0.1:514\" is no address for a log"),
    ("\"candidate\"", "\"c d\"", "[candidate] name: \"c d\" is no name"),
    ("\"old2\"", "\"old 2\"", "[old] servers: \"old 2\" is no name"),
    (
        "127.0.0.1:8081\"",
        "127.0.0.1:8081\"\nhealth = \"up\"",
        "plan.toml:13: [candidate] health: \"up\" is not a path such as /health",
    ),
    ("backend = \"web\"", "", "missing field `backend`"),
    ("p99<200ms\"", "p99<200ms\"\nhard_queued = \"0s\"", "[rules] hard_queued: "),
    (
        "127.0.0.1:8081\"",
        "127.0.0.1:8081\"\nmail_log = \"/new\"",
        "[control] mail_log: both servers are compared",
    ),
    (
        "127.0.0.1:8082\"",
        "127.0.0.1:8082\"\nmail_log = \"/new\"",
        "[candidate] mail_log: the log of the candidate is needed first",
    ),
];

#[test]
fn a_mistake_is_named_with_its_key_and_what_to_write() {
    for (from, to, text) in MISTAKES {
        let found = parse(&PLAN.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(found.contains(text), "{found} lacks {text}");
        assert_eq!(found.lines().count(), 1, "{found}");
    }
}

const LOGS: [(&str, &str); 3] = [
    ("127.0.0.1:8081\"", "127.0.0.1:8081\"\nmail_log = \"/new\"\nproxy_protocol = true"),
    ("127.0.0.1:8082\"", "127.0.0.1:8082\"\nmail_log = \"/fresh\""),
    ("\"old2\"]", "\"old2\"]\nmail_logs = [\"/old\"]"),
];

#[test]
fn a_plan_with_mail_logs_compares_more_and_asks_by_smtp() {
    let text = LOGS.iter().fold(PLAN.to_owned(), |text, (from, to)| text.replacen(from, to, 1));
    let plan = parse(&text).unwrap();
    let logs: Vec<(Option<&str>, &str)> = plan
        .mail
        .iter()
        .flat_map(|mail| &mail.logs)
        .map(|log| (log.server.as_ref().map(Name::as_str), log.file.to_str().unwrap()))
        .collect();
    assert_eq!(logs, [(Some("candidate"), "/new"), (Some("control"), "/fresh"), (None, "/old")]);
    assert_eq!(plan.candidate.probe, Probe::Smtp { sends_proxy_header: true, within_ms: GREETING_MS });
    assert!(plan.canary_rules().unwrap().is_mail);
    for (from, to, words) in [
        ("/fresh", "/new", "[control] mail_log: /new is named twice: give each server a log of its own"),
        ("/old\"", "/new\"", "[old] mail_logs: /new is named twice"),
        ("/new\"", "/new\"\nhealth = \"/\"", "[candidate] health: a mail server is asked by SMTP"),
    ] {
        let found = parse(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(found.contains(words), "{found} lacks {words}");
    }
}

#[test]
fn a_canary_needs_a_control_and_a_ramp_does_not() {
    let without = PLAN.replace("[control]\nname = \"control\"\naddress = \"127.0.0.1:8082\"\n", "");
    let plan = parse(&without).unwrap();
    let refused = plan.canary_participants().unwrap_err().to_string();
    assert!(
        refused.starts_with("plan.toml:1: [control]: a canary") && refused.ends_with("pass --ramp"),
        "{refused}"
    );
    assert_eq!(plan.ramp_participants().control, None);
}

#[test]
fn a_plan_that_was_spoiled_still_says_which_run_to_end() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("plan.toml");
    let spoiled = PLAN.replace("127.0.0.1:5140", "nowhere").replace("[rules]", "[rulez]");
    std::fs::write(&file, spoiled).unwrap();
    assert!(ShiftPlan::read(&file, Overrides::default()).is_err());
    let place = PlannedBackend::read(&file).unwrap();
    assert_eq!((place.socket, place.backend.as_str()), ("/run/haproxy/admin.sock".into(), "web"));
    std::fs::write(&file, PLAN.replace("backend = ", "backend_ = ")).unwrap();
    let missing = PlannedBackend::read(&file).unwrap_err().to_string();
    assert!(missing.contains("missing field `backend`"), "{missing}");
}

/// The page has each key of a plan, and no other.
#[test]
fn every_key_is_documented() {
    let page = include_str!("../../../../docs/LIVE-TRAFFIC.md");
    let (_, section) = page.split_once("## The plan").expect("the section");
    let section = section.split("\n## ").next().expect("its end");
    let rows =
        section.lines().filter_map(|line| line.strip_prefix("| `")).filter_map(|row| row.split('`').next());
    let documented: BTreeSet<&str> = rows.collect();
    let mut accepted = BTreeSet::new();
    for table in ["balancer", "old", "candidate", "control", "rules"] {
        // The parser lists the keys of a table where one does not exist.
        let text = PLAN.replace(&format!("[{table}]"), &format!("[{table}]\nno_such_key = 1"));
        let error = parse(&text).unwrap_err().to_string();
        let available = error.split_once("(available: ").and_then(|(_, rest)| rest.split_once(')'));
        let (keys, _) = available.unwrap_or_else(|| panic!("{error}"));
        accepted.extend(keys.split(", ").map(|key| format!("{table}.{key}")));
    }
    let accepted: BTreeSet<&str> = accepted.iter().map(String::as_str).collect();
    assert_eq!(documented, accepted);
}
