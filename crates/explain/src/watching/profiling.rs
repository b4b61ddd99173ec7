//! Where the CPU time of servers under load goes: slices with a sampler beside plain ones, in turns, and what follows from them. The
//! plain slices say what sampling costs; nothing of a profiled slice is used for anything but the profile.

use std::time::Duration;

use archive::model::{CpuDifference, CpuProfile, FrameCost, FrameDifference, PlannedStudy, Unknown, WAKING};
use bakeoff::event::{Event, Observer};
use bakeoff::study_server::StudyServer;
use bakeoff::study_slice::StudySlice;
use profile::access::Ability;
use profile::difference::difference;
use profile::frames::{FrameCosts, MeasuredWork, costs};
use profile::{Access, CpuSamplerOptions, Level, Stacks, folded};
use stats::describe::Sample;

use crate::perturbable_loop::LoopError;
use crate::profile_shares::WatchedCpu;

/// Samples of each CPU a second: a difference of functions needs many, and each costs about 19 µs (decision 0017), so 1 % of
/// a CPU. It is not in step with work that is done each 10 ms.
const SAMPLES_PER_S: u32 = 499;

/// How many times as many samples a server gets whose CPUs are mostly idle, for few of them meet it. Each second of its CPU time
/// then costs up to 3 %.
const MOST_TIMES: f64 = 3.0;

/// How long profiling loads this number of servers.
pub fn longest(lengths: &PlannedStudy, servers: usize) -> Duration {
    lengths
        .profiled_slice
        .saturating_mul(lengths.profiled_rounds.saturating_mul(2).saturating_mul(servers as u32))
}

/// The profile of a server.
#[derive(Debug)]
pub struct ServerProfile {
    /// Without the name of its file.
    pub profile: CpuProfile,
    /// Its stacks as folded lines.
    pub folded: String,
    /// What it tells a study.
    pub(crate) watched: WatchedCpu,
    /// What each profiled slice says of each function.
    costs: Vec<FrameCosts>,
    /// What a reader must know, a sentence each.
    pub notes: Vec<String>,
}

/// The profiled slices of a server, and the plain ones beside them.
#[derive(Default)]
struct Passes {
    stacks: Vec<Stacks>,
    work: Vec<MeasuredWork>,
    /// CPU time in the kernel.
    kernel: Duration,
    /// Throughput of each profiled slice over that of the plain one of the same round.
    ratios: Vec<f64>,
    /// Samples of each CPU a second, the same in all slices. None before the first one.
    samples_per_s: Option<u32>,
}

