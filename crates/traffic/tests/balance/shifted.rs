//! Weight is shifted, seen in counters and log, and given back.

use traffic::balancer::interface::Balancer;
use traffic::control::{self, AddedStatus};
use traffic::observation::{Action, Alarm, Change, ServerState, ServerWindow};

use crate::lab::{Lab, eventually, name, observe_until, set};

#[test]
fn weight_is_shifted_and_counted_and_nothing_is_left() {
    let lab = Lab::start();
    let mut live = lab.open().unwrap();
    assert!(live.unseen().iter().all(|unseen| !unseen.0.contains("configuration")), "{:?}", live.unseen());
    let first = live.observe();
    assert_eq!(first.alarms, []);
    assert_eq!(first.server("cand").map(|server| server.weight), Some(Some(0)));
    assert!(!lab.send(20, "/").contains_key("cand"), "it has weight 0");
    live.observe();
    for server in ["control", "cand"] {
        set(&mut live, server, 64).unwrap();
    }
    let answers = lab.send(40, "/");
    assert_eq!((answers["cand"], answers["control"]), (10, 10), "{answers:?}");
    let mut lines = 0;
    let mut requests = 0;
    observe_until(&mut live, "counters and log arrive", |window| {
        let candidate = window.server("cand").expect("it is there");
        assert_eq!((candidate.weight, candidate.state), (Some(64), Some(ServerState::Up)));
        assert_eq!(candidate.response_ms.len() as u64, candidate.log_lines);
        assert_eq!(window.alarms, []);
        lines += candidate.log_lines;
        requests += candidate.requests;
        lines == 10 && requests == 10
    });
    // The status of a run is seen from outside, and its journal.
    let status = control::status(&lab.settings().directory).unwrap().expect("a run");
    assert!(status.is_running && status.last_second.is_some());
    let added = ["cand", "control"];
    assert_eq!(
        status.added,
        added.map(|server| AddedStatus { server: name(server), weight: 64, is_withdrawn: false })
    );
    // A rollback only lowers.
    set(&mut live, "cand", 0).unwrap();
    let raised = set(&mut live, "cand", 1).unwrap_err().to_string();
    assert!(raised.contains("a rollback only lowers"), "{raised}");
    live.apply(&Action::Done).unwrap();
    assert_eq!((lab.reading("cand"), lab.reading("control")), (None, None));
    let status = control::status(&lab.settings().directory).unwrap().expect("a run");
    assert!(!status.is_running && status.added.is_empty());
    let answers = lab.send(20, "/");
    assert_eq!((answers["old1"], answers["old2"]), (10, 10), "{answers:?}");
}

#[test]
fn old_servers_get_their_weights_back_and_a_dropped_run_leaves_nothing() {
    let lab = Lab::start();
    let mut live = lab.open().unwrap();
    set(&mut live, "old1", 100).unwrap();
    set(&mut live, "old2", 100).unwrap();
    set(&mut live, "cand", 8).unwrap();
    // As somebody else would, who wants 7.
    lab.ask("set server b/old2 weight 7");
    drop(live);
    eventually("nothing is left", || lab.is_out("cand") && lab.is_out("control"));
    assert_eq!(lab.reading("old1").map(|server| server.weight), Some(64));
    assert_eq!(lab.reading("old2").map(|server| server.weight), Some(7), "somebody else has set it");
    // The lease's process of the dropped run cleans up, too; then another run may begin.
    eventually("another run begins", || lab.open().is_ok());
}

#[test]
fn a_candidate_that_dies_is_seen_by_redispatches_and_errors() {
    let mut lab = Lab::start();
    let mut live = lab.open().unwrap();
    set(&mut live, "cand", 64).unwrap();
    let answers = lab.send(30, "/bad");
    assert_eq!(answers.get("bad"), Some(&30), "{answers:?}");
    let mut errors = 0;
    observe_until(&mut live, "answers with 503 are counted", |window| {
        errors += window.server("cand").expect("it is there").failed.status_5xx;
        errors == 10
    });
    lab.stop_server("cand");
    let answers = lab.send(30, "/");
    assert!(answers.keys().all(|name| name.starts_with("old")), "redispatched: {answers:?}");
    let mut alarms = Vec::new();
    let window = observe_until(&mut live, "the candidate is down", |window| {
        alarms.extend(window.alarms.clone());
        window.server("cand").is_some_and(|server| server.state == Some(ServerState::Down))
    });
    let is_blamed =
        |alarm: &Alarm| matches!(alarm, Alarm::DoesNotWork { server, .. } if *server == name("cand"));
    assert!(alarms.iter().any(is_blamed), "{alarms:?}");
    assert_eq!(window.server("control").map(|server| server.state), Some(Some(ServerState::Up)));
    let raised = set(&mut live, "control", 1).unwrap_err().to_string();
    assert!(raised.contains("is not raised: cand does not work"), "{raised}");
    // A candidate that comes back gets nothing: its beacon is closed for good.
    lab.start_nginx("cand");
    for _ in 0..5 {
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert_eq!(lab.reading("cand").map(|server| server.state), Some(ServerState::Down));
    }
    assert!(!lab.send(20, "/").contains_key("cand"));
    let counters = lab.balancer().counters().unwrap();
    let candidate = counters.servers.iter().find(|server| server.name == "cand").expect("it is there");
    assert_eq!(candidate.status_5xx, 10);
    live.apply(&Action::Done).unwrap();
}

