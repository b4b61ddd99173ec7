//! memcached: get, set and delete over a key space, in the text or the meta dialect.
//!
//! Keys and values follow from the seed: key number n is always the same bytes and its value, too. So after
//! a populate run a hit can be held against what must be there, byte for byte.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use rand::{RngExt, SeedableRng, distr::Alphanumeric};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use wire::memcache::{Event, Expect, Outcome, ReplyDecoder, request};

use super::OperationError;
use super::choice::Choice;
use crate::driver::{Driver, Fault, OperationId, Step, Turn};
use crate::inputs::keys::{KeySampler, Popularity};
use crate::inputs::sizes::SizeDistribution;
use crate::spec::share;

/// Values of different keys begin at so many different places of one random text.
const VALUE_OFFSETS: u64 = 1021;

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

/// What may be done with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    /// Read; a miss is no error, but counted.
    Get,
    /// Write.
    Set,
    /// Remove; a miss is no error, but counted.
    Delete,
}

/// A mix of commands over a key space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemcacheSpec {
    /// Commands and their weights.
    pub mix: Vec<(Command, f64)>,
    /// Number of keys.
    pub keys: u64,
    /// What keys begin with.
    #[serde(default = "default_prefix")]
    pub key_prefix: String,
    /// How often each is used.
    #[serde(default)]
    pub popularity: Popularity,
    /// Sizes of values; each key keeps its own.
    pub value_size: SizeDistribution,
    /// Form of the protocol.
    #[serde(default)]
    pub dialect: Dialect,
    /// Hold every hit against the value that a populate run with the same seed has stored.
    #[serde(default)]
    pub verify: bool,
    /// What keys and values follow from.
    #[serde(default)]
    pub seed: u64,
}

fn default_prefix() -> String {
    "key-".to_owned()
}

impl MemcacheSpec {
    /// The run that stores every key once.
    pub fn populate(&self) -> Self {
        Self { mix: vec![(Command::Set, 1.0)], popularity: Popularity::Sequential, ..self.clone() }
    }
}

/// Speaks memcached's protocol for one worker.
#[derive(Debug)]
pub struct MemcacheDriver {
    spec: MemcacheSpec,
    choice: Choice,
    sampler: KeySampler,
    key: Vec<u8>,
    key_digits: usize,
    text: Vec<u8>,
}

/// One connection.
#[derive(Debug)]
pub struct MemcacheDialogue {
    decoder: ReplyDecoder,
    operation: OperationId,
    key_number: u64,
    value_at: usize,
    complaint: Option<&'static str>,
}

const HITS: usize = 0;
const MISSES: usize = 1;

impl MemcacheDriver {
    /// A driver for worker `worker` of `workers`; a sequential one begins at key `first_key` plus its share.
    pub fn new(
        spec: &MemcacheSpec,
        first_key: u64,
        worker: u32,
        workers: u32,
    ) -> Result<Self, OperationError> {
        let weights: Vec<f64> = spec.mix.iter().map(|(_, weight)| *weight).collect();
        let key_digits = spec.keys.saturating_sub(1).checked_ilog10().map_or(1, |log| log as usize + 1);
        let longest = format!("{}{}", spec.key_prefix, "0".repeat(key_digits));
        request::check_key(longest.as_bytes()).map_err(|e| OperationError(format!("key prefix: {e}")))?;
        if spec.keys == 0 {
            return Err(OperationError("no keys: give at least one".to_owned()));
        }
        let before: u64 = (0..worker).map(|w| share(spec.keys, w, workers)).sum();
        let length = spec.value_size.max() + VALUE_OFFSETS;
        let rng = Pcg64Mcg::seed_from_u64(spec.seed);
        Ok(Self {
            choice: Choice::new(&weights)?,
            sampler: KeySampler::new(spec.popularity, spec.keys, first_key + before),
            key: Vec::new(),
            key_digits,
            text: rng.sample_iter(Alphanumeric).take(length as usize).collect(),
            spec: spec.clone(),
        })
    }

    /// Puts key `number` into `self.key`, with leading zeros so that all are of one length.
    #[inline]
    fn render_key(&mut self, number: u64) {
        self.key.clear();
        self.key.extend_from_slice(self.spec.key_prefix.as_bytes());
        let mut buffer = itoa::Buffer::new();
        let digits = buffer.format(number).as_bytes();
        self.key.resize(self.key.len() + self.key_digits - digits.len(), b'0');
        self.key.extend_from_slice(digits);
    }

