//! The answer of `tunings`.

use tune::listed::{ListedTuning, TuningMenu};
use tune::{Condition, Durability, Expected, Mechanism, Moves, Need, Scope, Security};

use super::json;
use super::page::Page;

/// A tuning with everything, for each choice.
fn tunings() -> Vec<ListedTuning> {
    let scopes = [Scope::Server, Scope::Process, Scope::Sysctl, Scope::Sysfs, Scope::Boot];
    let losses = [
        Durability::None,
        Durability::ProcessCrash,
        Durability::OsCrash,
        Durability::Recovery,
        Durability::None,
    ];
    let text = || "text".to_owned();
    let condition = || vec![Condition { figure: text(), at_least: Some(0.5), at_most: Some(0.5) }];
    let tuning = |(at, scope): (usize, Scope)| ListedTuning {
        id: text(),
        title: text(),
        about: text(),
        servers: vec![text()],
        only_with: [(text(), text())].into(),
        versions: text(),
        scope,
        needs: vec![Need::Root],
        when: condition(),
        unless: condition(),
        avoid: text(),
        durability: losses[at],
        security: if at == 0 { Security::Weaker } else { Security::None },
        mechanism: Some(Mechanism { figure: text(), moves: if at == 0 { Moves::Up } else { Moves::Down } }),
        expected: Some(Expected { low: 1.1, high: 1.2, source: text(), hardware: text(), year: Some(2015) }),
        conflicts: vec![text()],
        undo: text(),
        source: text(),
        levels: vec![[(text(), text())].into()],
    };
    scopes.into_iter().enumerate().map(tuning).collect()
}

#[test]
fn the_menu_of_tunings_is_documented() {
    let menu = TuningMenu { server: Some("nginx".to_owned()), others: 1, tunings: tunings() };
    Page::read().assert_documents("`showdown tunings --format json`", &[json(&menu)]);
}
