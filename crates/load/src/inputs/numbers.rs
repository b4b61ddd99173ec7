//! Numbers with a name in the templates of operations, such as how many rows there are to ask for: `{{ uniform(1, persons) }}`. Before
//! operations are parsed, each name among the arguments of a function becomes its number. What the numbers follow from is left to the
//! caller.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::DeValue;

use super::template_call::{Argument, Call};

/// The table of `[load]` with the names.
pub const NUMBERS: &str = "numbers";

/// Puts the numbers into every text of a value.
pub fn put_numbers(value: &mut Spanned<DeValue<'_>>, numbers: &BTreeMap<String, u64>) {
    match value.get_mut() {
        DeValue::String(text) => {
            if let Some(changed) = with_numbers(text, numbers) {
                *text = changed.into();
            }
        }
        DeValue::Array(items) => items.iter_mut().for_each(|item| put_numbers(item, numbers)),
        DeValue::Table(table) => table.iter_mut().for_each(|(_, value)| put_numbers(value, numbers)),
        _ => {}
    }
}

/// The text with the numbers; none if it has none of these names.
fn with_numbers(text: &str, numbers: &BTreeMap<String, u64>) -> Option<String> {
    let (mut written, mut rest, mut is_changed) = (String::new(), text, false);
    while let Some((literal, after)) = rest.split_once("{{") {
        let (call, after_call) = Call::take(after)?;
        written.push_str(literal);
        if let Some(changed) = call_with_numbers(&call, numbers) {
            written.push_str(&changed);
            is_changed = true;
        } else {
            written.push_str("{{");
            written.push_str(&after[..after.len() - after_call.len()]);
        }
        rest = after_call;
    }
    written.push_str(rest);
    is_changed.then_some(written)
}

/// The call as it is written with the numbers; none if it has none of these names.
fn call_with_numbers(call: &Call<'_>, numbers: &BTreeMap<String, u64>) -> Option<String> {
    let mut is_changed = false;
    let mut arguments = Vec::new();
    for argument in &call.arguments {
        arguments.push(match argument {
            Argument::Word(word) => match numbers.get(*word) {
                Some(number) => {
                    is_changed = true;
                    number.to_string()
                }
                None => (*word).to_owned(),
            },
            Argument::Text(text) if text.contains('"') => format!("'{text}'"),
            Argument::Text(text) => format!("\"{text}\""),
        });
    }
    is_changed.then(|| format!("{{{{ {}({}) }}}}", call.name, arguments.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_among_the_arguments_becomes_its_number() {
        let numbers = BTreeMap::from([("persons".to_owned(), 2_500), ("tags".to_owned(), 622)]);
        for (text, expected) in [
            ("/p/{{ uniform(1, persons) }}/x", Some("/p/{{ uniform(1, 2500) }}/x")),
            (
                "{{zipf(1,tags,1)}} {{ persons }} {{ alnum(3) }}",
                Some("{{ zipf(1, 622, 1) }} {{ persons }} {{ alnum(3) }}"),
            ),
            (r#"{{ csv("persons", 'a"b', tags) }}"#, Some(r#"{{ csv("persons", 'a"b', 622) }}"#)),
            (r#"{{ "uniform(1, persons)" }}"#, None),
            ("persons {{ uniform(1, 3) }}", None),
            ("{{ uniform(1, persons)", None),
        ] {
            assert_eq!(with_numbers(text, &numbers).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn every_text_of_a_table_has_them() {
        let text = "[[op]]\npath = \"/{{ uniform(1, n) }}\"\nset = { a = \"{{ alnum(n) }}\" }\nweight = 1\n";
        let mut file = toml::de::DeTable::parse(text).expect("TOML");
        for (_, value) in file.get_mut().iter_mut() {
            put_numbers(value, &BTreeMap::from([("n".to_owned(), 7)]));
        }
        let shown = format!("{file:?}");
        assert!(shown.contains("uniform(1, 7)") && shown.contains("alnum(7)"), "{shown}");
    }
}
