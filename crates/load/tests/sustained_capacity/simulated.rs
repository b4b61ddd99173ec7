//! Simulated servers whose capacity is known: first come, first served, on a machine whose speed wanders and that stalls now and then.

use std::time::Duration;

use load::capacity::BudgetUse;
use load::capacity::levels::{NextSlice, SliceSpending};
use load::inputs::slo::Slo;
use load::record::Micros;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp, StandardNormal};
use rand_pcg::Pcg64Mcg;
use stats::error_budget::{Arrivals, Spending};

pub const OBJECTIVE: &str = "p99<5ms";
pub const LIMIT_S: f64 = 0.005;
/// Length of the continuous load that says the truth, seconds.
const TRUTH_S: f64 = 150.0;

/// What a server does beside its work.
#[derive(Clone, Copy)]
pub enum Pauses {
    None,
    /// For so many seconds, at each so many-th operation.
    ByWork(f64, u64),
    /// For so many seconds, each so many seconds of real time.
    ByClock(f64, f64),
}

#[derive(Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub per_s: f64,
    pub pauses: Pauses,
    /// Whether the other server is the same; else it works 4 % slower and never pauses.
    pub has_equal: bool,
    pub noise: f64,
    /// Standard deviation of one more component of the machine's speed, whose time constant is 20 s.
    pub slow: f64,
}

impl Case {
    /// Operations a second and pauses of both servers.
    pub fn servers(&self) -> [(f64, Pauses); 2] {
        let first = (self.per_s, self.pauses);
        [first, if self.has_equal { first } else { (self.per_s / 1.04, Pauses::None) }]
    }
}

/// A pair of servers on a machine with the usual noise.
pub const fn case(name: &'static str, per_s: f64, pauses: Pauses, has_equal: bool) -> Case {
    Case { name, per_s, pauses, has_equal, noise: 1.0, slow: 0.0 }
}

/// The speed of a machine: wandering at four time scales, and stalls.
pub struct Machine {
    rng: Pcg64Mcg,
    noise: f64,
    at: f64,
    wander: [f64; 5],
    slow: f64,
    next_stall: f64,
}

/// Time scales of the wandering, seconds, with their standard deviations.
const WANDERING: [(f64, f64); 4] = [(0.03, 0.05), (0.3, 0.035), (3.0, 0.035), (30.0, 0.035)];

impl Machine {
    pub fn new(seed: u64, noise: f64, slow: f64) -> Self {
        Self { rng: Pcg64Mcg::seed_from_u64(seed), noise, slow, at: 0.0, wander: [0.0; 5], next_stall: 0.0 }
    }

    /// How much longer work takes at this time, which never falls, and a stall that begins now, seconds.
    fn work(&mut self, now: f64) -> (f64, f64) {
        let step = now - self.at;
        if step > 0.003 {
            let usual = WANDERING.map(|(scale, deviation)| (scale, deviation * self.noise));
            for (value, (scale, deviation)) in
                self.wander.iter_mut().zip(usual.into_iter().chain([(20.0, self.slow)]))
            {
                let kept = (-step / scale).exp();
                let normal: f64 = StandardNormal.sample(&mut self.rng);
                *value = *value * kept + deviation * (1.0 - kept * kept).sqrt() * normal;
            }
            self.at = now;
        }
        let mut stall = 0.0;
        if now >= self.next_stall {
            stall = self.rng.random_range(0.000_5..0.006);
            let between = Exp::new(2.0 * self.noise.sqrt()).expect("a rate").sample(&mut self.rng);
            self.next_stall = now + between;
        }
        (self.wander.iter().sum::<f64>().exp(), stall)
    }
}

/// A server, first come, first served, that has just been started. Its own time passes while it is loaded or drains.
pub struct Server {
    pub rng: Pcg64Mcg,
    service_s: f64,
    pauses: Pauses,
    done: u64,
    /// When it is free, own time.
    pub free: f64,
    next_pause: f64,
}

impl Server {
    pub fn new(seed: u64, per_s: f64, pauses: Pauses) -> Self {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let next_pause =
            if let Pauses::ByClock(_, each) = pauses { rng.random_range(0.0..each) } else { f64::INFINITY };
        Self { rng, service_s: 1.0 / per_s, pauses, done: 0, free: 0.0, next_pause }
    }

