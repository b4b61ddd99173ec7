//! One step: the number of transfers rises, and is maintained until it is steady; then what was seen is added up.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use archive::model::{ConcurrencyStep, PlannedConcurrency, StepAdvances, StepTimes, thousands};
use bakeoff::event::{Event, Observer};
use host::telemetry::Recording;
use load::engine::RunContext;
use load::record::Micros;
use load::transfers::{TransferSecond, Transfers};

use crate::error::ConcurrencyError;
use crate::ladder;
use crate::lateness::{self, Lateness};
use crate::limits::RESERVE;
use crate::observed_server::{ObservedServer, SERVER};

/// A step rises in a second at least: attempts that begin at once are another question.
const SHORTEST_RISE: Duration = Duration::from_secs(1);

/// After the last attempt began, the first bytes are waited for this long at most.
const SETTLE: Duration = Duration::from_secs(15);

/// The number in progress is steady when it stays within this share of the transfers for so many seconds.
const STEADY_SHARE: f64 = 0.01;
const STEADY_SECONDS: usize = 4;

/// A step is maintained this many times as long as planned at most, if it is not steady before.
const MOST_LENGTHS: u32 = 4;

/// Clients a second that come to see whether they are answered.
pub(crate) const PROBES_PER_S: f64 = 20.0;

/// Rates of telemetry that become counts of a step: the column, and the name of the count.
const COUNTERS: &[(&str, &str)] = &[
    ("tcp.listen_overflows", "listen_overflows"),
    ("tcp.listen_drops", "listen_drops"),
    ("tcp.syn_drops", "syn_drops"),
    ("tcp.syn_cookies", "syn_cookies"),
    ("tcp.memory_pressures", "memory_pressures"),
    ("tcp.retransmits", "retransmits"),
    ("tcp.resets", "resets"),
    ("tcp.timeouts", "timeouts"),
];

/// Memory before the first step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Baseline {
    /// What programs could get.
    pub available_bytes: f64,
    /// Resident memory of the idle server.
    pub server_bytes: f64,
}

/// A step that has ended.
pub(crate) struct StepEnd {
    pub step: ConcurrencyStep,
    /// Ctrl-C.
    pub is_interrupted: bool,
    /// The machine's memory was nearly used up: the run let all transfers go.
    pub is_out_of_memory: bool,
}

/// How a rise has ended.
struct Rise {
    /// Until most of the attempts were decided.
    took: Duration,
    /// Its last second.
    last: TransferSecond<Micros>,
    /// Why the step ends with it.
    why: Option<Why>,
}

/// Where a step is.
pub(crate) struct Climb<'a, 'o> {
    pub plan: &'a PlannedConcurrency,
    pub view: &'a ObservedServer<'a>,
    /// About how long it is from one read of a transfer to the next.
    pub interval: Duration,
    pub transfers: &'a mut Transfers,
    pub context: &'a RunContext,
    pub observe: &'a mut Observer<'o>,
    pub baseline: Baseline,
}

impl Climb<'_, '_> {
    /// Rises to this number of transfers and holds it.
    pub fn step(&mut self, transfers: u32) -> Result<StepEnd, ConcurrencyError> {
        let recorder = self.view.record()?;
        let new = transfers.saturating_sub(self.transfers.wanted());
        let over = Duration::from_secs_f64(f64::from(new) / self.plan.begin_per_s).max(SHORTEST_RISE);
        self.transfers.maintain(transfers, over);
        let mut rise = TransferSecond::new(0);
        let Rise { took: rise_took, last, mut why } = self.rise(transfers, over, &mut rise)?;
        if why.is_none() {
            why = self.catch_up(transfers, last, &mut rise)?;
        }

        let shortest =
            if transfers >= self.plan.to { self.plan.last_step_length } else { self.plan.step_length };
        self.transfers.mark();
        let marked = Instant::now();
        let mut seen = SteadySeconds::default();
        while why.is_none() {
            let second = self.second(transfers, "holding")?;
            seen.add(&second);
            let length = marked.elapsed();
            if length >= shortest && seen.is_steady(transfers) || length >= shortest * MOST_LENGTHS {
                break;
            }
            why = self.why_stop();
        }
        let over = marked.elapsed();
        let advances = if why.is_none() && over >= 2 * self.interval {
            let found = self.transfers.advances()?;
            Some(StepAdvances {
                over_ms: over.as_millis() as u64,
                transfers: found.transfers,
                never: found.never,
                once: found.once,
                twice: found.twice(),
                fewest_bytes: found.fewest_bytes,
            })
        } else {
            None
        };
        if why == Some(Why::Memory) {
            self.transfers.maintain(0, Duration::ZERO);
        }
        let recording = recorder.stop()?;
        let mut step = seen.step(transfers, self.plan.pace_bytes_per_s, &rise);
        step.rise_s = rise_took.as_secs_f64();
        step.is_steady = seen.is_steady(transfers);
        step.advances = advances;
        // Where reads get less than the window has room for, they are more frequent.
        let interval = step.read_interval_s.map_or(self.interval, Duration::from_secs_f64);
        let is_served_well = ladder::is_served_well(self.plan, &step);
        step.client_late_limit_us =
            lateness::limit_us(interval.min(self.interval), step.client_behind_share, is_served_well);
        if over < 2 * self.interval {
            // So few reads of a transfer say little of its pace.
            (step.pace_share, step.read_interval_s) = (None, None);
        }
        self.add_telemetry(&mut step, &recording);
        Ok(StepEnd {
            step,
            is_interrupted: why == Some(Why::Interrupted),
            is_out_of_memory: why == Some(Why::Memory),
        })
    }

