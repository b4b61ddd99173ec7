//! Users against a shop that refuses whatever a browser would not send. Tests assert what users sent and what was recorded, and no
//! time, rate or validity: they pass on a busy machine.

mod outside;
mod page;
mod shop;
mod steady;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use load::drivers::RegisteredProtocol;
use load::drivers::protocol::ServerAccess;
use load::engine::{self, LoadOutcome};
use load::output::LoadOutput;
use load::spans::Spans;
use load::spec::{LoadSpec, Shape};
use load::summary::Summary;
use load::users::Scenario;

use self::shop::Shop;

const SCENARIO: &str = r#"
[load.users]
count = 6
delay = { cycle = "exp:20ms" }
values = { token = 16, item = 8, place = 64, tag = 4 }
next.home  = { item = 60, login = 40 }
next.item  = { item = 50, home = 50 }
next.login = { home = 100 }

[[load.op]]
name = "home"
path = "/"
capture.token = { between = ["name=\"token\" value=\"", "\""] }
capture.item = { between = ["/items/", "\""], pick = "random" }

[[load.op]]
name = "item"
[[load.op.step]]
path = "/items/{{ item }}"
capture.tag = { json = "/tags/0/id" }
count = "viewed"
[[load.op.step]]
path = "/items/{{ tag }}"
when = { chance = 50 }

[[load.op]]
name = "login"
limit = "p90<60s"
[[load.op.step]]
path = "/logout"
form = {}
when = { member = true }
set = { member = false }
[[load.op.step]]
path = "/login"
form = { token = "{{ token }}", name = "user{{ user }}", password = "secret{{ user }}" }
expect = { status = 303 }
capture.place = { header = "Location" }
set = { member = true }
[[load.op.step]]
path = "{{ place }}"
expect = { contains = "Log out", absent = "no member", count = { text = "<a", value = 1 }, bytes = "20.." }
"#;

/// The load of a scenario on a server, with each user's operations.
fn spec(shop: &Shop, scenario: &str, requests: u64) -> LoadSpec {
    let http = RegisteredProtocol::by_name("http").expect("a protocol");
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("shop.toml");
    std::fs::write(&file, scenario).expect("a file");
    let scenario =
        Scenario::read(Path::new(&file), http, &BTreeMap::new()).unwrap_or_else(|error| panic!("{error}"));
    let access = ServerAccess { authority: shop.address.to_string(), ..ServerAccess::default() };
    let protocol = http.spec(&scenario.mix, &access).expect("a load of this protocol");
    let shape = scenario.visits.map(|visits| Shape::Open { rate: visits.rate, arrivals: visits.arrivals });
    LoadSpec::closed(protocol, shop.address, scenario.count)
        .with_users(Some(scenario.plan))
        .with_outside(scenario.outside.specs(http, &access))
        .with_shape(shape.unwrap_or(Shape::closed()))
        .with_workers(2.min(scenario.count))
        .with_duration(None)
        .with_requests(requests)
        .with_timeout(Duration::from_mins(1))
        .with_seed(5)
}

fn run(spec: &LoadSpec) -> LoadOutcome {
    engine::run(spec, &engine::RunContext::default(), &mut |_event| {}).expect("a load")
}

#[test]
fn users_log_in_and_walk_as_a_browser_would() {
    let shop = Shop::open();
    let outcome = run(&spec(&shop, SCENARIO, 600));
    let refused = shop.counts(|counts| counts.refused.clone());
    assert_eq!(refused, Vec::<String>::new());
    let summary = Summary::of(&outcome);
    assert_eq!((summary.requests, summary.failed), (600, 0), "{:?}", summary.error_examples);
    let by_name = |name: &str| {
        summary.operations.iter().find(|(known, _)| known == name).expect("an operation").1.requests
    };
    let (logins, logouts, items) = shop.counts(|counts| (counts.logins, counts.logouts, counts.items));
    assert_eq!(logins, by_name("login"));
    assert!(
        logouts > 0 && logouts < logins,
        "all but the first of a user log out before: {logouts} of {logins}"
    );
    assert_eq!(summary.counters["viewed"], by_name("item"));
    assert!(items > by_name("item") && items < 2 * by_name("item"), "half of them look twice: {items}");
    assert_eq!(summary.counters["status 303"], logins);
    assert!(summary.connections.opened > 6, "the shop closes connections, and users stay");
    let users = summary.users.as_ref().expect("users");
    assert_eq!((users.begun, users.operations[1].begun), (600, by_name("item")));
    let row: f64 = users.operations[0].next_percent.iter().sum();
    assert!((row - 100.0).abs() < 1e-6, "{:?}", users.operations[0]);
    assert_eq!(users.operations[2].meets_limit, Some(true));
    let json = serde_json::to_value(LoadOutput::of(&summary, &Spans::of(&outcome))).expect("plain data");
    assert_eq!(json["users"]["operations"][2]["limit"], "p90<60s");
}

