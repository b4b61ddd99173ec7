//! What a protocol registers: everything that the engine, `showdown load` and a workload need to know of it, in one
//! implementation of [`Protocol`].
//!
//! To add one: its codec in the crate `wire`, a driver and an implementation of [`Protocol`] beside this file, and its
//! line in the list of [`registry`](super::registry). `docs/decisions/0008-one-registration-for-a-protocol.md` has the
//! reasons.

use std::fmt::Debug;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::database_login::{DatabaseLogin, QueryError};
use super::error::OperationError;
use super::mix::Mix;
use super::options::{DriverOption, GivenOptions, OptionError};
use super::password::PasswordSource;
use crate::connecting::Endpoint;
use crate::driver::Driver;

/// A runner that has been started, and its mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunnerSpec {
    /// The named pipe that it reads.
    pub stdin: PathBuf,
    /// The named pipe that it writes.
    pub stdout: PathBuf,
    /// Its operations and their weights. The runner gets the weights and draws the operations itself.
    pub mix: Vec<(String, f64)>,
}

/// A scheme of a URL.
#[derive(Debug, PartialEq, Eq)]
pub struct UrlScheme {
    /// Its names; the first is the one that messages and help texts show.
    pub names: &'static [&'static str],
    /// The port if the URL has none.
    pub port: u16,
    /// Whether connections begin with a TLS handshake.
    pub is_tls: bool,
}

impl UrlScheme {
    /// The name that messages show.
    pub fn name(&self) -> &'static str {
        self.names[0]
    }
}

/// What a URL has beside host and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlPath {
    /// The path of the one request; a mix from a file has its own paths.
    Request,
    /// A user and a database.
    Account,
    /// Nothing: why there is no path.
    Unused(&'static str),
}

/// How a server is reached, beside its address.
#[derive(Clone, Debug, Default)]
pub struct ServerAccess {
    /// `host:port` for a `Host` header.
    pub authority: String,
    /// The user who logs in; empty where nobody does.
    pub user: String,
    /// The database.
    pub database: String,
    /// Where the user's password is.
    pub password: Option<PasswordSource>,
    /// Whether the password may be sent where others can read it: that of a server that was started for one trial.
    pub may_send_cleartext: bool,
    /// The named pipes that a runner reads and writes.
    pub pipes: Option<(PathBuf, PathBuf)>,
    /// Keys, values and rows follow from this.
    pub seed: u64,
    /// The folder in which names of files with values are looked up; none for the current one.
    pub folder: Option<PathBuf>,
}

/// The part of a load that one driver carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerShare {
    /// Which worker.
    pub worker: u32,
    /// Of how many.
    pub workers: u32,
    /// Whether each operation has a connection of its own.
    pub is_one_per_connection: bool,
    /// Whether the load stays on this machine's loopback. A password that others could read goes nowhere else.
    pub is_local: bool,
}

/// The only worker, whose connections stay open and on loopback.
pub(super) const ALONE: WorkerShare =
    WorkerShare { worker: 0, workers: 1, is_one_per_connection: false, is_local: true };

/// Takes the driver of a worker. The type of the driver is known at compile time here, so the calls of the hot path are
/// direct calls.
pub trait DriverUse {
    /// What comes of it.
    type Output;

    /// Takes a driver.
    fn driver<D: Driver + Send + 'static>(self, driver: D) -> Self::Output;

    /// Takes a program that makes its load itself.
    fn runner(self, runner: &RunnerSpec) -> Self::Output;
}

/// Names of the operations in the order of their ids, and of the driver's counters.
pub type DriverNames = (Vec<String>, &'static [&'static str]);

/// Sends one SQL statement to a database and returns the rows as text.
pub type SqlQuery = fn(&Endpoint, &DatabaseLogin, &str, Duration) -> Result<String, QueryError>;

/// A protocol.
pub trait Protocol: Sized + 'static {
    /// Operations and what they need, as plain data: a plan records it, and load processes get it as JSON.
    type Spec: Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync;
    /// The operations without what depends on the server. Protocols with the same type can do the same work.
    type Mix: Mix;

    /// Its name in files: `protocol = "http"`.
    const NAME: &'static str;
    /// Its codec's module in the crate `wire`; none for a runner.
    const CODEC: Option<&'static str>;
    /// Schemes of URLs; none where no URL leads to it.
    const SCHEMES: &'static [UrlScheme];
    /// What a URL has beside host and port.
    const URL_PATH: UrlPath;
    /// The protocol's name within TLS (RFC 7301), if it has one.
    const ALPN: Option<&'static [u8]> = None;
    /// Whether a driver may ask for TLS on a connection that begins in the clear.
    const MAY_START_TLS: bool = false;
    /// Whether a connection ends with a command, so that the driver counts the operations of each.
    const ENDS_CONNECTIONS: bool = false;
    /// The environment variable in which its usual client looks for a password.
    const PASSWORD_VARIABLE: Option<&'static str> = None;
    /// Whether a URL may name a user beside what [`Self::URL_PATH`] says.
    const TAKES_USER: bool = false;
    /// Options of the command line beside those of the mix.
    const OPTIONS: &'static [DriverOption] = &[];
    /// Counters that reports also show as a number an hour.
    const HOURLY_COUNTERS: &'static [&'static str] = &[];
    /// Sends one SQL statement, where the server takes SQL.
    const SQL_QUERY: Option<SqlQuery> = None;
    /// Whether the program under test makes the load itself.
    const MAKES_OWN_LOAD: bool = false;

    /// The mix for a server.
    fn spec(mix: Self::Mix, access: &ServerAccess) -> Self::Spec;

    /// Changes a spec as [`Self::OPTIONS`] ask.
    fn apply_options(_spec: &mut Self::Spec, _given: &GivenOptions) -> Result<(), OptionError> {
        Ok(())
    }

    /// The spec as answers print it: without secrets.
    fn published(spec: &Self::Spec) -> Self::Spec {
        spec.clone()
    }

    /// Where the password of a spec is, if it has one.
    fn password(_spec: &mut Self::Spec) -> Option<&mut PasswordSource> {
        None
    }

    /// Makes the driver of one worker and passes it on.
    fn drive<U: DriverUse>(
        spec: &Self::Spec,
        share: WorkerShare,
        user: U,
    ) -> Result<U::Output, OperationError>;

    /// The names of operations and counters. Fails where [`Self::drive`] would, except for a missing password.
    fn names(spec: &Self::Spec) -> Result<DriverNames, OperationError> {
        Self::drive(spec, ALONE, NamesOfDriver)
    }

    /// Whether connections begin in the clear and the driver may ask for TLS.
    fn starts_tls(_spec: &Self::Spec) -> bool {
        false
    }

    /// The runs that load the data, one after the other, each with its number of operations.
    fn populate(_spec: &Self::Spec) -> Vec<(Self::Spec, u64)> {
        Vec::new()
    }
}

struct NamesOfDriver;

impl DriverUse for NamesOfDriver {
    type Output = DriverNames;

    fn driver<D: Driver + Send + 'static>(self, driver: D) -> DriverNames {
        (driver.operations(), driver.counters())
    }

    fn runner(self, runner: &RunnerSpec) -> DriverNames {
        (runner.mix.iter().map(|(name, _)| name.clone()).collect(), &[])
    }
}
