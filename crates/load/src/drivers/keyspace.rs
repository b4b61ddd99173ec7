//! Keys and values of key-value stores: which commands, over which keys, with which values. What a store's
//! protocol makes of them is its driver's.
//!
//! Keys and values follow from the seed: key number n is always the same bytes and its value, too. So after
//! a populate run a hit can be held against what must be there, byte for byte, and two stores hold the same.

use rand::{Rng, RngExt, SeedableRng, distr::Alphanumeric};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use super::OperationError;
use super::choice::Choice;
use crate::division::{mix_seed, share};
use crate::driver::{Fault, OperationId, Step};
use crate::inputs::keys::{KeySampler, Popularity};
use crate::inputs::sizes::SizeDistribution;

/// Values of different keys begin at so many different places of one random text.
const VALUE_OFFSETS: u64 = 1021;

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
pub struct KeyspaceSpec {
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
    /// Hold every hit against the value that a populate run with the same seed has stored.
    #[serde(default)]
    pub verify: bool,
    /// What keys and values follow from.
    #[serde(default)]
    pub seed: u64,
}

/// What keys begin with if nothing is said.
pub fn default_prefix() -> String {
    "key-".to_owned()
}

impl KeyspaceSpec {
    /// The mix that stores every key once, if it is carried out [`Self::keys`] times.
    #[must_use]
    pub fn populate(&self) -> Self {
        Self { mix: vec![(Command::Set, 1.0)], popularity: Popularity::Sequential, ..self.clone() }
    }

    /// Names of the operations, in the order of their ids.
    pub(super) fn operations(&self) -> Vec<String> {
        self.mix.iter().map(|(command, _)| format!("{command:?}").to_lowercase()).collect()
    }
}

/// Names of the counters.
pub(super) const COUNTERS: &[&str] = &["hits", "misses"];
const HITS: usize = 0;
const MISSES: usize = 1;

/// The command in flight on a connection, and what is wrong with its reply so far.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    pub operation: OperationId,
    key_number: u64,
    /// Where in the text the key's value begins, and how long it is.
    value_from: u32,
    value_length: u32,
    /// How much of the value has come.
    received: u32,
    pub complaint: Option<&'static str>,
}

/// A key space as one worker uses it.
#[derive(Debug)]
pub(super) struct Keyspace {
    spec: KeyspaceSpec,
    choice: Choice,
    sampler: KeySampler,
    key: Vec<u8>,
    key_digits: usize,
    text: Vec<u8>,
}

impl Keyspace {
    /// The part of worker `worker` of `workers`: a sequential one begins at its share of the keys.
    pub fn new(spec: &KeyspaceSpec, worker: u32, workers: u32) -> Result<Self, OperationError> {
        let weights: Vec<f64> = spec.mix.iter().map(|(_, weight)| *weight).collect();
        if spec.keys == 0 {
            return Err(OperationError("no keys: give at least one".to_owned()));
        }
        let before: u64 = (0..worker).map(|w| share(spec.keys, w, workers)).sum();
        let length = spec.value_size.max() + VALUE_OFFSETS;
        let rng = Pcg64Mcg::seed_from_u64(spec.seed);
        Ok(Self {
            choice: Choice::new(&weights)?,
            sampler: KeySampler::new(spec.popularity, spec.keys, before),
            key: Vec::new(),
            key_digits: (spec.keys - 1).checked_ilog10().map_or(1, |log| log as usize + 1),
            text: rng.sample_iter(Alphanumeric).take(length as usize).collect(),
            spec: spec.clone(),
        })
    }

    /// Draws the next command and its key, which [`Self::key`] then holds.
    #[inline]
    pub fn begin(&mut self, rng: &mut impl Rng) -> Exchange {
        let operation = self.choice.draw(rng);
        let key_number = self.sampler.sample(rng);
        let mixed = mix_seed(self.spec.seed, key_number);
        // A generator a value, so that a value follows from its key alone; made without ceremony, since the
        // number it is made of is well mixed.
        let size =
            self.spec.value_size.sample(&mut Pcg64Mcg::new(u128::from(mixed) << 64 | u128::from(mixed)));
        let exchange = Exchange {
            operation,
            key_number,
            value_from: (mixed % VALUE_OFFSETS) as u32,
            value_length: size as u32,
            received: 0,
            complaint: None,
        };
        self.write_key(key_number);
        exchange
    }

    /// Writes a key into [`Self::key`]: with leading zeros, so that all are of one length.
    #[inline]
    pub fn write_key(&mut self, number: u64) {
        self.key.clear();
        self.key.extend_from_slice(self.spec.key_prefix.as_bytes());
        let mut buffer = itoa::Buffer::new();
        let digits = buffer.format(number).as_bytes();
        self.key.resize(self.key.len() + self.key_digits - digits.len(), b'0');
        self.key.extend_from_slice(digits);
    }

    /// What is done in an exchange.
    #[inline]
    pub fn command(&self, exchange: &Exchange) -> Command {
        self.spec.mix[exchange.operation as usize].0
    }

