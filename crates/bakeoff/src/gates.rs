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
//! | clock | 10 ms and 0.5 % of the trial between the two clocks | someone set the time, or the machine was held; a clock that measures may run off by what nobody would act on |
//! | frequency | 5 % between its lowest and highest | both sides must be measured at one speed |

mod evidence;
mod host;
#[cfg(test)]
mod tests;

use archive::model::Gate;
use load::validity::MAX_ERROR_SHARE;

pub use evidence::Evidence;
use evidence::{gate, not_applicable, percent};
pub use host::{MAX_STEAL, STEAL};

/// Most that the server's count may differ from the client's.
const MAX_DISAGREEMENT: f64 = 0.005;

/// Every gate with its finding.
pub fn check(evidence: &Evidence<'_>) -> Vec<Gate> {
    vec![
        client(evidence),
        steady(evidence),
        errors(evidence),
        background(evidence),
        counts(evidence),
        host::steal(evidence),
        host::others(evidence),
        host::swap(evidence),
        restarts(evidence),
        host::clock(evidence),
        host::frequency(evidence),
    ]
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
        return not_applicable("background", "the plan has no load background the measured one");
    };
    let offered = load.offered_per_s.unwrap_or_default();
    let message = match load.reasons.len() {
        0 => "the load background was as asked".to_owned(),
        _ => format!("the load background: {}", load.reasons.join("; ")),
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

fn restarts(evidence: &Evidence<'_>) -> Gate {
    let message = evidence.restarted.clone().unwrap_or_else(|| "the server ran through".to_owned());
    gate("restarts", evidence.restarted.is_none(), String::new(), "none".to_owned(), message)
}
