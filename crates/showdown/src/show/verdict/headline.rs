//! The first line of an answer: short enough to be read in one breath. What does not fit follows below it.

use archive::TrialRecord;
use archive::model::Verdict;

use super::reasons;
use crate::show::layout::sentence::capitalised;

/// The longest first line, in characters.
const MOST: usize = 100;

/// The first line, and what follows it.
pub(super) fn lines(verdict: &Verdict, trials: &[TrialRecord]) -> (String, Option<String>) {
    let sentence = capitalised(&verdict.sentence);
    let is_inconclusive = !verdict.comparisons.is_empty()
        && verdict.comparisons.iter().all(|pair| pair.verdict.is_inconclusive());
    let has_value = verdict.variants.iter().any(|variant| variant.median.is_some());
    // Without any value, the cause comes before what a ratio would need.
    if is_inconclusive
        && !has_value
        && let Some(cause) = reasons::kinds(trials).into_iter().next()
    {
        let (first, _) = cut(&format!("Inconclusive: {}", cause.text));
        return (ended(&first), Some(sentence));
    }
    let (first, rest) = cut(&sentence);
    (ended(&first), rest)
}

/// The text up to the last of its parts that fits, and the others. A text without parts stays whole.
fn cut(text: &str) -> (String, Option<String>) {
    if text.chars().count() <= MOST {
        return (text.to_owned(), None);
    }
    for separator in ["; ", ": ", ", "] {
        let mut best = None;
        for (at, _) in text.match_indices(separator) {
            if text[..at].chars().count() < MOST {
                best = Some(at);
            }
        }
        // A first line of a word or two says nothing.
        if let Some(at) = best.filter(|at| *at > MOST / 4) {
            return (text[..at].to_owned(), Some(text[at + separator.len()..].to_owned()));
        }
    }
    (text.to_owned(), None)
}

fn ended(first: &str) -> String {
    if first.ends_with('.') { first.to_owned() } else { format!("{first}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_sentence_is_cut_between_its_parts() {
        let sentence = "apache needs 1.95 × nginx's CPU time an operation at 5,600/s (97 % CI 1.88–2.02, 7 blocks); on 1 CPU of an Intel \
                        Xeon, 29 November; other programs used 45 % of the CPUs.";
        let (first, rest) = cut(sentence);
        assert_eq!(
            first,
            "apache needs 1.95 × nginx's CPU time an operation at 5,600/s (97 % CI 1.88–2.02, 7 blocks)"
        );
        assert_eq!(
            rest.as_deref(),
            Some("on 1 CPU of an Intel Xeon, 29 November; other programs used 45 % of the CPUs.")
        );
        assert_eq!(cut("nginx is faster."), ("nginx is faster.".to_owned(), None));
    }

    #[test]
    fn a_text_without_parts_stays_whole() {
        let text = "x".repeat(150);
        assert_eq!(cut(&text), (text.clone(), None));
    }
}
