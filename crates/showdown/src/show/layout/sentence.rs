//! Sentences of results at the beginning of a line.

/// How sentences begin that do not begin with a name.
const BEGINS: [&str; 8] = [
    "no difference ",
    "no verdict yet",
    "alike in most starts",
    "inconclusive",
    "what limits",
    "nothing that",
    "an operation",
    "at ",
];

/// The sentence with a full stop. The names of servers keep their case.
pub fn capitalised(sentence: &str) -> String {
    for begin in BEGINS {
        if let Some(rest) = sentence.strip_prefix(begin) {
            let (first, others) = begin.split_at(1);
            return format!("{}{others}{rest}.", first.to_uppercase());
        }
    }
    format!("{sentence}.")
}

#[cfg(test)]
mod tests {
    use super::capitalised;

    #[test]
    fn words_are_capitalised_and_names_are_not() {
        assert_eq!(capitalised("no difference in cost shown"), "No difference in cost shown.");
        assert_eq!(
            capitalised("no verdict yet on a against b: stopped after 1 block"),
            "No verdict yet on a against b: stopped after 1 block."
        );
        assert_eq!(capitalised("at p99<5ms, nginx is cheaper"), "At p99<5ms, nginx is cheaper.");
        assert_eq!(capitalised("nginx is cheaper"), "nginx is cheaper.");
    }
}
