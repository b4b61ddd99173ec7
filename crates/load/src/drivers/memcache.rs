//! memcached: get, set and delete over a key space, in the text or the meta dialect.

use std::str::FromStr;

use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use wire::memcache::{Event, Expect, Outcome, ReplyDecoder, request};

use super::error::OperationError;
use super::keyspace::{self, KeyAnswer, KeyCommand, KeyExchange, Keyspace, KeyspaceSpec};
use super::options::{DriverOption, GivenOptions, OptionError, parses};
use super::protocol::{DriverUse, Protocol, ServerAccess, UrlPath, UrlScheme, WorkerShare};
use crate::driver::{Driver, Fault, OperationId, Step, Turn};

/// A form of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemcacheDialect {
    /// `get`, `set`, `delete`.
    #[default]
    Text,
    /// `mg`, `ms`, `md`.
    Meta,
}

/// A mix of commands, and the form of the protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemcacheSpec {
    /// Form of the protocol.
    #[serde(default)]
    pub dialect: MemcacheDialect,
    /// Commands, keys and values.
    pub keyspace: KeyspaceSpec,
}

/// Drives memcached's protocol for one worker.
#[derive(Debug)]
pub struct MemcacheDriver {
    spec: MemcacheSpec,
    keyspace: Keyspace,
}

/// The state of one connection.
#[derive(Debug)]
pub struct MemcacheDialogue {
    decoder: ReplyDecoder,
    exchange: KeyExchange,
}

