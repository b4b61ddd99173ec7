//! Every tuning of the program has all that a reader and a search need, and its knobs exist.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use workload::definition::{ServerDefinition, Workload};
use workload::{Catalogue, TemplateVariables, is_kernel_setting};

use super::*;
use crate::applicable::why_not_fit;
use crate::tuning::{Durability, Level, Need, Scope};

/// Workloads with their servers, as they come with the program.
fn workloads() -> Vec<Workload> {
    Catalogue::with("/nowhere").all().into_iter().map(|(_, workload)| workload.unwrap()).collect()
}

fn servers() -> Vec<ServerDefinition> {
    workloads().into_iter().flat_map(|workload| workload.servers).collect()
}

/// The variables of a level's values, on a machine with these CPUs.
fn machine(cpus: usize) -> TemplateVariables {
    let mut variables = TemplateVariables::default();
    variables.set("cpus", cpus);
    variables.set("cpu_mask", "f");
    variables.set("memory_mb", 16_384);
    variables
}

/// A template of a server or of one of its companions. Each part has the same directory and port here.
fn rendered(server: &ServerDefinition, variables: &TemplateVariables, text: &str) -> String {
    let names = server.companions.iter().map(|companion| format!("companion.{}.", companion.name));
    variables.render(&names.fold(text.to_owned(), |text, name| text.replace(&name, ""))).unwrap()
}

/// Configuration files and commands of a server and its companions with a level, as text.
fn configuration(server: &ServerDefinition, tuning: &Tuning, level: &Level) -> (String, TemplateVariables) {
    let mut variables = machine(4);
    for name in ["dir", "data", "here", "showdown", "host", "port", "address", "user", "group", "password"] {
        variables.set(name, "x");
    }
    variables.set("https", ());
    variables.set("remote", false);
    for knob in &server.knobs {
        let value = match level.set.get(&knob.name).or_else(|| tuning.only_with.get(&knob.name)) {
            Some(text) => knob.parse(&machine(4).render(text).unwrap()).unwrap(),
            None => knob.default_value(&variables).unwrap(),
        };
        variables.set(&knob.name, &value);
    }
    let parts = server.companions.iter().map(|companion| &companion.process);
    let mut texts = Vec::new();
    for part in parts.chain([server]) {
        texts.extend(part.config.iter().map(|file| rendered(server, &variables, &file.text)));
        texts.extend(
            part.environment
                .iter()
                .map(|(name, value)| format!("{name}={}", rendered(server, &variables, value))),
        );
        texts.extend(part.start.iter().map(|word| rendered(server, &variables, word)));
    }
    (texts.join("\n"), variables)
}

#[test]
fn there_are_tunings_for_every_workload() {
    let catalogue = TuningCatalogue::built_in();
    assert!(catalogue.all().len() >= 40, "{}", catalogue.all().len());
    for workload in workloads() {
        let own = |tuning: &&Tuning| {
            !tuning.servers.is_empty()
                && workload.servers.iter().any(|server| why_not_fit(tuning, server).is_none())
        };
        let own: Vec<&str> = catalogue.all().iter().filter(own).map(|tuning| tuning.id.as_str()).collect();
        assert!(!own.is_empty(), "{} has no tuning of its own", workload.name);
    }
}

#[test]
fn every_knob_and_every_value_of_every_tuning_is_accepted_by_its_servers() {
    let servers = servers();
    for tuning in TuningCatalogue::built_in().all() {
        for name in &tuning.servers {
            assert!(servers.iter().any(|server| server.name == *name), "{}: no server {name}", tuning.id);
        }
        let mut applies = false;
        for server in servers.iter().filter(|server| tuning.is_for(&server.name)) {
            let why = why_not_fit(tuning, server);
            assert!(why.is_none() || tuning.servers.is_empty(), "{}: {why:?}", tuning.id);
            if why.is_some() {
                continue;
            }
            applies = true;
            for (level, cpus) in tuning.levels.iter().flat_map(|level| [(level, 1), (level, 64)]) {
                for (name, text) in &level.set {
                    let value =
                        machine(cpus).render(text).unwrap_or_else(|error| panic!("{}: {error}", tuning.id));
                    if is_kernel_setting(name) {
                        assert!(name.parse::<host::knobs::Knob>().is_ok(), "{}: {name}", tuning.id);
                    } else {
                        let accepted = server.knob(name).unwrap().parse(&value);
                        assert!(accepted.is_ok(), "{}: {}: {accepted:?}", tuning.id, server.name);
                    }
                }
            }
        }
        assert!(applies || tuning.scope == Scope::Boot, "{} is for no server", tuning.id);
    }
}

#[test]
fn what_a_tuning_sets_is_in_the_configuration_that_the_server_reads() {
    let servers = servers();
    for tuning in TuningCatalogue::built_in().all().iter().filter(|tuning| tuning.scope == Scope::Server) {
        for server in servers.iter().filter(|server| why_not_fit(tuning, server).is_none()) {
            for level in &tuning.levels {
                // A key of a certificate is no line of a configuration.
                let Some(verify) = &level.verify else {
                    assert!(level.set.contains_key("certificate"), "{} has no verify", tuning.id);
                    continue;
                };
                let (configuration, variables) = configuration(server, tuning, level);
                let text = variables.render(verify).unwrap();
                assert!(
                    configuration.contains(&text),
                    "{}: {} has no {text:?} in\n{configuration}",
                    tuning.id,
                    server.name
                );
            }
        }
    }
}

