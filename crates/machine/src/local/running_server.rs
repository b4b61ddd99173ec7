//! A running server of this machine, in one or several instances.

use std::sync::Arc;

use archive::model::VariantFacts;
use host::process::{CpuUsed, CpuUsedMeter, LogText};
use host::{CpuSet, Host};
use load::clock::Nanos;
use load::engine::RunContext;
use load::spec::LoadSpec;
use workload::{Instances, ObservedValue, Observers, OperationCount, Verification};

use super::variant_facts::variant_facts;
use crate::errors::local::LocalError;
use crate::errors::machine::MachineError;
use crate::interface::system_under_test::{
    CpuMeter, CpuReading, ServerCpuUsed, ServerObserver, SystemUnderTest,
};

/// A server of a workload, in one or several instances.
pub struct RunningServer {
    /// The instances.
    pub instances: Instances,
    /// The meters of the CPU time of each part, one for each instance. They know the processes from one reading to the next.
    pub meters: Arc<[Vec<CpuUsedMeter>]>,
    /// The CPUs that they run on.
    pub cpus: CpuSet,
    /// Names and values of the kernel settings that some variant of the plan has.
    pub kernel_settings: Vec<(String, String)>,
    /// The machine.
    pub host: Host,
    /// How data is loaded and replies are checked.
    pub context: RunContext,
    /// The variant's name in the plan.
    pub name: String,
    /// The one operation that it is loaded with; none for all of the workload.
    pub on_op: Option<String>,
}

impl SystemUnderTest for RunningServer {
    fn prepare(&mut self) -> Result<(), MachineError> {
        self.instances.populate(&self.context).map_err(LocalError::from)?;
        Ok(self.instances.check(&self.context).map_err(LocalError::from)?)
    }

    fn load_spec(&self) -> Result<LoadSpec, MachineError> {
        Ok(self.instances.load_spec(self.on_op.as_deref()).map_err(LocalError::from)?)
    }

    fn verify(&mut self) -> Result<Option<Verification>, MachineError> {
        Ok(self.instances.verify().map_err(LocalError::from)?)
    }

    fn count(&mut self) -> Result<Option<OperationCount>, MachineError> {
        Ok(self.instances.count().map_err(LocalError::from)?)
    }

    fn facts(&self) -> Result<VariantFacts, MachineError> {
        Ok(variant_facts(&self.host, &self.instances, &self.name, &self.kernel_settings))
    }

    fn configuration(&self) -> Vec<(String, String)> {
        let files = self.instances.effective_configuration().into_iter();
        files.map(|file| (file.name, file.text)).collect()
    }

    fn cpu_meter(&self) -> Box<dyn CpuMeter> {
        let (meters, cpus) = (Arc::clone(&self.meters), self.cpus.clone());
        Box::new(ProcessMeter { meters, cpus, host: self.host.clone() })
    }

    fn observer(&self) -> Result<Option<Box<dyn ServerObserver>>, MachineError> {
        let observers = self.instances.observers().map_err(LocalError::from)?;
        Ok((!observers.is_empty()).then(|| Box::new(LocalObserver(observers)) as Box<dyn ServerObserver>))
    }

    fn check_alive(&self) -> Result<(), MachineError> {
        Ok(self.instances.check_alive().map_err(LocalError::from)?)
    }

    fn logs(&self) -> Vec<(String, LogText)> {
        self.instances.logs()
    }

    fn stop(&mut self) {
        // If it does not stop on request, dropping it kills it.
        let _ = self.instances.stop();
    }
}

/// The statistics of the server's instances.
struct LocalObserver(Observers);

impl ServerObserver for LocalObserver {
    fn read(&self) -> Result<Vec<ObservedValue>, MachineError> {
        Ok(self.0.read().map_err(LocalError::from)?)
    }
}

/// The processes of a server: of each of its parts a meter for each of its instances; and what is taken from its CPUs.
struct ProcessMeter {
    meters: Arc<[Vec<CpuUsedMeter>]>,
    cpus: CpuSet,
    host: Host,
}

impl CpuMeter for ProcessMeter {
    fn used(&self) -> Result<ServerCpuUsed, MachineError> {
        let mut parts: Vec<CpuUsed> = Vec::new();
        for meters in self.meters.iter() {
            parts.push(meters.iter().map(CpuUsedMeter::used).sum());
        }
        let mut whole: CpuUsed = parts.iter().copied().sum();
        if let Some(cpus) = self.host.cpus_so_far(&self.cpus) {
            (whole.stolen, whole.all_programs) = (cpus.stolen, cpus.programs);
        }
        let is_divided = parts.len() > 1;
        let parts = parts.into_iter().map(|part| part.time);
        Ok(ServerCpuUsed { whole, parts: if is_divided { parts.collect() } else { Vec::new() } })
    }

    fn of_running(&self) -> Result<CpuReading, MachineError> {
        let at = Nanos::now();
        Ok(CpuReading { at, time: self.meters.iter().flatten().map(|meter| meter.tree().cpu_time()).sum() })
    }
}
