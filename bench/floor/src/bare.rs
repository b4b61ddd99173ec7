//! The bare loop: one thread, level-triggered epoll, one receive for an event, one send for a whole reply.

use std::io::{self, Error, ErrorKind};
use std::net::{SocketAddrV4, TcpStream};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::protocol::Exchange;

/// The requests of a run, and its length.
pub struct Outcome {
    /// Complete replies.
    pub requests: u64,
    /// From the first request to the end.
    pub seconds: f64,
}

struct Connection {
    stream: TcpStream,
    /// Bytes of the current reply that have not arrived yet.
    awaited_bytes: usize,
}

/// Loads a server in a closed loop, one request in flight on each connection.
pub fn run(
    server: SocketAddrV4,
    exchange: &Exchange,
    connections: usize,
    duration: Duration,
) -> io::Result<Outcome> {
    let reply_bytes = exchange.probe(server)?;
    let poller = epoll::create(CreateFlags::CLOEXEC)?;
    let mut connections = open(server, connections, reply_bytes)?;
    for (index, connection) in connections.iter().enumerate() {
        epoll::add(&poller, &connection.stream, EventData::new_u64(index as u64), EventFlags::IN)?;
    }

    let start = Instant::now();
    for connection in &connections {
        ask(connection, &exchange.request)?;
    }
    let mut requests = 0;
    let mut events = Vec::with_capacity(connections.len());
    let mut buffer = vec![0_u8; 64 * 1024];
    while start.elapsed() < duration {
        events.clear();
        epoll::wait(&poller, spare_capacity(&mut events), None)?;
        for event in &events {
            let index = usize::try_from(event.data.u64()).map_err(Error::other)?;
            let connection = &mut connections[index];
            let (_, received) = recv(&connection.stream, &mut buffer[..], RecvFlags::empty())?;
            if received == 0 || received > connection.awaited_bytes {
                return Err(Error::new(
                    ErrorKind::InvalidData,
                    "the server closed a connection, or sent a reply of another length",
                ));
            }
            connection.awaited_bytes -= received;
            if connection.awaited_bytes == 0 {
                requests += 1;
                connection.awaited_bytes = reply_bytes;
                ask(connection, &exchange.request)?;
            }
        }
    }
    Ok(Outcome { requests, seconds: start.elapsed().as_secs_f64() })
}

fn open(server: SocketAddrV4, connections: usize, reply_bytes: usize) -> io::Result<Vec<Connection>> {
    (0..connections)
        .map(|_| {
            let stream = TcpStream::connect(server)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            Ok(Connection { stream, awaited_bytes: reply_bytes })
        })
        .collect()
}

/// Sends a request. It is far smaller than an empty send buffer, so it is sent whole or not at all.
fn ask(connection: &Connection, request: &[u8]) -> io::Result<()> {
    let sent = send(&connection.stream, request, SendFlags::NOSIGNAL)?;
    if sent == request.len() { Ok(()) } else { Err(Error::other("the send buffer is full")) }
}
