//! Gates on the host during the measurement: steal, other programs, swap, clock steps, CPU frequency and heat.

use ::host::telemetry::OtherProgram;
use archive::model::Gate;
use stats::describe::Sample;

use super::input::{SeenMachine, WatchedMachine, gate, gate_of_share, measured_percent, not_applicable};

/// Id of the gate [`steal`].
pub const STEAL: &str = "steal";
/// Id of the gate [`others`].
pub const OTHERS: &str = "others";
/// Id of the gate [`swap`].
pub const SWAP: &str = "swap";
/// Id of the gate [`frequency`].
pub const FREQUENCY: &str = "frequency";
/// Id of the gate [`heat`].
pub const HEAT: &str = "heat";
/// Largest share of the trial's CPU time that the hypervisor may take.
pub const MAX_STEAL: f64 = 0.02;
/// Largest share of the trial's CPU time that other programs may use.
pub const MAX_OTHERS: f64 = 0.02;
/// Largest clock step: how far the wall clock may move against the monotonic clock, milliseconds.
pub const MAX_CLOCK_STEP_MS: f64 = 10.0;
/// Largest clock drift between the two, added to the step, as a share of the recorded time. All durations are those of
/// the monotonic clock, and an error of 0.5 % in them is negligible. Virtual machines whose wall clock is corrected in
/// small steps have shown 20 to 40 ms in 10 s.
pub const MAX_CLOCK_DRIFT: f64 = 0.005;
/// Largest relative difference between the lowest and the highest frequency of a CPU.
pub const MAX_FREQUENCY_SPREAD: f64 = 0.05;

/// CPU time that the hypervisor took.
pub fn steal(machine: &WatchedMachine<'_>) -> Gate {
    let (from, to) = machine.window_us;
    let Some(share) = machine.telemetry.stolen(&machine.cpus, from..=to) else {
        return not_applicable(STEAL, "the kernel reports no steal time");
    };
    let message = if share > MAX_STEAL {
        "the hypervisor took CPU time during the measurement: run again when the machine is quieter"
            .to_owned()
    } else {
        "the hypervisor left the CPUs to the trial".to_owned()
    };
    gate_of_share(STEAL, share, MAX_STEAL, message)
}

/// CPU time of other programs: the larger of two means. The mean over the whole load shows a disturbed search; the mean
/// over the measurement shows a disturbance that a long load would hide.
pub fn others(machine: &WatchedMachine<'_>) -> Gate {
    let whole = others_cores(machine, machine.window_us, |seen| seen.window_us);
    let measured = others_cores(machine, machine.measured_us, |seen| seen.measured_us);
    let Some(cores) = [whole, measured].into_iter().flatten().max_by(f64::total_cmp) else {
        return not_applicable(OTHERS, "no telemetry");
    };
    let share = cores / machine.cpus.len().max(1) as f64;
    let message = if share > MAX_OTHERS {
        let describe = |other: &OtherProgram| {
            format!("{} (pid {}) {:.1} s", other.command, other.pid, other.cpu.as_secs_f64())
        };
        let who: Vec<String> = machine.telemetry.others.iter().map(describe).collect();
        let who = if who.is_empty() { "which have ended since".to_owned() } else { who.join(", ") };
        format!(
            "other programs used CPU time during the measurement ({who}): stop them, or run again when they have ended"
        )
    } else {
        "other programs used almost no CPU time".to_owned()
    };
    gate_of_share(OTHERS, share, MAX_OTHERS, message)
}

/// What other programs used of the trial's CPUs, in cores. It is at most what the trial's own programs and the hypervisor left of the
/// trial's CPUs. Where the machine has further CPUs, it is also at most the busy time of the trial's CPUs less the time of the trial's own
/// programs. Programs of the trial that machines on the same kernel count as their own are no others.
fn others_cores(
    machine: &WatchedMachine<'_>,
    (from, to): (u64, u64),
    window_of: impl Fn(&SeenMachine<'_>) -> (u64, u64),
) -> Option<f64> {
    const BUSY: [&str; 5] = ["user", "nice", "system", "irq", "softirq"];
    let mean = |name: &str| machine.telemetry.mean(name, from..=to);
    let of_seen = |seen: &SeenMachine<'_>| {
        let (from, to) = window_of(seen);
        seen.telemetry.mean("programs.ours", from..=to)
    };
    let elsewhere: f64 = machine.seen.iter().filter_map(of_seen).sum();
    let ours = mean("programs.ours")? + elsewhere;
    let others = (mean("programs.others")? - elsewhere).max(0.0);
    let has_further_cpus = columns_of_cpus(machine, "user").any(|(cpu, _)| !machine.cpus.contains(cpu));
    let kinds_of = |cpu: usize| BUSY.into_iter().filter_map(move |kind| mean(&format!("cpu.{cpu}.{kind}")));
    let busy: f64 = machine.cpus.iter().flat_map(kinds_of).sum();
    let all = machine.cpus.len() as f64;
    let stolen = machine.telemetry.stolen(&machine.cpus, from..=to).unwrap_or(0.0) * all;
    // The CPUs had no more for others than what the trial's own programs and the hypervisor left.
    let most = if has_further_cpus { busy - ours } else { all - ours - stolen };
    Some(others.min(most.max(0.0)))
}

