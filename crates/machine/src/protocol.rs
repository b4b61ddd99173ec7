//! What the two sides say to each other: one version of it, so that both must be the same program.
//!
//! The controller sends [`ToAgent`], the agent [`FromAgent`]. A request has an ID, which its reply carries. The agent answers
//! requests as they are finished, not in their order. Those about servers are in [`servers`].

pub mod servers;

mod programs;
pub mod throughput_span;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use archive::model::VariantFacts;
use host::CpuSet;
use host::doctor::HostFinding;
use host::facts::HostFacts;
use host::process::LogText;
use host::telemetry::TelemetrySample;
use load::clock::Nanos;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workload::{OperationCount, Verification};

use self::servers::{
    BeginRecording, CheckServer, CloseKernelSettings, EndRecording, EnsureServers, Interrupt, MeasureSteal,
    OpenKernelSettings, PrepareServer, ReadAvailableMemory, ReadConfiguration, ReadCount, ReadCpuUsed,
    ReadFacts, ReadLogs, ReadRoom, ReadRunningCpu, ReadSamples, ReadServerFacts, ReadStart, RecordingBegan,
    RecordingHead, RemoveData, Reserve, Reserved, ServerStart, SetKernelSettings, StartServer, StopServer,
    TakeWorkload, TryKernelSettings, VerifyServer,
};
pub use crate::errors::call::{CallError, ConnectFailure};
use crate::frame::MAX_FRAME_BYTES;
use crate::interface::machine::{LeftSettings, Room};
use crate::interface::system_under_test::{CpuReading, ServerCpuUsed};
use crate::protocol::throughput_span::ThroughputSpan;

pub(crate) use self::programs::WINDOW;
pub use self::programs::{
    AgentProgram, ClientDescription, DescribeClient, FromProgram, StartProgram, ToProgram,
};

/// Increment this when a message below changes.
pub const PROTOCOL: u32 = 12;

/// How often the controller sends a [`ToAgent::Ping`].
pub const PING_PERIOD: Duration = Duration::from_secs(2);

/// Without a byte of the agent for this long, its host is lost.
pub const HOST_SILENCE: Duration = Duration::from_secs(10);

/// Without a byte of the controller for this long, the agent ends. Longer than [`HOST_SILENCE`], so that the controller knows
/// first.
pub const CONTROLLER_SILENCE: Duration = Duration::from_secs(15);

/// Who the agent is: its first message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`] of the agent.
    pub protocol: u32,
    /// The version of its program.
    pub version: String,
    /// A hash of the sources of its program, the same for all architectures; empty of a program that has none.
    #[serde(default)]
    pub sources: String,
    /// The process.
    pub pid: u32,
    /// The ID of its user.
    pub uid: u32,
}

impl Hello {
    /// This process's.
    pub fn of_this_process() -> Self {
        Self {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            sources: env!("SHOWDOWN_SOURCES").to_owned(),
            pid: std::process::id(),
            uid: rustix::process::getuid().as_raw(),
        }
    }

    /// Whether the two can talk to each other.
    pub fn fits(&self, other: &Self) -> bool {
        (self.protocol, &self.version) == (other.protocol, &other.version)
    }
}

impl Request {
    /// Whether it is answered at once, before all other work: it takes no time, and waits for nothing.
    pub fn is_at_once(&self) -> bool {
        matches!(self, Self::ReadClocks(_) | Self::Interrupt(_))
    }
}

/// A message of the controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToAgent {
    /// The controller is there.
    Ping,
    /// A request.
    Request {
        /// Its number; the reply has the same.
        id: u64,
        /// What is asked.
        call: Request,
    },
    /// For a program that the agent runs.
    Program {
        /// The number of its channel.
        channel: u64,
        /// The message.
        message: ToProgram,
    },
}

/// A message of the agent, with any answer.
pub type FromAgent = AgentMessage<Value>;

/// A message of the agent. The controller reads a reply twice: first without its answer, whose type belongs to the request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentMessage<A> {
    /// The first message.
    Hello(Hello),
    /// The answer to a ping.
    Pong,
    /// The reply to a request.
    Reply {
        /// The number of the request.
        id: u64,
        /// The answer, of the type that belongs to the request; or why there is none.
        result: Result<A, CallError>,
    },
    /// Of a program that the agent runs.
    Program {
        /// The number of its channel.
        channel: u64,
        /// The message.
        message: FromProgram,
    },
}