#[test]
fn the_same_seed_walks_the_same_way() {
    let shop = Shop::open();
    let walk = || {
        let outcome = run(&spec(&shop, SCENARIO, 200).with_workers(1).with_connections(1));
        outcome.total.users.expect("users").transitions.clone()
    };
    assert_eq!(walk(), walk());
}

/// The first failure of a scenario of one operation.
fn failure(keys: &str, of_operation: &str) -> String {
    let shop = Shop::open();
    let scenario = format!("[load.users]\ncount = 1\n{keys}\n[[load.op]]\nname = \"home\"\n{of_operation}");
    let outcome = run(&spec(&shop, &scenario, 1));
    let errors = outcome.total.errors();
    let example = errors.examples.values().next().cloned();
    example.unwrap_or_else(|| panic!("a failure is expected: {scenario}"))
}

#[test]
fn what_a_reply_does_not_have_is_named_with_its_beginning() {
    for (keys, of_operation, why) in [
        (
            "values = { token = 8 }",
            "path = \"/\"\ncapture.token = { between = [\"tokn=\\\"\", \"\\\"\"] }",
            "home: capture.token: there is no text between \"tokn=\\\"\" and \"\\\"\": the reply begins with \"<html><form><input name=",
        ),
        (
            "values = { token = 8 }",
            "path = \"/\"\ncapture.token = { header = \"X-Token\" }",
            "home: capture.token: there is no header X-Token: the reply begins",
        ),
        (
            "values = { token = 8 }",
            "path = \"/\"\ncapture.token = { between = [\"<form>\", \"</html>\"] }",
            "home: capture.token: the value is longer than its slot of 8 bytes: raise values.token",
        ),
        (
            "values = { token = 8 }",
            "path = \"/items/{{ token }}\"",
            "home: the user has no \"token\" yet: let an earlier operation capture it",
        ),
        (
            "",
            "path = \"/account\"",
            "home: status 400 where 200 to 399 is expected: the reply begins with \"no session\"",
        ),
        (
            "",
            "path = \"/\"\nexpect = { contains = \"Log out\" }",
            "home: \"Log out\" is 0 times in the body where 1.. is expected",
        ),
        ("", "path = \"/\"\nexpect = { bytes = \"..10\" }", "where 0..10 are expected"),
        (
            "cookies = { slots = 1, bytes = 4 }",
            "path = \"/\"",
            "home: cookie \"sid\" has 5 bytes, more than its slot: give longer ones",
        ),
        (
            "cookies = 0",
            "path = \"/\"",
            "home: cookie \"sid\": the jar is full of other cookies: raise cookies",
        ),
    ] {
        let message = failure(keys, of_operation);
        assert!(message.contains(why) && !message.contains('\n'), "{message}");
    }
}

