//! Replaces texts of JSON. The names of fields stay: a user may have the name of one. Keys that are data are replaced as texts are.

use super::scan::Replacements;
use serde::de::IgnoredAny;

/// What the keys of an object are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Names of fields or facts: what has the form of an identifier is replaced in them, as in the name of a network interface.
    Fields,
    /// Names of hosts or variants.
    Names,
}

impl Keys {
    /// Those of the object below this key.
    fn below(key: &str) -> Self {
        // Facts by host, telemetry by client, and the values of a comparison by variant.
        if ["hosts", "clients_telemetry", "values"].contains(&key) { Self::Names } else { Self::Fields }
    }
}

/// What is open at a place of the text.
enum Open {
    List,
    Object {
        keys: Keys,
        /// The last key.
        key: String,
        /// Whether a key comes next.
        expects_key: bool,
    },
}

/// Replaces strings, and copies everything else byte for byte: a number that is read and written again may differ in its last digit.
pub(super) fn replace(json: &str, replacements: &mut Replacements) -> serde_json::Result<String> {
    serde_json::from_str::<IgnoredAny>(json)?;
    let mut out = String::with_capacity(json.len());
    let mut open: Vec<Open> = Vec::new();
    let mut rest = json;
    while let Some(at) = rest.find(['"', '{', '}', '[', ']', ',']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let mark = rest.as_bytes()[0];
        if mark == b'"' {
            let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            let Some(text) = strings.next() else { break };
            let replaced = string(&text?, &mut open, replacements);
            out.push_str(&serde_json::to_string(&replaced)?);
            rest = &rest[strings.byte_offset()..];
            continue;
        }
        match mark {
            b'{' => {
                let keys = match open.last() {
                    Some(Open::Object { key, .. }) => Keys::below(key),
                    Some(Open::List) | None => Keys::Fields,
                };
                open.push(Open::Object { keys, key: String::new(), expects_key: true });
            }
            b'[' => open.push(Open::List),
            b',' => {
                if let Some(Open::Object { expects_key, .. }) = open.last_mut() {
                    *expects_key = true;
                }
            }
            _ => _ = open.pop(),
        }
        out.push(char::from(mark));
        rest = &rest[1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// A string with its replacements.
fn string(text: &str, open: &mut [Open], replacements: &mut Replacements) -> String {
    let Some(Open::Object { keys, key, expects_key: expects_key @ true }) = open.last_mut() else {
        return replacements.text(text);
    };
    *expects_key = false;
    text.clone_into(key);
    match keys {
        Keys::Names => replacements.text(text),
        Keys::Fields => replacements.identifiers(text),
    }
}
