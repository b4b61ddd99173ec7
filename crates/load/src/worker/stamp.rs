//! Receive timestamps: the kernel notes when a segment arrives, and reports the time of the last byte that a read returns.
//!
//! `SO_TIMESTAMPING` with software receive timestamps works on TCP (`tcp_recv_timestamp` in net/ipv4/tcp.c), also where the
//! bytes are cipher text. With one operation in flight a connection, the stamp of the last read is the time at which the
//! reply was complete, before the client was woken up. On loopback it is taken within the server's send.
//!
//! Cost of a read of 128 bytes, CPU time of the thread (`docs/decisions/0010-receive-timestamps.md`):
//!
//! | read | ns |
//! |---|---|
//! | `recv` | 1,190 |
//! | `recvmsg` | 1,240 |
//! | `recvmsg` with a stamp | 1,280 |

use std::io::IoSliceMut;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::sys::socket::sockopt::Timestamping;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, TimestampingFlag, Timestamps, cmsg_space, recvmsg, setsockopt,
};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketType};

/// When the kernel received the last byte of a read: nanoseconds of `CLOCK_REALTIME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp(pub NonZeroU64);

/// Room for one control message, aligned as the kernel writes it.
#[repr(align(8))]
struct Control([u8; cmsg_space::<Timestamps>()]);

/// Keeps the kernel's timestamps on. The kernel stamps while any socket asks for it. Where the last of these is closed and
/// the next one opened with each operation, it would patch its own code each time.
#[derive(Debug)]
pub(super) struct Stamping {
    _socket: OwnedFd,
}

impl Stamping {
    /// Turns timestamps on. None where the kernel has none.
    pub fn begin() -> Option<Self> {
        let socket = net::socket(AddressFamily::INET, SocketType::DGRAM, None).ok()?;
        request(&socket).then_some(Self { _socket: socket })
    }
}

/// Asks the kernel to stamp what this socket receives. False where it does not.
pub(super) fn request(socket: &impl AsFd) -> bool {
    let software =
        TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
    setsockopt(&socket.as_fd(), Timestamping, &software).is_ok()
}

/// Receives as recv(2) does, with the stamp of the last byte. Without a stamp where the kernel has taken none: it begins
/// shortly after the first socket of the machine has asked.
#[inline(always)]
pub(super) fn receive(
    socket: &impl AsFd,
    buffer: &mut [u8],
    flags: MsgFlags,
) -> Result<(usize, Option<Stamp>), Errno> {
    let mut control = Control([0; cmsg_space::<Timestamps>()]);
    let mut into = [IoSliceMut::new(buffer)];
    let message = recvmsg::<()>(socket.as_fd().as_raw_fd(), &mut into, Some(&mut control.0), flags)
        .map_err(|errno| Errno::from_raw_os_error(errno as i32))?;
    let stamp = message.cmsgs().ok().and_then(|mut messages| {
        messages.find_map(|message| match message {
            ControlMessageOwned::ScmTimestampsns(stamps) => {
                nanos(stamps.system.tv_sec(), stamps.system.tv_nsec())
            }
            _ => None,
        })
    });
    Ok((message.bytes, stamp))
}

/// A time after 1970. Zero is no stamp.
fn nanos(seconds: i64, nanos: i64) -> Option<Stamp> {
    let total =
        u64::try_from(seconds).ok()?.checked_mul(1_000_000_000)?.checked_add(nanos.cast_unsigned())?;
    NonZeroU64::new(total).map(Stamp)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let near = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
        let (far, _) = listener.accept().expect("the connection waits");
        (near, far)
    }

    /// Sends until a read has a stamp: the kernel may need a moment to begin.
    #[test]
    fn a_stamp_is_the_wall_clock_time_of_the_last_byte() {
        let (near, mut far) = pair();
        let Some(_stamping) = Stamping::begin() else { return };
        assert!(request(&near));
        let wall_ns = || {
            let since_1970 = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a clock after 1970");
            since_1970.as_nanos() as u64
        };
        for _ in 0..200 {
            let before = wall_ns();
            far.write_all(b"abc").expect("a send");
            let mut buffer = [0; 16];
            let (count, stamp) = receive(&near, &mut buffer, MsgFlags::empty()).expect("three bytes");
            assert_eq!(&buffer[..count], b"abc");
            if let Some(Stamp(at)) = stamp {
                // The clock may be set meanwhile; then the test says nothing.
                let is_within = (before..=wall_ns()).contains(&at.get());
                if is_within {
                    return;
                }
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        panic!("the kernel accepts the option and stamps nothing");
    }

    #[test]
    fn discarded_bytes_are_counted_and_not_written() {
        let (near, mut far) = pair();
        request(&near);
        far.write_all(b"abcdef").expect("a send");
        let mut buffer = [7; 6];
        let (count, _) = receive(&near, &mut buffer, MsgFlags::MSG_TRUNC).expect("six bytes");
        assert_eq!((count, buffer), (6, [7; 6]));
    }

    #[test]
    fn a_time_before_1970_or_none_is_no_stamp() {
        assert_eq!((nanos(0, 0), nanos(-1, 5)), (None, None));
        assert_eq!(nanos(2, 5), NonZeroU64::new(2_000_000_005).map(Stamp));
    }
}