/// The system's text of an error, without its number.
pub(crate) fn system_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or_default().to_owned()
}

/// A request, with the type of its answer.
pub trait Call: Into<Request> {
    /// What the agent replies.
    type Answer: Serialize + DeserializeOwned;
    /// Most bytes of the reply.
    const MOST_BYTES: usize;
}

/// Most bytes of a reply with some numbers, names or sentences.
const FEW: usize = 1 << 20;
/// The same of facts, findings and configuration files.
const TEXTS: usize = 8 << 20;
/// The same of logs.
const LOGS: usize = MAX_FRAME_BYTES;
/// The same of samples: an agent sends a million values at most in one reply, of up to 25 bytes.
const SAMPLES: usize = 32 << 20;

/// Answers a call: what an agent does for it.
pub trait Answers<C: Call> {
    /// The answer, or why there is none.
    fn answer(&self, call: C) -> Result<C::Answer, CallError>;
}

/// An answer in its reply.
fn value(answer: impl Serialize) -> Value {
    serde_json::to_value(answer).expect("answers are plain data")
}

/// Makes the enum of all requests, connects each with its answer, and gives it to who answers it: a call without one does not compile.
macro_rules! requests {
    ($($name:ident => $answer:ty, $most:ident;)*) => {
        /// What the controller can ask.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Request {
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name($name),)*
        }

        impl Request {
            /// The reply of an agent that answers all calls.
            pub fn answer<A>(self, agent: &A) -> Result<Value, CallError>
            where
                $(A: Answers<$name>,)*
            {
                match self {
                    $(Self::$name(call) => agent.answer(call).map(value),)*
                }
            }
        }

        $(
            impl From<$name> for Request {
                fn from(call: $name) -> Self {
                    Self::$name(call)
                }
            }

            impl Call for $name {
                type Answer = $answer;
                const MOST_BYTES: usize = $most;
            }
        )*
    };
}

requests! {
    ReadClocks => Clocks, FEW;
    Examine => Examination, TEXTS;
    OpenProbe => ProbePort, FEW;
    CloseProbe => (), FEW;
    Connect => (), FEW;
    MeasureNetwork => NetworkPath, FEW;
    MeasureThroughput => f64, FEW;
    Interrupt => (), FEW;
    Reserve => Reserved, FEW;
    ReadFacts => HostFacts, TEXTS;
    OpenKernelSettings => LeftSettings, FEW;
    TryKernelSettings => (), FEW;
    SetKernelSettings => (), FEW;
    CloseKernelSettings => Vec<String>, FEW;
    TakeWorkload => (), FEW;
    EnsureServers => (), FEW;
    StartServer => (), FEW;
    PrepareServer => (), FEW;
    ReadStart => ServerStart, FEW;
    ReadCount => Option<OperationCount>, FEW;
    VerifyServer => Option<Verification>, FEW;
    ReadServerFacts => VariantFacts, TEXTS;
    ReadConfiguration => Vec<(String, String)>, TEXTS;
    ReadCpuUsed => ServerCpuUsed, FEW;
    ReadRunningCpu => CpuReading, FEW;
    CheckServer => (), FEW;
    ReadLogs => Vec<(String, LogText)>, LOGS;
    StopServer => (), FEW;
    RemoveData => (), FEW;
    BeginRecording => RecordingBegan, FEW;
    EndRecording => RecordingHead, TEXTS;
    ReadSamples => Vec<TelemetrySample>, SAMPLES;
    MeasureSteal => Option<f64>, FEW;
    ReadAvailableMemory => Option<f64>, FEW;
    ReadRoom => Option<Room>, FEW;
    DescribeClient => ClientDescription, FEW;
    StartProgram => (), FEW;
}

/// Asks for the clocks. Answered at once, before all other work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadClocks {}

/// The clocks of a machine at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// `CLOCK_MONOTONIC`.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME`: since 1970.
    pub unix_ns: u64,
}

/// Asks for the facts of the machine and the findings of its doctor, with telemetry of this long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Examine {
    /// How long the idle machine is sampled.
    pub sampled: Duration,
    /// The address of the machine according to the hosts file.
    pub address: IpAddr,
}

