//! What every trial must pass to count. A trial that fails a gate is invalid with that gate's reason; no gate
//! is a warning only.
//!
//! | gate | threshold | why |
//! |---|---|---|
//! | client | the engine's own rules ([`load::validity`]) | a client that is the limit measures itself |
//! | steady | [`stats::steady`] | an average over a warm-up is an average over two things |
//! | errors | 1 % | latencies are those of the operations that succeeded |
//! | background | achieved and errors as for the client, of the load beside | a server that had less to do than was asked is another case |
//! | counts | 0.5 % between the server's count and the client's | one of them is wrong |
//! | steal | 2 % of the CPUs that the trial uses | the hypervisor took the time that is measured |
//! | others | 2 % of the CPUs that the trial uses | as steal: of two CPUs it is 4 % of the server's, under the 5 % that a comparison is to show; an idle machine's own services take 0.3 to 0.8 % |
//! | swap | nothing read back from swap | a page from disk costs what thousands of requests do |
//! | restarts | the server's main process is the same at the end | half of the trial was another server |
//! | clock | 10 ms between the two clocks | someone set the time; time stamps and expiries moved |
//! | frequency | 5 % between its lowest and highest | both sides must be measured at one speed |

use archive::model::{CountCheck, Gate, GateOutcome, Phase};
use host::CpuSet;
use host::telemetry::{OtherProgram, Recording};
use load::validity::MAX_ERROR_SHARE;
use stats::describe::Sample;

/// Most CPU time taken by the hypervisor, as a share of the CPUs in use.
pub const MAX_STEAL: f64 = 0.02;
/// Most CPU time of programs that are neither the server's nor ours, as a share of the CPUs in use.
pub const MAX_OTHERS: f64 = 0.02;
/// Most that the server's count may differ from the client's.
pub const MAX_DISAGREEMENT: f64 = 0.005;
/// Most that the wall clock may move against the monotonic one, milliseconds.
pub const MAX_CLOCK_JUMP_MS: f64 = 10.0;
/// Most that the frequency of a CPU may vary while measuring.
pub const MAX_FREQUENCY_SPREAD: f64 = 0.05;

/// What the gates look at, gathered by the trial.
pub struct Evidence<'a> {
    /// What the engine holds against the measurement, one line each; none where there is no client but the program
    /// under test.
    pub client_reasons: Option<&'a [String]>,
    /// Whether it was watched until it settled; not where single operations were timed.
    pub is_watched: bool,
    /// Why it did not settle; none if it did.
    pub unsteady: Option<String>,
    /// Share of operations that failed in the measured phases.
    pub error_share: f64,
    /// The fixed load beside; none where the plan has none.
    pub background: Option<&'a Phase>,
    /// The server's counts against the client's; empty where the server keeps none.
    pub counts: &'a [CountCheck],
    /// The host while measuring.
    pub telemetry: &'a Recording,
    /// CPUs that the trial uses.
    pub cpus: &'a CpuSet,
    /// The measured stretch, in the recording's microseconds.
    pub window_us: (u64, u64),
    /// The stretch of it in which the value was measured.
    pub measured_us: (u64, u64),
    /// Why the server's process is not the one that was started; none if it is.
    pub restarted: Option<String>,
}

/// Every gate with its finding.
pub fn judge(evidence: &Evidence<'_>) -> Vec<Gate> {
    vec![
        client(evidence),
        steady(evidence),
        errors(evidence),
        background(evidence),
        counts(evidence),
        steal(evidence),
        others(evidence),
        swap(evidence),
        restarts(evidence),
        clock(evidence),
        frequency(evidence),
    ]
}

fn gate(id: &str, passed: bool, measured: String, threshold: String, message: String) -> Gate {
    let outcome = if passed { GateOutcome::Passed } else { GateOutcome::Failed };
    Gate { id: id.to_owned(), outcome, measured, threshold, message }
}

