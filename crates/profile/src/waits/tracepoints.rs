//! Tracepoints of the kernel: where they are, and where their records have which field. Opening them is left to others.

use std::fs;

/// Where the kernel's tracepoints are.
const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// In the flags of a tracepoint: in an interrupt (`TRACE_FLAG_HARDIRQ`, `TRACE_FLAG_SOFTIRQ`).
const INTERRUPT_FLAGS: u8 = 0x08 | 0x10;

/// A tracepoint with the description of its record.
struct Found {
    id: u64,
    format: String,
}

/// Finds a tracepoint such as `sched/sched_waking`. The error says why there is none.
fn find(name: &str) -> Result<Found, String> {
    let read = |root: &&str| {
        let folder = format!("{root}/events/{name}");
        let id = fs::read_to_string(format!("{folder}/id")).ok()?.trim().parse().ok()?;
        Some(Found { id, format: fs::read_to_string(format!("{folder}/format")).ok()? })
    };
    TRACING.iter().find_map(read).ok_or_else(|| {
        if TRACING.iter().any(|root| fs::read_dir(format!("{root}/events")).is_ok()) {
            format!("this kernel has no tracepoint {name}")
        } else {
            "tracefs cannot be read: mount -t tracefs tracefs /sys/kernel/tracing".to_owned()
        }
    })
}

impl Found {
    fn offset(&self, field: &str) -> Result<usize, String> {
        field_offset(&self.format, field).ok_or_else(|| format!("the tracepoint has no field {field}"))
    }
}

/// A thread is woken: `sched_waking`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waking {
    pub id: u64,
    tid_at: usize,
}

impl Waking {
    pub(super) fn find() -> Result<Self, String> {
        let found = find("sched/sched_waking")?;
        Ok(Self { id: found.id, tid_at: found.offset("pid")? })
    }

    /// The thread that is woken, and whether an interrupt wakes it.
    pub(super) fn read(self, raw: &[u8]) -> Option<(u32, bool)> {
        Some((u32::from_ne_bytes(bytes(raw, self.tid_at)?), raw.get(2)? & INTERRUPT_FLAGS != 0))
    }
}

/// A thread has read data of a TCP connection: `tcp_rcv_space_adjust`.
#[derive(Debug, Clone, Copy)]
pub(super) struct TcpRead {
    pub id: u64,
    socket_at: usize,
    peer_port_at: usize,
}

impl TcpRead {
    pub(super) fn find() -> Result<Self, String> {
        let found = find("tcp/tcp_rcv_space_adjust")?;
        Ok(Self { id: found.id, socket_at: found.offset("skaddr")?, peer_port_at: found.offset("dport")? })
    }

    /// The socket, and the port of its peer.
    pub(super) fn read(self, raw: &[u8]) -> Option<(u64, u16)> {
        let socket = u64::from_ne_bytes(bytes(raw, self.socket_at)?);
        Some((socket, u16::from_ne_bytes(bytes(raw, self.peer_port_at)?)))
    }
}

/// A thread has sent data: `sock_send_length`, of Linux 6.3 and later.
#[derive(Debug, Clone, Copy)]
pub(super) struct SocketSend {
    pub id: u64,
    socket_at: usize,
}

impl SocketSend {
    pub(super) fn find() -> Result<Self, String> {
        let found = find("sock/sock_send_length")?;
        Ok(Self { id: found.id, socket_at: found.offset("sk")? })
    }

    /// The socket.
    pub(super) fn read(self, raw: &[u8]) -> Option<u64> {
        Some(u64::from_ne_bytes(bytes(raw, self.socket_at)?))
    }
}

fn bytes<const N: usize>(raw: &[u8], at: usize) -> Option<[u8; N]> {
    raw.get(at..)?.first_chunk().copied()
}

/// The offset of a field, in a line such as `field:pid_t pid; offset:24; size:4; signed:1;`.
fn field_offset(format: &str, name: &str) -> Option<usize> {
    let line = format.lines().find(|line| {
        line.trim()
            .strip_prefix("field:")
            .and_then(|rest| rest.split(';').next())
            .is_some_and(|declaration| declaration.rsplit([' ', '*']).next() == Some(name))
    })?;
    line.split("offset:").nth(1)?.split(';').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_the_format() {
        let format = "\
name: sched_waking
format:
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:const void * skaddr;\toffset:32;\tsize:8;\tsigned:0;
\tfield:void *sk;\toffset:40;\tsize:8;\tsigned:0;
";
        assert_eq!(field_offset(format, "pid"), Some(24));
        assert_eq!(field_offset(format, "skaddr"), Some(32));
        assert_eq!(field_offset(format, "sk"), Some(40));
        assert_eq!(field_offset(format, "prio"), None);
    }

    #[test]
    fn records_are_read_and_short_ones_are_none() {
        let (waking, read) = (Waking { id: 1, tid_at: 8 }, TcpRead { id: 2, socket_at: 8, peer_port_at: 18 });
        let mut raw = vec![0_u8; 20];
        raw[2] = 0x10;
        raw[8..12].copy_from_slice(&77_u32.to_ne_bytes());
        raw[18..20].copy_from_slice(&4321_u16.to_ne_bytes());
        assert_eq!(waking.read(&raw), Some((77, true)));
        assert_eq!(read.read(&raw).map(|(_, port)| port), Some(4321));
        assert_eq!((waking.read(&raw[..9]), read.read(&raw[..19])), (None, None));
        assert_eq!(SocketSend { id: 3, socket_at: 16 }.read(&raw), None);
    }

    #[test]
    fn a_missing_tracepoint_has_a_reason() {
        assert!(find("no/such").is_err_and(|why| why.contains("tracefs") || why.contains("no/such")));
    }
}
