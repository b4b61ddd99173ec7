//! What limits figures of cost, beside what limits the runs themselves.

use crate::measured::MeasuredRun;

/// Notes on watts and on where the performance was measured. `are_estimates`: watts that no meter recorded are among the figures.
pub(crate) fn of_runs(runs: &[MeasuredRun<'_>], are_estimates: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if are_estimates {
        notes.push(
            "Watts called an estimate are typed in or of a nameplate: no meter recorded them beside the load. Each has its boundary"
                .to_owned(),
        );
    }
    for run in runs.iter().filter(|run| run.is_on_one_machine()) {
        let cpus = run.run.plan.as_ref().map_or("some", |plan| plan.cpus.server.as_str());
        notes.push(format!(
            "In {} the server had the CPUs {cpus} of a machine that its client used too; a server with a whole machine was not measured",
            run.id
        ));
    }
    for run in runs {
        if run.verdict.caveats.iter().any(|caveat| caveat.id == "others") {
            notes.push(format!(
                "In {} other programs or the hypervisor used CPU time: its capacities are those of a disturbed machine, and a quiet one may carry more",
                run.id
            ));
        }
    }
    for run in runs.iter().filter(|run| run.verdict.is_interrupted()) {
        notes.push(format!("{} was interrupted: its figures are of the trials until then", run.id));
    }
    notes
}
