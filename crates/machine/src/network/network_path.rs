//! The network between the clients and a server of a run: what it carries, measured before the trials. Whether a trial needed that
//! much is left to the gates of a run. For a table of all hosts, see [`survey`](crate::survey).

use std::thread;
use std::time::Duration;

use load::clock::ClientClock;
use load::clock::Nanos;

use crate::errors::machine::MachineError;
use crate::network::open_port::{OpenPort, Prober};
use crate::protocol::throughput_span::ThroughputSpan;
use crate::protocol::{NetworkPath, Way};
use crate::remote::RemoteMachine;

/// How long clients have to open their connections before the data of all of them begins, beside a few exchanges.
const LEAD: Duration = Duration::from_secs(1);
/// So many round trips of the farthest: the request to a client, and its connections to the server.
const EXCHANGES_BEFORE: u32 = 20;
/// Streams of all clients together, at least one of each.
const STREAMS: u32 = 8;

/// What a network carries between a client and a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathCapacity {
    /// Median round trip, microseconds.
    pub round_trip_us: f64,
    /// Its throughput.
    pub throughput: Throughput,
}

/// Bytes a second between clients and a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throughput {
    /// From the server to the clients.
    pub to_clients: f64,
    /// From the clients to the server.
    pub to_server: f64,
}

impl Throughput {
    /// Of a path that was measured from its client.
    fn from_client(path: &NetworkPath) -> Self {
        Self {
            to_clients: path.one_stream_back_bytes_per_s.max(path.eight_streams_back_bytes_per_s),
            to_server: path.one_stream_bytes_per_s.max(path.eight_streams_bytes_per_s),
        }
    }

    /// Of a measurement whose connections go to this server, or to its clients where the server is this machine.
    fn between(self, server: Option<&RemoteMachine>) -> Self {
        if server.is_some() { self } else { self.reversed() }
    }

    fn reversed(self) -> Self {
        Self { to_clients: self.to_server, to_server: self.to_clients }
    }
}

/// Measures the path between a client and a server; none stands for this machine. Bytes are counted for this long at least for each of
/// its throughputs. One of the two must be another machine.
pub fn measure_path(
    client: Option<&RemoteMachine>,
    server: Option<&RemoteMachine>,
    each: Duration,
) -> Result<PathCapacity, MachineError> {
    with_open_ways(&[client], server, |ways| {
        let [way] = ways else { unreachable!("one client has one way") };
        let path = way.port.measure(way.prober(), each)?;
        let throughput = Throughput::from_client(&path).between(server);
        Ok(PathCapacity { round_trip_us: path.median_us, throughput })
    })
}

/// Measures what all these clients move to and from a server at the same time. Each of them must be on another machine than the
/// server; none stands for this machine. The longest round trip between them is known. For each of the two throughputs, bytes are
/// counted for this long at least; connections take some more than a second before it.
pub fn measure_together(
    clients: &[Option<&RemoteMachine>],
    server: Option<&RemoteMachine>,
    round_trip: Duration,
    each: Duration,
) -> Result<Throughput, MachineError> {
    with_open_ways(clients, server, |ways| {
        let clocks = ways.iter().map(OpenWay::clock).collect::<Result<Vec<_>, _>>()?;
        let farthest = clocks.iter().map(|clock| Duration::from_nanos(clock.round_trip_ns)).max();
        let lead = LEAD + round_trip.max(farthest.unwrap_or_default()) * EXCHANGES_BEFORE;
        let span = ThroughputSpan::of(round_trip, each);
        let sum = |way| together(ways, &clocks, way, lead, span);
        let from_clients = Throughput { to_server: sum(Way::There)?, to_clients: sum(Way::Back)? };
        Ok(from_clients.between(server))
    })
}

/// The sum of the throughputs of all ways, which begin at the same time, this long from now.
fn together(
    ways: &[OpenWay<'_>],
    clocks: &[ClientClock],
    way: Way,
    lead: Duration,
    span: ThroughputSpan,
) -> Result<f64, MachineError> {
    let streams = STREAMS.div_ceil(ways.len() as u32);
    let begin = Nanos::now().after(lead);
    thread::scope(|scope| {
        let one = |(open, clock): (&OpenWay<'_>, &ClientClock)| {
            let begin = clock.there(begin);
            open.port.throughput(open.prober(), way, streams, begin, span)
        };
        let threads: Vec<_> =
            ways.iter().zip(clocks).map(|one_way| scope.spawn(move || one(one_way))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a way does not panic")).sum()
    })
}

/// A way between a client and a server.
struct OpenWay<'m> {
    /// The connecting machine; none is this one.
    from: Option<&'m RemoteMachine>,
    /// Where it connects to.
    port: OpenPort<'m>,
}

impl OpenWay<'_> {
    fn prober(&self) -> Prober<'_> {
        self.from.map_or(Prober::Here, |from| Prober::There(from.connection(), from.address()))
    }

    /// The clock of the connecting machine.
    fn clock(&self) -> Result<ClientClock, MachineError> {
        self.from.map_or(Ok(ClientClock::default()), |from| Ok(from.connection().clock_offset()?.into()))
    }
}

/// Measures while ports are open for the ways of these clients to the server. This machine has no agent that could open a port: where
/// it is the server, it connects to its clients.
fn with_open_ways<T>(
    clients: &[Option<&RemoteMachine>],
    server: Option<&RemoteMachine>,
    measure: impl FnOnce(&[OpenWay<'_>]) -> Result<T, MachineError>,
) -> Result<T, MachineError> {
    let mut ways = Vec::new();
    let opened = clients.iter().try_for_each(|client| {
        let (from, to) = match (*client, server) {
            (from, Some(to)) => (from, to),
            (Some(to), None) => (None, to),
            (None, None) => unreachable!("no network is between a machine and itself"),
        };
        let port = OpenPort::on(to.connection(), to.address())?;
        ways.push(OpenWay { from, port });
        Ok(())
    });
    let measured = opened.and_then(|()| measure(&ways));
    let closed = ways.into_iter().try_for_each(|way| way.port.close());
    let measured = measured?;
    closed.map(|()| measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_directions_are_those_of_client_and_server() {
        let from_client = Throughput::from_client(&NetworkPath {
            round_trips: 200,
            median_us: 80.0,
            p99_us: 120.0,
            one_stream_bytes_per_s: 1e8,
            one_stream_back_bytes_per_s: 3e8,
            eight_streams_bytes_per_s: 2e8,
            eight_streams_back_bytes_per_s: 2.5e8,
        });
        assert_eq!(from_client, Throughput { to_clients: 3e8, to_server: 2e8 });
        let this_is_the_server = Throughput { to_clients: 2e8, to_server: 3e8 };
        assert_eq!(from_client.between(None), this_is_the_server);
    }
}