/// The columns `cpu.N.KIND` of a recording, with their CPUs.
fn columns_of_cpus<'m>(
    machine: &'m WatchedMachine<'_>,
    kind: &str,
) -> impl Iterator<Item = (usize, &'m str)> {
    let suffix = format!(".{kind}");
    machine.telemetry.columns.iter().filter_map(move |column| {
        let cpu = column.name.strip_prefix("cpu.")?.strip_suffix(&suffix)?;
        Some((cpu.parse().ok()?, column.name.as_str()))
    })
}

/// Memory read from swap.
pub fn swap(machine: &WatchedMachine<'_>) -> Gate {
    let (from, to) = machine.window_us;
    let Some(bytes) = machine.telemetry.max("swap.in", from..=to) else {
        return not_applicable(SWAP, "the kernel reports no swapping");
    };
    let message = if bytes > 0.0 {
        "memory was read from swap: free memory, or let the server use less"
    } else {
        "no memory was read from swap"
    };
    gate(SWAP, bytes <= 0.0, format!("{bytes:.0} B/s"), "0 B/s".to_owned(), message.to_owned())
}

/// Clock steps are noted. They refuse nothing: this gate once took 7 of 12 good trials from a comparison, and no figure
/// depends on the wall clock. The sampler reads the two clocks one after the other, so one sample may be off by the time
/// that the sampler waited for a CPU. A step lasts, so the median of the first third of the samples is compared with
/// that of the last third.
pub fn clock(machine: &WatchedMachine<'_>) -> Gate {
    let offset = |sample: &host::telemetry::TelemetrySample| sample.unix_ms as f64 - sample.t_us as f64 / 1e3;
    let offsets: Vec<f64> = machine.telemetry.samples.iter().map(offset).collect();
    let third = offsets.len().div_ceil(3);
    let median = |part: &[f64]| Sample::new(part).ok().map(|sample| sample.median());
    let ends = median(&offsets[..third]).zip(median(&offsets[offsets.len() - third..]));
    let Some((first, last)) = ends else { return not_applicable("clock", "no telemetry") };
    let step = (last - first).abs();
    let recorded_us = machine.telemetry.samples.last().map_or(0, |sample| sample.t_us);
    let most = MAX_CLOCK_STEP_MS + MAX_CLOCK_DRIFT * recorded_us as f64 / 1e3;
    if step > most {
        let note = format!(
            "the wall clock was set by {step:.0} ms during the trial, which counts: every duration is of the monotonic clock"
        );
        return not_applicable("clock", &note);
    }
    let agree = "wall clock and monotonic clock agree".to_owned();
    gate("clock", true, format!("{step:.0} ms"), format!("at most {most:.0} ms"), agree)
}

/// The frequency of the trial's CPUs, where they report it.
pub fn frequency(machine: &WatchedMachine<'_>) -> Gate {
    let (from, to) = machine.window_us;
    let of_trial = columns_of_cpus(machine, "frequency").filter(|(cpu, _)| machine.cpus.contains(*cpu));
    let spreads = of_trial.filter_map(|(_, column)| {
        let within = |(t, _): &(u64, f64)| (from..=to).contains(t);
        let values: Vec<f64> = machine.telemetry.column(column).filter(within).map(|(_, v)| v).collect();
        let (low, high) =
            (values.iter().copied().min_by(f64::total_cmp)?, values.iter().copied().max_by(f64::total_cmp)?);
        Some((high - low) / high)
    });
    let Some(spread) = spreads.max_by(f64::total_cmp) else {
        return not_applicable(FREQUENCY, "the CPUs do not report their frequency (virtual CPUs seldom do)");
    };
    let message = if spread > MAX_FREQUENCY_SPREAD {
        "the CPU frequency changed: set the performance governor"
    } else {
        "the CPU frequency was constant"
    };
    gate(
        FREQUENCY,
        spread <= MAX_FREQUENCY_SPREAD,
        measured_percent(spread),
        format!("at most {}", measured_percent(MAX_FREQUENCY_SPREAD)),
        message.to_owned(),
    )
}

/// Thermal throttling of any CPU: cores of a processor share its heat.
pub fn heat(machine: &WatchedMachine<'_>) -> Gate {
    let (from, to) = machine.window_us;
    let Some(per_s) = machine.telemetry.max("cpu.throttles", from..=to) else {
        return not_applicable(
            HEAT,
            "the CPUs do not report thermal throttling (those of Intel do; virtual CPUs seldom do)",
        );
    };
    let message = if per_s > 0.0 {
        "the processor slowed down because of heat: improve the cooling, or limit the frequency to one that the machine can keep"
    } else {
        "the processor did not get too hot"
    };
    gate(HEAT, per_s <= 0.0, format!("{per_s:.1} events/s"), "0 events/s".to_owned(), message.to_owned())
}
