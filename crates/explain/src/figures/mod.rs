//! Figures: what plain slices show, by name, each with its unit, its meaning and its source. Rules and the table of resources
//! refer to them. What a figure means for throughput is left to them.
//!
//! What is not known has no figure: the kernel, the user's rights or the server do not give it.

mod cpu;
mod devices;
mod load;
mod operation;
mod plain;
mod set;
pub(crate) mod statistics;
mod text;
mod threads;

pub use cpu::{CPU_IN_KERNEL, CPU_PER_OPERATION};
pub use devices::WAITS_PER_OPERATION;
pub(crate) use plain::Plain;
pub(crate) use set::Figures;
pub use statistics::is_of_statistics;
pub(crate) use text::with_unit;

use crate::perturbable_loop::{LoopFacts, SliceReading};
use crate::profile_shares::Watched;

/// All figures of plain slices.
pub(crate) fn of(plain: &Plain<'_>) -> Figures {
    let mut figures = Figures::default();
    load::add(plain, &mut figures);
    cpu::add(plain, &mut figures);
    devices::add(plain, &mut figures);
    threads::add(plain, &mut figures);
    operation::add(plain, &mut figures);
    statistics::add(plain, &mut figures);
    figures
}

/// All figures of plain slices during which nothing was profiled and no wait was watched.
pub(crate) fn of_slices(facts: &LoopFacts, readings: &[SliceReading]) -> Figures {
    of(&Plain { facts, readings, watched: &Watched::default() })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use archive::model::Figure;

    use super::of_slices;
    use crate::perturbable_loop::PerturbableLoop;
    use crate::scripted::Scripted;

    #[test]
    fn a_machine_with_loopback_alone_has_no_network_traffic() {
        let network_bytes = |rename: fn(&str) -> Option<String>| {
            let mut server = Scripted::new();
            let columns = std::mem::take(&mut server.columns).into_iter();
            server.columns = columns.filter_map(|(name, value)| Some((rename(&name)?, value))).collect();
            let reading = server.slice(None, Duration::from_secs(1)).expect("a slice");
            of_slices(&server.facts, &[reading]).value("network.bytes")
        };
        assert_eq!(network_bytes(|name| Some(name.to_owned())), Some(2e6), "the busier direction");
        assert_eq!(network_bytes(|name| Some(name.replace("net.eth0", "net.lo"))), Some(0.0));
        let without = |name: &str| (!name.starts_with("net.")).then(|| name.to_owned());
        assert_eq!(network_bytes(without), None, "nothing is known");
    }

    #[test]
    fn the_parts_of_a_server_stand_behind_its_cpu_time() {
        let text = |parts: &[(&str, f64)]| {
            let mut server = Scripted::new();
            for (part, cores) in parts {
                server.columns.extend([(format!("server.part.{part}.cpu.time"), *cores)]);
            }
            let reading = server.slice(None, Duration::from_secs(1)).expect("a slice");
            let figures = of_slices(&server.facts, &[reading]);
            figures.text("server.parts").map(str::to_owned)
        };
        assert_eq!(text(&[("web", 0.2), ("database", 0.6)]).as_deref(), Some(" (database 75 %, web 25 %)"));
        assert_eq!(text(&[]).as_deref(), Some(""), "a server of one part");
    }

    #[test]
    fn the_page_of_figures_has_all_of_them() {
        let figures = Scripted::all_figures();
        let row = |figure: &Figure| {
            format!("| `{}` | {} | {} | {} |\n", figure.name, figure.unit, figure.about, figure.source)
        };
        // Those of statistics have the names that a workload gives them.
        let general = figures.all().filter(|figure| !figure.name.starts_with("statistics."));
        let table: String = general.map(row).collect();
        let page = include_str!("../../../../docs/FIGURES.md");
        assert!(page.contains(&table), "docs/FIGURES.md has another table than this:\n{table}");
    }
}