    /// When an operation that falls due at this own time ends. The real time is `offset` later.
    pub fn ends(&mut self, due: f64, machine: &mut Machine, offset: f64) -> f64 {
        let begin = due.max(self.free);
        let now = offset + begin;
        let (slow, stall) = machine.work(now);
        let mut end =
            begin + stall + self.service_s * slow * Exp::new(1.0).expect("a rate").sample(&mut self.rng);
        self.done += 1;
        match self.pauses {
            Pauses::ByWork(pause, each) if self.done.is_multiple_of(each) => end += pause,
            // Pauses go on while the other server is loaded: what is left of one when this one is loaded counts.
            Pauses::ByClock(pause, each) if now >= self.next_pause => {
                end += (self.next_pause + pause - now).max(0.0);
                while self.next_pause <= now {
                    self.next_pause += each;
                }
            }
            Pauses::None | Pauses::ByWork(..) | Pauses::ByClock(..) => {}
        }
        self.free = end;
        end
    }
}

/// The share of late operations under a continuous load.
fn late_share(case: &Case, per_s: f64, pauses: Pauses, rate: f64) -> f64 {
    let mut server = Server::new(7, per_s, pauses);
    let mut machine = Machine::new(8, case.noise, case.slow);
    let mut arrivals = Pcg64Mcg::seed_from_u64(9);
    let gap = Exp::new(rate).expect("a rate");
    let (mut due, mut late, mut all) = (0.0, 0_u64, 0_u64);
    while due < TRUTH_S {
        due += gap.sample(&mut arrivals);
        all += 1;
        late += u64::from(server.ends(due, &mut machine, 0.0) - due >= LIMIT_S);
    }
    late as f64 / all as f64
}

/// The rate at which 1 % of a continuous load is late.
pub fn truth(case: &Case, per_s: f64, pauses: Pauses) -> f64 {
    let (mut low, mut high) = (per_s * 0.02, per_s);
    for _ in 0..12 {
        let middle = f64::midpoint(low, high);
        if late_share(case, per_s, pauses, middle) > 0.01 {
            high = middle;
        } else {
            low = middle;
        }
    }
    f64::midpoint(low, high)
}

/// A closed loop of so many seconds: how long there was no reply for longer than the limit, without the limit, of how many operations.
pub fn closed_loop(server: &mut Server, machine: &mut Machine, offset: &mut f64, seconds: f64) -> Spending {
    let (begin, mut paused, mut ended) = (server.free, 0.0, 0_u64);
    while server.free - begin < seconds {
        let before = server.free;
        let end = server.ends(before, machine, *offset - begin);
        ended += 1;
        paused += (end - before - LIMIT_S).max(0.0);
    }
    let took = server.free - begin;
    *offset += took;
    let rate = ended as f64 / took;
    Spending {
        ln_rate: rate.ln(),
        spent: paused * rate,
        budget: 0.01 * took * rate,
        arrivals: Arrivals::Closed,
    }
}

/// A slice of a search, from this own time of the server on.
pub fn slice(
    server: &mut Server,
    (machine, offset): (&mut Machine, &mut f64),
    next: NextSlice,
    slo: &Slo,
    (length_s, own): (f64, &mut f64),
) -> SliceSpending {
    let begin = *own;
    let mut arrivals = Pcg64Mcg::seed_from_u64(server.rng.random());
    let gap = Exp::new(next.rate_per_s).expect("a rate");
    let mut times = Micros::new(3).expect("three digits");
    let mut due = begin - next.due_before.as_secs_f64() + gap.sample(&mut arrivals);
    // It begins with an empty server: what is left of a drain is over.
    server.free = server.free.max(begin);
    let mut last = begin;
    let end = loop {
        let until = begin + length_s;
        let is_idle = last <= due;
        if (due >= until && is_idle) || due >= until + length_s {
            break due.min(until + length_s).max(until);
        }
        // An operation that fell due in the drain is sent when the slice begins.
        let ends = server.ends(due.max(begin), machine, *offset - begin);
        times.record(((ends - due) * 1e6) as u64).expect("a time");
        last = last.max(ends);
        due += gap.sample(&mut arrivals);
    };
    let drain = (last - end).max(0.0);
    *own = end + drain;
    *offset += *own - begin;
    SliceSpending {
        own_time: Duration::from_secs_f64(*own - begin),
        drain: Duration::from_secs_f64(drain),
        spent: BudgetUse::of_times(slo, &times, 0),
        is_client_limited: false,
    }
}
