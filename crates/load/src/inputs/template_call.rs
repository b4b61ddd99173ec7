//! What stands between the braces of a template: `"text"`, or a function with its arguments. Braces within quotes are part of
//! the text.

/// An argument of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument<'t> {
    /// A number or a name.
    Word(&'t str),
    /// A text in quotes, without them.
    Text(&'t str),
}

/// A call, or a text alone: a call without a name, whose only argument is the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call<'t> {
    /// As it is written.
    pub source: &'t str,
    pub name: &'t str,
    pub arguments: Vec<Argument<'t>>,
}

impl<'t> Call<'t> {
    /// Takes what is before the next "}}" that is not in quotes. Returns it with the rest; none if there is no end.
    pub fn take(text: &'t str) -> Option<(Self, &'t str)> {
        let end = end_of(text, "}}")?;
        let source = text[..end].trim();
        Some((Self::read(source), &text[end + 2..]))
    }

    /// The text, if it is nothing else.
    pub fn text(&self) -> Option<&'t str> {
        match (self.name, self.arguments.as_slice()) {
            ("", [Argument::Text(text)]) => Some(text),
            _ => None,
        }
    }

    /// What is no call has no arguments, so that no function takes it.
    fn read(source: &'t str) -> Self {
        let none = Self { source, name: source, arguments: Vec::new() };
        if let Argument::Text(_) = Argument::read(source) {
            return Self { name: "", arguments: vec![Argument::read(source)], ..none };
        }
        let Some((name, inside)) = source.strip_suffix(')').and_then(|call| call.split_once('(')) else {
            return none;
        };
        let (mut arguments, mut rest) = (Vec::new(), Some(inside));
        while let Some(text) = rest {
            let end = end_of(text, ",");
            arguments.push(Argument::read(text[..end.unwrap_or(text.len())].trim()));
            rest = end.map(|end| &text[end + 1..]);
        }
        Self { name: name.trim(), arguments, ..none }
    }
}

impl<'t> Argument<'t> {
    fn read(text: &'t str) -> Self {
        let inside =
            |quote: char| text.strip_prefix(quote)?.strip_suffix(quote).filter(|text| !text.contains(quote));
        inside('"').or_else(|| inside('\'')).map_or(Self::Word(text), Self::Text)
    }
}

/// Where `end` stands outside of quotes.
fn end_of(text: &str, end: &str) -> Option<usize> {
    let mut quote = None;
    text.char_indices().find_map(|(at, found)| match quote {
        Some(open) => {
            quote = (found != open).then_some(open);
            None
        }
        None if text[at..].starts_with(end) => Some(at),
        None => {
            quote = matches!(found, '"' | '\'').then_some(found);
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_ends_outside_of_quotes() {
        let (call, rest) = Call::take(r#" csv("a }}, b.csv", 'id', once) }} and }}"#).expect("an end");
        assert_eq!((call.name, rest), ("csv", " and }}"));
        let expected = [Argument::Text("a }}, b.csv"), Argument::Text("id"), Argument::Word("once")];
        assert_eq!(call.arguments, expected);
        assert_eq!(Call::take(r#" "}}" }}"#).and_then(|(call, _)| call.text()), Some("}}"));
        assert_eq!(Call::take(r#" "}} "#), None);
        let (call, _) = Call::take("name}}").expect("an end");
        assert_eq!((call.name, call.text(), call.arguments.len()), ("name", None, 0));
    }
}
