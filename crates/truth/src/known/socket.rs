//! The TCP sockets of a known server, with the kernel's receive timestamps.

use std::io::{self, IoSliceMut};
use std::mem::size_of;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, cmsg_space, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;
use rustix::net::{AddressFamily, SocketType, bind, listen, socket, sockopt};

/// Maximum number of connections that wait for accept: more than any client opens at once.
const BACKLOG: i32 = 16_384;
const BUFFER: usize = 64 * 1024;

/// Opens a listener whose accept does not block.
pub(super) fn listening(address: SocketAddr) -> io::Result<TcpListener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let descriptor = socket(family, SocketType::STREAM, None)?;
    sockopt::set_socket_reuseaddr(&descriptor, true)?;
    bind(&descriptor, &address)?;
    listen(&descriptor, BACKLOG)?;
    let listener = TcpListener::from(descriptor);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Sets the options of an accepted connection: timestamps, and no delay.
pub(super) fn prepare(stream: &TcpStream) -> io::Result<()> {
    // Replies are small, so sends may block. A client that does not read is at fault.
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    setsockopt(stream, ReceiveTimestampns, &true)?;
    Ok(())
}

/// The result of a read.
#[derive(Debug)]
pub(super) enum Received<'a> {
    /// Bytes, and the wall-clock time since 1970 at which the kernel received the last of them.
    Data(&'a [u8], Option<Duration>),
    /// No data yet.
    Nothing,
    /// The peer closed the connection, or is gone.
    Closed,
}

/// Reads from connections with a shared buffer.
#[derive(Debug)]
pub(super) struct SocketReader {
    bytes: Vec<u8>,
    control: Vec<u8>,
}

impl SocketReader {
    pub fn new() -> Self {
        // `TimeSpec` holds the kernel's `timespec` and has the same size.
        const STAMP: usize = cmsg_space::<TimeSpec>();
        const _: () = assert!(size_of::<TimeSpec>() == size_of::<rustix::time::Timespec>());
        Self { bytes: vec![0; BUFFER], control: vec![0; STAMP] }
    }

    pub fn receive(&mut self, stream: &TcpStream) -> Received<'_> {
        let mut into = [IoSliceMut::new(&mut self.bytes)];
        let received =
            recvmsg::<()>(stream.as_raw_fd(), &mut into, Some(&mut self.control), MsgFlags::MSG_DONTWAIT);
        let (count, stamp) = match received {
            Ok(message) => {
                let stamp = message.cmsgs().ok().and_then(|mut messages| {
                    messages.find_map(|message| match message {
                        ControlMessageOwned::ScmTimestampns(stamp) => Some(Duration::from(stamp)),
                        _ => None,
                    })
                });
                (message.bytes, stamp)
            }
            Err(Errno::EAGAIN | Errno::EINTR) => return Received::Nothing,
            Err(_) => return Received::Closed,
        };
        if count == 0 { Received::Closed } else { Received::Data(&self.bytes[..count], stamp) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::clock::WallClock;
    use super::*;
    use load::clock::Nanos;

    #[test]
    fn the_kernel_stamps_received_data() {
        let listener = listening("127.0.0.1:0".parse().expect("an address")).expect("a port");
        let mut client =
            TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
        let (server, _) = listener.accept().expect("the connection waits");
        prepare(&server).expect("options");
        let mut reader = SocketReader::new();
        assert!(matches!(reader.receive(&server), Received::Nothing));
        let before = Nanos::now();
        client.write_all(b"abc").expect("a send");
        let clock = WallClock::read();
        let Received::Data(b"abc", stamp) = reader.receive(&server) else { panic!("three bytes") };
        // The kernel starts to stamp shortly after the first socket asks for it.
        if let Some(stamp) = stamp {
            let received = clock.monotonic(stamp);
            assert!(received.0 + 1_000_000 >= before.0 && received <= Nanos::now());
        }
        drop(client);
        assert!(matches!(reader.receive(&server), Received::Closed));
    }
}
