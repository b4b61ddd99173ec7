//! Asks before a plan is run that came from elsewhere: a plan is code.

use std::io::IsTerminal;
use std::path::Path;

use archive::model::Plan;
use bakeoff::PlanEffects;

use crate::exit::usage;
use crate::print::{note, text_to_stderr};
use crate::show::plan_effects;

/// Says which folder on disk has the workload of a plan: a folder `./workloads/NAME` replaces a built-in workload.
pub fn note_workload_on_disk(plan: &Plan) -> anyhow::Result<()> {
    let workload = workload::Catalogue::default().find(&plan.workload).map_err(usage)?;
    for folder in [&workload.folder, &workload.server_folder] {
        if let Some(directory) = folder.directory() {
            let is_relative = directory.is_relative() && !directory.starts_with(".");
            let here = if is_relative { "./" } else { "" };
            let instead =
                workload::Folder::built_in(&folder.name()).map_or("", |_| ", not the built-in workload");
            note(&format!("using {here}{}{instead}", directory.display()));
        }
        if !workload.uses_servers_of_another() {
            break;
        }
    }
    Ok(())
}

/// Asks before the first run of a plan that came from elsewhere, unless the user has agreed with `--yes`.
pub fn ask(path: &Path, plan: &Plan, has_agreed: bool) -> anyhow::Result<()> {
    if has_agreed {
        return Ok(());
    }
    let Some(origin) = origin(path) else { return Ok(()) };
    let mut effects: PlanEffects = bakeoff::plan_effects(plan).map_err(usage)?;
    effects.kernel_settings.extend(concurrency::settings_of_plan(plan));
    text_to_stderr(&plan_effects::text(&path.display().to_string(), &origin, &effects));
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(usage(format!(
            "{} came from elsewhere ({origin}): read what it does, then pass --yes to run it",
            path.display()
        )));
    }
    text_to_stderr("Run it? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
        return Ok(());
    }
    Err(usage(format!("{} was not run", path.display())))
}

/// Why a plan is not the user's own; none if it is.
fn origin(path: &Path) -> Option<String> {
    if archive::is_imported(path) {
        return Some("the run was imported".to_owned());
    }
    host::ownership::check(path).err().map(|why| why.to_string())
}
