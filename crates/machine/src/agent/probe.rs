//! The active side of measurements between hosts: round trips and throughput of TCP, from this host's address.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use load::clock::Nanos;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::probe_stream::{ACCEPTED, IO_TIMEOUT, Mode, ProbeHead, count_bytes, random_bytes};
use crate::protocol::throughput_span::ThroughputSpan;
use crate::protocol::{
    CallError, Connect, ConnectFailure, MeasureNetwork, MeasureThroughput, NetworkPath, Way, system_text,
};

/// How long a host may take to answer a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How many round trips are timed.
const ROUND_TRIPS: usize = 200;

/// On a slow link fewer are timed, in this time.
const ROUND_TRIPS_TIME: Duration = Duration::from_secs(4);

/// The number of streams of the second throughput.
const STREAMS: usize = 8;

/// The data of a throughput begins at most this much later than it is asked for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Opens a connection to a port of another host, and closes it.
pub(super) fn connect(call: &Connect) -> Result<(), CallError> {
    open(call, Mode::Connect, ThroughputSpan::default()).map(drop)
}

/// Measures the network to a port of another host.
pub(crate) fn measure(call: &MeasureNetwork) -> Result<NetworkPath, CallError> {
    let MeasureNetwork { connect, each } = call;
    let mut times =
        round_trips(open(connect, Mode::Echo, ThroughputSpan::default())?).map_err(|error| broken(&error))?;
    times.sort_unstable();
    // Nearest rank.
    let percentile = |share: f64| {
        let rank = (share * times.len() as f64).ceil() as usize;
        times[rank.clamp(1, times.len()) - 1]
    };
    let microseconds = |time: Duration| time.as_nanos() as f64 / 1e3;
    let median = percentile(0.5);
    let span = ThroughputSpan::of(median, *each);
    Ok(NetworkPath {
        round_trips: times.len() as u32,
        median_us: microseconds(median),
        p99_us: microseconds(percentile(0.99)),
        one_stream_bytes_per_s: throughput(connect, Way::There, 1, None, span)?,
        one_stream_back_bytes_per_s: throughput(connect, Way::Back, 1, None, span)?,
        eight_streams_bytes_per_s: throughput(connect, Way::There, STREAMS, None, span)?,
        eight_streams_back_bytes_per_s: throughput(connect, Way::Back, STREAMS, None, span)?,
    })
}

/// Measures a throughput to or from a port of another host from a moment on, in bytes a second.
pub(crate) fn measure_throughput(call: &MeasureThroughput) -> Result<f64, CallError> {
    let MeasureThroughput { connect, way, streams, begin, span } = call;
    throughput(connect, *way, *streams as usize, Some(*begin), *span)
}

fn broken(error: &io::Error) -> CallError {
    CallError::Broken { why: system_text(error) }
}

/// A connection that the other side has accepted for this mode.
fn open(call: &Connect, mode: Mode, span: ThroughputSpan) -> Result<TcpStream, CallError> {
    let socket = Socket::new(Domain::for_address(call.to), Type::STREAM, Some(Protocol::TCP))
        .map_err(|error| broken(&error))?;
    let from = SocketAddr::new(call.from, 0);
    socket.bind(&from.into()).map_err(|error| CallError::Connect {
        failure: ConnectFailure::Source,
        why: format!("cannot send from {}: {}", call.from, system_text(&error)),
    })?;
    let connected = socket.connect_timeout(&call.to.into(), CONNECT_TIMEOUT);
    connected.map_err(|error| CallError::Connect { failure: failure(&error), why: system_text(&error) })?;
    let mut connection = TcpStream::from(socket);
    let prepare = |connection: &mut TcpStream| -> io::Result<u8> {
        connection.set_nodelay(true)?;
        connection.set_read_timeout(Some(IO_TIMEOUT))?;
        connection.set_write_timeout(Some(IO_TIMEOUT))?;
        ProbeHead { token: call.token.clone(), mode, span }.write(connection)?;
        let mut accepted = [0];
        connection.read_exact(&mut accepted)?;
        Ok(accepted[0])
    };
    match prepare(&mut connection) {
        Ok(ACCEPTED) => Ok(connection),
        Ok(_) => Err(CallError::Broken { why: "another program answers there".to_owned() }),
        Err(error) => Err(broken(&error)),
    }
}

fn failure(error: &io::Error) -> ConnectFailure {
    match error.kind() {
        ErrorKind::TimedOut => ConnectFailure::TimedOut,
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => ConnectFailure::Refused,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => ConnectFailure::NoRoute,
        _ => ConnectFailure::Other,
    }
}

fn round_trips(mut connection: TcpStream) -> io::Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(ROUND_TRIPS);
    let start = Instant::now();
    while times.len() < ROUND_TRIPS && (times.is_empty() || start.elapsed() < ROUND_TRIPS_TIME) {
        let sent = Instant::now();
        connection.write_all(&[0])?;
        connection.read_exact(&mut [0])?;
        times.push(sent.elapsed());
    }
    Ok(times)
}

