//! What users do outside their mix: once before the load, beside it, and once after it.

use std::sync::atomic::Ordering;

use load::engine::RunContext;
use load::output::LoadOutput;
use load::outside_load::{self, OutsideLoads};
use load::spans::Spans;
use load::summary::Summary;

use crate::shop::Shop;
use crate::{SCENARIO, run, spec};

const OUTSIDE: &str = r#"
[[load.op]]
name = "open"
path = "/"
once = "before"
capture.token = { between = ["name=\"token\" value=\"", "\""] }

[[load.op]]
name = "prices"
path = "/"
every = "5ms"

[[load.op]]
name = "register"
path = "/login"
form = { token = "{{ token }}", name = "user{{ user }}", password = "secret{{ user }}" }
expect = { status = 303 }
once = "before"

[[load.op]]
name = "close"
path = "/"
once = "after"
"#;

#[test]
fn operations_outside_the_mix_are_done_before_beside_and_after_it_and_are_in_no_figure_of_it() {
    let shop = Shop::open();
    let spec = spec(&shop, &format!("{SCENARIO}{OUTSIDE}"), 300);
    let context = RunContext::default();
    let mut outside = outside_load::before(&spec, &context).expect("both succeed");
    assert_eq!(
        shop.counts(|counts| counts.logins),
        1,
        "one user opens the page, and registers with its token"
    );
    let beside = OutsideLoads::start(&spec, &context);
    let outcome = run(&spec);
    outside.extend(beside.stop().expect("a load beside").operations);
    outside.extend(outside_load::after(&spec, &context).expect("a load after"));
    assert_eq!(shop.counts(|counts| counts.refused.clone()), Vec::<String>::new());
    let done: Vec<(&str, &str, u64)> =
        outside.iter().map(|operation| (&*operation.name, &*operation.due, operation.failed)).collect();
    let expected =
        [("open", "before", 0), ("register", "before", 0), ("prices", "cycle 5ms", 0), ("close", "after", 0)];
    assert_eq!(done, expected);
    let often: Vec<bool> = outside.iter().map(|operation| operation.requests > 1).collect();
    assert_eq!(often, [false, false, true, false]);
    let mut summary = Summary::of(&outcome);
    assert_eq!((summary.requests, summary.failed), (300, 0), "{:?}", summary.error_examples);
    assert_eq!(summary.operations.len(), 3);
    let was_valid = summary.valid;
    summary.add_outside(outside);
    assert_eq!(summary.valid, was_valid, "{:?}", summary.reasons);
    let json = serde_json::to_value(LoadOutput::of(&summary, &Spans::of(&outcome))).expect("plain data");
    assert_eq!(json["outside"][2]["name"], "prices");
}

#[test]
fn an_interruption_costs_what_was_not_begun_and_nothing_else() {
    let shop = Shop::open();
    let spec = spec(&shop, &format!("{SCENARIO}{OUTSIDE}"), 1);
    let context = RunContext::default();
    // Stopped at once: it may have begun or not.
    let beside = OutsideLoads::start(&spec, &context).stop().expect("no error");
    assert!(beside.operations.iter().all(|operation| operation.name == "prices"));
    context.interrupted.store(true, Ordering::Relaxed);
    assert_eq!(outside_load::after(&spec, &context).expect("no error"), []);
}

#[test]
fn a_load_does_not_begin_if_what_is_due_before_it_fails() {
    let shop = Shop::open();
    let wrong = OUTSIDE.replace("{{ token }}", "1");
    let spec = spec(&shop, &format!("{SCENARIO}{wrong}"), 1);
    let error = outside_load::before(&spec, &RunContext::default()).expect_err("a wrong token");
    let message = error.to_string();
    assert!(message.starts_with("register, outside the mix: register: status 400 where 303"), "{message}");
}

#[test]
fn an_operation_beside_the_mix_that_fails_makes_the_load_invalid() {
    let shop = Shop::open();
    let wrong = OUTSIDE.replace("path = \"/\"\nevery", "path = \"/account\"\nevery");
    let spec = spec(&shop, &format!("{SCENARIO}{wrong}"), 200);
    let beside = OutsideLoads::start(&spec, &RunContext::default());
    let mut summary = Summary::of(&run(&spec));
    summary.add_outside(beside.stop().expect("a load beside").operations);
    assert!(!summary.valid);
    let is_named = |reason: &String| reason.starts_with("operation prices, outside the mix, failed");
    assert!(summary.reasons.iter().any(is_named), "{:?}", summary.reasons);
}
