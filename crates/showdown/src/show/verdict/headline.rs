//! The first line of an answer: short enough to be read in one breath. What does not fit follows below it.

use archive::TrialRecord;
use archive::model::Verdict;

use super::reasons;
use crate::show::layout::sentence::capitalised;

/// The longest first line, in characters.
const MOST: usize = 100;

/// The first line, and what follows it.
pub(super) fn lines(verdict: &Verdict, trials: &[TrialRecord]) -> (String, Option<String>) {
    let has_value = verdict.variants.iter().any(|variant| variant.median.is_some());
    // Without any value, the cause comes before what a ratio would need. The list of invalid trials has its whole text and the others.
    if is_inconclusive(verdict)
        && !has_value
        && let Some(cause) = reasons::kinds(trials).into_iter().next()
    {
        let (first, _) =
            cut(&format!("Inconclusive: {}.", without_gate(&cause.text, trials).trim_end_matches('.')));
        // That a server failed in some of its starts is said in every answer.
        if verdict.variants.iter().any(|variant| variant.failed_starts > 0) {
            return (first, Some(capitalised(&verdict.sentence)));
        }
        return (first, verdict.machine.as_deref().map(|machine| format!("{}.", begun(machine))));
    }
    cut(&capitalised(&verdict.sentence))
}

/// A reason without the id of the gate that has found it, which the list of invalid trials has.
fn without_gate<'a>(reason: &'a str, trials: &[TrialRecord]) -> &'a str {
    let mut gates = trials.iter().flat_map(|record| &record.trial.gates);
    match reason.split_once(": ") {
        Some((id, message)) if gates.any(|gate| gate.id == id) => message,
        _ => reason,
    }
}

/// Whether no comparison has an answer.
pub(super) fn is_inconclusive(verdict: &Verdict) -> bool {
    !verdict.comparisons.is_empty() && verdict.comparisons.iter().all(|pair| pair.verdict.is_inconclusive())
}

/// A text that ends with a full stop: its first parts that fit on a line, as a sentence, and the others. If no part fits, it is cut
/// before its first bracket, before a rate, or after a word, and the whole text follows.
fn cut(text: &str) -> (String, Option<String>) {
    if text.chars().count() <= MOST {
        return (text.to_owned(), None);
    }
    for separator in ["; ", ": ", ", "] {
        if let Some(at) = last_that_fits(text, text.match_indices(separator).map(|(at, _)| at)) {
            return (format!("{}.", &text[..at]), Some(begun(&text[at + separator.len()..])));
        }
    }
    let brackets = text.match_indices(" (").map(|(at, _)| at);
    if let Some(at) = last_that_fits(text, brackets.take(1)) {
        return (format!("{}.", &text[..at]), Some(unbracketed(text, at)));
    }
    let rates = text.match_indices(" at ").map(|(at, _)| at).filter(|at| is_rate(&text[at + " at ".len()..]));
    if let Some(at) = last_that_fits(text, rates) {
        return (format!("{}.", &text[..at]), Some(text.to_owned()));
    }
    let words = text.match_indices(' ').map(|(at, _)| at);
    let at = last_that_fits(text, words)
        .or_else(|| text.char_indices().nth(MOST - 1).map(|(at, _)| at))
        .unwrap_or(text.len());
    (format!("{}…", text[..at].trim_end_matches([',', ';', ':'])), Some(text.to_owned()))
}

/// The last of these places at which what is before it fits on a line with a full stop. Nothing is cut within brackets.
fn last_that_fits(text: &str, places: impl Iterator<Item = usize>) -> Option<usize> {
    places
        .filter(|&at| {
            let before = &text[..at];
            // A first line of a word or two says nothing.
            (MOST / 4..MOST).contains(&before.chars().count())
                && before.matches('(').count() <= before.matches(')').count()
        })
        .last()
}

/// What follows a text that was cut before the bracket at this place: what is in the bracket and after it; or the whole text, if the
/// bracket is within a sentence.
fn unbracketed(text: &str, at: usize) -> String {
    let inner = &text[at + " (".len()..];
    match inner.split_once(')') {
        Some((inside, after)) if !inside.contains('(') && after.starts_with(['.', ';']) => {
            format!("{inside}{after}")
        }
        _ => text.to_owned(),
    }
}

/// Whether a text begins with a rate, such as `1,000/s`.
fn is_rate(text: &str) -> bool {
    let after =
        text.trim_start_matches(|letter: char| letter.is_ascii_digit() || matches!(letter, ',' | '.'));
    after.len() < text.len() && after.starts_with("/s")
}

/// What follows begins a line. Names of servers keep their case.
fn begun(rest: &str) -> String {
    rest.strip_prefix("on ").map_or_else(|| rest.to_owned(), |rest| format!("On {rest}"))
}