/// The throughput of several streams together, in bytes per second. The receiving side counts. The data begins at once, or at this
/// moment.
fn throughput(
    call: &Connect,
    way: Way,
    streams: usize,
    begin: Option<Nanos>,
    span: ThroughputSpan,
) -> Result<f64, CallError> {
    let mode = match way {
        Way::There => Mode::Swallow,
        Way::Back => Mode::Send,
    };
    // All connections are open before the first byte of data.
    let open: Vec<TcpStream> = (0..streams).map(|_| open(call, mode, span)).collect::<Result<_, _>>()?;
    if let Some(begin) = begin {
        wait_until(begin)?;
    }
    let one = |connection: TcpStream| match way {
        Way::There => send_until_counted(connection, span),
        Way::Back => receive(connection, span),
    };
    let rates: io::Result<Vec<f64>> = thread::scope(|scope| {
        let threads: Vec<_> = open.into_iter().map(|connection| scope.spawn(|| one(connection))).collect();
        let joined = threads.into_iter().map(|thread| thread.join().expect("a stream does not panic"));
        joined.collect()
    });
    Ok(rates.map_err(|error| broken(&error))?.into_iter().sum())
}

/// Waits for a moment at which other hosts begin as well. Data that begins later would meet less of theirs.
fn wait_until(begin: Nanos) -> Result<(), CallError> {
    let now = Nanos::now();
    let left = Duration::from(begin.since(now));
    if now > begin || left > LONGEST_WAIT {
        return Err(CallError::Broken { why: "connections were not open in time".to_owned() });
    }
    thread::sleep(left);
    Ok(())
}

/// Sends until the other side has counted enough, and returns its rate.
fn send_until_counted(mut connection: TcpStream, span: ThroughputSpan) -> io::Result<f64> {
    // The reply comes when all is counted. A host that is lost before then acknowledges nothing, which the kernel would bear for
    // a quarter of an hour.
    connection.set_read_timeout(Some(span.whole() + IO_TIMEOUT))?;
    SockRef::from(&connection).set_tcp_user_timeout(Some(IO_TIMEOUT))?;
    let mut sender = connection.try_clone()?;
    let sending = thread::spawn(move || {
        let bytes = random_bytes();
        while sender.write_all(&bytes).is_ok() {}
    });
    let (mut bytes, mut took_ns) = ([0; 8], [0; 8]);
    let counted = connection.read_exact(&mut bytes).and_then(|()| connection.read_exact(&mut took_ns));
    let closed = close(&connection);
    let _ = sending.join();
    counted.and(closed)?;
    Ok(rate(u64::from_le_bytes(bytes), Duration::from_nanos(u64::from_le_bytes(took_ns))))
}

fn receive(mut connection: TcpStream, span: ThroughputSpan) -> io::Result<f64> {
    connection.write_all(&[0])?;
    let (bytes, took) = count_bytes(&mut connection, span)?;
    close(&connection)?;
    Ok(rate(bytes, took))
}

/// Ends a connection at once: what is still on the way is of no use.
fn close(connection: &TcpStream) -> io::Result<()> {
    SockRef::from(connection).set_linger(Some(Duration::ZERO))?;
    match connection.shutdown(Shutdown::Both) {
        Err(error) if error.kind() != ErrorKind::NotConnected => Err(error),
        _ => Ok(()),
    }
}

fn rate(bytes: u64, took: Duration) -> f64 {
    bytes as f64 / took.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::super::probe_server::ProbeServers;
    use super::*;
    use crate::protocol::OpenProbe;

    fn call(port: u16, token: &str) -> Connect {
        Connect { from: [127, 0, 0, 1].into(), to: ([127, 0, 0, 1], port).into(), token: token.to_owned() }
    }

    #[test]
    fn a_network_is_measured_and_its_port_closed() -> Result<(), CallError> {
        let servers = ProbeServers::default();
        let token = "0123456789abcdef0123456789abcdef";
        let port = servers.open(&OpenProbe { address: [127, 0, 0, 1].into(), token: token.to_owned() })?.port;
        connect(&call(port, token))?;
        let stranger = connect(&call(port, &token.replace('0', "1"))).expect_err("another token");
        assert!(matches!(stranger, CallError::Broken { .. }), "{stranger:?}");
        let path = measure(&MeasureNetwork { connect: call(port, token), each: Duration::from_millis(20) })?;
        assert!(path.round_trips > 0 && path.median_us > 0.0 && path.p99_us >= path.median_us, "{path:?}");
        let rates = [
            path.one_stream_bytes_per_s,
            path.one_stream_back_bytes_per_s,
            path.eight_streams_bytes_per_s,
            path.eight_streams_back_bytes_per_s,
        ];
        assert!(rates.iter().all(|rate| *rate > 0.0), "{path:?}");
        for way in [Way::There, Way::Back] {
            // A busy machine opens the connections in this time, too.
            let begin = Nanos::now().after(Duration::from_secs(5));
            let span = ThroughputSpan::of(Duration::from_millis(1), Duration::from_millis(20));
            let from_then = MeasureThroughput { connect: call(port, token), way, streams: 2, begin, span };
            let late = MeasureThroughput { begin: Nanos(1), ..from_then.clone() };
            assert!(measure_throughput(&late).is_err(), "its moment is over");
            assert!(measure_throughput(&from_then)? > 0.0);
            assert!(Nanos::now() > begin, "no data before its moment");
        }
        servers.close();
        let until = Instant::now() + Duration::from_mins(1);
        loop {
            match connect(&call(port, token)) {
                Err(CallError::Connect { failure: ConnectFailure::Refused, .. }) => return Ok(()),
                other => assert!(Instant::now() < until, "{other:?}"),
            }
        }
    }

    #[test]
    fn an_address_of_nobody_cannot_be_sent_from() {
        let call = Connect { from: [192, 0, 2, 1].into(), ..call(9, "t") };
        let error = connect(&call).expect_err("it is not of this host");
        assert!(matches!(error, CallError::Connect { failure: ConnectFailure::Source, .. }), "{error:?}");
    }
}
