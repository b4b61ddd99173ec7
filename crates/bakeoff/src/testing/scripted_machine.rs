//! A machine that is lost at a certain call. Its servers answer each request of HTTP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use archive::model::VariantFacts;
use host::knobs::KnobValues;
use host::process::LogText;
use host::telemetry::Recording;
use host::{CpuSet, HostFacts};
use load::clock::Nanos;
use load::drivers::ProtocolSpec;
use load::drivers::http::{HttpOperation, HttpSpec};
use load::spec::LoadSpec;
use machine::{
    CpuMeter, CpuReading, LeftSettings, Machine, MachineError, Probing, RecordedServer, Recorder, Room,
    ServerCpuUsed, ServerOrder, SystemUnderTest,
};
use workload::{OperationCount, ServerVariant, Workload};

/// The call at which the machine is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LostAt {
    Nowhere,
    Facts,
    Start,
    Prepare,
    RecordingBegins,
    IdleCheck,
    Memory,
    CpuTimeOfSlice,
    RecordingEnds,
}

#[derive(Clone)]
pub struct ScriptedMachine {
    lost_at: LostAt,
    /// Answers requests of HTTP.
    address: SocketAddr,
    pub log: Arc<Mutex<MachineLog>>,
}

#[derive(Default)]
pub struct MachineLog {
    pub orders: Vec<ServerOrder>,
    /// The kernel settings, each time that they were set.
    pub settings: Vec<KnobValues>,
    pub stopped: usize,
    pub removed: Vec<u32>,
    /// How often its kernel settings were put back.
    pub closed: u32,
}

/// What it says when its kernel settings are to be put back.
pub const UNRESTORED: &str = "kernel setting vm.swappiness is not restored to 60: it is gone";

/// What its errors say.
pub const LINE: &str = "host old was lost: no answer for 10 s: check the host and the network to it";

impl ScriptedMachine {
    pub fn lost_at(lost_at: LostAt) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                thread::spawn(move || reply(connection));
            }
        });
        Ok(Self { lost_at, address, log: Arc::default() })
    }

    fn unless_lost<T>(&self, at: LostAt, value: T) -> Result<T, MachineError> {
        let (reason, remedy) = ("no answer for 10 s", "check the host and the network to it");
        let error =
            || MachineError::Lost { host: "old".into(), reason: reason.into(), remedy: remedy.into() };
        if self.lost_at == at { Err(error()) } else { Ok(value) }
    }

    fn log(&self, change: impl FnOnce(&mut MachineLog)) {
        change(&mut self.log.lock().expect("no thread panics with it"));
    }
}

/// Answers the requests of one connection, which come one at a time.
fn reply(mut connection: TcpStream) {
    let mut buffer = [0; 4096];
    while matches!(connection.read(&mut buffer), Ok(1..)) {
        if connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
            return;
        }
    }
}

impl Machine for ScriptedMachine {
    fn facts(&self) -> Result<HostFacts, MachineError> {
        self.unless_lost(LostAt::Facts, HostFacts::default())
    }

    fn open_kernel_settings(&self, _variants: &[KnobValues]) -> Result<LeftSettings, MachineError> {
        Ok(LeftSettings::default())
    }

    fn try_kernel_settings(&self, _variants: &[KnobValues]) -> Result<(), MachineError> {
        Ok(())
    }

    fn set_kernel_settings(&self, settings: &KnobValues) -> Result<(), MachineError> {
        self.log(|log| log.settings.push(settings.clone()));
        Ok(())
    }

    fn close_kernel_settings(&self) -> Vec<String> {
        self.log(|log| log.closed += 1);
        vec![UNRESTORED.to_owned()]
    }

    fn ensure_servers(&self, _workload: &Workload, _variants: &[ServerVariant]) -> Result<(), MachineError> {
        Ok(())
    }

    fn start(
        &self,
        _workload: &Workload,
        order: &ServerOrder,
    ) -> Result<Box<dyn SystemUnderTest>, MachineError> {
        self.log(|log| log.orders.push(order.clone()));
        self.unless_lost(LostAt::Start, Box::new(self.clone()) as Box<dyn SystemUnderTest>)
    }

    fn record(&self, _: &[RecordedServer], _: Duration) -> Result<Box<dyn Recorder>, MachineError> {
        self.unless_lost(LostAt::RecordingBegins, Box::new(self.clone()) as Box<dyn Recorder>)
    }

    fn stolen_under_load(&self, _cpus: &CpuSet, _length: Duration) -> Result<Option<f64>, MachineError> {
        Ok(None)
    }

    fn available_memory_share(&self) -> Result<Option<f64>, MachineError> {
        self.unless_lost(LostAt::Memory, None)
    }

    fn room(&self) -> Option<Room> {
        None
    }

    /// Trials ask for no study.
    fn probing(&self) -> Option<&dyn Probing> {
        None
    }

    fn remove_data(&self, trial: u32) {
        self.log(|log| log.removed.push(trial));
    }
}

impl SystemUnderTest for ScriptedMachine {
    fn prepare(&mut self) -> Result<(), MachineError> {
        self.unless_lost(LostAt::Prepare, ())
    }

    fn load_spec(&self) -> Result<LoadSpec, MachineError> {
        let http = HttpSpec::new(&self.address.to_string(), vec![HttpOperation::get("/")]);
        Ok(LoadSpec::closed(ProtocolSpec::Http(http), self.address, 1))
    }

    fn count(&mut self) -> Result<Option<OperationCount>, MachineError> {
        Ok(None)
    }

    fn facts(&self) -> Result<VariantFacts, MachineError> {
        Ok(VariantFacts::default())
    }

    fn configuration(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn cpu_meter(&self) -> Box<dyn CpuMeter> {
        Box::new(self.clone())
    }

    fn check_alive(&self) -> Result<(), MachineError> {
        Ok(())
    }

    fn logs(&self) -> Vec<(String, LogText)> {
        Vec::new()
    }

    fn stop(&mut self) {
        self.log(|log| log.stopped += 1);
    }
}

impl CpuMeter for ScriptedMachine {
    fn used(&self) -> Result<ServerCpuUsed, MachineError> {
        self.unless_lost(LostAt::CpuTimeOfSlice, ServerCpuUsed::default())
    }

    fn of_running(&self) -> Result<CpuReading, MachineError> {
        self.unless_lost(LostAt::IdleCheck, CpuReading { at: Nanos::now(), time: Duration::ZERO })
    }
}

impl Recorder for ScriptedMachine {
    fn began(&self) -> Instant {
        Instant::now()
    }

    fn stop(self: Box<Self>) -> Result<Recording, MachineError> {
        self.unless_lost(LostAt::RecordingEnds, Recording::default())
    }
}
