//! What the replies of HTTP were: whether they had one status, and whether the load measured a page or a redirect to it.

use std::collections::BTreeMap;

use crate::drivers::http::status_of;
use crate::outcome::LoadOutcome;

/// What a reader should know of the replies.
pub(super) fn notes(outcome: &LoadOutcome) -> Vec<String> {
    let counted = outcome.counters.iter().zip(&outcome.total.counters);
    let statuses: BTreeMap<&str, u64> = counted
        .filter_map(|(name, count)| Some((status_of(name)?, *count)).filter(|(_, count)| *count > 0))
        .collect();
    let all: u64 = statuses.values().sum();
    let is_redirect = |status: &str| matches!(status, "301" | "302" | "303" | "307" | "308");
    let redirects: u64 =
        statuses.iter().filter(|(status, _)| is_redirect(status)).map(|(_, count)| count).sum();
    let mut notes = Vec::new();
    let usual = statuses.iter().max_by_key(|(_, count)| **count);
    if statuses.len() > 1
        && outcome.operations.len() == 1
        && let Some((usual, _)) = usual
    {
        let others: Vec<String> = statuses
            .iter()
            .filter(|(status, _)| *status != usual)
            .map(|(status, count)| format!("{count} had status {status}"))
            .collect();
        notes.push(format!("not every reply had status {usual}: of {all}, {}", others.join(", ")));
    }
    // Users may take the next step where a redirect leads.
    if outcome.spec.users.is_some() {
        return notes;
    }
    if redirects > 0 && redirects == all {
        notes.push(
            "every reply was a redirect, which is not followed: give the address that its Location field names, or expect its status"
                .to_owned(),
        );
    } else if redirects > 0 {
        notes.push(format!("{redirects} of {all} replies were redirects, which are not followed"));
    }
    let shows_no_certificate = outcome.spec.tls.as_ref().is_some_and(|tls| tls.identity.is_none());
    // Servers that demand a certificate finish the handshake without one, and answer in HTTP.
    if all > 0 && statuses.get("400") == Some(&all) && shows_no_certificate {
        notes.push(
            "every reply has status 400: if the server wants a certificate of the client, give one with --certificate and --key"
                .to_owned(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::example;
    use crate::tls::{KeyProof, TlsSpec, Trust};

    fn notes_of(counts: &[(&str, u64)]) -> Vec<String> {
        let mut outcome = example::outcome();
        outcome.counters = counts.iter().map(|(name, _)| format!("status {name}")).collect();
        outcome.total.counters = counts.iter().map(|(_, count)| *count).collect();
        notes(&outcome)
    }

    #[test]
    fn a_server_that_refuses_all_over_tls_may_want_a_certificate() {
        let mut outcome = example::outcome();
        (outcome.counters, outcome.total.counters) = (vec!["status 400".to_owned()], vec![5]);
        assert_eq!(notes(&outcome), Vec::<String>::new());
        outcome.spec.tls = Some(TlsSpec {
            server_name: "localhost".to_owned(),
            resumption: true,
            trust: Trust::Anyone,
            proof: KeyProof::Once,
            identity: None,
        });
        assert!(notes(&outcome)[0].contains("--certificate and --key"));
    }

    #[test]
    fn replies_of_several_statuses_and_redirects_are_named() {
        assert_eq!(notes_of(&[("200", 10), ("301", 0)]), Vec::<String>::new());
        let mixed = notes_of(&[("200", 97), ("404", 3)]);
        assert_eq!(mixed, ["not every reply had status 200: of 100, 3 had status 404"]);
        let redirects = notes_of(&[("200", 0), ("301", 100)]);
        assert!(
            redirects.len() == 1 && redirects[0].starts_with("every reply was a redirect"),
            "{redirects:?}"
        );
        let some = notes_of(&[("200", 60), ("302", 40)]);
        assert_eq!(some[1], "40 of 100 replies were redirects, which are not followed");
    }
}
