//! The passive side of measurements between hosts: a port that echoes, swallows or sends bytes for whoever knows its token.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use host::Host;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{read, retry_on_intr};

use super::probe_stream::{ACCEPTED, IO_TIMEOUT, Mode, ProbeHead, count_bytes, random_bytes};
use crate::mutex::locked;
use crate::protocol::throughput_span::ThroughputSpan;
use crate::protocol::{CallError, OpenProbe, ProbePort, system_text};

/// Connections that a port serves at a time. Strangers can take them for [`IO_TIMEOUT`] each.
const MOST_CONNECTIONS: usize = 64;

/// How often a port looks whether it is closed.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The open ports of an agent.
#[derive(Debug, Default)]
pub(super) struct ProbeServers(Mutex<Vec<Arc<AtomicBool>>>);

impl ProbeServers {
    /// Opens a port. It is outside the range of ephemeral ports, as those of servers under test are.
    pub fn open(&self, call: &OpenProbe) -> Result<ProbePort, CallError> {
        let failed = |why: String| CallError::Listen { address: call.address, why };
        let (port, listener) =
            Host::local().listen(call.address).map_err(|error| failed(error.to_string()))?;
        listener.set_nonblocking(true).map_err(|error| failed(system_text(&error)))?;
        let is_closed = Arc::new(AtomicBool::new(false));
        locked(&self.0).push(Arc::clone(&is_closed));
        let token: Arc<str> = call.token.as_str().into();
        thread::spawn(move || accept(&listener, &token, &is_closed));
        Ok(ProbePort { port })
    }

    /// Closes all ports.
    pub fn close(&self) {
        for port in locked(&self.0).drain(..) {
            port.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for ProbeServers {
    fn drop(&mut self) {
        self.close();
    }
}

fn accept(listener: &TcpListener, token: &Arc<str>, is_closed: &AtomicBool) {
    let open = Arc::new(AtomicUsize::new(0));
    let timeout = Timespec { tv_sec: 0, tv_nsec: POLL_INTERVAL.as_nanos() as i64 };
    while !is_closed.load(Ordering::Relaxed) {
        let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&timeout));
        let Ok((connection, _)) = listener.accept() else { continue };
        if open.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
            continue;
        }
        open.fetch_add(1, Ordering::Relaxed);
        let (token, open) = (Arc::clone(token), Arc::clone(&open));
        thread::spawn(move || {
            // The active side reports what goes wrong.
            let _ = serve(connection, &token);
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn serve(mut connection: TcpStream, token: &str) -> std::io::Result<()> {
    connection.set_nonblocking(false)?;
    connection.set_nodelay(true)?;
    let head = ProbeHead::read(&mut connection, Instant::now() + IO_TIMEOUT)?;
    if !head.has(token) {
        return Ok(());
    }
    connection.set_read_timeout(Some(IO_TIMEOUT))?;
    connection.set_write_timeout(Some(IO_TIMEOUT))?;
    connection.write_all(&[ACCEPTED])?;
    match head.mode {
        Mode::Connect => Ok(()),
        Mode::Echo => echo(connection),
        Mode::Swallow => swallow(connection, head.span),
        Mode::Send => send(connection),
    }
}

fn echo(mut connection: TcpStream) -> std::io::Result<()> {
    let mut byte = [0];
    while retry_on_intr(|| read(&connection, &mut byte))? > 0 {
        connection.write_all(&byte)?;
    }
    Ok(())
}

/// Counts bytes after the slow start, and replies with their number and that time. Then it reads on until the sender has seen the
/// reply: an early end would reset the connection and lose it.
fn swallow(mut connection: TcpStream, span: ThroughputSpan) -> std::io::Result<()> {
    let (bytes, took) = count_bytes(&mut connection, span)?;
    connection.write_all(&bytes.to_le_bytes())?;
    connection.write_all(&(took.as_nanos() as u64).to_le_bytes())?;
    let mut buffer = vec![0; 256 << 10];
    while retry_on_intr(|| read(&connection, &mut buffer))? > 0 {}
    Ok(())
}

/// Sends from the reader's first byte on, until it has had enough.
fn send(mut connection: TcpStream) -> std::io::Result<()> {
    connection.read_exact(&mut [0])?;
    let bytes = random_bytes();
    while connection.write_all(&bytes).is_ok() {}
    connection.shutdown(Shutdown::Both)
}
