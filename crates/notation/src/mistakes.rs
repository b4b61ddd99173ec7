//! Mistakes in TOML files of the user's, in words that say what to write: the messages of serde name types of Rust, and a missing key
//! without its owner. Where a mistake stands is left to the readers of the files.

/// The message of an error of TOML or serde about this text, in one line.
pub fn message_of(error: &toml::de::Error, text: &str) -> String {
    let message = error.message().replace('\n', " ");
    let span = error.span().unwrap_or(0..0);
    let rephrased = if message == "duplicate key" {
        text.get(span).map(|key| format!("duplicate key {:?}: give it once", key.trim_matches(['"', '\''])))
    } else if let Some(key) = message.strip_prefix("missing field ") {
        operation_at(text, span.start).map(|operation| format!("{operation} needs {}", key.trim_matches('`')))
    } else {
        unknown(&message).or_else(|| wrong_type(&message))
    };
    rephrased.unwrap_or(message)
}

/// The operation whose table `[[op]]` or `[[load.op]]` is at this place: `operation "list"`, if it has a name.
fn operation_at(text: &str, at: usize) -> Option<String> {
    let line_end = text.get(at..)?.find('\n').map_or(text.len(), |end| at + end);
    let mut table = Vec::new();
    for line in text[..line_end].lines().rev() {
        table.push(line);
        if line.starts_with('[') {
            break;
        }
    }
    let header = table.pop()?.split('#').next()?.trim();
    if !["[[op]]", "[[load.op]]"].contains(&header) {
        return None;
    }
    let after = text[line_end..].lines().skip(1).take_while(|line| !line.starts_with('['));
    let name = table.into_iter().chain(after).find_map(|line| {
        let (key, value) = line.split_once('=')?;
        let value = value.trim().strip_prefix('"')?;
        (key.trim() == "name").then(|| value.split('"').next()).flatten()
    });
    Some(name.map_or_else(|| "this operation".to_owned(), |name| format!("operation {name:?}")))
}

/// Rephrases serde's "unknown field `X`, expected one of `A`, `B`" (or "unknown variant").
fn unknown(message: &str) -> Option<String> {
    let (unknown, known) = unknown_name(message)?;
    let what = if message.starts_with("unknown field ") { "key" } else { "value" };
    Some(format!("unknown {what} {unknown:?}{}", available(unknown, &known)))
}

/// The unknown name in serde's message about an unknown field or variant, and the names that serde expects.
fn unknown_name(message: &str) -> Option<(&str, Vec<&str>)> {
    if !message.starts_with("unknown field ") && !message.starts_with("unknown variant ") {
        return None;
    }
    let mut names = message.split('`').skip(1).step_by(2);
    Some((names.next()?, names.collect()))
}

/// Rephrases serde's "invalid type: string "5", expected u32", and "invalid value" for a number outside of the type's range.
fn wrong_type(message: &str) -> Option<String> {
    let (found, expected) = message.rsplit_once(", expected ")?;
    let most = match expected {
        "u8" => Some(u64::from(u8::MAX)),
        "u16" => Some(u64::from(u16::MAX)),
        "u32" => Some(u64::from(u32::MAX)),
        "u64" | "usize" => Some(u64::MAX),
        "f32" | "f64" => None,
        _ => return None,
    };
    let what = if most.is_some() { "a whole number" } else { "a number" };
    let which = match most {
        _ if found.starts_with("invalid type: string ") => " without quotes".to_owned(),
        Some(most) if found.starts_with("invalid value: integer ") => format!(" from 0 to {most}"),
        _ => String::new(),
    };
    Some(format!("{found}, expected {what}{which}"))
}

/// The end of a message about an unknown name: ` (did you mean "workers"? available: threads, workers)`.
pub fn available(unknown: &str, defined: &[&str]) -> String {
    if defined.is_empty() {
        return " (none are defined)".to_owned();
    }
    // Every short name is near every other short name: a suggestion must be closer than a third of its length.
    let nearest = defined
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&unknown.to_lowercase(), &name.to_lowercase()), name))
        .min()
        .filter(|(distance, name)| *distance <= name.len().max(unknown.len()).saturating_sub(1) / 3)
        .map_or(String::new(), |(_, name)| format!("did you mean {name:?}? "));
    format!(" ({nearest}available: {})", defined.join(", "))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the mistakes are read")]
    struct File {
        title: String,
        op: Vec<Operation>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the mistakes are read")]
    struct Operation {
        name: Option<String>,
        path: String,
        count: Option<u32>,
        weight: Option<f64>,
    }

    #[test]
    fn a_mistake_is_said_in_words_of_the_file() {
        for (text, message) in [
            (
                "title = \"T\"\n[[op]]\ncount = \"5\"\n",
                "invalid type: string \"5\", expected a whole number without quotes",
            ),
            (
                "title = \"T\"\n[[op]]\nweight = \"5\"\n",
                "invalid type: string \"5\", expected a number without quotes",
            ),
            (
                "title = \"T\"\n[[op]]\ncount = 0.5\n",
                "invalid type: floating point `0.5`, expected a whole number",
            ),
            (
                "title = \"T\"\n[[op]]\ncount = -1\n",
                "invalid value: integer `-1`, expected a whole number from 0 to 4294967295",
            ),
            (
                "title = \"T\"\n[[op]]\npath = \"/\"\n[[op]]\nname = \"get\"\nweight = 1\n",
                "operation \"get\" needs path",
            ),
            ("title = \"T\"\n[[op]] # one\nweight = 1\n", "this operation needs path"),
            ("title = \"T\"\ntitle = \"U\"\n", "duplicate key \"title\": give it once"),
            (
                "title = \"T\"\n[[op]]\nwieght = 1\n",
                "unknown key \"wieght\" (did you mean \"weight\"? available: name, path, count, weight)",
            ),
            ("op = []\n", "missing field `title`"),
        ] {
            let error = toml::from_str::<File>(text).expect_err(text);
            assert_eq!(message_of(&error, text), message, "{text}");
        }
    }

    #[test]
    fn only_a_near_name_is_suggested() {
        assert_eq!(available("port", &["threads"]), " (available: threads)");
        assert_eq!(available("port", &[]), " (none are defined)");
    }
}