/// What a machine is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Examination {
    /// Its facts.
    pub facts: HostFacts,
    /// The findings of its doctor.
    pub findings: Vec<HostFinding>,
    /// The CPUs that the agent may use.
    pub allowed_cpus: CpuSet,
    /// Another showdown that measures there now: its process and user.
    pub other_measurement: Option<String>,
    /// Whether a server could listen on the address.
    pub address: Result<(), CallError>,
}

/// Opens a port for measurements from another host. It is closed by [`CloseProbe`], and with the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenProbe {
    /// Where to listen.
    pub address: IpAddr,
    /// What a connection must say first.
    pub token: String,
}

/// An open port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbePort {
    /// The port.
    pub port: u16,
}

/// Closes all ports of [`OpenProbe`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseProbe {}

/// Opens one connection to a port of another host's [`OpenProbe`], and closes it. The error says why it cannot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connect {
    /// The address to send from.
    pub from: IpAddr,
    /// Where to.
    pub to: SocketAddr,
    /// What the port expects first.
    pub token: String,
}

/// Measures the network to a port of another host's [`OpenProbe`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureNetwork {
    /// How to reach the port.
    pub connect: Connect,
    /// How long bytes are counted for each throughput, at least. On a far network it is longer: see [`ThroughputSpan::of`].
    pub each: Duration,
}

/// Measures a throughput to or from a port of another host's [`OpenProbe`], from a moment on: several hosts do so at the same time. The
/// answer has bytes a second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureThroughput {
    /// How to reach the port.
    pub connect: Connect,
    /// The direction.
    pub way: Way,
    /// The number of its streams.
    pub streams: u32,
    /// When the data begins, on the clock of the host that is asked. By then, all connections must be open.
    pub begin: Nanos,
    /// How long it is measured.
    pub span: ThroughputSpan,
}

/// A direction of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// That of the connection.
    There,
    /// The other one.
    Back,
}

/// A network from one host to another, as TCP gets it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkPath {
    /// Round trips that were timed.
    pub round_trips: u32,
    /// Their median.
    pub median_us: f64,
    /// Their 99th percentile.
    pub p99_us: f64,
    /// Throughput of one stream in the direction of the connection.
    pub one_stream_bytes_per_s: f64,
    /// Throughput of one stream in the other direction.
    pub one_stream_back_bytes_per_s: f64,
    /// Throughput of eight streams together.
    pub eight_streams_bytes_per_s: f64,
    /// Throughput of eight streams together in the other direction.
    pub eight_streams_back_bytes_per_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_round_trip_and_have_the_form_of_this_version() -> serde_json::Result<()> {
        let connect =
            Connect { from: [10, 1, 0, 1].into(), to: ([10, 1, 0, 2], 7000).into(), token: "t".to_owned() };
        let measure = MeasureNetwork { connect, each: Duration::from_millis(1500) };
        for call in [ReadClocks {}.into(), Request::from(measure), CloseProbe {}.into()] {
            let message = ToAgent::Request { id: 7, call };
            let text = serde_json::to_string(&message)?;
            assert_eq!(serde_json::from_str::<ToAgent>(&text)?, message, "{text}");
        }
        let reply = FromAgent::Reply { id: 7, result: Err(CallError::Broken { why: "no".to_owned() }) };
        let text = r#"{"reply":{"id":7,"result":{"Err":{"broken":{"why":"no"}}}}}"#;
        assert_eq!(serde_json::to_string(&reply)?, text);
        assert_eq!(serde_json::to_string(&ToAgent::Ping)?, r#""ping""#);
        Ok(())
    }

    #[test]
    fn another_version_does_not_fit() {
        let this = Hello::of_this_process();
        assert!(this.fits(&Hello { pid: 1, uid: 0, ..this.clone() }));
        assert!(!this.fits(&Hello { protocol: PROTOCOL + 1, ..this.clone() }));
        assert!(!this.fits(&Hello { version: "0.0.1".to_owned(), ..this.clone() }));
        let hex = |text: &str| text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(hex(&this.sources), "{}", this.sources);
        let earlier = r#"{"protocol":8,"version":"0.1.0","pid":1,"uid":0}"#;
        assert!(!this.fits(&serde_json::from_str(earlier).expect("that of a program without a hash")));
    }
}
