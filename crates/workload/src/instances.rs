//! The servers of one variant behind one load: as many as its knob `instances` says, each with its own process,
//! port, directory and all of the data, and one password and certificate for all. Seen from outside they are one server of which
//! there is more: connections are spread over them, what they count is added up, and they stop together.
//!
//! What one of them does is [`Instance`]'s.

use std::path::PathBuf;

use host::process::ProcessTree;
use load::engine::RunContext;
use load::spec::LoadSpec;

use crate::definition::Workload;
use crate::instance::{EffectiveConfigFile, Instance, InstanceError, OperationCount, StartOptions};
use crate::variant::ServerVariant;

/// Servers of one variant that run. They are stopped when this is dropped, and when we die.
#[derive(Debug)]
pub struct Instances {
    first: Instance,
    others: Vec<Instance>,
}

impl Instances {
    /// Starts all of them, one after the other; the stage's port is the first one's, and the next are the others'.
    pub fn start(
        workload: &Workload,
        variant: &ServerVariant,
        stage: &StartOptions,
    ) -> Result<Self, InstanceError> {
        let count = variant.instances();
        let stage_of = |index: u16| match (count, index) {
            (1, _) => stage.clone(),
            _ => StartOptions {
                directory: stage.directory.join(format!("instance-{}", index + 1)),
                port: stage.port.map(|port| port.saturating_add(index)),
                ..stage.clone()
            },
        };
        let first = Instance::start(workload, variant, &stage_of(0))?;
        let start = |index| {
            let credentials = Some(first.credentials.clone());
            Instance::start_with(workload, variant, &stage_of(index), credentials)
        };
        let others = (1..count).map(start).collect::<Result<_, _>>()?;
        Ok(Self { first, others })
    }

    /// One of them, which is like the others but for its port and directory.
    pub fn first(&self) -> &Instance {
        &self.first
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

    /// How many operations they have counted together, see [`Instance::count`].
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

    /// A load whose connections are spread over all of them, see [`Instance::load_spec`]. Where the protocol has the
    /// client name the server (`Host` of HTTP), it names the first.
    pub fn load_spec(&self, only: Option<&str>) -> Result<LoadSpec, InstanceError> {
        let addresses = self.iter().map(Instance::address).collect();
        Ok(self.first.load_spec(only)?.with_addresses(addresses))
    }

    /// The effective configuration of each; those of the second and further ones are called `instance-2-…`.
    pub fn effective_configuration(&self) -> Vec<EffectiveConfigFile> {
        let named = |prefix: &str, file: &EffectiveConfigFile| EffectiveConfigFile {
            name: format!("{prefix}{}", file.name),
            text: file.text.clone(),
        };
        self.numbered()
            .flat_map(|(prefix, one)| {
                one.effective_configuration().iter().map(move |file| named(&prefix, file))
            })
            .collect()
    }

    /// The files that get what each writes, with their names, made in the same way.
    pub fn logs(&self) -> Vec<(String, PathBuf)> {
        self.numbered().map(|(prefix, one)| (format!("{prefix}server.log"), one.log_path())).collect()
    }

    fn numbered(&self) -> impl Iterator<Item = (String, &Instance)> {
        let prefix = |number| if number == 1 { String::new() } else { format!("instance-{number}-") };
        (1..).map(prefix).zip(self.iter())
    }

    /// The processes of each.
    pub fn trees(&self) -> Vec<ProcessTree> {
        self.iter().map(Instance::tree).collect()
    }

    /// Whether all of them still run; the error says how the first that does not ended.
    pub fn check_alive(&self) -> Result<(), InstanceError> {
        self.iter().try_for_each(Instance::check_alive)
    }

    /// Stops all of them, and comes back when nothing is left.
    pub fn stop(&mut self) -> Result<(), InstanceError> {
        // Each is stopped, also where an earlier one would not.
        let stopped: Vec<_> = self.iter_mut().map(Instance::stop).collect();
        stopped.into_iter().try_for_each(|outcome| outcome.map(drop))
    }
}
