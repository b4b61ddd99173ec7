//! Every pair of hosts once, in rounds in which no host is in two pairs: measurements of one round do not share a host.

/// The rounds for so many hosts, by the circle method of tournaments. In each pair the lower number comes first.
pub(super) fn rounds(hosts: usize) -> Vec<Vec<(usize, usize)>> {
    // With an odd number, a place without a host is added: its partner rests.
    let places = hosts.next_multiple_of(2);
    let round = |round: usize| {
        // The last place stays, and the others move by one each round.
        let moving = |place: usize| (round + place) % (places - 1);
        let first = (places - 1, moving(0));
        let others = (1..places / 2).map(|place| (moving(place), moving(places - 1 - place)));
        let pairs = std::iter::once(first).chain(others).map(|(a, b)| (a.min(b), a.max(b)));
        pairs.filter(|(_, b)| *b < hosts).collect()
    };
    (0..places.saturating_sub(1)).map(round).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_pair_meets_once_and_no_host_twice_in_a_round() {
        for hosts in 0..34 {
            let mut pairs = BTreeSet::new();
            for round in rounds(hosts) {
                let of_round: Vec<usize> = round.iter().flat_map(|(a, b)| [*a, *b]).collect();
                assert_eq!(of_round.iter().collect::<BTreeSet<_>>().len(), of_round.len(), "{round:?}");
                for pair in round {
                    assert!(pair.0 < pair.1 && pair.1 < hosts && pairs.insert(pair), "{pair:?}");
                }
            }
            assert_eq!(pairs.len(), hosts * hosts.saturating_sub(1) / 2, "{hosts} hosts");
        }
    }
}
