//! Operation mixes from a TOML file: an array of `[[op]]` tables.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::drivers::http::HttpOperation;
use crate::drivers::keyspace::Command;
use crate::drivers::smtp::MailOperation;
use crate::drivers::sql::Transaction;

/// Why a mix was refused: file, line, and what is wrong there.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct MixError(String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mix<T> {
    #[serde(default = "Vec::new")]
    op: Vec<T>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandOperation {
    command: Command,
    #[serde(default = "one")]
    weight: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TransactionOperation {
    transaction: Transaction,
    #[serde(default = "one")]
    weight: f64,
}

fn one() -> f64 {
    1.0
}

/// Reads a mix of HTTP requests.
pub fn read_http(path: &Path) -> Result<Vec<HttpOperation>, MixError> {
    read(path)
}

/// Reads a mix of key-value commands.
pub fn read_commands(path: &Path) -> Result<Vec<(Command, f64)>, MixError> {
    let operations: Vec<CommandOperation> = read(path)?;
    Ok(operations.into_iter().map(|op| (op.command, op.weight)).collect())
}

/// Reads a mix of transactions.
pub fn read_transactions(path: &Path) -> Result<Vec<(Transaction, f64)>, MixError> {
    let operations: Vec<TransactionOperation> = read(path)?;
    Ok(operations.into_iter().map(|op| (op.transaction, op.weight)).collect())
}

/// Reads a mix of messages.
pub fn read_messages(path: &Path) -> Result<Vec<MailOperation>, MixError> {
    read(path)
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, MixError> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| MixError(format!("{}: {e}: give a file of [[op]] tables", path.display())))?;
    let mix: Mix<T> = toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        MixError(format!("{}:{line}: {}", path.display(), error.message().replace('\n', " ")))
    })?;
    if mix.op.is_empty() {
        return Err(MixError(format!("{}: the mix is empty: give at least one [[op]]", path.display())));
    }
    Ok(mix.op)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Vec<HttpOperation>, MixError> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("mix.toml");
        std::fs::write(&path, text).expect("a file");
        read_http(&path)
    }

    #[test]
    fn a_mix_says_what_is_sent_how_often_and_what_is_expected_back() {
        let mix = r#"
            [[op]]
            name = "list"
            weight = 90
            path = "/items?page={{ uniform(1, 100) }}"
            expect = { status = 200, contains = "items" }

            [[op]]
            method = "POST"
            path = "/items"
            headers = { Content-Type = "application/json" }
            body = '{"n": {{ uniform(1, 9) }}}'
            expect = { status = [200, 201] }
        "#;
        let operations = read_text(mix).expect("a mix");
        assert_eq!((operations[0].weight, operations[1].weight), (90.0, 1.0));
        assert_eq!(operations[1].headers, [("Content-Type".to_owned(), "application/json".to_owned())]);
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        let error = read_text("[[op]]\npath = \"/\"\nwieght = 3\n").expect_err("a typo").to_string();
        assert!(error.contains("mix.toml:3: unknown field `wieght`"), "{error}");
        for text in ["op = []", ""] {
            let error = read_text(text).expect_err("empty").to_string();
            assert!(error.contains("the mix is empty"), "{error}");
        }
    }
}
