//! A hostile server for any driver: it sends what it likes, in pieces of any size, to one connection after another.
//! The property tests and the fuzz targets use it.
//!
//! A driver must not panic, must not write without end, and must not pick an operation that it does not have.

use load::driver::{Driver, Step, Turn};
use load::drivers::protocol::{DriverUse, Protocol, WorkerShare};
use load::runner::RunnerSpec;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

/// The most that a driver may send in a turn: a batch of rows is 200 KB, a message of these specs 1 KiB.
const MOST_SENT: usize = 1 << 20;

/// What the server sends. Each piece of `replies` begins with its length in a byte.
pub struct HostileServer<'a> {
    /// The driver's random numbers follow from it.
    pub seed: u64,
    /// The pieces.
    pub replies: &'a [u8],
}

/// Lets a driver of this spec talk to the server, and returns how many operations have succeeded.
pub fn talk<P: Protocol>(spec: &str, server: HostileServer<'_>) -> u64 {
    let spec: P::Spec = serde_json::from_str(spec).expect("a spec");
    let share = WorkerShare { worker: 0, workers: 1, is_one_per_connection: false, is_local: true };
    P::drive(&spec, share, server).expect("a driver")
}

impl DriverUse for HostileServer<'_> {
    type Output = u64;

    fn driver<D: Driver + Send + 'static>(self, mut driver: D) -> u64 {
        let mut client = Client {
            out: Vec::new(),
            rng: Pcg64Mcg::seed_from_u64(self.seed),
            counters: vec![0; driver.counters().len()],
            operations: driver.operations().len(),
            succeeded: 0,
        };
        let mut replies = self.replies;
        while !replies.is_empty() {
            let before = replies.len();
            client.connect(&mut driver, &mut replies);
            if replies.len() == before {
                // The driver gave up before the server said anything.
                next_piece(&mut replies);
            }
        }
        client.succeeded
    }

    fn runner(self, _runner: &RunnerSpec) -> u64 {
        unreachable!("a runner has no dialogue")
    }
}

/// What the engine does for a driver.
struct Client {
    out: Vec<u8>,
    rng: Pcg64Mcg,
    counters: Vec<u64>,
    operations: usize,
    succeeded: u64,
}

impl Client {
    fn turn(&mut self) -> Turn<'_> {
        self.out.clear();
        Turn { out: &mut self.out, rng: &mut self.rng, counters: &mut self.counters }
    }

    /// One connection, until it fails, ends, or the server has no more to send.
    fn connect<D: Driver>(&mut self, driver: &mut D, replies: &mut &[u8]) {
        let mut dialogue = driver.dialogue(0);
        let mut is_greeted = false;
        let mut step = driver.greet(&mut dialogue, self.turn());
        loop {
            assert!(self.out.len() <= MOST_SENT, "{} bytes in a turn", self.out.len());
            let reuse = match step {
                Step::Wait => false,
                Step::Secure => {
                    step = driver.secured(&mut dialogue, self.turn());
                    continue;
                }
                Step::Reconnect => {
                    step = driver.reconnected(&mut dialogue, self.turn());
                    continue;
                }
                Step::Done { reuse } => {
                    self.succeeded += u64::from(is_greeted);
                    is_greeted = true;
                    reuse
                }
                Step::Failed(ref fault) => fault.reuse && is_greeted,
            };
            if reuse && !replies.is_empty() {
                let id = driver.choose(&mut self.rng);
                driver.begin(&mut dialogue, id, self.turn());
                assert!(usize::from(id) < self.operations, "operation {id} of {}", self.operations);
            } else if step != Step::Wait {
                return;
            }
            let Some(piece) = next_piece(replies) else {
                driver.closed(&mut dialogue, self.turn());
                return;
            };
            step = driver.receive(&mut dialogue, piece, self.turn());
        }
    }
}

/// The next piece, none at the end.
fn next_piece<'a>(replies: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (&length, rest) = replies.split_first()?;
    let (piece, rest) = rest.split_at(usize::from(length).min(rest.len()));
    *replies = rest;
    Some(piece)
}
