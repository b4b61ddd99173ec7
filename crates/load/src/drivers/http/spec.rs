//! A mix of HTTP requests as plain data: what is sent, how often, and which reply is expected. Plans record it, and
//! users write it in TOML files.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::expected::Expected;
use super::scenario::HttpScenario;
use crate::inputs::template::Template;
use crate::inputs::values::{DeclaredValues, ValuePlace};

/// A mix of requests to one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HttpSpec {
    /// The value of `Host`.
    pub authority: String,
    /// The requests.
    pub operations: Vec<HttpOperation>,
    /// What users do, instead of the requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<HttpScenario>,
    /// The folder of the files with values, where their names are relative; by default the current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
}

impl HttpSpec {
    /// A mix for a host.
    pub fn new(authority: &str, operations: Vec<HttpOperation>) -> Self {
        Self { authority: authority.to_owned(), operations, scenario: None, folder: None }
    }

    /// The values of files that its operations use.
    pub(crate) fn declared_values(&self) -> DeclaredValues {
        let mut declared = DeclaredValues::default();
        for operation in &self.operations {
            let values = operation.headers.iter().map(|(_, value)| value);
            for text in values.chain([&operation.path]).chain(&operation.body) {
                // What does not parse is refused where the requests are made.
                let _ = Template::parse_with(text, &mut declared, ValuePlace::Body);
            }
        }
        if let Some(scenario) = &self.scenario {
            scenario.declare_values(&mut declared);
        }
        declared
    }
}

/// One kind of request. `path`, the values of `headers`, and `body` may contain templates (see [`Template`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpOperation {
    /// Its name in tables; by default the method and the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its share of the mix, relative to the others.
    #[serde(default = "one")]
    pub weight: f64,
    /// `GET` by default.
    #[serde(default = "get")]
    pub method: String,
    /// Path and query, a template.
    pub path: String,
    /// Further header fields; their values are templates.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "header_table")]
    pub headers: Vec<(String, String)>,
    /// The request's body, a template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The expected reply.
    #[serde(default)]
    pub expect: Expected,
}

fn one() -> f64 {
    1.0
}

fn get() -> String {
    "GET".to_owned()
}

impl HttpOperation {
    /// A plain GET.
    pub fn get(path: &str) -> Self {
        Self {
            name: None,
            weight: one(),
            method: get(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: None,
            expect: Expected::default(),
        }
    }
}

/// Headers as a table in TOML and JSON, in their order.
mod header_table {
    use serde::de::{MapAccess, Visitor};
    use serde::{Deserializer, Serializer};

    type Headers = Vec<(String, String)>;

    pub fn serialize<S: Serializer>(headers: &Headers, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(headers.iter().map(|(name, value)| (name, value)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Headers, D::Error> {
        struct Table;
        impl<'de> Visitor<'de> for Table {
            type Value = Headers;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a table of header names and values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Headers, A::Error> {
                let mut headers = Headers::new();
                while let Some(entry) = map.next_entry()? {
                    headers.push(entry);
                }
                Ok(headers)
            }
        }
        deserializer.deserialize_map(Table)
    }
}
