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
pub(crate) use text::with_unit;

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

#[cfg(test)]
mod tests {
    use archive::model::Figure;

    use crate::scripted::Scripted;

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
