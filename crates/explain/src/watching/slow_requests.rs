//! What makes slow operations slow: a slice in which the server's threads and the client's operations are watched, and the steps of
//! operations beyond the 99.9th percentile beside those of median ones. The steps of one operation are [`waterfall`]'s.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use archive::model::{
    PlannedStudy, RequestFunction, RequestPart, RequestStep, SlowRequests, ThreadsMeanwhile, TracedRequest,
};
use bakeoff::event::{Event, Observer};
use bakeoff::study_server::StudyServer;
use bakeoff::study_slice::{SLOW, SingledSlice};
use load::record::{SingleLimits, SingleOperation};
use profile::stacks::Frame;
use profile::waits::ThreadState;
use profile::{Activity, WaitSamplerOptions};

use crate::figures::with_unit;
use crate::perturbable_loop::LoopError;
use crate::watching::waiting::{own_functions, who};
use crate::watching::waterfall::{Part, Served, Step, parts, waterfall};

/// Single operations that each worker of the client keeps.
const SINGLES: SingleLimits = SingleLimits { slowest: 400, drawn: 400 };

/// Stacks a second: more than for waits alone, because a slow operation has few waits.
const STACKS_PER_S: u32 = 2000;

/// Median operations that are compared with the slow ones.
const MOST_MEDIAN: usize = 100;

/// Functions that are kept.
const MOST_FUNCTIONS: usize = 20;

/// Steps of a waterfall. Shorter ones are joined.
const MOST_STEPS: usize = 40;

/// How long this loads one server.
pub fn longest(lengths: &PlannedStudy, servers: usize) -> Duration {
    if lengths.slow_requests { lengths.profiled_slice * (2 * servers as u32) } else { Duration::ZERO }
}

/// Looks at servers one after the other. Of a server whose operations cannot be looked at, the error says why.
pub fn trace(
    servers: &mut [StudyServer<'_>],
    lengths: &PlannedStudy,
    observe: &mut Observer<'_>,
) -> Result<Vec<Result<SlowRequests, String>>, LoopError> {
    let each = servers.iter_mut().map(|server| {
        server.check_interrupted()?;
        observe(Event::Doing { what: format!("watching slow requests of {}", server.name) });
        server.connect(server.connections());
        trace_one(server, lengths.profiled_slice, observe)
    });
    each.collect()
}

/// A plain and a watched slice. The inner error says why there is nothing to show.
fn trace_one(
    server: &mut StudyServer<'_>,
    length: Duration,
    observe: &mut Observer<'_>,
) -> Result<Result<SlowRequests, String>, LoopError> {
    let plain = server.slice(length, observe)?.throughput_per_s;
    let first = watch_one(server, length, plain, observe)?;
    match first {
        // Records are lost where nobody had time to read them for a while.
        Err(Untold { has_lost: true, .. }) => {
            Ok(watch_one(server, length, plain, observe)?.map_err(|untold| untold.why))
        }
        found => Ok(found.map_err(|untold| untold.why)),
    }
}

/// Why there is nothing to show.
struct Untold {
    why: String,
    /// Whether that may be because records were lost.
    has_lost: bool,
}

impl From<machine::MachineError> for Untold {
    fn from(error: machine::MachineError) -> Self {
        Self { why: error.to_string(), has_lost: false }
    }
}

/// A watched slice, beside a plain one of this throughput.
fn watch_one(
    server: &mut StudyServer<'_>,
    length: Duration,
    plain_per_s: f64,
    observe: &mut Observer<'_>,
) -> Result<Result<SlowRequests, Untold>, LoopError> {
    let options = WaitSamplerOptions {
        cpus: Some(server.cpus.clone()),
        stacks_per_s: STACKS_PER_S,
        ..WaitSamplerOptions::default()
    };
    let sampler = match server.sample_activity(&options) {
        Ok(sampler) => sampler,
        Err(error) => return Ok(Err(error.into())),
    };
    let watched = server.slice_with(SINGLES, length, observe)?;
    let activity = match sampler.stop() {
        Ok(activity) => activity,
        Err(error) => return Ok(Err(error.into())),
    };
    let ratio = (plain_per_s > 0.0).then(|| watched.slice.throughput_per_s / plain_per_s);
    let found = summed(&server.name, &watched, &activity, ratio);
    Ok(found.map_err(|why| Untold { why, has_lost: activity.lost > 0 }))
}

/// An operation with its steps.
struct Traced<'s> {
    single: &'s SingleOperation,
    steps: Vec<Step>,
}

