//! memcached: get, set and delete over a key space, in the text or the meta dialect.

use serde::{Deserialize, Serialize};
use wire::memcache::{Event, Expect, Outcome, ReplyDecoder, request};

use super::OperationError;
use super::keyspace::{self, Answer, Command, Exchange, Keyspace, KeyspaceSpec};
use crate::driver::{Driver, Fault, OperationId, Step, Turn};

/// Which form of the text protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// `get`, `set`, `delete`.
    #[default]
    Text,
    /// `mg`, `ms`, `md`.
    Meta,
}

/// A mix of commands in a form of the protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemcacheSpec {
    /// Form of the protocol.
    #[serde(default)]
    pub dialect: Dialect,
    /// Commands, keys and values.
    pub keyspace: KeyspaceSpec,
}

/// Speaks memcached's protocol for one worker.
#[derive(Debug)]
pub struct MemcacheDriver {
    spec: MemcacheSpec,
    keyspace: Keyspace,
}

/// One connection.
#[derive(Debug)]
pub struct MemcacheDialogue {
    decoder: ReplyDecoder,
    exchange: Exchange,
}

impl MemcacheDriver {
    /// A driver for worker `worker` of `workers`.
    pub fn new(spec: &MemcacheSpec, worker: u32, workers: u32) -> Result<Self, OperationError> {
        let mut keyspace = Keyspace::new(&spec.keyspace, worker, workers)?;
        // Keys differ in their digits only, so what holds for one holds for all.
        keyspace.write_key(0);
        request::check_key(keyspace.key()).map_err(|e| OperationError(format!("key prefix: {e}")))?;
        Ok(Self { spec: spec.clone(), keyspace })
    }
}

impl Driver for MemcacheDriver {
    type Dialogue = MemcacheDialogue;

    fn operations(&self) -> Vec<String> {
        self.spec.keyspace.operations()
    }

    fn counters(&self) -> &'static [&'static str] {
        keyspace::COUNTERS
    }

    fn dialogue(&mut self) -> MemcacheDialogue {
        MemcacheDialogue { decoder: ReplyDecoder::new(), exchange: Exchange::default() }
    }

    fn begin(&mut self, dialogue: &mut MemcacheDialogue, turn: Turn<'_>) -> OperationId {
        let exchange = self.keyspace.begin(turn.rng);
        let (key, value) = (self.keyspace.key(), || self.keyspace.value(&exchange));
        let (expect, written) = match (self.keyspace.command(&exchange), self.spec.dialect) {
            (Command::Get, Dialect::Text) => (Expect::Get, request::get(turn.out, key)),
            (Command::Get, Dialect::Meta) => (Expect::MetaGet, request::meta_get(turn.out, key, "k v")),
            (Command::Set, Dialect::Text) => (Expect::Store, request::set(turn.out, key, 0, 0, value())),
            (Command::Set, Dialect::Meta) => {
                (Expect::MetaStore, request::meta_set(turn.out, key, value(), ""))
            }
            (Command::Delete, Dialect::Text) => (Expect::Delete, request::delete(turn.out, key)),
            (Command::Delete, Dialect::Meta) => (Expect::MetaDelete, request::meta_delete(turn.out, key, "")),
        };
        written.expect("keys and sizes were checked when the driver was made");
        dialogue.decoder.expect(expect);
        dialogue.exchange = exchange;
        dialogue.exchange.operation
    }

    fn receive(&mut self, dialogue: &mut MemcacheDialogue, mut input: &[u8], turn: Turn<'_>) -> Step {
        let exchange = &mut dialogue.exchange;
        loop {
            match dialogue.decoder.decode(&mut input) {
                Ok(Some(Event::Value(value))) => {
                    if self.keyspace.is_key(exchange, value.key) {
                        self.keyspace.check_length(exchange, value.length);
                    } else {
                        exchange.complaint = Some("a value under another key than the one asked for");
                    }
                }
                Ok(Some(Event::Data(data))) => self.keyspace.check_data(exchange, data),
                Ok(Some(Event::Stat { .. })) => {
                    exchange.complaint = Some("statistics that were not asked for");
                }
                Ok(Some(Event::Done { outcome, detail })) => {
                    if !input.is_empty() {
                        return Step::Failed(Fault::protocol("bytes after the end of the reply"));
                    }
                    return check(outcome, detail, exchange, turn.counters);
                }
                Ok(None) => return Step::Wait,
                Err(error) => return Step::Failed(Fault::protocol(error.to_string())),
            }
        }
    }

    fn closed(&mut self, dialogue: &mut MemcacheDialogue) -> Step {
        Step::Failed(Fault::closed(dialogue.decoder.eof().to_string()))
    }
}