#[cfg(test)]
mod tests {
    use archive::model::{ComparisonVerdict, InconclusiveReason, TrialStatus};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_sentence_is_cut_between_its_parts() {
        let sentence = "apache needs 1.95 × nginx's CPU time an operation at 5,600/s (97 % CI 1.88–2.02, 7 blocks); on 1 CPU of an Intel \
                        Xeon, 29 November; other programs used 45 % of the CPUs.";
        let (first, rest) = cut(sentence);
        assert_eq!(
            first,
            "apache needs 1.95 × nginx's CPU time an operation at 5,600/s (97 % CI 1.88–2.02, 7 blocks)."
        );
        assert_eq!(
            rest.as_deref(),
            Some("On 1 CPU of an Intel Xeon, 29 November; other programs used 45 % of the CPUs.")
        );
        assert_eq!(cut("nginx is faster."), ("nginx is faster.".to_owned(), None));
    }

    #[test]
    fn with_long_names_the_interval_is_on_the_second_line() {
        let sentence = "my-api:cache=off needs 1.54 × my-api:cache=on's CPU time an operation at 1,000/s (97 % CI 1.43–1.71, 7 blocks); \
                        on 1 CPU of an Intel Xeon, 29 November.";
        let (first, rest) = cut(sentence);
        assert_eq!(
            first,
            "my-api:cache=off needs 1.54 × my-api:cache=on's CPU time an operation at 1,000/s."
        );
        assert_eq!(
            rest.as_deref(),
            Some("97 % CI 1.43–1.71, 7 blocks; on 1 CPU of an Intel Xeon, 29 November.")
        );
    }

    #[test]
    fn with_longer_names_the_rate_is_on_the_second_line_too() {
        let sentence = "redis:appendfsync=everysec,appendonly=on needs 1.082 × redis:appendonly=off's CPU time an operation at 4,100/s \
                        (99 % CI 1.037–1.13, 18 blocks); 2 more are inconclusive.";
        let (first, rest) = cut(sentence);
        assert_eq!(
            first,
            "redis:appendfsync=everysec,appendonly=on needs 1.082 × redis:appendonly=off's CPU time an operation."
        );
        assert_eq!(rest.as_deref(), Some(sentence));
    }

    #[test]
    fn a_part_that_fits_is_taken_before_a_longer_one() {
        let sentence = "Inconclusive: my-api:cache=on and my-api:cache=off may differ by up to 29 %, and \"no difference\" must rule out \
                        10 % (95 % CI 0.79–1.29, 3 blocks): run more blocks; other programs used 97 % of the CPUs.";
        let (first, rest) = cut(sentence);
        assert_eq!(first, "Inconclusive: my-api:cache=on and my-api:cache=off may differ by up to 29 %.");
        assert!(rest.is_some_and(|rest| rest.starts_with("and \"no difference\"")), "{first}");
    }

    #[test]
    fn without_any_value_the_cause_stands_once() {
        let root = tempfile::tempdir().expect("a folder");
        let id = archive::example::comparison(root.path(), 3).expect("a run");
        let mut run = archive::Run::open(&root.path().join(id.as_str())).expect("a run");
        let mut verdict = run.verdict.take().expect("a verdict");
        verdict.variants.iter_mut().for_each(|variant| variant.median = None);
        verdict.comparisons.iter_mut().for_each(|pair| {
            pair.verdict = ComparisonVerdict::Inconclusive {
                reason: InconclusiveReason::TooFewBlocks { blocks: 0, needed: 3 },
            };
        });
        verdict.sentence =
            "inconclusive: a ratio needs at least 3 complete blocks; 6 of 6 trials are invalid: busy"
                .to_owned();
        verdict.machine = Some("on 1 CPU of an Intel Xeon, 29 November".to_owned());
        for record in &mut run.trials {
            record.trial.status = TrialStatus::Invalid;
            record.trial.reasons = vec!["steal: the hypervisor used 45 % of the CPUs: wait".to_owned()];
        }
        let (first, rest) = lines(&verdict, &run.trials);
        assert_eq!(first, "Inconclusive: the hypervisor used 45 % of the CPUs: wait.");
        assert_eq!(rest.as_deref(), Some("On 1 CPU of an Intel Xeon, 29 November."));
    }

    proptest! {
        #[test]
        fn every_first_line_fits_and_nothing_is_lost(
            parts in prop::collection::vec("[a-zé=×]{1,40}(| \\(97 % CI 1\\.2, 7 blocks\\)| at 4,100/s)(; |: |, | )", 1..12),
        ) {
            let text = format!("{}.", parts.concat().trim_end_matches([' ', ';', ':', ',']));
            let (first, rest) = cut(&text);
            prop_assert!(first.chars().count() <= MOST, "{first}");
            let shown = first + " " + &rest.unwrap_or_default();
            for word in text.split(|letter: char| !letter.is_alphanumeric()) {
                prop_assert!(shown.contains(word), "{word} of {text:?} is not in {shown:?}");
            }
        }
    }
}
