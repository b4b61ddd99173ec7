//! The menu: tunings as a list for people and programs, without what only a search needs.

use std::collections::BTreeMap;

use serde::Serialize;
use workload::Workload;

use crate::applicable::why_not_fit;
use crate::catalogue::TuningCatalogue;
use crate::condition::Condition;
use crate::tuning::{Durability, Expected, Mechanism, Need, Scope, Security, Tuning};

/// Tunings, for a server or all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TuningMenu {
    /// The server, if it is for one.
    pub server: Option<String>,
    /// Tunings that are not for it.
    pub others: usize,
    /// The tunings, those for it alone first.
    pub tunings: Vec<ListedTuning>,
}

/// A tuning in the menu.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedTuning {
    /// Its name.
    pub id: String,
    /// What it does.
    pub title: String,
    /// Why it may make a server faster.
    pub about: String,
    /// The servers that it is for; empty for any that has its knobs.
    pub servers: Vec<String>,
    /// Knobs with the values without which it changes nothing.
    pub only_with: BTreeMap<String, String>,
    /// The versions of the server that have it, in words.
    pub versions: String,
    /// What it changes.
    pub scope: Scope,
    /// What it needs of the machine.
    pub needs: Vec<Need>,
    /// What calls for it: all are met.
    pub when: Vec<Condition>,
    /// What speaks against it: one holds.
    pub unless: Vec<Condition>,
    /// What a user should know before keeping it.
    pub avoid: String,
    /// Which data a crash loses with it, and not without.
    pub durability: Durability,
    /// Whether it weakens security.
    pub security: Security,
    /// The figure that should move.
    pub mechanism: Option<Mechanism>,
    /// What others have measured.
    pub expected: Option<Expected>,
    /// Tunings that it cannot be combined with.
    pub conflicts: Vec<String>,
    /// How its settings are undone.
    pub undo: String,
    /// Where it is documented.
    pub source: String,
    /// The settings to try.
    pub levels: Vec<BTreeMap<String, String>>,
}

impl From<&Tuning> for ListedTuning {
    fn from(tuning: &Tuning) -> Self {
        let Tuning {
            id, title, about, servers, only_with, versions, scope, needs, when, unless, avoid, ..
        } = tuning.clone();
        let Tuning { durability, security, mechanism, expected, conflicts, undo, source, levels, .. } =
            tuning.clone();
        let levels = levels.into_iter().map(|level| level.set).collect();
        Self {
            id,
            title,
            about,
            servers,
            only_with,
            versions,
            scope,
            needs,
            when,
            unless,
            avoid,
            durability,
            security,
            mechanism,
            expected,
            conflicts,
            undo,
            source,
            levels,
        }
    }
}

impl TuningMenu {
    /// All tunings.
    pub fn of_all(catalogue: &TuningCatalogue) -> Self {
        Self { server: None, others: 0, tunings: catalogue.all().iter().map(ListedTuning::from).collect() }
    }

    /// The tunings for a server of these workloads; none if there is no such server.
    pub fn of_server(catalogue: &TuningCatalogue, workloads: &[Workload], server: &str) -> Option<Self> {
        let definition =
            workloads.iter().flat_map(|workload| &workload.servers).find(|known| known.name == server)?;
        let mut tunings: Vec<ListedTuning> = catalogue
            .all()
            .iter()
            .filter(|tuning| why_not_fit(tuning, definition).is_none())
            .map(ListedTuning::from)
            .collect();
        tunings.sort_by_key(|tuning| tuning.servers.is_empty());
        let others = catalogue.all().len() - tunings.len();
        Some(Self { server: Some(server.to_owned()), others, tunings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_menu_of_a_server_has_its_own_tunings_first_and_none_of_another() {
        let catalogue = TuningCatalogue::built_in();
        let workloads: Vec<Workload> = workload::Catalogue::with("/nowhere")
            .all()
            .into_iter()
            .map(|(_, workload)| workload.unwrap())
            .collect();
        let menu = TuningMenu::of_server(&catalogue, &workloads, "nginx").unwrap();
        let ids: Vec<&str> = menu.tunings.iter().map(|tuning| tuning.id.as_str()).collect();
        assert!(ids[0].starts_with("nginx-") && ids.contains(&"allocator"), "{ids:?}");
        assert!(!ids.contains(&"mariadb-binlog"));
        assert_eq!(menu.others + menu.tunings.len(), TuningMenu::of_all(&catalogue).tunings.len());
        assert!(TuningMenu::of_server(&catalogue, &workloads, "ngnix").is_none());
    }
}