/// What the operations of a slice tell; the error says why it is nothing.
fn summed(
    variant: &str,
    watched: &SingledSlice,
    activity: &Activity,
    throughput_ratio: Option<f64>,
) -> Result<SlowRequests, String> {
    if watched.singles.is_empty() {
        return Err(
            "no operation was measured on its own: a program under test makes its own load".to_owned()
        );
    }
    let served = Served::new(activity);
    let (slow, median) = slow_and_median(watched, &served);
    if slow.is_empty() {
        let why = match activity.lost {
            0 => "no thread of the server was seen to read a slow operation: it may not use TCP".to_owned(),
            lost => format!(
                "the kernel had no room for {lost} records while slow operations ran: nobody had time to read them; \
                 end what else uses this machine's CPUs"
            ),
        };
        return Err(why);
    }
    let all_parts = mean_parts(&slow, &median);
    let functions = functions(&slow, activity);
    let sentence = sentence(variant, &all_parts, &slow, &functions, activity);
    let mut requests = vec![shown(typical(&slow, &all_parts, activity), true, watched, activity)];
    requests.extend(median.first().map(|median| shown(median, false, watched, activity)));
    Ok(SlowRequests {
        sentence,
        operations: watched.slice.operations,
        traced: slow.len() as u64,
        median_us: watched.median_us,
        slow_us: watched.slow_us,
        level: level(activity),
        stopped_after_s: activity.stopped_after.map(|after| after.as_secs_f64()),
        throughput_ratio,
        parts: all_parts
            .into_iter()
            .map(|(part, slow_us, median_us)| RequestPart { part: part.name(), slow_us, median_us })
            .collect(),
        functions,
        requests,
    })
}

/// What was seen of the server.
fn level(activity: &Activity) -> String {
    let sends = if activity.sees_sends {
        ""
    } else {
        "; this kernel does not report sends, so replies end with their arrival"
    };
    let lost = match activity.lost {
        0 => String::new(),
        lost => format!("; the kernel had no room for {lost} records, nobody had time to read them"),
    };
    format!("every switch, wake, read and send of its threads, stacks of some{sends}{lost}")
}

/// Slow operations, the slowest first, and median ones, the nearest to the median first. Those whose steps are known.
fn slow_and_median<'s>(watched: &'s SingledSlice, served: &Served<'_>) -> (Vec<Traced<'s>>, Vec<Traced<'s>>) {
    let mut singles: Vec<&SingleOperation> = watched.singles.iter().collect();
    singles.sort_by_key(|single| Reverse(single.response));
    let slow_count =
        ((watched.slice.succeeded() as f64 * (1.0 - SLOW)).round() as usize).clamp(1, singles.len());
    let (slow, others) = singles.split_at(slow_count);
    let trace = |single: &&'s SingleOperation| Some(Traced { single, steps: waterfall(single, served)? });
    let mut traced: Vec<Traced<'_>> = slow.iter().filter_map(trace).collect();
    if traced.is_empty() {
        // Watching ended before them, or records of them were lost: the next slowest that is still a slow one.
        let is_slow = |single: &&&SingleOperation| {
            single.response.0 as f64 / 1e3 >= f64::midpoint(watched.median_us, watched.slow_us)
        };
        traced.extend(others.iter().take_while(is_slow).find_map(trace));
    }
    let mut others = others.to_vec();
    let distance = |single: &SingleOperation| (single.response.0 as f64 / 1e3 - watched.median_us).abs();
    others.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    (traced, others.iter().filter_map(trace).take(MOST_MEDIAN).collect())
}

