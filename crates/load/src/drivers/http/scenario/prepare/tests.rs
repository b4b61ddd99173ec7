//! Mistakes in steps, and what becomes of names.

use super::*;
use crate::drivers::http::scenario::spec::ScenarioOperation;
use crate::drivers::protocol::ALONE;

fn prepare(values: &str, steps: &[&str]) -> Result<PreparedScenario, String> {
    let scenario = HttpScenario {
        values: toml::from_str(values).expect("values"),
        operations: vec![ScenarioOperation {
            name: "buy".to_owned(),
            steps: steps.iter().map(|step| toml::from_str(step).expect("a step")).collect(),
        }],
        ..HttpScenario::default()
    };
    let mut declared = DeclaredValues::default();
    PreparedScenario::new(&scenario, "shop", ALONE, None, &mut declared)
        .map_err(|error| error.error.to_string())
}

#[test]
fn mistakes_of_a_step_have_their_remedy() {
    for (values, step, why) in [
        (
            "",
            "path = \"/\"\ncapture = { x = { header = \"A\" } }",
            "buy: capture: there is no value \"x\": give it bytes",
        ),
        ("x = 4", "path = \"/\"\ncapture = { x = {} }", "buy: capture.x: give one of between"),
        (
            "x = 4",
            "path = \"/\"\ncapture = { x = { between = [\"\", \"b\"] } }",
            "capture.x: give a text of 1 to 1024",
        ),
        ("x = 4", "path = \"/\"\ncapture = { x = { json = \"id\" } }", "is no JSON pointer: begin it with /"),
        ("", "path = \"/{{ y }}\"", "uniform(A, B)"),
        ("", "path = \"/\"\nwhen = { member = true }", "when: nothing sets \"member\""),
        ("", "path = \"/\"\nwhen = { chance = 101 }", "when: chance: write a chance in per cent"),
        ("", "path = \"/\"\nwhen = { chance = 10 }", "buy: each of its steps has a condition"),
        ("", "path = \"/\"\nset = { x = \"a\" }", "set: there is no value \"x\""),
        ("x = 4", "path = \"/\"\neach = \"x\"", "each: \"x\" is no list: give it room"),
        (
            "x = 4",
            "path = \"/\"\ncapture = { x = { json = \"/*\", pick = \"all\" } }",
            "capture.x: all values of a body need a list",
        ),
        (
            "x = { bytes = 4, list = 2 }",
            "path = \"/\"\ncapture = { x = { header = \"A\", pick = \"all\" } }",
            "capture.x: all values of a body need a list",
        ),
        ("x = { bytes = 4, list = 2000 }", "path = \"/\"", "values: x: give its list at most 1024 values"),
        (
            "x = { bytes = 4, list = 2 }",
            "path = \"/\"\neach = \"x\"\nrepeat = 2",
            "give one of repeat and each",
        ),
        (
            "x = { bytes = 4, list = 2 }",
            "path = \"/\"\neach = \"x\"",
            "each of its steps has a condition, so that it may send nothing",
        ),
        ("x = 4", "path = \"/\"\nstatics = [\"/{{ x }}\"]", "statics: \"/{{ x }}\" is a template"),
        ("", "path = \"/\"\nstatics = [\"a b\"]", "buy: statics: "),
        ("", "path = \"/\"\nrepeat = 0", "repeat: give a number from 1"),
        ("", "path = \"/\"\nbody = \"a\"\nform = { a = \"b\" }", "give one of body, form and multipart"),
        ("", "path = \"/\"\nheaders = { Cookie = \"a=b\" }", "a user sends the cookies that it got"),
        ("", "path = \"/\"\nexpect = { absent = \"\" }", "expect.absent: give a text"),
        ("user = 4", "path = \"/\"", "\"user\" is no name of a value"),
        ("x = 0", "path = \"/\"", "values: x: give it from 1 to 16,384 bytes"),
    ] {
        let error = prepare(values, &[step]).expect_err(why);
        assert!(error.contains(why) && !error.contains('\n'), "{error}");
    }
    let error = prepare("", &["path = \"/\"", "path = \"a b\""]).expect_err("a bad path");
    assert!(error.starts_with("buy, step 2: "), "{error}");
}

#[test]
fn counters_of_one_content_are_one_list() {
    let step = "path = \"/\"\ncount = \"sold\"";
    let (first, second) = (prepare("", &[step]).expect("one"), prepare("", &[step]).expect("one"));
    assert!(std::ptr::eq(first.counters, second.counters));
    assert_eq!(first.counters.last(), Some(&"sold"));
    assert_eq!(first.steps[0][0].counter, Some(statuses::COUNTERS.len()));
}