    /// Until all attempts have begun and most of them are decided.
    fn rise(
        &mut self,
        transfers: u32,
        over: Duration,
        sum: &mut TransferSecond<Micros>,
    ) -> Result<Rise, ConcurrencyError> {
        let began = Instant::now();
        let longest = over * 3 + SETTLE;
        let mut all_begun: Option<Instant> = None;
        loop {
            let second = self.second(transfers, "rising to")?;
            sum.add_counts(&second);
            let mut is_over = began.elapsed() > longest;
            if second.wanted >= u64::from(transfers) {
                let since = *all_begun.get_or_insert_with(Instant::now);
                let is_decided = second.attempts() * 1_000 >= u64::from(transfers) * 999;
                is_over |= is_decided || since.elapsed() > SETTLE;
            }
            let why = self.why_stop();
            if is_over || why.is_some() {
                return Ok(Rise { took: began.elapsed(), last: second, why });
            }
        }
    }

    /// Until the client has done the reads that it had no time for during a rise. Where it never gets there it is the limit, and the
    /// step shows it. Returns why the step ends with it.
    fn catch_up(
        &mut self,
        transfers: u32,
        mut last: TransferSecond<Micros>,
        sum: &mut TransferSecond<Micros>,
    ) -> Result<Option<Why>, ConcurrencyError> {
        let began = Instant::now();
        while !lateness::has_caught_up(&last) && began.elapsed() <= self.interval + SETTLE {
            last = self.second(transfers, "catching up with reads of")?;
            sum.add_counts(&last);
            if let why @ Some(_) = self.why_stop() {
                return Ok(why);
            }
        }
        Ok(None)
    }

    /// The next second, with a line of progress.
    fn second(&mut self, transfers: u32, doing: &str) -> Result<TransferSecond<Micros>, ConcurrencyError> {
        let second = self.transfers.next_second()?;
        let of = |count: u64| thousands(count as f64);
        let what = format!(
            "{doing} {} transfers: {} in progress, {} failing",
            of(transfers.into()),
            of(second.in_progress),
            of(second.failing)
        );
        (self.observe)(Event::Doing { what });
        Ok(second)
    }

    fn why_stop(&self) -> Option<Why> {
        if self.context.interrupted.load(Ordering::Relaxed) {
            return Some(Why::Interrupted);
        }
        (self.view.available_share() < RESERVE).then_some(Why::Memory)
    }

    fn add_telemetry(&self, step: &mut ConcurrencyStep, recording: &Recording) {
        let last = |name: &str| recording.column(name).last().map(|(_, value)| value);
        let whole = 0..=u64::MAX;
        let server = |name: &str| format!("{SERVER}.{name}");
        // The maintained part is the end of the recording.
        let end = recording.samples.last().map_or(0, |sample| sample.t_us);
        let maintained = end.saturating_sub((step.length_s * 1e6) as u64)..=u64::MAX;
        let cores = |name: &str| recording.mean(&server(name), maintained.clone());
        step.server_cpu_cores =
            cores("cpu.user").zip(cores("cpu.system")).map(|(user, system)| user + system);
        let above_idle = |rss: f64| (rss - self.baseline.server_bytes).max(0.0) as u64;
        step.server_bytes = last(&server("rss")).map(above_idle);
        step.tcp_bytes = recording.max("tcp.memory", whole).unwrap_or_default() as u64;
        if let Some(available) =
            recording.column("memory.available").map(|(_, value)| value).min_by(f64::total_cmp)
        {
            step.available_bytes = available as u64;
            let used = (self.baseline.available_bytes - available).max(0.0) as u64;
            step.kernel_bytes =
                used.saturating_sub(step.client_bytes + step.server_bytes.unwrap_or_default());
        }
        step.counters = COUNTERS
            .iter()
            .map(|(column, name)| ((*name).to_owned(), counted(recording, column)))
            .filter(|(_, count)| *count > 0)
            .collect();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    Interrupted,
    Memory,
}

/// How often something happened, from its rates.
fn counted(recording: &Recording, column: &str) -> u64 {
    let mut before = 0;
    let mut sum = 0.0;
    for (t_us, rate) in recording.column(column) {
        sum += rate * t_us.saturating_sub(before) as f64 / 1e6;
        before = t_us;
    }
    sum.round() as u64
}

/// The seconds in which a number of transfers is maintained.
struct SteadySeconds {
    sum: TransferSecond<Micros>,
    seconds: u32,
    attempts: u64,
    successes: u64,
    in_progress: u64,
    stalled: u64,
    memory_bytes: u64,
    /// In progress and failing, of the last seconds.
    last: VecDeque<[u64; 2]>,
    lateness: Lateness,
}

impl Default for SteadySeconds {
    fn default() -> Self {
        Self {
            sum: TransferSecond::new(0),
            seconds: 0,
            attempts: 0,
            successes: 0,
            in_progress: 0,
            stalled: 0,
            memory_bytes: 0,
            last: VecDeque::new(),
            lateness: Lateness::default(),
        }
    }
}

impl SteadySeconds {
    fn add(&mut self, second: &TransferSecond<Micros>) {
        self.sum.add_counts(second);
        self.lateness.add(second);
        self.seconds += 1;
        self.attempts += second.attempts();
        self.successes += second.successes();
        self.in_progress += second.in_progress;
        self.stalled += second.stalled;
        self.memory_bytes = self.memory_bytes.max(second.memory_bytes);
        self.last.push_back([second.in_progress, second.failing]);
        if self.last.len() > STEADY_SECONDS {
            self.last.pop_front();
        }
    }