#[test]
fn visits_arrive_with_connections_of_their_own_and_leave() {
    let shop = Shop::open();
    let scenario = SCENARIO.replace("count = 6", "arrivals = \"poisson:200/s\"\nlimit = 500\nleave = 25");
    let outcome = run(&spec(&shop, &scenario, 600));
    assert_eq!(shop.counts(|counts| counts.refused.clone()), Vec::<String>::new());
    let summary = Summary::of(&outcome);
    assert_eq!((summary.requests, summary.failed), (600, 0), "{:?}", summary.error_examples);
    let users = summary.users.as_ref().expect("users");
    let (arrived, sessions) = (users.arrived.expect("visits"), shop.counts(shop::ShopCounts::sessions));
    assert_eq!((sessions, users.refused), (arrived, Some(0)), "each visit has a session");
    assert!((75..250).contains(&arrived), "four operations a visit in the mean: {arrived}");
    assert!(users.left <= arrived && summary.connections.opened >= arrived);
    assert_eq!(summary.connections.at_start, 0, "no connection without a visit");
}

#[test]
fn a_visit_without_a_slot_is_refused() {
    let shop = Shop::open();
    let scenario = "[load.users]\narrivals = \"constant:1000/s\"\nlimit = 1\nleave = 1\ndelay = { think = \"10ms\" }\n\
                    [[load.op]]\nname = \"home\"\npath = \"/\"\n";
    let outcome = run(&spec(&shop, scenario, 30));
    let summary = Summary::of(&outcome);
    let users = summary.users.as_ref().expect("users");
    assert!(users.refused.expect("visits") > 0, "{users:?}");
    assert!(
        summary.reasons.iter().any(|reason| reason.contains("visits found no slot")),
        "{:?}",
        summary.reasons
    );
}

#[test]
fn a_new_user_has_no_session_and_another_connection() {
    let shop = Shop::open();
    let scenario =
        "[load.users]\ncount = 1\n[[load.op]]\nname = \"home\"\npath = \"/\"\nset = { user = \"new\" }\n";
    let summary = Summary::of(&run(&spec(&shop, scenario, 10)));
    assert_eq!((summary.requests, summary.failed), (10, 0), "{:?}", summary.error_examples);
    assert!(summary.connections.opened >= 10, "{}", summary.connections.opened);
}

/// A page with two statics and three images, one of them twice.
const GALLERY: &str = r#"
[load.users]
count = 2
cache = { warm = WARM }
values = { image = { bytes = 16, list = 8 } }
[[load.op]]
name = "gallery"
[[load.op.step]]
path = "/"
[[load.op.step]]
path = "/gallery"
statics = ["/static/site.css", "/static/site.js"]
capture.image = { between = ["/media/", "\""], pick = "all" }
[[load.op.step]]
path = "/media/{{ image }}"
each = { value = "image", once = true }
count = "images"
"#;

#[test]
fn a_browser_fetches_the_images_of_a_page_once_and_its_statics_as_its_session_began() {
    for (warm, statics) in [("0", 4), ("100", 40)] {
        let shop = Shop::open();
        let outcome = run(&spec(&shop, &GALLERY.replace("WARM", warm), 20));
        let summary = Summary::of(&outcome);
        assert_eq!((summary.requests, summary.failed), (20, 0), "{:?}", summary.error_examples);
        shop.counts(|counts| {
            assert_eq!(counts.refused, Vec::<String>::new());
            assert_eq!(counts.images, [(1, 2), (2, 2), (3, 2)].into(), "each once by each of two users");
            assert_eq!(counts.statics, statics, "warm: {warm} %");
            // A worker must have seen a date before it can send one.
            let fewest = if warm == "0" { 0 } else { statics - 4 };
            assert!((fewest..statics).contains(&counts.revalidations), "{}", counts.revalidations);
        });
        assert_eq!(summary.counters["images"], 6);
    }
}

#[test]
fn an_item_may_be_sent_each_time_and_a_list_that_is_too_short_is_named() {
    let shop = Shop::open();
    let again = GALLERY.replace("WARM", "0").replace("{ value = \"image\", once = true }", "\"image\"");
    let summary = Summary::of(&run(&spec(&shop, &again, 10)));
    assert_eq!((summary.failed, summary.counters["images"]), (0, 40), "{:?}", summary.error_examples);
    let short = again.replace("list = 8", "list = 3");
    let outcome = run(&spec(&shop, &short, 1));
    let message = outcome.total.errors().examples.values().next().cloned().unwrap_or_default();
    assert!(message.contains("capture.image: the reply has more than the 3 values of its list"), "{message}");
}