/// Profiles servers in turns, on a machine where that much can be seen. Of a server that cannot be profiled, the error says why.
pub fn profile(
    servers: &mut [StudyServer<'_>],
    lengths: &PlannedStudy,
    level: Level,
    observe: &mut Observer<'_>,
) -> Result<Vec<Result<ServerProfile, String>>, LoopError> {
    let mut passes: Vec<Result<Passes, String>> = servers.iter().map(|_| Ok(Passes::default())).collect();
    for round in 0..lengths.profiled_rounds {
        for at in 0..servers.len() {
            // Each server comes first in every other round, and so does the profiled slice.
            let index = if round % 2 == 0 { at } else { servers.len() - 1 - at };
            let Ok(of_server) = &mut passes[index] else { continue };
            let server = &mut servers[index];
            server.check_interrupted()?;
            let what =
                format!("profiling {}, slice {} of {}", server.name, round + 1, lengths.profiled_rounds);
            observe(Event::Doing { what });
            server.connect(server.connections());
            if let Err(why) = of_server.pass(server, lengths.profiled_slice, round % 4 < 2, observe)? {
                passes[index] = Err(why);
            }
        }
    }
    Ok(passes.into_iter().map(|passes| passes?.profile(level)).collect())
}

impl Passes {
    /// A plain and a profiled slice. The inner error says why the server cannot be profiled.
    fn pass(
        &mut self,
        server: &mut StudyServer<'_>,
        length: Duration,
        plain_first: bool,
        observe: &mut Observer<'_>,
    ) -> Result<Result<(), String>, LoopError> {
        let plain_before = if plain_first { Some(server.slice(length, observe)?) } else { None };
        let cpus = server.cpus.len();
        let samples_per_s =
            *self.samples_per_s.get_or_insert_with(|| samples_per_s(plain_before.as_ref(), cpus));
        let options = CpuSamplerOptions {
            samples_per_s,
            cpus: Some(server.cpus.clone()),
            ..CpuSamplerOptions::default()
        };
        let sampler = match server.sample_cpu(&options) {
            Ok(sampler) => sampler,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let profiled = server.slice(length, observe)?;
        let stacks = match sampler.stop() {
            Ok(stacks) => stacks,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let plain = match plain_before {
            Some(plain) => plain,
            None => server.slice(length, observe)?,
        };
        self.add(&plain, &profiled, stacks);
        Ok(Ok(()))
    }

    fn add(&mut self, plain: &StudySlice, profiled: &StudySlice, stacks: Stacks) {
        if plain.throughput_per_s > 0.0 {
            self.ratios.push(profiled.throughput_per_s / plain.throughput_per_s);
        }
        self.work.push(MeasuredWork { cpu: profiled.whole_cpu, operations: profiled.whole_operations });
        self.kernel += profiled.whole_kernel;
        self.stacks.push(stacks);
    }

    fn profile(self, level: Level) -> Result<ServerProfile, String> {
        let merged = Stacks::merged(&self.stacks).ok_or("no sample was taken")?;
        let whole = MeasuredWork {
            cpu: self.work.iter().map(|work| work.cpu).sum(),
            operations: self.work.iter().map(|work| work.operations).sum(),
        };
        let all = costs(&merged, whole).ok_or("no operation ended in the profiled slices")?;
        let frames = all.frames.iter().map(|cost| FrameCost {
            frame: cost.frame.name.clone(),
            module: cost.frame.module.clone(),
            self_us: cost.self_us,
            total_us: cost.total_us,
        });
        let kernel_us = (level == Level::UserStacks)
            .then(|| self.kernel.as_secs_f64() * 1e6 / whole.operations.max(1) as f64);
        let profile = CpuProfile {
            folded: String::new(),
            samples: merged.samples(),
            period_us: merged.period.as_secs_f64() * 1e6,
            cpu_us: all.cpu_us,
            lost: merged.losses.lost,
            level: level_in_words(level).to_owned(),
            throughput_ratio: Sample::new(&self.ratios).ok().map(|ratios| ratios.median()),
            frames: frames.collect(),
            waking_us: all.waking_us,
            kernel_us,
            rest_us: all.rest_us - kernel_us.unwrap_or_default(),
        };
        let costs = self.stacks.iter().zip(&self.work).filter_map(|(stacks, work)| costs(stacks, *work));
        Ok(ServerProfile {
            profile,
            folded: folded::write(&merged),
            watched: WatchedCpu::of(&merged),
            costs: costs.collect(),
            // Each slice says the same with other shares.
            notes: self.stacks.into_iter().next().map_or_else(Vec::new, |first| first.notes),
        })
    }
}

/// How often to sample each of so many CPUs of a server whose plain slice this is.
fn samples_per_s(plain: Option<&StudySlice>, cpus: usize) -> u32 {
    let busy = plain.map(|plain| plain.server_cpu().as_secs_f64() / plain.length.as_secs_f64() / cpus as f64);
    let times = busy.map_or(1.0, |busy| (1.0 / busy).clamp(1.0, MOST_TIMES));
    (f64::from(SAMPLES_PER_S) * times) as u32
}

/// What can be sampled here, in words.
fn level_in_words(level: Level) -> &'static str {
    match level {
        Level::Counters | Level::KernelStacks => "stacks of programs and of the kernel",
        Level::UserStacks => "stacks of programs, without the kernel",
        Level::ThreadStates => "states of threads only",
    }
}

/// What cannot be seen, and what it needs.
pub fn not_seen(access: &Access) -> Vec<Unknown> {
    let unknown = |(what, ability): (&str, &Ability)| match ability {
        Ability::Yes => None,
        Ability::No { reason, remedy } => {
            Some(Unknown { what: what.to_owned(), why: format!("{reason}: {remedy}") })
        }
    };
    access.table().into_iter().filter_map(unknown).collect()
}

/// Where the second server uses more or less CPU time than the first. The error says why that cannot be told.
pub fn compare(a: (&str, &ServerProfile), b: (&str, &ServerProfile)) -> Result<CpuDifference, String> {
    let found = difference(&a.1.costs, &b.1.costs).map_err(|error| error.to_string())?;
    let functions = found.frames.into_iter().map(|found| (found.frame.name, found.frame.module, found.own));
    let waking = found.waking.map(|found| (WAKING.to_owned(), String::new(), found));
    let frames = functions.chain(waking).map(|(frame, module, own)| FrameDifference {
        frame,
        module,
        a_us: own.a_us,
        b_us: own.b_us,
        low_us: own.low_us,
        high_us: own.high_us,
        is_significant: own.is_significant,
    });
    let mut frames: Vec<FrameDifference> = frames.collect();
    let size = |difference: &FrameDifference| (difference.b_us - difference.a_us).abs();
    frames.sort_by(|x, y| size(y).total_cmp(&size(x)));
    Ok(CpuDifference {
        sentence: cpu_in_words((a.0, found.cpu.a_us), (b.0, found.cpu.b_us)),
        a: a.0.to_owned(),
        b: b.0.to_owned(),
        a_cpu_us: found.cpu.a_us,
        b_cpu_us: found.cpu.b_us,
        frames,
    })
}

/// What an operation costs each server, the one that costs more first.
fn cpu_in_words(a: (&str, f64), b: (&str, f64)) -> String {
    let ((more, more_us), (less, less_us)) = if a.1 > b.1 { (a, b) } else { (b, a) };
    let ratio = more_us / less_us.max(f64::MIN_POSITIVE);
    format!(
        "an operation costs {more} {ratio:.2} × the CPU time of {less}: {more_us:.1} µs against {less_us:.1} µs"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_server_is_sampled_more_often() {
        let plain = |cpu: u64| StudySlice {
            operations: 10,
            failed: 0,
            length: Duration::from_secs(1),
            throughput_per_s: 10.0,
            mean_response: Duration::from_millis(1),
            client_utilisation: 0.1,
            whole_cpu: Duration::from_millis(cpu),
            whole_kernel: Duration::ZERO,
            whole_operations: 10,
        };
        let rates = [0, 100, 500, 1000, 2000].map(|cpu| samples_per_s(Some(&plain(cpu)), 1));
        assert_eq!(rates, [1497, 1497, 998, 499, 499]);
        assert_eq!(samples_per_s(Some(&plain(1000)), 2), 998);
        assert_eq!(samples_per_s(None, 2), 499);
    }

    #[test]
    fn the_server_that_costs_more_is_named_first() {
        let expected = "an operation costs apache 4.00 × the CPU time of nginx: 32.0 µs against 8.0 µs";
        assert_eq!(cpu_in_words(("nginx", 8.0), ("apache", 32.0)), expected);
        assert_eq!(cpu_in_words(("apache", 32.0), ("nginx", 8.0)), expected);
    }
}