#[test]
fn a_redispatched_request_is_counted_where_it_did_not_arrive() {
    let mut lab = Lab::start();
    let mut balancer = lab.balancer();
    let address = lab.address("cand");
    let server = traffic::balancer::NewServer {
        name: "bare".parse().unwrap(),
        address,
        check: None,
        sends_proxy_header: false,
        most_connections: Some(10),
    };
    balancer.add(&server).unwrap();
    balancer.set(&server.name, 64).unwrap();
    lab.stop_server("cand");
    let answers = lab.send(20, "/");
    assert!(answers.keys().all(|name| name.starts_with("old")), "users see nothing: {answers:?}");
    let counters = lab.balancer().counters().unwrap();
    let bare = counters.servers.iter().find(|server| server.name == "bare").expect("it is there");
    assert!(bare.redispatches > 0, "only this counter tells: {bare:?}");
    assert_eq!(bare.status_5xx, 0);
}

#[test]
fn a_request_that_nobody_answers_is_a_failure_although_no_error_of_haproxy_counts_it() {
    let lab = Lab::start();
    let mut live = lab.open().unwrap();
    set(&mut live, "cand", 64).unwrap();
    let mut unanswered = 0;
    for _ in 0..12 {
        // The second round of requests meets connections that were used before.
        let answer = lab.send_on_one_connection(&["/", "/", "/", "/", "/", "/", "/silent"]);
        unanswered += u64::from(answer.is_empty());
    }
    assert!(unanswered > 0, "HAProxy has closed the connection of the user without an answer");
    let counters = lab.balancer().counters().unwrap();
    let counted: u64 = counters.servers.iter().map(|server| server.unanswered).sum();
    assert_eq!(counted, unanswered, "{counters:?}");
    let mut resets = 0;
    observe_until(&mut live, "all of them are resets", |window| {
        resets += window.servers.iter().map(|server| server.failed.reset).sum::<u64>();
        assert_eq!(window.alarms, []);
        resets >= unanswered
    });
    set(&mut live, "cand", 0).unwrap();
    live.apply(&Action::Done).unwrap();
}

#[test]
fn what_somebody_else_changes_is_named() {
    let lab = Lab::start();
    let mut live = lab.open().unwrap();
    set(&mut live, "cand", 4).unwrap();
    assert_eq!(live.observe().alarms, []);
    lab.ask("set server b/cand weight 200");
    let weight = Change::Weight { backend: "b".to_owned(), server: "cand".to_owned(), expected: 4, now: 200 };
    assert_eq!(live.observe().alarms, [Alarm::Changed(weight)]);
    assert_eq!(live.observe().alarms, [], "once");
    lab.ask("set server b/old1 state drain");
    let state = Change::Administration {
        backend: "b".to_owned(),
        server: "old1".to_owned(),
        now: ServerState::Draining,
    };
    assert_eq!(live.observe().alarms, [Alarm::Changed(state)]);
    lab.ask("add server b/other 127.0.0.1:1 weight 0");
    assert_eq!(live.observe().alarms, [Alarm::Changed(Change::Added("other".to_owned()))]);
    assert!(set(&mut live, "control", 4).is_err(), "after an alarm nothing is raised");
    set(&mut live, "cand", 0).unwrap();
    live.apply(&Action::Done).unwrap();
}

#[test]
fn a_reload_is_noticed_and_removes_the_candidate() {
    let lab = Lab::start();
    let mut live = lab.open().unwrap();
    for server in ["cand", "control"] {
        set(&mut live, server, 64).unwrap();
    }
    let before = lab.worker();
    lab.reload();
    let window = observe_until(&mut live, "the reload is seen", |window| !window.alarms.is_empty());
    let reload = &window.alarms[0];
    assert!(
        matches!(reload, Alarm::Changed(Change::Reloaded { before: pid, .. }) if *pid == before),
        "{reload}"
    );
    assert_eq!(window.server("cand").map(|server| server.state), Some(Some(ServerState::Absent)));
    assert!(set(&mut live, "cand", 65).is_err());
    set(&mut live, "cand", 0).unwrap();
    live.apply(&Action::Done).unwrap();
    let answers = lab.send(20, "/");
    assert!(answers.keys().all(|name| name.starts_with("old")), "{answers:?}");
}

#[test]
fn servers_that_take_no_traffic_are_told_from_those_that_do() {
    let idle = "server spare 127.0.0.1:9 weight 64 backup\nserver off 127.0.0.1:9 weight 64 disabled";
    let lab = Lab::with(&format!("balance roundrobin\n{idle}"), "");
    let mut live = lab.open().unwrap();
    let window = live.observe();
    let takes = |server: &str| window.server(server).is_some_and(ServerWindow::takes_traffic);
    assert_eq!(["old1", "spare", "off"].map(takes), [true, false, false]);
    lab.ask("set server b/off state ready");
    let window = observe_until(&mut live, "the change is seen", |window| !window.alarms.is_empty());
    let change = window.alarms[0].to_string();
    assert!(change.contains("off"), "{change}");
}

#[test]
fn a_balancer_that_dies_is_an_alarm_and_the_run_ends() {
    let mut lab = Lab::start();
    let mut live = lab.open().unwrap();
    set(&mut live, "cand", 64).unwrap();
    lab.stop_haproxy();
    let window = observe_until(&mut live, "its end is seen", |window| !window.alarms.is_empty());
    assert_eq!(window.identity, None);
    assert!(matches!(window.alarms[0], Alarm::BalancerEnded { .. }), "{:?}", window.alarms);
    assert!(window.servers.iter().all(|server| !server.counters_arrived && server.weight.is_none()));
    assert_eq!(window.server("cand").map(|server| server.state), Some(Some(ServerState::Absent)));
    // What a run does then: there is nobody left who could send anything.
    for (server, weight) in [("cand", 0), ("control", 0), ("old1", 64)] {
        set(&mut live, server, weight).unwrap();
    }
    live.apply(&Action::Done).unwrap();
}