    fn is_steady(&self, transfers: u32) -> bool {
        let within = (f64::from(transfers) * STEADY_SHARE).max(1.0) as u64;
        let is_flat = |which: usize| {
            let values = || self.last.iter().map(|gauges| gauges[which]);
            values().max().zip(values().min()).is_some_and(|(most, fewest)| most - fewest <= within)
        };
        self.last.len() == STEADY_SECONDS && is_flat(0) && is_flat(1)
    }

    fn step(&self, transfers: u32, pace: f64, rise: &TransferSecond<Micros>) -> ConcurrencyStep {
        let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
        let mut first_byte = self.sum.times.probe.clone();
        first_byte.add(&self.sum.times.first_byte).expect("histograms of one precision");
        let mut errors = rise.errors.clone();
        for (kind, count) in &self.sum.errors.counts {
            errors.add(*kind, *count, self.sum.errors.examples.get(kind).map_or("", String::as_str));
        }
        let asked = self.in_progress as f64 * pace;
        let by_name = |(kind, count): (&load::record::ErrorKind, &u64)| (kind.name().to_owned(), *count);
        let examples = errors.examples.iter().map(|(kind, text)| (kind.name().to_owned(), text.clone()));
        let seconds = f64::from(self.seconds.max(1));
        let reads = self.sum.reads.saturating_sub(self.sum.empty_reads);
        ConcurrencyStep {
            transfers,
            in_progress: self.last.back().map_or(0, |gauges| gauges[0]),
            attempts: self.attempts,
            successes: self.successes,
            availability: share(self.successes, self.attempts),
            length_s: f64::from(self.seconds),
            first_byte: times(&first_byte),
            first_byte_of_rise: times(&rise.times.first_byte),
            completion: times(&self.sum.times.completion),
            probes: self.sum.probes,
            probes_failed: self.sum.probes_failed,
            pace_share: (asked > 0.0).then(|| self.sum.bytes as f64 / asked),
            stalled_share: share(self.stalled, self.in_progress),
            read_interval_s: (reads > 0).then(|| self.in_progress as f64 / reads as f64),
            errors: errors.counts.iter().map(by_name).collect(),
            examples: examples.collect::<BTreeMap<_, _>>(),
            client_late_p99_us: self.sum.times.late.value_at_quantile(0.99),
            client_behind_share: self.lateness.behind_share(),
            client_cpu_cores: self.sum.cpu_us as f64 / 1e6 / seconds,
            client_bytes: self.memory_bytes,
            ..ConcurrencyStep::default()
        }
    }
}

fn times(histogram: &Micros) -> StepTimes {
    if histogram.is_empty() {
        return StepTimes::default();
    }
    StepTimes {
        count: histogram.len(),
        p50_us: histogram.value_at_quantile(0.5),
        p99_us: histogram.value_at_quantile(0.99),
        max_us: histogram.max(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_adds_up_the_seconds_that_it_is_maintained() {
        let mut seconds = SteadySeconds::default();
        for (in_progress, failing) in [(100, 0), (90, 10), (60, 40), (60, 40), (60, 40), (60, 40)] {
            seconds.add(&TransferSecond {
                in_progress,
                failing,
                bytes: 50 * in_progress,
                reads: in_progress,
                empty_reads: in_progress / 2,
                ..TransferSecond::new(0)
            });
            assert_eq!(seconds.is_steady(100), seconds.seconds == 6, "{}", seconds.seconds);
        }
        let step = seconds.step(100, 100.0, &TransferSecond::new(0));
        assert_eq!((step.attempts, step.successes, step.in_progress), (600, 430, 60));
        assert!((step.availability - 430.0 / 600.0).abs() < 1e-9 && step.pace_share == Some(0.5));
        assert_eq!(step.read_interval_s, Some(2.0), "half of the reads of each second find something");
    }

    #[test]
    fn without_an_attempt_nothing_is_available() {
        assert_eq!(SteadySeconds::default().step(5, 1.0, &TransferSecond::new(0)).attempts, 0);
    }
}
