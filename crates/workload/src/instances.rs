//! The instances of one variant that share one load: as many as its knob `instances` says. Each has its own process, port,
//! directory and all of the data; password and certificate are the same for all. The load's connections are divided among
//! them, their counts are added up, and they stop together.
//!
//! A single instance is [`Instance`].

use std::collections::BTreeSet;

use host::process::{LogText, ProcessTree};
use host::{CpuSet, affinity};
use load::engine::RunContext;
use load::spec::LoadSpec;

use crate::definition::{ServerDefinition, Workload};
use crate::instance::{
    COMMAND, EffectiveConfigFile, Instance, InstanceError, ObservedValue, Observer, OperationCount,
    SERVER_LOG, StartOptions, Verification, companion_prefix, sum as observer_sum,
};
use crate::started_server::StartedServer;
use crate::variant::ServerVariant;

/// The running instances of one variant. They are stopped when this is dropped, and when this program ends.
#[derive(Debug)]
pub struct Instances {
    first: Instance,
    others: Vec<Instance>,
}

/// Reads what the instances of a server say of themselves, added up. It may be used on another thread while they are loaded.
#[derive(Clone, Debug)]
pub struct Observers(Vec<Observer>);

impl Observers {
    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The values now.
    pub fn read(&self) -> Result<Vec<ObservedValue>, InstanceError> {
        let readings: Result<Vec<_>, InstanceError> = self.0.iter().map(Observer::read).collect();
        Ok(observer_sum(readings?))
    }

    /// The names of all values that are read.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names: BTreeSet<&str> = self.0.iter().flat_map(Observer::names).collect();
        names.into_iter()
    }
}

/// What the names of each instance's files begin with.
fn prefixes() -> impl Iterator<Item = String> {
    (1_u32..).map(|number| if number == 1 { String::new() } else { format!("instance-{number}-") })
}

/// The names of the files of a variant's server that may be kept: what [`Instances::effective_configuration`] and
/// [`Instances::logs`] return, wherever the server runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFiles {
    /// Its configuration.
    pub configuration: Vec<String>,
    /// Its logs.
    pub logs: Vec<String>,
}

impl ServerFiles {
    /// Those of this variant.
    pub fn of(server: &ServerDefinition, variant: &ServerVariant) -> Self {
        let own = (String::new(), server);
        let companions = server.companions.iter();
        let companions = companions.map(|companion| (companion_prefix(&companion.name), &companion.process));
        let mut files = Self { configuration: Vec::new(), logs: Vec::new() };
        for (of_part, process) in companions.chain([own]) {
            let templates = process.config.iter().map(|template| template.name.as_str());
            let written: Vec<&str> = [COMMAND].into_iter().chain(templates).collect();
            for of_instance in prefixes().take(variant.instances().into()) {
                let all = written.iter().map(|name| format!("{of_instance}{of_part}{name}"));
                files.configuration.extend(all);
                files.logs.push(format!("{of_instance}{of_part}{SERVER_LOG}"));
            }
        }
        files
    }
}

/// The CPUs of each instance.
fn shares(options: &StartOptions, server: &str, count: u16) -> Result<Vec<CpuSet>, InstanceError> {
    let cores = options.host.cores(&options.cpus);
    affinity::shares(&cores, usize::from(count)).ok_or_else(|| InstanceError::FewCpus {
        server: server.to_owned(),
        instances: count,
        cpus: options.cpus.clone(),
    })
}

impl Instances {
    /// Starts all of them, one after the other. A given port is that of the first; the others get the ports after it.
    pub fn start(
        workload: &Workload,
        variant: &ServerVariant,
        options: &StartOptions,
    ) -> Result<Self, InstanceError> {
        let count = variant.instances();
        let shares = variant.has_own_cpus().then(|| shares(options, &variant.server, count)).transpose()?;
        let options_of = |index: u16| {
            let share = shares.as_ref().map(|shares| shares[usize::from(index)].clone());
            let own = StartOptions {
                has_own_cpus: share.is_some(),
                cpus: share.unwrap_or_else(|| options.cpus.clone()),
                ..options.clone()
            };
            match (count, index) {
                (1, _) => own,
                _ => StartOptions {
                    directory: options.directory.join(format!("instance-{}", index + 1)),
                    ..own
                },
            }
        };
        let first = Instance::start(workload, variant, &options_of(0))?;
        let start = |index| {
            let credentials = Some(first.credentials.clone());
            Instance::start_with(workload, variant, &options_of(index), credentials)
        };
        let others = (1..count).map(start).collect::<Result<_, _>>()?;
        Ok(Self { first, others })
    }

    /// The first instance. The others differ from it in port and directory only.
    pub fn first(&self) -> &Instance {
        &self.first
    }

