//! Reads the tables of docs/FORMATS.md and compares them with JSON documents.
//!
//! A table has the columns key, type and meaning. A type that is the title of another section refers to the table of
//! that section.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

/// The page.
pub struct Page {
    text: String,
}

/// One row of a table.
struct Row {
    kind: String,
    is_nullable: bool,
    meaning: String,
}

type Table = BTreeMap<String, Row>;

/// What the documents have, and what is wrong with them.
#[derive(Default)]
struct Comparison {
    /// Keys that occurred, by section.
    written: BTreeSet<(String, String)>,
    /// Values of keys of the type "one of", by section and key.
    choices: BTreeMap<(String, String), BTreeSet<String>>,
    problems: BTreeSet<String>,
}

impl Page {
    pub fn read() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FORMATS.md");
        Self { text: fs::read_to_string(path).expect("docs/FORMATS.md") }
    }

    /// The text of the section with this title, up to the next heading.
    pub fn section(&self, title: &str) -> Option<&str> {
        let start = ["\n## ", "\n### "].iter().find_map(|level| {
            let heading = format!("{level}{title}\n");
            Some(self.text.find(&heading)? + heading.len())
        })?;
        let rest = &self.text[start..];
        let end = ["\n## ", "\n### "].iter().filter_map(|level| rest.find(level)).min();
        Some(&rest[..end.unwrap_or(rest.len())])
    }

    fn table(&self, title: &str) -> Option<Table> {
        let rows = self.section(title)?.lines().filter(|line| line.starts_with("| `"));
        let row = |line: &str| {
            let columns: Vec<&str> = line.trim_matches('|').splitn(3, '|').map(str::trim).collect();
            let [key, kind, meaning] = columns[..] else { panic!("{title}: {line:?} has not three columns") };
            let kind = kind.trim_end_matches(", optional");
            let row = Row {
                kind: kind.trim_end_matches(" or null").to_owned(),
                is_nullable: kind.ends_with(" or null"),
                meaning: meaning.to_owned(),
            };
            (key.trim_matches('`').to_owned(), row)
        };
        Some(rows.map(row).collect())
    }

    /// Compares the table of a section with documents. Together the documents must have every key and every choice.
    pub fn assert_documents(&self, title: &str, documents: &[Value]) {
        let mut comparison = Comparison::default();
        for document in documents {
            self.compare(title, "", document, &mut comparison);
        }
        let sections: BTreeSet<String> =
            comparison.written.iter().map(|(section, _)| section.clone()).collect();
        for section in sections {
            for (key, row) in self.table(&section).unwrap_or_default() {
                let place = (section.clone(), key.clone());
                if !comparison.written.contains(&place) {
                    comparison.problems.insert(format!("{section}: {key} is documented and never written"));
                }
                let documented = quoted(&row.meaning);
                if let Some(choices) =
                    comparison.choices.get(&place).filter(|choices| **choices != documented)
                {
                    comparison.problems.insert(format!(
                        "{section}: {key} is one of {choices:?}, documented are {documented:?}"
                    ));
                }
            }
        }
        let problems: Vec<String> = comparison.problems.into_iter().collect();
        assert!(problems.is_empty(), "docs/FORMATS.md differs from the program:\n{}", problems.join("\n"));
    }

    fn compare(&self, title: &str, prefix: &str, value: &Value, comparison: &mut Comparison) {
        let Some(table) = self.table(title) else {
            comparison.problems.insert(format!("there is no section {title:?}"));
            return;
        };
        let Some(fields) = value.as_object() else {
            comparison.problems.insert(format!("{title}: {prefix} is not an object"));
            return;
        };
        for (name, value) in fields {
            let key = format!("{prefix}{name}");
            let Some(row) = table.get(&key) else {
                comparison.problems.insert(format!("{title}: {key} is not documented"));
                continue;
            };
            comparison.written.insert((title.to_owned(), key.clone()));
            if !(value.is_null() && row.is_nullable) {
                self.compare_value(title, &key, row, value, comparison);
            }
        }
    }

    fn compare_value(&self, title: &str, key: &str, row: &Row, value: &Value, comparison: &mut Comparison) {
        let element =
            row.kind.strip_prefix("list of ").and_then(|kind| value.as_array().map(|list| (kind, list)));
        if let Some((kind, list)) = element {
            let row = Row { kind: singular(kind), is_nullable: false, meaning: String::new() };
            for value in list {
                self.compare_value(title, &format!("{key}[]"), &row, value, comparison);
            }
            return;
        }
        let fits = match row.kind.as_str() {
            "text" | "duration" => value.is_string(),
            "integer" => value.is_u64() || value.is_i64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "value" => !value.is_array() && !value.is_object(),
            "map" => value.is_object(),
            "pair" => value.as_array().is_some_and(|pair| pair.len() == 2),
            "curve" => value.as_array().is_some_and(|pairs| {
                pairs.iter().all(|pair| pair.as_array().is_some_and(|pair| pair.len() == 2))
            }),
            "one of" => {
                let choice = value.as_str().unwrap_or_default().to_owned();
                let place = (title.to_owned(), key.to_owned());
                comparison.choices.entry(place).or_default().insert(choice);
                value.is_string()
            }
            "object" => {
                self.compare(title, &format!("{key}."), value, comparison);
                true
            }
            section => {
                self.compare(section, "", value, comparison);
                true
            }
        };
        if !fits {
            comparison.problems.insert(format!("{title}: {key} is {value}, documented is {}", row.kind));
        }
    }

    /// The fields of each event in the table of a section.
    pub fn events(&self, title: &str) -> BTreeMap<String, BTreeSet<String>> {
        let section = self.section(title).unwrap_or_else(|| panic!("there is no section {title:?}"));
        let rows = section.lines().filter(|line| line.starts_with("| `") && !line.starts_with("| `event`"));
        rows.map(|line| {
            let columns: Vec<&str> = line.trim_matches('|').splitn(3, '|').collect();
            // Notes in brackets may quote other names.
            let fields = columns[2].split(['(', ')']).step_by(2).collect::<String>();
            (columns[0].trim().trim_matches('`').to_owned(), quoted(&fields))
        })
        .collect()
    }
}

/// The words in backticks.
pub fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn singular(kind: &str) -> String {
    match kind {
        "text" => kind.to_owned(),
        plural => plural.trim_end_matches('s').to_owned(),
    }
}