#[test]
fn every_tuning_says_what_it_is_what_it_costs_and_what_to_take_home() {
    let catalogue = TuningCatalogue::built_in();
    let ids: BTreeSet<&str> = catalogue.all().iter().map(|tuning| tuning.id.as_str()).collect();
    for tuning in catalogue.all() {
        let id = &tuning.id;
        assert!(!tuning.about.is_empty() && !tuning.undo.is_empty() && !tuning.source.is_empty(), "{id}");
        assert!(tuning.is_free() || !tuning.avoid.is_empty(), "{id} does not say what it costs");
        assert!(
            tuning.conflicts.iter().all(|other| ids.contains(other.as_str())),
            "{id}: {:?}",
            tuning.conflicts
        );
        assert!(
            tuning.levels.iter().all(|level| !level.take_home.is_empty()),
            "{id} has nothing to take home"
        );
        for line in tuning.levels.iter().flat_map(|level| &level.take_home) {
            assert!(machine(4).render(line).is_ok(), "{id}: {line}");
        }
        let is_kernel = matches!(tuning.scope, Scope::Sysctl | Scope::Sysfs);
        assert_eq!(is_kernel, tuning.needs.contains(&Need::Root), "{id}: the kernel's settings need root");
        assert_eq!(tuning.scope == Scope::Boot, tuning.needs.contains(&Need::Reboot), "{id}");
    }
}

#[test]
fn what_is_taken_home_has_the_number_that_was_measured() {
    for tuning in TuningCatalogue::built_in().all() {
        for level in &tuning.levels {
            let lines: Vec<String> =
                level.take_home.iter().map(|line| machine(4).render(line).unwrap()).collect();
            for (name, value) in &level.set {
                let value = machine(4).render(value).unwrap();
                let is_there = lines.iter().any(|line| line.contains(&value));
                assert!(
                    value.parse::<u64>().is_err() || is_there,
                    "{}: {name}={value}: {lines:?}",
                    tuning.id
                );
            }
        }
    }
}

#[test]
fn what_loses_commits_is_marked() {
    let catalogue = TuningCatalogue::built_in();
    for (knob, harmless) in [
        ("flush_at_commit", "1"),
        ("synchronous_commit", "on"),
        ("fsync", "on"),
        ("durability", "commit"),
        ("sync", "data"),
    ] {
        for tuning in catalogue.all() {
            let weakens =
                tuning.levels.iter().any(|level| level.set.get(knob).is_some_and(|value| value != harmless));
            assert!(!weakens || tuning.durability != Durability::None, "{}: {knob}", tuning.id);
        }
    }
}

#[test]
fn a_tuning_of_the_user_s_is_added_or_replaces_another() {
    let folder = tempfile::tempdir().unwrap();
    let text = "title = \"Mine\"\nabout = \"x\"\nscope = \"server\"\nundo = \"restart\"\nsource = \"me\"\n\
                servers = [\"nginx\"]\n[[level]]\nset = { reuseport = true }\n";
    fs::write(folder.path().join("mine.toml"), text).unwrap();
    fs::write(folder.path().join("nginx-reuseport.toml"), text).unwrap();
    fs::write(folder.path().join("notes.md"), "not a tuning").unwrap();
    let built_in = TuningCatalogue::built_in().all().len();
    let all = TuningCatalogue::with_own(&[folder.path().to_owned()]).unwrap();
    assert_eq!(all.all().len(), built_in + 1);
    let titles: Vec<&str> =
        all.all().iter().filter(|one| one.title == "Mine").map(|one| one.id.as_str()).collect();
    assert_eq!(titles, ["mine", "nginx-reuseport"]);

    fs::write(folder.path().join("mine.toml"), "title = \"Mine\"\nlevels = 1\n").unwrap();
    let error = TuningCatalogue::with_own(&[folder.path().join("mine.toml")]).unwrap_err().to_string();
    assert!(error.contains("mine.toml:2: unknown key \"levels\" (did you mean \"level\"?"), "{error}");
    let missing = TuningCatalogue::with_own(&[folder.path().join("no.toml")]).unwrap_err().to_string();
    assert!(missing.starts_with("cannot read ") && missing.ends_with("or a folder of them"), "{missing}");
}

#[test]
fn a_tuning_that_others_may_write_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    for path in [folder.path().to_owned(), file.clone()] {
        let error = TuningCatalogue::with_own(&[path]).unwrap_err().to_string();
        assert!(error.starts_with("other users may write to ") && error.contains("mine.toml"), "{error}");
    }
}

#[test]
fn tunings_name_figures_of_the_page() {
    let page = include_str!("../../../../docs/FIGURES.md");
    for tuning in TuningCatalogue::built_in().all() {
        let conditions = tuning.when.iter().chain(&tuning.unless).map(|condition| &condition.figure);
        for figure in conditions.chain(tuning.mechanism.iter().map(|mechanism| &mechanism.figure)) {
            let is_known = figure.starts_with("statistics.") || page.contains(&format!("| `{figure}` |"));
            assert!(is_known, "{}: there is no figure {figure}", tuning.id);
        }
    }
}