fn not_applicable(id: &str, why: &str) -> Gate {
    Gate {
        id: id.to_owned(),
        outcome: GateOutcome::NotApplicable,
        measured: String::new(),
        threshold: String::new(),
        message: why.to_owned(),
    }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

fn client(evidence: &Evidence<'_>) -> Gate {
    let Some(reasons) = evidence.client_reasons else {
        return not_applicable("client", "the program under test makes the load, by its own clock");
    };
    let message = if reasons.is_empty() { "the client had room".to_owned() } else { reasons.join("; ") };
    let measured = match reasons.len() {
        0 => "no rule broken".to_owned(),
        1 => "1 rule broken".to_owned(),
        more => format!("{more} rules broken"),
    };
    gate("client", reasons.is_empty(), measured, "none".to_owned(), message)
}

fn steady(evidence: &Evidence<'_>) -> Gate {
    if !evidence.is_watched {
        return not_applicable("steady", "operations were timed one by one, after one that was not");
    }
    let message = evidence.unsteady.clone().unwrap_or_else(|| "throughput and p99 have settled".to_owned());
    gate("steady", evidence.unsteady.is_none(), String::new(), "MSER-5 and no drift".to_owned(), message)
}

fn errors(evidence: &Evidence<'_>) -> Gate {
    let share = evidence.error_share;
    let message = if share > MAX_ERROR_SHARE {
        "too many operations failed: see the errors by kind"
    } else {
        "operations succeed"
    };
    gate(
        "errors",
        share <= MAX_ERROR_SHARE,
        percent(share),
        format!("at most {}", percent(MAX_ERROR_SHARE)),
        message.to_owned(),
    )
}

fn background(evidence: &Evidence<'_>) -> Gate {
    let Some(load) = evidence.background else {
        return not_applicable("background", "the plan has no load beside the measured one");
    };
    let offered = load.offered_per_s.unwrap_or_default();
    let message = match load.reasons.len() {
        0 => "the load beside was as asked".to_owned(),
        _ => format!("the load beside: {}", load.reasons.join("; ")),
    };
    let measured = format!("{:.1}/s of {offered:.1}/s", load.achieved_per_s);
    gate("background", load.valid, measured, "no rule broken".to_owned(), message)
}

fn counts(evidence: &Evidence<'_>) -> Gate {
    let worst = evidence
        .counts
        .iter()
        .filter_map(|check| Some((check.disagreement()?, check)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((disagreement, check)) = worst else {
        return not_applicable("counts", "the server keeps no count of its own");
    };
    let message = format!("{}: the server counts {}, the client {}", check.what, check.server, check.client);
    gate(
        "counts",
        disagreement <= MAX_DISAGREEMENT,
        percent(disagreement),
        format!("at most {}", percent(MAX_DISAGREEMENT)),
        message,
    )
}

fn steal(evidence: &Evidence<'_>) -> Gate {
    let (from, to) = evidence.window_us;
    let Some(cores) = evidence.telemetry.mean("cpu.steal", from..=to) else {
        return not_applicable("steal", "the kernel shows no steal time");
    };
    let share = cores / evidence.cpus.len().max(1) as f64;
    let message = if share > MAX_STEAL {
        "the hypervisor took CPU time while measuring: run again when the machine is quieter".to_owned()
    } else {
        "the CPUs were ours".to_owned()
    };
    gate("steal", share <= MAX_STEAL, percent(share), format!("at most {}", percent(MAX_STEAL)), message)
}

/// Over the whole load, because a search goes astray early, and over what was measured, which a long load would hide:
/// the larger counts.
fn others(evidence: &Evidence<'_>) -> Gate {
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

fn swap(evidence: &Evidence<'_>) -> Gate {
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

fn restarts(evidence: &Evidence<'_>) -> Gate {
    let message = evidence.restarted.clone().unwrap_or_else(|| "the server ran through".to_owned());
    gate("restarts", evidence.restarted.is_none(), String::new(), "none".to_owned(), message)
}

/// The two clocks are read one after the other, so a single sample may be off by the time that the sampler waited
/// for a CPU. A clock that was set stays set: the middle of the first samples is held against that of the last.
fn clock(evidence: &Evidence<'_>) -> Gate {
    let offset = |sample: &host::telemetry::Sample| sample.unix_ms as f64 - sample.t_us as f64 / 1e3;
    let offsets: Vec<f64> = evidence.telemetry.samples.iter().map(offset).collect();
    let third = offsets.len().div_ceil(3);
    let middle = |part: &[f64]| Sample::new(part).ok().map(|sample| sample.median());
    let ends = middle(&offsets[..third]).zip(middle(&offsets[offsets.len() - third..]));
    let Some((first, last)) = ends else { return not_applicable("clock", "no telemetry") };
    let jump = (last - first).abs();
    let message = if jump > MAX_CLOCK_JUMP_MS {
        "the wall clock was set while measuring: stop time synchronisation from stepping it"
    } else {
        "wall clock and monotonic clock agree"
    };
    gate(
        "clock",
        jump <= MAX_CLOCK_JUMP_MS,
        format!("{jump:.0} ms"),
        format!("at most {MAX_CLOCK_JUMP_MS:.0} ms"),
        message.to_owned(),
    )
}

fn frequency(evidence: &Evidence<'_>) -> Gate {
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

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;
    use std::time::Duration;

    use host::telemetry::{Column, Sample as Tick};

    use super::*;

    /// A recording of one column, one sample a second.
    fn recording(name: &str, values: &[f64]) -> Recording {
        recordings(&[(name, values)])
    }

    fn recordings(columns: &[(&str, &[f64])]) -> Recording {
        let length = columns.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
        let tick = |at: usize| Tick {
            t_us: at as u64 * 1_000_000,
            unix_ms: 5 + at as u64 * 1_000,
            values: columns.iter().map(|(_, values)| values.get(at).copied()).collect(),
        };
        let column = |(name, _): &(&str, _)| Column { name: (*name).to_owned(), unit: "cores", help: "" };
        Recording {
            columns: columns.iter().map(column).collect(),
            samples: (0..length).map(tick).collect(),
            ..Recording::default()
        }
    }

    static CPUS: LazyLock<CpuSet> = LazyLock::new(|| "0-1".parse().expect("CPUs"));

    fn failed(evidence: &Evidence<'_>) -> Vec<String> {
        let failed = judge(evidence).into_iter().filter(|g| g.outcome == GateOutcome::Failed);
        failed.map(|g| g.id).collect()
    }

    fn healthy(telemetry: &Recording) -> Evidence<'_> {
        Evidence {
            client_reasons: Some(&[]),
            is_watched: true,
            unsteady: None,
            error_share: 0.0,
            background: None,
            counts: &[],
            telemetry,
            cpus: &CPUS,
            window_us: (0, 10_000_000),
            measured_us: (0, 10_000_000),
            restarted: None,
        }
    }

    #[test]
    fn a_healthy_trial_passes() {
        assert_eq!(failed(&healthy(&recording("cpu.steal", &[0.0, 0.01]))), Vec::<String>::new());
    }

    #[test]
    fn every_kind_of_disturbance_fails_its_gate() {
        let quiet = recording("cpu.steal", &[0.0]);
        assert_eq!(failed(&healthy(&recording("cpu.steal", &[0.1, 0.1]))), ["steal"]);
        assert_eq!(failed(&healthy(&recording("swap.in", &[0.0, 4096.0]))), ["swap"]);
        assert_eq!(failed(&healthy(&recording("cpu.0.frequency", &[3e9, 2e9]))), ["frequency"]);
        assert_eq!(failed(&Evidence { error_share: 0.02, ..healthy(&quiet) }), ["errors"]);
        assert_eq!(failed(&Evidence { unsteady: Some("drifts".to_owned()), ..healthy(&quiet) }), ["steady"]);
        assert_eq!(failed(&Evidence { restarted: Some("died".to_owned()), ..healthy(&quiet) }), ["restarts"]);
        let slow = ["slow".to_owned()];
        assert_eq!(failed(&Evidence { client_reasons: Some(&slow), ..healthy(&quiet) }), ["client"]);
        assert_eq!(failed(&Evidence { client_reasons: None, ..healthy(&quiet) }), Vec::<String>::new());
        let counts = [CountCheck { what: "requests".to_owned(), client: 1_000, server: 1_006 }];
        assert_eq!(failed(&Evidence { counts: &counts, ..healthy(&quiet) }), ["counts"]);
        let mut jumped = recording("cpu.steal", &[0.0, 0.0]);
        jumped.samples[1].unix_ms += 50;
        assert_eq!(failed(&healthy(&jumped)), ["clock"]);
    }

    fn others_gate(evidence: &Evidence<'_>) -> (GateOutcome, String) {
        let gate = judge(evidence).into_iter().find(|gate| gate.id == "others").expect("a gate");
        (gate.outcome, gate.message)
    }

    #[test]
    fn programs_of_others_are_named() {
        let usual = recordings(&[("programs.ours", &[1.6; 3]), ("programs.others", &[0.02; 3])]);
        assert_eq!(others_gate(&healthy(&usual)).0, GateOutcome::Passed);
        let mut compiled = recordings(&[("programs.ours", &[1.2; 3]), ("programs.others", &[0.7; 3])]);
        let rustc = OtherProgram { command: "rustc".to_owned(), pid: 812, cpu: Duration::from_millis(2_100) };
        compiled.others.push(rustc);
        let (outcome, message) = others_gate(&healthy(&compiled));
        assert_eq!(outcome, GateOutcome::Failed);
        assert!(message.contains("(rustc (pid 812) 2.1 s)"), "{message}");
    }

    #[test]
    fn others_count_in_the_measured_stretch_and_before_it() {
        let ours: (_, &[f64]) = ("programs.ours", &[1.0; 10]);
        let (mut early, mut late) = ([0.0; 10], [0.0; 10]);
        early[..3].fill(0.5);
        late[9] = 0.1;
        for values in [early, late] {
            let telemetry = recordings(&[ours, ("programs.others", &values)]);
            let evidence = Evidence { measured_us: (9_000_000, 9_000_000), ..healthy(&telemetry) };
            assert_eq!(failed(&evidence), ["others"], "{values:?}");
        }
    }

    #[test]
    fn others_may_have_cpus_of_their_own() {
        let others_on = |cpu_1: f64| {
            let telemetry = recordings(&[
                ("cpu.0.user", &[0.9]),
                ("cpu.1.user", &[cpu_1]),
                ("cpu.2.user", &[0.9]),
                ("programs.ours", &[1.0]),
                ("programs.others", &[0.9]),
            ]);
            failed(&healthy(&telemetry))
        };
        assert_eq!(others_on(0.1), Vec::<String>::new());
        assert_eq!(others_on(0.9), ["others"]);
    }
}
