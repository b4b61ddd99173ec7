//! The gate of the network between clients and server: what the trial moved against what the network carried before the trials.

use archive::model::Gate;

use super::input::{gate, measured_percent, not_applicable};
use crate::machines::network_paths::{DirectionUse, NetworkUse};

/// Id of the gate [`network`].
pub const NETWORK: &str = "network";
/// Largest share of what the network carries that a trial may use. TCP in bursts gets less than a steady stream does.
pub const MAX_USE: f64 = 0.9;
/// Largest share of segments that may be sent again. On a healthy network of one site it is a thousandth of that.
pub const MAX_RETRANSMITS: f64 = 0.01;

/// Whether the network was the limit: of its worst path, in the direction that was fuller.
pub fn network(paths: &[NetworkUse]) -> Gate {
    let share = |direction: &DirectionUse| direction.moved_bytes_per_s / direction.capacity_bytes_per_s;
    let directions = paths.iter().flat_map(|path| {
        [(path, "from the server", path.to_clients), (path, "to the server", path.to_server)]
    });
    let Some((worst, way, direction)) = directions.max_by(|(.., a), (.., b)| share(a).total_cmp(&share(b)))
    else {
        return not_applicable(NETWORK, "nothing was measured over a network whose capacity is known");
    };
    let used = share(&direction);
    let megabytes = |bytes_per_s: f64| bytes_per_s / 1e6;
    let lost = worst.retransmits.filter(|share| *share > MAX_RETRANSMITS);
    let message = if used > MAX_USE {
        format!(
            "the network between {} was the limit: {:.0} of {:.0} MB/s {way}: use a faster one, or operations that move fewer bytes",
            worst.between,
            megabytes(direction.moved_bytes_per_s),
            megabytes(direction.capacity_bytes_per_s)
        )
    } else if let Some(share) = lost {
        format!(
            "the network between {} lost segments, {} were sent again: see `showdown hosts`, and the counters of its interfaces",
            worst.between,
            measured_percent(share)
        )
    } else {
        "the network was not the limit".to_owned()
    };
    let threshold = format!(
        "at most {}, and {} sent again",
        measured_percent(MAX_USE),
        measured_percent(MAX_RETRANSMITS)
    );
    gate(NETWORK, used <= MAX_USE && lost.is_none(), measured_percent(used), threshold, message)
}

#[cfg(test)]
mod tests {
    use archive::model::GateOutcome;

    use super::*;

    const LINK: f64 = 1.25e8;

    fn path(received_bytes_per_s: f64, retransmits: Option<f64>) -> NetworkUse {
        let [to_clients, to_server] = [received_bytes_per_s, 1e6]
            .map(|moved_bytes_per_s| DirectionUse { moved_bytes_per_s, capacity_bytes_per_s: LINK });
        NetworkUse { between: "c1 and old".to_owned(), to_clients, to_server, retransmits }
    }

    #[test]
    fn a_full_network_and_a_lossy_one_are_the_limit() {
        let outcome = |paths: &[NetworkUse]| {
            let gate = network(paths);
            (gate.outcome, gate.message)
        };
        assert_eq!(outcome(&[]).0, GateOutcome::NotApplicable);
        assert_eq!(outcome(&[path(1e8, Some(0.0001))]).0, GateOutcome::Passed);
        let (full, message) = outcome(&[path(1e7, None), path(1.2e8, None)]);
        assert_eq!(full, GateOutcome::Failed);
        assert!(
            message
                .starts_with("the network between c1 and old was the limit: 120 of 125 MB/s from the server"),
            "{message}"
        );
        let uploads = NetworkUse { to_server: path(1.2e8, None).to_clients, ..path(1e6, None) };
        let (full, message) = outcome(&[path(1e7, None), uploads]);
        assert_eq!(full, GateOutcome::Failed);
        assert!(message.contains("120 of 125 MB/s to the server"), "{message}");
        let (lossy, message) = outcome(&[path(1e7, Some(0.03))]);
        assert_eq!(lossy, GateOutcome::Failed);
        assert!(message.contains("3.00 % were sent again"), "{message}");
    }
}
