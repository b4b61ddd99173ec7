//! What the host may not do meanwhile: take CPU time, swap, change the clock or the CPUs' speed.

use ::host::telemetry::OtherProgram;
use archive::model::Gate;
use stats::describe::Sample;

use super::evidence::{Evidence, gate, not_applicable, percent};

/// The id of the gate [`steal`].
pub const STEAL: &str = "steal";
/// Most CPU time taken by the hypervisor, as a share of the CPUs in use.
pub const MAX_STEAL: f64 = 0.02;
/// Most CPU time of programs that are neither the server's nor ours, as a share of the CPUs in use.
const MAX_OTHERS: f64 = 0.02;
/// Most that the wall clock may move against the monotonic one: so many milliseconds at once,
const MAX_CLOCK_JUMP_MS: f64 = 10.0;
/// and such a share of the time that was watched. Every duration is the monotonic clock's: where it is as far off as
/// nobody would act on, so may the values be. On virtual machines whose wall clock is put right in small steps, 20 to
/// 40 ms in 10 s have been seen.
const MAX_CLOCK_DRIFT: f64 = 0.005;
/// Most that the frequency of a CPU may vary while measuring.
const MAX_FREQUENCY_SPREAD: f64 = 0.05;

/// CPU time that the hypervisor took.
pub fn steal(evidence: &Evidence<'_>) -> Gate {
    let (from, to) = evidence.window_us;
    let Some(cores) = evidence.telemetry.mean("cpu.steal", from..=to) else {
        return not_applicable(STEAL, "the kernel shows no steal time");
    };
    let share = cores / evidence.cpus.len().max(1) as f64;
    let message = if share > MAX_STEAL {
        "the hypervisor took CPU time while measuring: run again when the machine is quieter".to_owned()
    } else {
        "the CPUs were ours".to_owned()
    };
    gate(STEAL, share <= MAX_STEAL, percent(share), format!("at most {}", percent(MAX_STEAL)), message)
}

/// CPU time of other programs: over the whole load, because a search goes astray early, and over what was measured,
/// which a long load would hide. The larger counts.
pub fn others(evidence: &Evidence<'_>) -> Gate {
    let of_window = |&window: &(u64, u64)| others_cores(evidence, window);
    let windows = [evidence.window_us, evidence.measured_us];
    let Some(cores) = windows.iter().filter_map(of_window).max_by(f64::total_cmp) else {
        return not_applicable("others", "no telemetry");
    };
    let share = cores / evidence.cpus.len().max(1) as f64;
    let message = if share > MAX_OTHERS {
        let said = |other: &OtherProgram| {
            format!("{} (pid {}) {:.1} s", other.command, other.pid, other.cpu.as_secs_f64())
        };
        let who: Vec<String> = evidence.telemetry.others.iter().map(said).collect();
        let who = if who.is_empty() { "they have ended".to_owned() } else { who.join(", ") };
        format!(
            "other programs took CPU time while measuring ({who}): stop them, or run again when they have ended"
        )
    } else {
        "no other program took the CPUs".to_owned()
    };
    gate("others", share <= MAX_OTHERS, percent(share), format!("at most {}", percent(MAX_OTHERS)), message)
}

/// What other programs took of the trial's CPUs, in cores. The machine may have further CPUs for them: then it is no
/// more than what these CPUs did beyond our own programs.
fn others_cores(evidence: &Evidence<'_>, (from, to): (u64, u64)) -> Option<f64> {
    const BUSY: [&str; 5] = ["user", "nice", "system", "irq", "softirq"];
    let mean = |name: &str| evidence.telemetry.mean(name, from..=to);
    let (ours, others) = (mean("programs.ours")?, mean("programs.others")?);
    let has_further_cpus = evidence.telemetry.columns.iter().any(|column| {
        let cpu = column.name.strip_prefix("cpu.").and_then(|name| name.strip_suffix(".user"));
        cpu.and_then(|cpu| cpu.parse().ok()).is_some_and(|cpu| !evidence.cpus.contains(cpu))
    });
    let kinds_of = |cpu: usize| BUSY.into_iter().filter_map(move |kind| mean(&format!("cpu.{cpu}.{kind}")));
    let busy: f64 = evidence.cpus.iter().flat_map(kinds_of).sum();
    Some(if has_further_cpus { others.min((busy - ours).max(0.0)) } else { others })
}

/// Memory that was read back from swap.
pub fn swap(evidence: &Evidence<'_>) -> Gate {
    let (from, to) = evidence.window_us;
    let Some(bytes) = evidence.telemetry.max("swap.in", from..=to) else {
        return not_applicable("swap", "the kernel shows no swapping");
    };
    let message = if bytes > 0.0 {
        "memory was read back from swap: free memory, or give less to the server"
    } else {
        "nothing was swapped"
    };
    gate("swap", bytes <= 0.0, format!("{bytes:.0} B/s"), "nothing".to_owned(), message.to_owned())
}

/// Whether the wall clock was set. The two clocks are read one after the other, so a single sample may be off by the
/// time that the sampler waited for a CPU. A clock that was set stays set: the middle of the first samples is held
/// against that of the last.
pub fn clock(evidence: &Evidence<'_>) -> Gate {
    let offset = |sample: &host::telemetry::TelemetrySample| sample.unix_ms as f64 - sample.t_us as f64 / 1e3;
    let offsets: Vec<f64> = evidence.telemetry.samples.iter().map(offset).collect();
    let third = offsets.len().div_ceil(3);
    let middle = |part: &[f64]| Sample::new(part).ok().map(|sample| sample.median());
    let ends = middle(&offsets[..third]).zip(middle(&offsets[offsets.len() - third..]));
    let Some((first, last)) = ends else { return not_applicable("clock", "no telemetry") };
    let jump = (last - first).abs();
    let watched_us = evidence.telemetry.samples.last().map_or(0, |sample| sample.t_us);
    let most = MAX_CLOCK_JUMP_MS + MAX_CLOCK_DRIFT * watched_us as f64 / 1e3;
    let message = if jump > most {
        "the wall clock was set while measuring: stop time synchronisation from stepping it"
    } else {
        "wall clock and monotonic clock agree"
    };
    gate("clock", jump <= most, format!("{jump:.0} ms"), format!("at most {most:.0} ms"), message.to_owned())
}

/// The speed of the CPUs, where they show it.
pub fn frequency(evidence: &Evidence<'_>) -> Gate {
    let (from, to) = evidence.window_us;
    let columns = evidence.telemetry.columns.iter().filter(|c| c.name.ends_with(".frequency"));
    let spreads = columns.filter_map(|column| {
        let within = |(t, _): &(u64, f64)| (from..=to).contains(t);
        let values: Vec<f64> =
            evidence.telemetry.column(&column.name).filter(within).map(|(_, v)| v).collect();
        let (low, high) =
            (values.iter().copied().min_by(f64::total_cmp)?, values.iter().copied().max_by(f64::total_cmp)?);
        Some((high - low) / high)
    });
    let Some(spread) = spreads.max_by(f64::total_cmp) else {
        return not_applicable("frequency", "the CPUs do not show their frequency (virtual ones seldom do)");
    };
    let message = if spread > MAX_FREQUENCY_SPREAD {
        "the CPU frequency moved: set the performance governor"
    } else {
        "the CPU frequency held"
    };
    gate(
        "frequency",
        spread <= MAX_FREQUENCY_SPREAD,
        percent(spread),
        format!("at most {}", percent(MAX_FREQUENCY_SPREAD)),
        message.to_owned(),
    )
}
