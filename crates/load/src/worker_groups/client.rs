//! What a load needs of a machine that makes a part of it: the pipes to load processes there, and how far its
//! clock is from the one here. The crate `machine` has machines behind a connection.

use std::error::Error;
use std::fmt;
use std::io::{BufRead, Write};
use std::net::IpAddr;

use crate::clock::ClientClock;

/// Why a client cannot be used: the host, the reason and the remedy in one line.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ClientError(pub Box<dyn Error + Send + Sync>);

/// A machine that makes a part of a load.
pub trait LoadClient: fmt::Debug + Send + Sync {
    /// Its name in results.
    fn name(&self) -> &str;

    /// The local address of its connections; none to let its system choose.
    fn source(&self) -> Option<IpAddr>;

    /// How many connections one of its processes can have open.
    fn connections_a_process(&self) -> u64;

    /// Starts a load process there: one that calls [`load_process_main`](crate::load_process_main).
    fn start(&self) -> Result<ProcessPipes, ClientError>;

    /// Compares its clock with the one here, while no load runs.
    fn clock(&self) -> Result<ClientClock, ClientError>;
}

/// The pipes to a load process. Lines go in and out; the end of either ends the process.
pub struct ProcessPipes {
    /// Its standard input. Dropping it ends the process.
    pub input: Box<dyn Write + Send>,
    /// Its standard output. An error says in one line why nothing more comes.
    pub output: Box<dyn BufRead + Send>,
    /// Waits until it has ended.
    pub end: Box<dyn FnOnce(ProcessEnd) + Send>,
}

/// How a load process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// By itself: its output has ended.
    Itself,
    /// It is silent, and killed where it is a process of this machine.
    Killed,
}
