//! The rules that several clients broke, and what is left of those of the whole load.

use std::mem::discriminant;

use super::rule::BrokenRule;

/// A client with the rules that it broke.
pub(super) struct CheckedClient<'a> {
    pub name: &'a str,
    pub lost: Option<&'a str>,
    pub broken: Vec<BrokenRule>,
}

/// All reasons, without repeating one. What concerns the client is said of each client that broke the rule, and of the whole
/// only where none did. What concerns the server is said of the whole, and of a client only where the whole kept the rule: that
/// client may have another way to the server.
pub(super) fn combine(whole: Vec<BrokenRule>, clients: Vec<CheckedClient<'_>>) -> Vec<BrokenRule> {
    let is_of_server =
        |rule: &BrokenRule| matches!(rule, BrokenRule::NothingSucceeded | BrokenRule::Errors { .. });
    let mut reasons = Vec::new();
    let mut of_clients = Vec::new();
    for CheckedClient { name, lost, broken } in clients {
        reasons
            .extend(lost.map(|why| BrokenRule::ClientLost { client: name.to_owned(), why: why.to_owned() }));
        // A load that was cut short says nothing more of the client that was lost.
        let broken = broken
            .into_iter()
            .filter(|rule| lost.is_none() && !(is_of_server(rule) && contains(&whole, rule)));
        of_clients.extend(broken.map(|rule| (name.to_owned(), rule)));
    }
    let of_whole = whole.into_iter().filter(|rule| {
        is_of_server(rule) || !of_clients.iter().any(|(_, other)| discriminant(other) == discriminant(rule))
    });
    reasons.extend(of_whole);
    reasons.extend(
        of_clients.into_iter().map(|(client, rule)| BrokenRule::OfClient { client, rule: Box::new(rule) }),
    );
    reasons
}

fn contains(rules: &[BrokenRule], rule: &BrokenRule) -> bool {
    rules.iter().any(|other| discriminant(other) == discriminant(rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: BrokenRule = BrokenRule::ClientCpu { utilisation: 0.97 };
    const ERRORS: BrokenRule = BrokenRule::Errors { share: 0.5 };

    fn client(name: &str, broken: Vec<BrokenRule>) -> CheckedClient<'_> {
        CheckedClient { name, lost: None, broken }
    }

    fn of(name: &str, rule: BrokenRule) -> BrokenRule {
        BrokenRule::OfClient { client: name.to_owned(), rule: Box::new(rule) }
    }

    #[test]
    fn a_client_that_is_the_limit_is_named_also_where_the_sum_is_not() {
        let reasons = combine(Vec::new(), vec![client("c1", vec![]), client("c2", vec![CPU])]);
        assert_eq!(reasons, [of("c2", CPU)]);
        assert!(reasons[0].to_string().starts_with("client c2: the client was the limit: it needed 97 %"));
        assert_eq!(combine(vec![CPU], vec![client("c1", vec![CPU])]), [of("c1", CPU)], "said once");
        assert_eq!(combine(vec![CPU], vec![client("c1", vec![])]), [CPU]);
    }

    #[test]
    fn what_the_server_did_is_said_once_and_of_a_client_that_alone_sees_it() {
        let both = vec![client("c1", vec![ERRORS]), client("c2", vec![ERRORS])];
        assert_eq!(combine(vec![ERRORS], both), [ERRORS]);
        let one = vec![client("c1", vec![]), client("c2", vec![BrokenRule::NothingSucceeded])];
        assert_eq!(combine(Vec::new(), one), [of("c2", BrokenRule::NothingSucceeded)]);
    }

    #[test]
    fn a_lost_client_comes_first_and_only_with_its_loss() {
        let lost = CheckedClient { name: "c1", lost: Some("host c1 was lost: x"), broken: vec![CPU] };
        let reasons = combine(vec![ERRORS], vec![client("c0", vec![]), lost]);
        let [first, ERRORS] = &reasons[..] else { panic!("{reasons:?}") };
        assert_eq!((first.to_string().as_str(), first.client()), ("host c1 was lost: x", Some("c1")));
    }
}