    /// The value of key `number`.
    #[inline]
    fn value(&self, number: u64) -> &[u8] {
        let mixed = BuildHasherDefault::<DefaultHasher>::default().hash_one((self.spec.seed, number));
        let size = self.spec.value_size.sample(&mut Pcg64Mcg::seed_from_u64(mixed));
        &self.text[(mixed % VALUE_OFFSETS) as usize..][..size as usize]
    }
}

impl Driver for MemcacheDriver {
    type Dialogue = MemcacheDialogue;

    fn operations(&self) -> Vec<String> {
        self.spec.mix.iter().map(|(command, _)| format!("{command:?}").to_lowercase()).collect()
    }

    fn tallies(&self) -> &'static [&'static str] {
        &["hits", "misses"]
    }

    fn dialogue(&mut self) -> MemcacheDialogue {
        MemcacheDialogue {
            decoder: ReplyDecoder::new(),
            operation: 0,
            key_number: 0,
            value_at: 0,
            complaint: None,
        }
    }

    fn begin(&mut self, dialogue: &mut MemcacheDialogue, turn: Turn<'_>) -> OperationId {
        let id = self.choice.draw(turn.rng);
        let number = self.sampler.sample(turn.rng);
        dialogue.operation = id;
        dialogue.key_number = number;
        dialogue.value_at = 0;
        dialogue.complaint = None;
        self.render_key(number);
        let (command, dialect) = (self.spec.mix[id as usize].0, self.spec.dialect);
        let (expect, written) = match (command, dialect) {
            (Command::Get, Dialect::Text) => (Expect::Get, request::get(turn.out, &self.key)),
            (Command::Get, Dialect::Meta) => (Expect::MetaGet, request::meta_get(turn.out, &self.key, "k v")),
            (Command::Set, Dialect::Text) => {
                (Expect::Store, request::set(turn.out, &self.key, 0, 0, self.value(number)))
            }
            (Command::Set, Dialect::Meta) => {
                (Expect::MetaStore, request::meta_set(turn.out, &self.key, self.value(number), ""))
            }
            (Command::Delete, Dialect::Text) => (Expect::Delete, request::delete(turn.out, &self.key)),
            (Command::Delete, Dialect::Meta) => {
                (Expect::MetaDelete, request::meta_delete(turn.out, &self.key, ""))
            }
        };
        written.expect("keys and sizes were checked when the driver was made");
        dialogue.decoder.expect(expect);
        id
    }

    fn receive(&mut self, dialogue: &mut MemcacheDialogue, mut input: &[u8], turn: Turn<'_>) -> Step {
        self.render_key(dialogue.key_number);
        loop {
            match dialogue.decoder.decode(&mut input) {
                Ok(Some(Event::Value(value))) => {
                    if value.key != self.key {
                        dialogue.complaint = Some("a value under another key than the one asked for");
                    } else if self.spec.verify
                        && value.length as usize != self.value(dialogue.key_number).len()
                    {
                        dialogue.complaint = Some("a value of another length than the one stored");
                    }
                }
                Ok(Some(Event::Data(data))) => {
                    let at = dialogue.value_at;
                    dialogue.value_at += data.len();
                    let is_stored = |stored: &[u8]| stored.get(at..at + data.len()) == Some(data);
                    if self.spec.verify && !is_stored(self.value(dialogue.key_number)) {
                        dialogue.complaint = dialogue.complaint.or(Some("another value than the one stored"));
                    }
                }
                Ok(Some(Event::Stat { .. })) => {
                    dialogue.complaint = Some("statistics that were not asked for")
                }
                Ok(Some(Event::Done { outcome, detail })) => {
                    if !input.is_empty() {
                        return Step::Failed(Fault::protocol("bytes after the end of the reply"));
                    }
                    return judge(outcome, detail, dialogue.complaint, turn.tallies);
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
fn judge(outcome: Outcome, detail: &[u8], complaint: Option<&'static str>, tallies: &mut [u64]) -> Step {
    if let Some(complaint) = complaint {
        return Step::Failed(Fault::unexpected(complaint, true));
    }
    match outcome {
        Outcome::Retrieved { values: 1 } | Outcome::Deleted => tallies[HITS] += 1,
        Outcome::Retrieved { values: 0 } | Outcome::NotFound => tallies[MISSES] += 1,
        Outcome::Stored => {}
        other => {
            let detail = String::from_utf8_lossy(detail);
            return Step::Failed(Fault::unexpected(format!("the server answers {other:?} {detail}"), true));
        }
    }
    Step::Done { reuse: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ErrorKind;

    fn spec(command: Command) -> MemcacheSpec {
        MemcacheSpec {
            mix: vec![(command, 1.0)],
            keys: 1_000,
            key_prefix: default_prefix(),
            popularity: Popularity::Sequential,
            value_size: "5".parse().expect("a size"),
            dialect: Dialect::Text,
            verify: true,
            seed: 3,
        }
    }

    /// Does one operation; `reply` makes the server's bytes out of the request.
    fn converse(spec: &MemcacheSpec, reply: impl Fn(&str, &str) -> String) -> (String, Step, [u64; 2]) {
        let mut driver = MemcacheDriver::new(spec, 7, 0, 1).expect("a driver");
        let stored = String::from_utf8(driver.value(7).to_vec()).expect("ASCII");
        let mut dialogue = driver.dialogue();
        let (mut out, mut rng, mut tallies) = (Vec::new(), Pcg64Mcg::seed_from_u64(1), [0; 2]);
        driver.begin(&mut dialogue, Turn { out: &mut out, rng: &mut rng, tallies: &mut tallies });
        let request = String::from_utf8(out.clone()).expect("ASCII");
        let turn = Turn { out: &mut out, rng: &mut rng, tallies: &mut tallies };
        let step = driver.receive(&mut dialogue, reply(&request, &stored).as_bytes(), turn);
        (request, step, tallies)
    }

    #[test]
    fn a_hit_is_held_against_what_was_stored() {
        let (request, step, tallies) =
            converse(&spec(Command::Get), |_, stored| format!("VALUE key-007 0 5\r\n{stored}\r\nEND\r\n"));
        assert_eq!(
            (request.as_str(), step, tallies),
            ("get key-007\r\n", Step::Done { reuse: true }, [1, 0])
        );
        for wrong in ["VALUE key-007 0 5\r\n-----\r\nEND\r\n", "VALUE key-008 0 5\r\n12345\r\nEND\r\n"] {
            let (_, step, _) = converse(&spec(Command::Get), |_, _| wrong.to_owned());
            assert!(
                matches!(step, Step::Failed(Fault { kind: ErrorKind::UnexpectedReply, reuse: true, .. })),
                "{step:?}"
            );
        }
    }

    #[test]
    fn a_miss_is_counted_and_no_error() {
        let (_, step, tallies) = converse(&spec(Command::Get), |_, _| "END\r\n".to_owned());
        assert_eq!((step, tallies), (Step::Done { reuse: true }, [0, 1]));
    }

    #[test]
    fn a_server_that_cannot_store_is_an_error_with_its_words() {
        let full = "SERVER_ERROR out of memory storing object\r\n";
        let (request, step, _) = converse(&spec(Command::Set), |_, _| full.to_owned());
        assert!(request.starts_with("set key-007 0 0 5\r\n"));
        assert!(matches!(step, Step::Failed(fault) if fault.detail.contains("out of memory")));
    }

    #[test]
    fn the_meta_dialect_does_the_same() {
        let meta = |command| MemcacheSpec { dialect: Dialect::Meta, ..spec(command) };
        let (request, step, tallies) =
            converse(&meta(Command::Get), |_, stored| format!("VA 5 kkey-007\r\n{stored}\r\n"));
        assert_eq!(
            (request.as_str(), step, tallies),
            ("mg key-007 k v\r\n", Step::Done { reuse: true }, [1, 0])
        );
        assert_eq!(converse(&meta(Command::Set), |_, _| "HD\r\n".to_owned()).1, Step::Done { reuse: true });
        assert_eq!(converse(&meta(Command::Delete), |_, _| "NF\r\n".to_owned()).2, [0, 1]);
    }

    #[test]
    fn workers_of_a_populate_run_share_the_keys() {
        let populate = spec(Command::Get).populate();
        let mut seen: Vec<u64> = (0..3)
            .flat_map(|worker| {
                let mut driver = MemcacheDriver::new(&populate, 0, worker, 3).expect("a driver");
                let mut rng = Pcg64Mcg::seed_from_u64(1);
                (0..share(1_000, worker, 3)).map(move |_| driver.sampler.sample(&mut rng)).collect::<Vec<_>>()
            })
            .collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..1_000).collect::<Vec<_>>());
    }
}
