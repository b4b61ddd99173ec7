//! Structured values as flat maps from dotted keys to text, and the differences of two such maps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Converts a value to a map from dotted keys to text. Null and empty lists are absent. A list of scalars becomes one
/// text.
pub fn flatten(value: &impl Serialize) -> BTreeMap<String, String> {
    let mut flat = BTreeMap::new();
    // A value without a JSON form (a map with keys that are not text) has no flat form.
    if let Ok(value) = serde_json::to_value(value) {
        add(&mut flat, String::new(), &value);
    }
    flat
}

fn add(flat: &mut BTreeMap<String, String>, key: String, value: &Value) {
    let below = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    match value {
        Value::Null => {}
        Value::Object(fields) => fields.iter().for_each(|(name, value)| add(flat, below(name), value)),
        Value::Array(values) if values.iter().any(|v| v.is_object() || v.is_array()) => {
            values.iter().enumerate().for_each(|(i, value)| add(flat, below(&i.to_string()), value));
        }
        Value::Array(values) if values.is_empty() => {}
        Value::Array(values) => {
            flat.insert(key, values.iter().map(text).collect::<Vec<_>>().join(" "));
        }
        plain => {
            flat.insert(key, text(plain));
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A fact that differs between two sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactDifference {
    /// The key of the fact.
    pub key: String,
    /// The value on the first side. None if it does not have this fact.
    pub a: Option<String>,
    /// The value on the second side.
    pub b: Option<String>,
}

/// All facts that differ between two flat views, sorted by key.
pub fn differences(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Vec<FactDifference> {
    let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    keys.into_iter()
        .map(|key| FactDifference { key: key.clone(), a: a.get(key).cloned(), b: b.get(key).cloned() })
        .filter(|difference| difference.a != difference.b)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nested_values_become_dotted_keys() {
        let flat = flatten(&json!({
            "cpu": { "model": "x", "cores": 2, "boost": null, "flags": ["avx", "aes"], "none": [] },
            "disks": [{ "name": "vda" }],
        }));
        let expected =
            [("cpu.cores", "2"), ("cpu.flags", "avx aes"), ("cpu.model", "x"), ("disks.0.name", "vda")];
        assert_eq!(flat, expected.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    }

    #[test]
    fn a_difference_is_another_value_or_a_missing_one() {
        let a = flatten(&json!({ "same": 1, "allocator": "glibc malloc", "preload": "libjemalloc.so.2" }));
        let b = flatten(&json!({ "same": 1, "allocator": "jemalloc" }));
        let found = differences(&a, &b);
        let texts: Vec<_> = found.iter().map(|d| (d.key.as_str(), d.a.as_deref(), d.b.as_deref())).collect();
        assert_eq!(
            texts,
            [
                ("allocator", Some("glibc malloc"), Some("jemalloc")),
                ("preload", Some("libjemalloc.so.2"), None)
            ]
        );
        assert_eq!(differences(&a, &a), []);
    }
}