/// The mean of each part in slow and in median operations, µs: what slow ones have more of first.
fn mean_parts(slow: &[Traced<'_>], median: &[Traced<'_>]) -> Vec<(Part, f64, f64)> {
    let mut means: BTreeMap<Part, (f64, f64)> = BTreeMap::new();
    for (part, ns) in slow.iter().flat_map(|traced| parts(&traced.steps)) {
        means.entry(part).or_default().0 += ns as f64 / 1e3 / slow.len() as f64;
    }
    for (part, ns) in median.iter().flat_map(|traced| parts(&traced.steps)) {
        means.entry(part).or_default().1 += ns as f64 / 1e3 / median.len() as f64;
    }
    let mut means: Vec<_> = means.into_iter().map(|(part, (slow, median))| (part, slow, median)).collect();
    means.sort_by(|a, b| (b.1 - b.2).total_cmp(&(a.1 - a.2)));
    means
}

/// What threads ran while slow operations were in their hands or waited for them.
fn functions(slow: &[Traced<'_>], activity: &Activity) -> Vec<RequestFunction> {
    let mut counts: HashMap<&Frame, u64> = HashMap::new();
    for step in slow.iter().flat_map(|traced| &traced.steps) {
        let thread = step.tid.and_then(|tid| activity.threads.get(&tid));
        for place in thread.into_iter().flat_map(|thread| thread.samples(step.from, step.until)) {
            let innermost = activity.place(place).and_then(|place| place.frames.last());
            if let Some(frame) = innermost {
                *counts.entry(frame).or_default() += 1;
            }
        }
    }
    let all: u64 = counts.values().sum();
    let mut counts: Vec<(&Frame, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let function = |(frame, count): (&Frame, u64)| RequestFunction {
        frame: frame.name.clone(),
        module: frame.module.clone(),
        share: count as f64 / all as f64,
    };
    counts.into_iter().take(MOST_FUNCTIONS).map(function).collect()
}

/// The functions in which slow operations spend most of a part, in words.
fn where_in_words(part: Part, slow: &[Traced<'_>], activity: &Activity) -> Option<String> {
    let mut places: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for step in slow.iter().flat_map(|traced| &traced.steps).filter(|step| step.part == part) {
        let functions = place_of(step, activity);
        if !functions.is_empty() {
            *places.entry(functions).or_default() += step.ns();
        }
    }
    let (functions, _) = places.into_iter().max_by_key(|(_, ns)| *ns)?;
    Some(functions.join(" ← "))
}

fn place_of(step: &Step, activity: &Activity) -> Vec<String> {
    let place = step.place.and_then(|(place, _)| activity.place(place));
    place.map(|place| own_functions(&place.frames)).unwrap_or_default()
}

fn sentence(
    variant: &str,
    parts: &[(Part, f64, f64)],
    slow: &[Traced<'_>],
    functions: &[RequestFunction],
    activity: &Activity,
) -> String {
    let mean = |of: fn(&(Part, f64, f64)) -> f64| parts.iter().map(of).sum::<f64>();
    let (slow_us, median_us) = (mean(|part| part.1), mean(|part| part.2));
    let Some((part, more, less)) = parts.first().copied() else { return String::new() };
    let because = match part {
        Part::Client => "the client is late".to_owned(),
        Part::Network => "the request waits until it is read".to_owned(),
        Part::Behind => "its thread serves other operations first".to_owned(),
        Part::OnCpu => "it uses more CPU time".to_owned(),
        Part::Runnable => "its thread waits for a CPU".to_owned(),
        Part::Blocked(kind) => format!("its thread is blocked ({})", kind.name()),
        Part::HandedOver => "another thread takes over late".to_owned(),
        Part::Between => "there is time between its requests".to_owned(),
        Part::Reply => "the reply arrives late".to_owned(),
    };
    let place = match part {
        Part::OnCpu => functions.first().map(|function| format!(", most often in {}", function.frame)),
        part => where_in_words(part, slow, activity).map(|place| format!(" in {place}")),
    };
    format!(
        "a slow operation takes {variant} {}, a median one {}, mostly because {because}{} ({} more)",
        time(slow_us),
        time(median_us),
        place.unwrap_or_default(),
        time(more - less),
    )
}

fn time(us: f64) -> String {
    if us < 10_000.0 { with_unit(us, "µs") } else { with_unit(us / 1e3, "ms") }
}

/// A slow operation like the others: its largest part is the one that slow operations have more of, with its stack if possible, and
/// its length is near their median.
fn typical<'t, 's>(
    slow: &'t [Traced<'s>],
    all_parts: &[(Part, f64, f64)],
    activity: &Activity,
) -> &'t Traced<'s> {
    let main = all_parts.first().map(|(part, ..)| *part);
    let middle = slow[slow.len() / 2].single.response.0;
    let rank = |traced: &Traced<'_>| {
        let largest = parts(&traced.steps).into_iter().max_by_key(|(_, ns)| *ns).map(|(part, _)| part);
        let of_main = traced.steps.iter().filter(|step| Some(step.part) == main);
        let has_place = of_main.clone().any(|step| !place_of(step, activity).is_empty());
        let is_certain = of_main.clone().any(|step| step.place.is_some_and(|(_, is_likely)| !is_likely));
        (largest != main, !has_place, !is_certain, traced.single.response.0.abs_diff(middle))
    };
    slow.iter().min_by_key(|traced| rank(traced)).unwrap_or(&slow[0])
}

fn shown(traced: &Traced<'_>, is_slow: bool, watched: &SingledSlice, activity: &Activity) -> TracedRequest {
    let single = traced.single;
    let (begin, end) = (single.intended_start.0, single.received.0);
    let step = |step: Step| RequestStep {
        from_us: (step.from - begin) as f64 / 1e3,
        us: step.ns() as f64 / 1e3,
        part: step.part.name(),
        thread: step
            .tid
            .and_then(|tid| activity.threads.get(&tid))
            .map(|thread| thread.name.clone())
            .unwrap_or_default(),
        functions: place_of(&step, activity),
        is_likely: step.place.is_some_and(|(_, is_likely)| is_likely),
        woken_by: step.waker.and_then(|waker| activity.waker(waker)).map(who).unwrap_or_default(),
    };
    TracedRequest {
        is_slow,
        operation: watched.operations.get(single.operation as usize).cloned().unwrap_or_default(),
        response_us: (end - begin) as f64 / 1e3,
        steps: condensed(&traced.steps).into_iter().map(step).collect(),
        meanwhile: meanwhile(begin, end, activity),
    }
}

/// The same steps, but for neighbours of which each is so short that they are one step, named by the longest of them.
fn condensed(steps: &[Step]) -> Vec<Step> {
    let mut joined = steps.to_vec();
    while joined.len() > MOST_STEPS {
        let shortest =
            (1..joined.len()).min_by_key(|at| joined[*at].until - joined[at - 1].from).unwrap_or(1);
        let second = joined.remove(shortest);
        let first = &mut joined[shortest - 1];
        let (from, until) = (first.from, second.until);
        let named = if second.ns() > first.ns() { second } else { *first };
        *first = Step { from, until, ..named };
    }
    joined
}

/// The mean number of threads in each state, by their names. Threads of which records were lost are left out.
fn meanwhile(from: u64, until: u64, activity: &Activity) -> Vec<ThreadsMeanwhile> {
    let mut by_name: BTreeMap<&str, [u64; 4]> = BTreeMap::new();
    for thread in activity.threads.values() {
        let times = by_name.entry(&thread.name).or_default();
        for span in thread.spans(from, until).into_iter().flatten() {
            let state = match span.state {
                ThreadState::OnCpu => 0,
                ThreadState::Runnable => 1,
                ThreadState::Blocked(place, ..) => {
                    let is_work =
                        place.and_then(|place| activity.place(place)).is_some_and(|place| !place.is_idle);
                    if is_work { 2 } else { 3 }
                }
            };
            times[state] += span.until - span.from;
        }
    }
    let mean = |ns: u64| ns as f64 / (until - from).max(1) as f64;
    let threads = |(name, [on_cpu, runnable, blocked, idle]): (&str, [u64; 4])| ThreadsMeanwhile {
        threads: name.to_owned(),
        on_cpu: mean(on_cpu),
        runnable: mean(runnable),
        blocked: mean(blocked),
        idle: mean(idle),
    };
    let mut all: Vec<ThreadsMeanwhile> = by_name.into_iter().map(threads).collect();
    all.sort_by(|a, b| b.on_cpu.total_cmp(&a.on_cpu));
    all
}

#[cfg(test)]
mod tests;
