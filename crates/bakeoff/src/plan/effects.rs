//! What a run of a plan does to this machine: for the user of a plan that somebody else made.

use std::collections::BTreeSet;

use archive::model::Plan;
use workload::definition::ReadyProbe;
use workload::{Catalogue, ServerDefinition, Workload};

use crate::plan;
use crate::plan::check::server_variants;
use crate::plan::error::PlanError;
use crate::plan::variant_point::variant_points;

/// What a run of a plan does to this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanEffects {
    /// The other machines that it reaches by ssh, where servers start as the user of that login.
    pub hosts: Vec<String>,
    /// The workload: a built-in one, or a folder on disk.
    pub workload: String,
    /// The commands that it executes, as templates.
    pub commands: Vec<String>,
    /// The packages that it installs where they are missing, and where the user may do so.
    pub packages: Vec<String>,
    /// The variants with their settings. A path among them is a file or directory that it uses.
    pub variants: Vec<String>,
    /// The kernel settings.
    pub kernel_settings: Vec<String>,
    /// The number of trials without spare blocks.
    pub trials: u64,
}

/// What a run of this plan does.
pub fn plan_effects(plan: &Plan) -> Result<PlanEffects, PlanError> {
    plan::limits::check(plan)?;
    plan::hosts::check(plan)?;
    let workload = Catalogue::default().find(&plan.workload)?;
    let points = variant_points(plan);
    let (mut variants, mut kernel_settings, mut packages) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for variant in server_variants(plan, &workload, &points)? {
        let shown = variant.to_string();
        if !variants.contains(&shown) {
            variants.push(shown);
        }
        kernel_settings.extend(variant.kernel.iter().map(|(name, value)| format!("{name}={value}")));
        let needed = workload.dependencies(&variant);
        packages.extend(needed.iter().flat_map(|needed| needed.packages.values()).map(ToString::to_string));
    }
    let is_used = |server: &&ServerDefinition| plan.variants.iter().any(|v| v.server == server.name);
    let servers = workload.servers.iter().filter(is_used);
    let hosts = plan.hosts.iter().filter_map(|host| {
        let rights = host.become_root.as_ref().map(|command| format!(", as root by `{command}`"));
        let (ssh, rights) = (host.ssh.as_ref()?, rights.unwrap_or_default());
        Some(format!("{}, by `ssh {ssh}`{rights}, listening on {}", host.name, host.address))
    });
    Ok(PlanEffects {
        hosts: hosts.collect(),
        workload: folder(&workload),
        commands: servers.flat_map(commands).collect(),
        packages: packages.into_iter().collect(),
        variants,
        kernel_settings: kernel_settings.into_iter().collect(),
        trials: u64::from(plan.blocks) * points.len() as u64,
    })
}

fn folder(workload: &Workload) -> String {
    let of = |folder: &workload::Folder| match folder.directory() {
        None => format!("the built-in workload {}", folder.name()),
        Some(directory) => format!("the folder {}", directory.display()),
    };
    let own = of(&workload.folder);
    if workload.uses_servers_of_another() {
        format!("{own}, with the servers of {}", of(&workload.server_folder))
    } else {
        own
    }
}

/// The commands of a server, in the order of a trial.
fn commands(server: &ServerDefinition) -> Vec<String> {
    let ready = match &server.ready.probe {
        ReadyProbe::Command(command) => Some(command),
        ReadyProbe::Http(_) | ReadyProbe::Tcp | ReadyProbe::Sql(_) | ReadyProbe::Runner => None,
    };
    let version = server.version.as_ref().map(|version| &version.run);
    let commands = server.prepare.iter().chain([&server.start]).chain(ready).chain(version);
    commands.chain(&server.build).map(|words| words.join(" ")).collect()
}
