//! Text with random parts: `/items?page={{ uniform(1, 100) }}`.
//!
//! | function | result |
//! |---|---|
//! | `uniform(A, B)`, `sequential(A, B)` | a whole number from A to B |
//! | `zipf(A, B, S)` | the same, A most often |
//! | `alnum(N)` | N letters and digits |
//!
//! The results contain only letters and digits, so they cannot break a request line. Operations render templates on the
//! hot path: text without random parts costs one copy.

use rand::{Rng, RngExt, distr::Alphanumeric};

use super::{
    keys::{KeySampler, Popularity},
    units::UnitError,
};

#[derive(Clone, Debug)]
enum TemplatePart {
    Literal(Vec<u8>),
    Number { from: u64, sampler: KeySampler },
    Alnum(usize),
}

/// Text that is rendered for each operation.
#[derive(Clone, Debug)]
pub struct Template {
    parts: Vec<TemplatePart>,
}

impl Template {
    /// Parses a template. The error contains the wrong part and the existing functions.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once("{{") {
            let (call, after) = after
                .split_once("}}")
                .ok_or_else(|| UnitError::new(text, "a template: a \"{{\" has no \"}}\""))?;
            if !literal.is_empty() {
                parts.push(TemplatePart::Literal(literal.as_bytes().to_vec()));
            }
            parts.push(parse_call(call.trim()).ok_or_else(|| {
                UnitError::new(call.trim(), "uniform(A, B), zipf(A, B, S), sequential(A, B) or alnum(N)")
            })?);
            rest = after;
        }
        if !rest.is_empty() || parts.is_empty() {
            parts.push(TemplatePart::Literal(rest.as_bytes().to_vec()));
        }
        Ok(Self { parts })
    }

    /// The text itself, if it has no random part.
    pub fn as_literal(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [TemplatePart::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Appends one rendering to `out`.
    pub fn render(&mut self, rng: &mut impl Rng, out: &mut Vec<u8>) {
        for part in &mut self.parts {
            match part {
                TemplatePart::Literal(text) => out.extend_from_slice(text),
                TemplatePart::Number { from, sampler } => {
                    let mut buffer = itoa::Buffer::new();
                    out.extend_from_slice(buffer.format(*from + sampler.sample(rng)).as_bytes());
                }
                TemplatePart::Alnum(count) => out.extend((0..*count).map(|_| rng.sample(Alphanumeric))),
            }
        }
    }
}

fn parse_call(call: &str) -> Option<TemplatePart> {
    let (name, arguments) = call.strip_suffix(')')?.split_once('(')?;
    let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
    let number = |at: usize| arguments.get(at)?.parse::<u64>().ok();
    if name == "alnum" {
        return number(0)
            .filter(|n| *n <= 1 << 20 && arguments.len() == 1)
            .map(|n| TemplatePart::Alnum(n as usize));
    }
    let (popularity, arity) = match name {
        "uniform" => (Popularity::Uniform, 2),
        "sequential" => (Popularity::Sequential, 2),
        "zipf" => (format!("zipf:{}", arguments.get(2)?).parse().ok()?, 3),
        _ => return None,
    };
    let (from, to) = (number(0)?, number(1)?);
    let fits = arguments.len() == arity && from <= to && to < u64::MAX;
    fits.then(|| TemplatePart::Number { from, sampler: KeySampler::new(popularity, to - from + 1, 0) })
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn render(text: &str) -> String {
        let mut out = Vec::new();
        let mut rng = Pcg64Mcg::seed_from_u64(3);
        Template::parse(text).expect("a template").render(&mut rng, &mut out);
        String::from_utf8(out).expect("templates give text")
    }

    #[test]
    fn draws_numbers_within_their_range() {
        for _ in 0..100 {
            let page: u64 = render("/items?page={{ uniform(1, 100) }}")[12..].parse().expect("a number");
            assert!((1..=100).contains(&page));
        }
        assert_eq!(render("{{sequential(5, 9)}}/{{ uniform(7,7) }}"), "5/7");
        assert_eq!(render("x{{ alnum(8) }}").len(), 9);
        assert_eq!(render(""), "");
        assert_eq!(render("{{ uniform(0, 18446744073709551614) }}").parse::<u64>().map(|_| ()), Ok(()));
    }

    #[test]
    fn the_same_seed_gives_the_same_text() {
        assert_eq!(
            render("{{ alnum(32) }}{{ zipf(1, 1000, 0.99) }}"),
            render("{{ alnum(32) }}{{ zipf(1, 1000, 0.99) }}")
        );
    }

    #[test]
    fn the_error_of_a_template_lists_the_functions() {
        let error = Template::parse("/{{ unifrom(1, 2) }}").expect_err("no such function").to_string();
        assert!(error.contains("unifrom(1, 2)") && error.contains("uniform(A, B)"), "{error}");
        for text in
            ["{{", "{{ uniform(2, 1) }}", "{{ uniform(1) }}", "{{ zipf(1, 2, 0) }}", "{{ alnum(99999999) }}"]
        {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }
}
