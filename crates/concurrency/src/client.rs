//! Whether the client was the limit of a step: what such a step shows is not the server's.

use archive::model::{ConcurrencyStep, thousands};

use crate::lateness::{is_late, late_reads};

/// What a client can run out of: the kind of the failures, and what it is.
const RUNS_OUT_OF: [(&str, &str); 2] = [("no_ports", "local ports"), ("no_descriptors", "descriptors")];

/// A client that fails by itself for no more than this part of the transfers is not the limit.
const FEW: f64 = 0.01;

/// Why the client was the limit of a step, if it was.
pub(crate) fn client_limit(step: &ConcurrencyStep) -> Option<String> {
    if is_late(step) {
        return Some(format!("its {}", late_reads(step)));
    }
    let few = f64::from(step.transfers) * FEW;
    let failures = |kind: &str| step.errors.get(kind).copied().unwrap_or_default() as f64;
    let (kind, what) = RUNS_OUT_OF.iter().find(|(kind, _)| failures(kind) > few)?;
    Some(format!("it ran out of {what} for {} attempts", thousands(failures(kind))))
}

/// Whether the client was the limit.
pub(crate) fn is_of_client(step: &ConcurrencyStep) -> bool {
    client_limit(step).is_some()
}

/// Why a step says nothing of the server; nothing where it does.
pub(crate) fn client_was_the_limit(step: &ConcurrencyStep) -> Option<String> {
    let why = client_limit(step)?;
    Some(format!("the client was the limit with {}: {why}", thousands(step.transfers.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_reads_and_used_up_ports_are_of_the_client() {
        let step = ConcurrencyStep {
            transfers: 1_000,
            client_late_limit_us: 7_000_000,
            ..ConcurrencyStep::default()
        };
        let late = ConcurrencyStep { client_late_p99_us: 7_100_000, ..step.clone() };
        assert_eq!(client_limit(&late).as_deref(), Some("its reads were 7.1 s late (p99), more than 7.0 s"));
        let with =
            |kind: &str, count| ConcurrencyStep { errors: [(kind.to_owned(), count)].into(), ..step.clone() };
        assert_eq!(
            client_was_the_limit(&with("no_ports", 400)).as_deref(),
            Some("the client was the limit with 1,000: it ran out of local ports for 400 attempts")
        );
        assert!(is_of_client(&with("no_descriptors", 11)));
        assert!(![with("no_ports", 10), with("timeout", 900), step].iter().any(is_of_client));
    }
}