impl MemcacheDriver {
    /// A driver for one worker.
    pub fn new(spec: &MemcacheSpec, share: WorkerShare) -> Result<Self, OperationError> {
        let mut keyspace = Keyspace::new(&spec.keyspace, share.worker, share.workers)?;
        // Keys differ in their digits only, so one valid key means that all are valid.
        keyspace.write_key(0);
        request::check_key(keyspace.key()).map_err(|e| OperationError::about("key prefix", e))?;
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

    fn dialogue(&mut self, _slot: u32) -> MemcacheDialogue {
        MemcacheDialogue { decoder: ReplyDecoder::new(), exchange: KeyExchange::default() }
    }

    #[inline]
    fn choose(&mut self, rng: &mut Pcg64Mcg) -> OperationId {
        self.keyspace.choose(rng)
    }

    fn begin(&mut self, dialogue: &mut MemcacheDialogue, operation: OperationId, turn: Turn<'_>) {
        let exchange = self.keyspace.begin(operation, turn.rng);
        let (key, value) = (self.keyspace.key(), || self.keyspace.value(&exchange));
        let (expect, written) = match (self.keyspace.command(&exchange), self.spec.dialect) {
            (KeyCommand::Get, MemcacheDialect::Text) => (Expect::Get, request::get(turn.out, key)),
            (KeyCommand::Get, MemcacheDialect::Meta) => {
                (Expect::MetaGet, request::meta_get(turn.out, key, "k v"))
            }
            (KeyCommand::Set, MemcacheDialect::Text) => {
                (Expect::Store, request::set(turn.out, key, 0, 0, value()))
            }
            (KeyCommand::Set, MemcacheDialect::Meta) => {
                (Expect::MetaStore, request::meta_set(turn.out, key, value(), ""))
            }
            (KeyCommand::Delete, MemcacheDialect::Text) => (Expect::Delete, request::delete(turn.out, key)),
            (KeyCommand::Delete, MemcacheDialect::Meta) => {
                (Expect::MetaDelete, request::meta_delete(turn.out, key, ""))
            }
        };
        written.expect("keys and sizes were checked in new()");
        dialogue.decoder.expect(expect);
        dialogue.exchange = exchange;
    }

    fn receive(&mut self, dialogue: &mut MemcacheDialogue, mut input: &[u8], turn: Turn<'_>) -> Step {
        let exchange = &mut dialogue.exchange;
        loop {
            match dialogue.decoder.decode(&mut input) {
                Ok(Some(Event::Value(value))) => {
                    if self.keyspace.is_key(exchange, value.key) {
                        self.keyspace.check_length(exchange, value.length);
                    } else {
                        exchange.mismatch = Some("the value is of another key than the requested one");
                    }
                }
                Ok(Some(Event::Data(data))) => self.keyspace.check_data(exchange, data),
                Ok(Some(Event::Stat { .. })) => {
                    exchange.mismatch = Some("the reply is statistics");
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

    fn closed(&mut self, dialogue: &mut MemcacheDialogue, _turn: Turn<'_>) -> Step {
        Step::Failed(Fault::closed(dialogue.decoder.eof().to_string()))
    }
}

/// An unexpected reply, an error in the server's word.
fn word_of(outcome: Outcome) -> String {
    match outcome {
        Outcome::Error => "ERROR".to_owned(),
        Outcome::ClientError => "CLIENT_ERROR".to_owned(),
        Outcome::ServerError => "SERVER_ERROR".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Checks a complete reply.
fn check(outcome: Outcome, detail: &[u8], exchange: &KeyExchange, counters: &mut [u64]) -> Step {
    let answer = match outcome {
        Outcome::Retrieved { values: 1 } | Outcome::Deleted => KeyAnswer::Hit,
        Outcome::Retrieved { values: 0 } | Outcome::NotFound => KeyAnswer::Miss,
        Outcome::Stored => KeyAnswer::Stored,
        other => {
            let detail = String::from_utf8_lossy(detail);
            let word = word_of(other);
            return Step::Failed(Fault::unexpected(format!("the server answers {word} {detail}"), true));
        }
    };
    keyspace::conclude(exchange, answer, counters)
}

/// memcached's protocols.
#[derive(Debug)]
pub struct Memcache;

const DIALECT: DriverOption = DriverOption::with_value(
    "dialect",
    "DIALECT",
    parses::<MemcacheDialect>,
    "Key-value",
    "Use this form of memcached's protocol [default: text]",
)
.choices(&["text", "meta"]);

impl FromStr for MemcacheDialect {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "text" => Ok(Self::Text),
            "meta" => Ok(Self::Meta),
            _ => Err("expected text or meta"),
        }
    }
}

impl Protocol for Memcache {
    type Spec = MemcacheSpec;
    type Mix = KeyspaceSpec;

    const NAME: &'static str = "memcache";
    const CODEC: Option<&'static str> = Some("memcache");
    const SCHEMES: &'static [UrlScheme] =
        &[UrlScheme { names: &["memcache", "memcached"], port: 11_211, is_tls: false }];
    const URL_PATH: UrlPath = UrlPath::Unused("keys have no paths");
    const OPTIONS: &'static [DriverOption] = &[DIALECT];

    fn spec(mix: KeyspaceSpec, access: &ServerAccess) -> MemcacheSpec {
        let keyspace = KeyspaceSpec { seed: access.seed, ..mix };
        MemcacheSpec { dialect: MemcacheDialect::default(), keyspace }
    }

    fn apply_options(spec: &mut MemcacheSpec, given: &GivenOptions) -> Result<(), OptionError> {
        spec.dialect = given.value(&DIALECT)?.unwrap_or_default();
        Ok(())
    }

    fn drive<U: DriverUse>(
        spec: &MemcacheSpec,
        share: WorkerShare,
        user: U,
    ) -> Result<U::Output, OperationError> {
        Ok(user.driver(MemcacheDriver::new(spec, share)?))
    }

    fn populate(spec: &MemcacheSpec) -> Vec<(MemcacheSpec, u64)> {
        let populate = MemcacheSpec { keyspace: spec.keyspace.populate(), ..spec.clone() };
        vec![(populate, spec.keyspace.keys)]
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::super::keyspace::sample;
    use super::super::protocol::ALONE;
    use super::*;
    use crate::record::ErrorKind;

    fn spec(command: KeyCommand) -> MemcacheSpec {
        MemcacheSpec { dialect: MemcacheDialect::Text, keyspace: sample(command) }
    }

    /// Carries out one operation; `reply` makes the server's bytes from the request and the stored value.
    fn converse(spec: &MemcacheSpec, reply: impl Fn(&str, &str) -> String) -> (String, Step, [u64; 2]) {
        let mut driver = MemcacheDriver::new(spec, ALONE).expect("a driver");
        let mut dialogue = driver.dialogue(0);
        let (mut out, mut rng, mut counters) = (Vec::new(), Pcg64Mcg::seed_from_u64(1), [0; 2]);
        let operation = driver.choose(&mut rng);
        driver.begin(
            &mut dialogue,
            operation,
            Turn { out: &mut out, rng: &mut rng, counters: &mut counters },
        );
        let request = String::from_utf8(out.clone()).expect("ASCII");
        let stored = String::from_utf8(driver.keyspace.value(&dialogue.exchange).to_vec()).expect("ASCII");
        let turn = Turn { out: &mut out, rng: &mut rng, counters: &mut counters };
        let step = driver.receive(&mut dialogue, reply(&request, &stored).as_bytes(), turn);
        (request, step, counters)
    }

    #[test]
    fn an_error_is_in_the_words_of_the_server() {
        let too_large = |_: &str, _: &str| "SERVER_ERROR object too large for cache\r\n".to_owned();
        let (_, step, _) = converse(&spec(KeyCommand::Set), too_large);
        let Step::Failed(fault) = step else { panic!("{step:?}") };
        assert_eq!(fault.detail, "the server answers SERVER_ERROR object too large for cache");
    }

    #[test]
    fn a_hit_is_compared_with_the_stored_value() {
        let (request, step, counters) =
            converse(&spec(KeyCommand::Get), |_, stored| format!("VALUE key-000 0 5\r\n{stored}\r\nEND\r\n"));
        assert_eq!(
            (request.as_str(), step, counters),
            ("get key-000\r\n", Step::Done { reuse: true }, [1, 0])
        );
        for wrong in ["VALUE key-000 0 5\r\n-----\r\nEND\r\n", "VALUE key-001 0 5\r\n12345\r\nEND\r\n"] {
            let (_, step, _) = converse(&spec(KeyCommand::Get), |_, _| wrong.to_owned());
            assert!(
                matches!(step, Step::Failed(Fault { kind: ErrorKind::UnexpectedReply, reuse: true, .. })),
                "{step:?}"
            );
        }
    }

    #[test]
    fn a_miss_is_counted_and_is_no_error() {
        let (_, step, counters) = converse(&spec(KeyCommand::Get), |_, _| "END\r\n".to_owned());
        assert_eq!((step, counters), (Step::Done { reuse: true }, [0, 1]));
    }

    #[test]
    fn a_failed_set_is_an_error_with_the_server_s_message() {
        let full = "SERVER_ERROR out of memory storing object\r\n";
        let (request, step, _) = converse(&spec(KeyCommand::Set), |_, _| full.to_owned());
        assert!(request.starts_with("set key-000 0 0 5\r\n"));
        assert!(matches!(step, Step::Failed(fault) if fault.detail.contains("out of memory")));
    }

    #[test]
    fn the_meta_dialect_gives_the_same_results() {
        let meta = |command| MemcacheSpec { dialect: MemcacheDialect::Meta, ..spec(command) };
        let (request, step, counters) =
            converse(&meta(KeyCommand::Get), |_, stored| format!("VA 5 kkey-000\r\n{stored}\r\n"));
        assert_eq!(
            (request.as_str(), step, counters),
            ("mg key-000 k v\r\n", Step::Done { reuse: true }, [1, 0])
        );
        assert_eq!(
            converse(&meta(KeyCommand::Set), |_, _| "HD\r\n".to_owned()).1,
            Step::Done { reuse: true }
        );
        assert_eq!(converse(&meta(KeyCommand::Delete), |_, _| "NF\r\n".to_owned()).2, [0, 1]);
    }
}