    /// Is this the key of an exchange? Reads the number back, which is cheaper than to write it again.
    #[inline]
    pub fn is_key(&self, exchange: &Exchange, key: &[u8]) -> bool {
        let Some(digits) = key.strip_prefix(self.spec.key_prefix.as_bytes()) else { return false };
        // Wrapping, since 20 digits of anybody's choice may be more than a number holds.
        let number = digits.iter().fold(0_u64, |number, digit| {
            number.wrapping_mul(10).wrapping_add(u64::from(digit.wrapping_sub(b'0')))
        });
        digits.len() == self.key_digits
            && digits.iter().all(u8::is_ascii_digit)
            && number == exchange.key_number
    }

    /// The key that was written last.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The value that belongs to the key of an exchange.
    #[inline]
    pub fn value(&self, exchange: &Exchange) -> &[u8] {
        &self.text[exchange.value_from as usize..][..exchange.value_length as usize]
    }

    /// Holds the length of a value, which comes first, against what was stored.
    #[inline]
    pub fn check_length(&self, exchange: &mut Exchange, length: u32) {
        if self.spec.verify && length != exchange.value_length {
            exchange.complaint = Some("a value of another length than the one stored");
        }
    }

    /// Holds the next piece of a value against what was stored.
    #[inline]
    pub fn check_data(&self, exchange: &mut Exchange, data: &[u8]) {
        let from = exchange.received as usize;
        exchange.received = exchange.received.saturating_add(data.len() as u32);
        if self.spec.verify && self.value(exchange).get(from..exchange.received as usize) != Some(data) {
            exchange.complaint = exchange.complaint.or(Some("another value than the one stored"));
        }
    }
}

/// What a whole reply says that is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The key was there.
    Hit,
    /// The key was not there.
    Miss,
    /// The value is stored.
    Stored,
}

/// Ends an exchange whose reply is whole and is an answer to its command.
pub(super) fn conclude(exchange: &Exchange, answer: Answer, counters: &mut [u64]) -> Step {
    if let Some(complaint) = exchange.complaint {
        return Step::Failed(Fault::unexpected(complaint, true));
    }
    match answer {
        Answer::Hit => counters[HITS] += 1,
        Answer::Miss => counters[MISSES] += 1,
        Answer::Stored => {}
    }
    Step::Done { reuse: true }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// One command over a thousand keys with values of five bytes.
    pub fn sample(command: Command) -> KeyspaceSpec {
        KeyspaceSpec {
            mix: vec![(command, 1.0)],
            keys: 1_000,
            key_prefix: default_prefix(),
            popularity: Popularity::Sequential,
            value_size: "5".parse().expect("a size"),
            verify: true,
            seed: 3,
        }
    }

    #[test]
    fn keys_are_of_one_length_and_keep_their_values() {
        let mut keyspace = Keyspace::new(&sample(Command::Set), 0, 1).expect("a key space");
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let first = keyspace.begin(&mut rng);
        assert_eq!(keyspace.key(), b"key-000");
        let value = keyspace.value(&first).to_vec();
        let second = keyspace.begin(&mut rng);
        assert_eq!((keyspace.key(), keyspace.value(&first)), (&b"key-001"[..], &value[..]));
        assert_ne!(keyspace.value(&second), value);
        assert!(keyspace.is_key(&first, b"key-000") && keyspace.is_key(&second, b"key-001"));
        for other in [&b"key-001"[..], b"key-00", b"key-0000", b"kex-000", b"key-00:", b"key-0 0", b""] {
            assert!(!keyspace.is_key(&first, other), "{other:?}");
        }
    }

    #[test]
    fn workers_of_a_populate_run_share_the_keys() {
        let populate = sample(Command::Get).populate();
        let mut seen: Vec<u64> = (0..3)
            .flat_map(|worker| {
                let mut keyspace = Keyspace::new(&populate, worker, 3).expect("a key space");
                let mut rng = Pcg64Mcg::seed_from_u64(1);
                (0..share(1_000, worker, 3))
                    .map(move |_| keyspace.begin(&mut rng).key_number)
                    .collect::<Vec<_>>()
            })
            .collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..1_000).collect::<Vec<_>>());
    }

    #[test]
    fn a_value_is_held_against_the_stored_one_piece_by_piece() {
        let mut keyspace = Keyspace::new(&sample(Command::Get), 0, 1).expect("a key space");
        let mut exchange = keyspace.begin(&mut Pcg64Mcg::seed_from_u64(1));
        let stored = keyspace.value(&exchange).to_vec();
        keyspace.check_length(&mut exchange, 5);
        keyspace.check_data(&mut exchange, &stored[..2]);
        keyspace.check_data(&mut exchange, &stored[2..]);
        assert_eq!(exchange.complaint, None);
        keyspace.check_data(&mut exchange, b"x");
        assert_eq!(exchange.complaint, Some("another value than the one stored"));
    }
}
