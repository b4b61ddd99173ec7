//! docs/SCENARIOS.md has every key of a scenario, and no other.

use std::collections::BTreeSet;

use load::drivers::RegisteredProtocol;
use load::drivers::http::scenario::{Capture, HttpStep, StepExpected};
use load::users::outside::OUTSIDE_KEYS;
use load::users::parse::{OPERATION_KEYS, USER_KEYS};
use serde::de::DeserializeOwned;

const PAGE: &str = include_str!("../../../../docs/SCENARIOS.md");

/// The keys in the tables of a section: the first column, in backticks.
fn documented(section: &str) -> BTreeSet<String> {
    let (_, text) = PAGE.split_once(&format!("{section}\n")).unwrap_or_else(|| panic!("no {section}"));
    let lines = text.lines().take_while(|line| !line.starts_with('#'));
    let keys = lines.filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    keys.map(|(key, _)| key.to_owned()).filter(|key| !key.contains("{{")).collect()
}

/// The keys that a type has, by its refusal of another one.
fn known<T: DeserializeOwned>() -> BTreeSet<String> {
    let Err(error) = toml::from_str::<T>("no-such-key = 1") else { panic!("it takes any key") };
    let message = error.message().to_owned();
    let (_, known) = message.split_once("expected one of ").expect("a list of keys");
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn texts(keys: &[&str]) -> BTreeSet<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

#[test]
fn the_page_and_the_parser_have_the_same_keys() {
    let http = RegisteredProtocol::by_name("http").expect("a protocol");
    let users: BTreeSet<String> = texts(USER_KEYS).union(&texts(http.user_keys())).cloned().collect();
    assert_eq!(documented("## Keys of `[load.users]`"), users);
    assert_eq!(documented("### Delays"), texts(&["cycle", "think", "min"]));
    let operation: BTreeSet<String> = [OPERATION_KEYS, OUTSIDE_KEYS, &["name", "weight", "step"]]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect();
    assert_eq!(documented("## Keys of `[[load.op]]`"), operation);
    assert_eq!(documented("## Keys of `[[load.op.step]]`"), known::<HttpStep>());
    assert_eq!(documented("### `expect`"), known::<StepExpected>());
    assert_eq!(documented("### `capture`"), known::<Capture>());
}

/// Every example of a step is one.
#[test]
fn the_examples_are_read() {
    for (section, wrap) in [("## Keys of `[[load.op.step]]`", false), ("### `expect`", true)] {
        let (_, text) = PAGE.split_once(&format!("{section}\n")).expect("the section");
        for line in text.lines().take_while(|line| !line.starts_with('#')) {
            let Some((_, example)) = line.trim_end_matches(" |").rsplit_once(" | `") else { continue };
            let example = example.trim_end_matches('`');
            let step = match (wrap, example.starts_with("path")) {
                (true, _) => format!("path = \"/\"\nexpect = {{ {example} }}"),
                (false, true) => example.to_owned(),
                (false, false) => format!("path = \"/\"\n{example}"),
            };
            toml::from_str::<HttpStep>(&step).unwrap_or_else(|error| panic!("{example}: {error}"));
        }
    }
}