    /// Whether each has a share of the CPUs for itself.
    pub fn have_own_cpus(&self) -> bool {
        self.first.has_own_cpus()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Instance> {
        [&self.first].into_iter().chain(&self.others)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Instance> {
        [&mut self.first].into_iter().chain(&mut self.others)
    }

    /// Loads all of the data into each, see [`Instance::populate`].
    pub fn populate(&self, context: &RunContext) -> Result<(), InstanceError> {
        self.iter().try_for_each(|instance| instance.populate(context))
    }

    /// Checks the replies of each, see [`Instance::check`].
    pub fn check(&mut self, context: &RunContext) -> Result<(), InstanceError> {
        self.iter_mut().try_for_each(|instance| instance.check(context))
    }

    /// The sum of their counts of operations, see [`Instance::count`].
    pub fn count(&mut self) -> Result<Option<OperationCount>, InstanceError> {
        let mut sum: Option<OperationCount> = None;
        for instance in self.iter_mut() {
            let Some(count) = instance.count()? else { return Ok(None) };
            sum = Some(match sum {
                None => count,
                Some(sum) => OperationCount { count: sum.count + count.count, ..count },
            });
        }
        Ok(sum)
    }

    /// What the workload's `verify` says of the first one that it finds wrong, or of the last one; none where there is no such command.
    pub fn verify(&self) -> Result<Option<Verification>, InstanceError> {
        let mut verification = None;
        for instance in self.iter() {
            verification = instance.verify()?;
            if matches!(verification, Some(Verification::Failed(_))) {
                break;
            }
        }
        Ok(verification)
    }

    /// Reads what each of them says of itself; empty if the workload observes nothing with these knobs.
    pub fn observers(&self) -> Result<Observers, InstanceError> {
        let observers = self.iter().map(Instance::observers_of_parts);
        let observers = observers.collect::<Result<Vec<_>, _>>()?;
        Ok(Observers(observers.into_iter().flatten().collect()))
    }

    /// What only this start knows. Password and certificate are the same for all of them.
    pub fn started(&self) -> StartedServer {
        let started: Vec<StartedServer> = self.iter().map(Instance::started).collect();
        StartedServer {
            addresses: started.iter().flat_map(|one| one.addresses.clone()).collect(),
            sockets: started.iter().flat_map(|one| one.sockets.clone()).collect(),
            ..self.first.started()
        }
    }

    /// A load whose connections are divided among all of them, see [`StartedServer::load_spec`].
    pub fn load_spec(&self, only: Option<&str>) -> Result<LoadSpec, InstanceError> {
        Ok(self.started().load_spec(&self.first.workload, &self.first.server, only)?)
    }

    /// The effective configuration of each. The names of the second instance's files begin with `instance-2-`, and so on.
    pub fn effective_configuration(&self) -> Vec<EffectiveConfigFile> {
        let named = |prefix: &str, file: &EffectiveConfigFile| EffectiveConfigFile {
            name: format!("{prefix}{}", file.name),
            text: file.text.clone(),
        };
        self.numbered()
            .flat_map(|(prefix, one)| {
                let files = one.configuration_of_parts().into_iter();
                files.map(move |file| named(&prefix, &file)).collect::<Vec<_>>()
            })
            .collect()
    }

    /// The logs of each, named in the same way.
    pub fn logs(&self) -> Vec<(String, LogText)> {
        let mut logs = Vec::new();
        for (prefix, one) in self.numbered() {
            logs.extend(one.logs().into_iter().map(|(name, log)| (format!("{prefix}{name}"), log)));
        }
        logs
    }

    fn numbered(&self) -> impl Iterator<Item = (String, &Instance)> {
        prefixes().zip(self.iter())
    }

    /// The processes of the server's own part, of each instance.
    pub fn own_trees(&self) -> Vec<ProcessTree> {
        self.iter().map(Instance::tree).collect()
    }

    /// The processes of each part of the server, of all instances, with the part's name. A server without companions has one part.
    pub fn parts(&self) -> Vec<(String, Vec<ProcessTree>)> {
        let mut parts: Vec<(String, Vec<ProcessTree>)> = Vec::new();
        for (name, tree) in self.iter().flat_map(Instance::parts) {
            match parts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, trees)) => trees.push(tree),
                None => parts.push((name, vec![tree])),
            }
        }
        parts
    }

    /// Checks that all of them still run. The error has how the first one that does not run ended.
    pub fn check_alive(&self) -> Result<(), InstanceError> {
        self.iter().try_for_each(Instance::check_alive)
    }

    /// Stops all of them, and waits until none of their processes is left.
    pub fn stop(&mut self) -> Result<(), InstanceError> {
        // Every instance is stopped, also where stopping an earlier one fails.
        let stopped: Vec<_> = self.iter_mut().map(Instance::stop).collect();
        stopped.into_iter().try_for_each(|outcome| outcome.map(drop))
    }
}