/// A reply that is whole: is it the one expected?
fn check(outcome: Outcome, detail: &[u8], exchange: &Exchange, counters: &mut [u64]) -> Step {
    let answer = match outcome {
        Outcome::Retrieved { values: 1 } | Outcome::Deleted => Answer::Hit,
        Outcome::Retrieved { values: 0 } | Outcome::NotFound => Answer::Miss,
        Outcome::Stored => Answer::Stored,
        other => {
            let detail = String::from_utf8_lossy(detail);
            return Step::Failed(Fault::unexpected(format!("the server answers {other:?} {detail}"), true));
        }
    };
    keyspace::conclude(exchange, answer, counters)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::super::keyspace::tests::sample;
    use super::*;
    use crate::record::ErrorKind;

    fn spec(command: Command) -> MemcacheSpec {
        MemcacheSpec { dialect: Dialect::Text, keyspace: sample(command) }
    }

    /// Does one operation; `reply` makes the server's bytes out of the request and the value stored.
    fn converse(spec: &MemcacheSpec, reply: impl Fn(&str, &str) -> String) -> (String, Step, [u64; 2]) {
        let mut driver = MemcacheDriver::new(spec, 0, 1).expect("a driver");
        let mut dialogue = driver.dialogue();
        let (mut out, mut rng, mut counters) = (Vec::new(), Pcg64Mcg::seed_from_u64(1), [0; 2]);
        driver.begin(&mut dialogue, Turn { out: &mut out, rng: &mut rng, counters: &mut counters });
        let request = String::from_utf8(out.clone()).expect("ASCII");
        let stored = String::from_utf8(driver.keyspace.value(&dialogue.exchange).to_vec()).expect("ASCII");
        let turn = Turn { out: &mut out, rng: &mut rng, counters: &mut counters };
        let step = driver.receive(&mut dialogue, reply(&request, &stored).as_bytes(), turn);
        (request, step, counters)
    }

    #[test]
    fn a_hit_is_held_against_what_was_stored() {
        let (request, step, counters) =
            converse(&spec(Command::Get), |_, stored| format!("VALUE key-000 0 5\r\n{stored}\r\nEND\r\n"));
        assert_eq!(
            (request.as_str(), step, counters),
            ("get key-000\r\n", Step::Done { reuse: true }, [1, 0])
        );
        for wrong in ["VALUE key-000 0 5\r\n-----\r\nEND\r\n", "VALUE key-001 0 5\r\n12345\r\nEND\r\n"] {
            let (_, step, _) = converse(&spec(Command::Get), |_, _| wrong.to_owned());
            assert!(
                matches!(step, Step::Failed(Fault { kind: ErrorKind::UnexpectedReply, reuse: true, .. })),
                "{step:?}"
            );
        }
    }

    #[test]
    fn a_miss_is_counted_and_no_error() {
        let (_, step, counters) = converse(&spec(Command::Get), |_, _| "END\r\n".to_owned());
        assert_eq!((step, counters), (Step::Done { reuse: true }, [0, 1]));
    }

    #[test]
    fn a_server_that_cannot_store_is_an_error_with_its_words() {
        let full = "SERVER_ERROR out of memory storing object\r\n";
        let (request, step, _) = converse(&spec(Command::Set), |_, _| full.to_owned());
        assert!(request.starts_with("set key-000 0 0 5\r\n"));
        assert!(matches!(step, Step::Failed(fault) if fault.detail.contains("out of memory")));
    }

    #[test]
    fn the_meta_dialect_does_the_same() {
        let meta = |command| MemcacheSpec { dialect: Dialect::Meta, ..spec(command) };
        let (request, step, counters) =
            converse(&meta(Command::Get), |_, stored| format!("VA 5 kkey-000\r\n{stored}\r\n"));
        assert_eq!(
            (request.as_str(), step, counters),
            ("mg key-000 k v\r\n", Step::Done { reuse: true }, [1, 0])
        );
        assert_eq!(converse(&meta(Command::Set), |_, _| "HD\r\n".to_owned()).1, Step::Done { reuse: true });
        assert_eq!(converse(&meta(Command::Delete), |_, _| "NF\r\n".to_owned()).2, [0, 1]);
    }
}
