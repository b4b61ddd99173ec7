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

/// The text up to the last of its parts that fits, and the others; if none fits, up to the first one. A text without parts stays
/// whole, and nothing is cut within brackets.
fn cut(text: &str) -> (String, Option<String>) {
    if text.chars().count() <= MOST {
        return (text.to_owned(), None);
    }
    let mut first_overlong = None;
    for separator in ["; ", ": ", ", "] {
        let mut best = None;
        for (at, _) in text.match_indices(separator) {
            let before = &text[..at];
            let is_within_brackets = before.matches('(').count() > before.matches(')').count();
            // A first line of a word or two says nothing.
            let is_too_short = before.chars().count() < MOST / 4;
            if is_within_brackets || is_too_short {
                continue;
            }
            if before.chars().count() < MOST {
                best = Some(at);
            } else if first_overlong.is_none() {
                first_overlong = Some((at, separator));
            }
        }
        if let Some(at) = best {
            return cut_at(text, at, separator);
        }
    }
    match first_overlong {
        Some((at, separator)) => cut_at(text, at, separator),
        None => (text.to_owned(), None),
    }
}

fn cut_at(text: &str, at: usize, separator: &str) -> (String, Option<String>) {
    (text[..at].to_owned(), Some(begun(&text[at + separator.len()..])))
}

/// What follows begins a line. Names of servers keep their case.
fn begun(rest: &str) -> String {
    rest.strip_prefix("on ").map_or_else(|| rest.to_owned(), |rest| format!("On {rest}"))
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
            Some("On 1 CPU of an Intel Xeon, 29 November; other programs used 45 % of the CPUs.")
        );
        assert_eq!(cut("nginx is faster."), ("nginx is faster.".to_owned(), None));
    }

    #[test]
    fn long_names_are_not_cut_within_brackets() {
        let sentence = "my-api:cache=off needs 1.54 × my-api:cache=on's CPU time an operation at 1,000/s (97 % CI 1.43–1.71, 7 blocks); \
                        on 1 CPU of an Intel Xeon, 29 November.";
        let (first, rest) = cut(sentence);
        assert!(
            first.ends_with("7 blocks)") && rest.is_some_and(|rest| rest.starts_with("On 1 CPU")),
            "{first}"
        );
    }

    #[test]
    fn a_part_that_fits_is_taken_before_a_longer_one() {
        let sentence = "Inconclusive: my-api:cache=on and my-api:cache=off may differ by up to 29 %, and \"no difference\" must rule out \
                        10 % (95 % CI 0.79–1.29, 3 blocks): run more blocks; other programs used 97 % of the CPUs.";
        let (first, rest) = cut(sentence);
        assert_eq!(first, "Inconclusive: my-api:cache=on and my-api:cache=off may differ by up to 29 %");
        assert!(rest.is_some_and(|rest| rest.starts_with("and \"no difference\"")), "{first}");
    }

    #[test]
    fn a_text_without_parts_stays_whole() {
        let text = "x".repeat(150);
        assert_eq!(cut(&text), (text.clone(), None));
    }
}
