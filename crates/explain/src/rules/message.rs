//! Messages of rules: texts with `{NAME}` where a figure goes, and `[TEXT]` where a text goes only if its figures are known.

use crate::figures::Figures;

/// The message with its figures. One that is not known is `unknown`.
pub(super) fn fill(message: &str, figures: &Figures) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, (inside, after))) = bracketed(rest) {
        text.push_str(&with_figures(before, figures));
        if names(inside).all(|name| figures.text(name).is_some()) {
            text.push_str(&with_figures(inside, figures));
        }
        rest = after;
    }
    text + &with_figures(rest, figures)
}

/// What is before the first pair of brackets, in it, and after it.
fn bracketed(message: &str) -> Option<(&str, (&str, &str))> {
    let (before, rest) = message.split_once('[')?;
    Some((before, rest.split_once(']')?))
}

fn with_figures(message: &str, figures: &Figures) -> String {
    let mut text = String::with_capacity(message.len());
    for part in parts(message) {
        match part {
            Part::Text(plain) => text.push_str(plain),
            Part::Name(name) => text.push_str(figures.text(name).unwrap_or("unknown")),
        }
    }
    text
}

/// The names in a message.
pub(super) fn names(message: &str) -> impl Iterator<Item = &str> {
    parts(message).filter_map(|part| if let Part::Name(name) = part { Some(name) } else { None })
}

enum Part<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// A brace without its other one is text.
fn parts(message: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = message;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some(after) = rest.strip_prefix('{')
            && let Some((name, remaining)) = after.split_once('}')
        {
            rest = remaining;
            return Some(Part::Name(name));
        }
        let end = rest.char_indices().skip(1).find(|(_, c)| *c == '{').map_or(rest.len(), |(at, _)| at);
        let (text, remaining) = rest.split_at(end);
        rest = remaining;
        Some(Part::Text(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_brackets_needs_its_figures() {
        let mut figures = Figures::default();
        let message = "others used a lot[, most of all {others.busiest}] today [sic";
        assert_eq!(fill(message, &figures), "others used a lot today [sic");
        figures.add_text("others.busiest", "make (pid 7)".to_owned());
        assert_eq!(fill(message, &figures), "others used a lot, most of all make (pid 7) today [sic");
    }

    #[test]
    fn names_are_replaced_and_single_braces_are_text() {
        let filled = |message: &str| fill(message, &Figures::default());
        assert_eq!(filled("busy {server_cpus.busy} of the time"), "busy unknown of the time");
        assert_eq!(filled("a { b"), "a { b");
        assert_eq!(filled("µ{x}µ"), "µunknownµ");
        assert_eq!(names("{a} and {b.c}").collect::<Vec<_>>(), ["a", "b.c"]);
    }
}
