//! What a workload says of a server that another program starts, such as a container's daemon or a service manager: the command that
//! stops it, and what names its process.

use std::fmt;

use host::process::StopSignal;
use serde::Deserialize;
use serde::de::value::{SeqAccessDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

/// How a server is stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopMethod {
    /// By a signal.
    Signal(StopSignal),
    /// By a command, whose words are templates.
    Command(Vec<String>),
}

/// What names the process of a server that another program has started. Templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PidSource {
    /// A file with its process ID.
    File(String),
    /// A command that prints it.
    Command(Vec<String>),
}

impl Default for StopMethod {
    fn default() -> Self {
        Self::Signal(StopSignal::default())
    }
}

/// A text, or a command as a list of words.
enum TextOrCommand {
    Text(String),
    Command(Vec<String>),
}

impl<'de> Deserialize<'de> for TextOrCommand {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = TextOrCommand;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a command as a list of words")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<TextOrCommand, E> {
                Ok(TextOrCommand::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, words: A) -> Result<TextOrCommand, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(words)).map(TextOrCommand::Command)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for StopMethod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match TextOrCommand::deserialize(deserializer)? {
            TextOrCommand::Text(name) => {
                StopSignal::deserialize(StrDeserializer::new(&name)).map(Self::Signal)
            }
            TextOrCommand::Command(words) => Ok(Self::Command(words)),
        }
    }
}

impl<'de> Deserialize<'de> for PidSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match TextOrCommand::deserialize(deserializer)? {
            TextOrCommand::Text(path) => Self::File(path),
            TextOrCommand::Command(words) => Self::Command(words),
        })
    }
}
