//! What a start needs: the host, directories, CPUs, an address and a seed.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use host::{CpuSet, Host};

use super::layout::StartLayout;

/// Where a server is started, and with which resources.
#[derive(Clone, Debug)]
pub struct StartOptions {
    /// The host.
    pub host: Host,
    /// A directory for this one start, created if missing. It gets the server's directory and a private one, see
    /// [`super::private::directories`].
    pub directory: PathBuf,
    /// The cache of the workload's files, see [`crate::data::default_cache`].
    pub cache: PathBuf,
    /// The server's CPUs.
    pub cpus: CpuSet,
    /// Whether the kernel keeps the server on them, whatever affinity it asks for.
    pub has_own_cpus: bool,
    /// Where the server listens: loopback, or an address of this machine at which clients on others reach it.
    pub address: IpAddr,
    /// The number of client connections for which the server needs descriptors: with users, one for each.
    pub connections: u32,
    /// The seed of keys, values and rows.
    pub seed: u64,
    /// What moves the server's memory from start to start. Where the lengths are to differ, the directory has them, too.
    pub layout: StartLayout,
    /// Set it to stop waiting for the server.
    pub interrupted: Arc<AtomicBool>,
}
