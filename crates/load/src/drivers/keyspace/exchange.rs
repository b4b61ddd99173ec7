//! One worker's keys and values, the command in flight on a connection, and the check of its reply.

use rand::{Rng, RngExt, SeedableRng, distr::Alphanumeric};
use rand_pcg::Pcg64Mcg;

use super::spec::{KeyCommand, KeyspaceSpec};
use crate::driver::{Fault, OperationId, Step};
use crate::drivers::choice::WeightedChoice;
use crate::drivers::error::OperationError;
use crate::inputs::keys::KeySampler;
use crate::inputs::worker_share::{mix_seed, share};

/// Values of different keys begin at this many different places of one random text.
const VALUE_OFFSETS: u64 = 1021;

/// Names of the counters.
pub(in crate::drivers) const COUNTERS: &[&str] = &["hits", "misses"];
const HITS: usize = 0;
const MISSES: usize = 1;

/// The command in flight on a connection, and the first error in its reply.
#[derive(Debug, Default)]
pub(in crate::drivers) struct KeyExchange {
    pub operation: OperationId,
    key_number: u64,
    /// The place of the key's value in the text, and its length.
    value_from: u32,
    value_length: u32,
    /// Bytes of the value that have been received.
    received: u32,
    pub mismatch: Option<&'static str>,
}

/// The key space of one worker.
#[derive(Debug)]
pub(in crate::drivers) struct Keyspace {
    spec: KeyspaceSpec,
    choice: WeightedChoice,
    sampler: KeySampler,
    key: Vec<u8>,
    key_digits: usize,
    text: Vec<u8>,
}

/// Why a size fits.
const SIZE: &str = "a size is 1 GiB at most";

impl Keyspace {
    /// The part of worker `worker` of `workers`: sequential keys begin at its share.
    pub fn new(spec: &KeyspaceSpec, worker: u32, workers: u32) -> Result<Self, OperationError> {
        let weights: Vec<f64> = spec.mix.iter().map(|(_, weight)| *weight).collect();
        if spec.keys == 0 {
            return Err(OperationError("no keys: give at least one".to_owned()));
        }
        let before: u64 = (0..worker).map(|w| share(spec.keys, w, workers)).sum();
        let length = usize::try_from(spec.value_size.max() + VALUE_OFFSETS).expect(SIZE);
        let rng = Pcg64Mcg::seed_from_u64(spec.seed);
        Ok(Self {
            choice: WeightedChoice::new(&weights)?,
            sampler: KeySampler::new(spec.popularity, spec.keys, before),
            key: Vec::new(),
            key_digits: (spec.keys - 1).checked_ilog10().map_or(1, |log| log as usize + 1),
            text: rng.sample_iter(Alphanumeric).take(length).collect(),
            spec: spec.clone(),
        })
    }

    /// Draws the next command.
    #[inline]
    pub fn choose(&self, rng: &mut impl Rng) -> OperationId {
        self.choice.draw(rng)
    }

    /// Draws the key of a command; [`Self::key`] then returns it.
    #[inline]
    pub fn begin(&mut self, operation: OperationId, rng: &mut impl Rng) -> KeyExchange {
        let key_number = self.sampler.sample(rng);
        let mixed = mix_seed(self.spec.seed, key_number);
        // Each value has a generator of its own, so that it follows from its key alone. The generator needs no
        // further seeding: the number is well mixed.
        let size =
            self.spec.value_size.sample(&mut Pcg64Mcg::new(u128::from(mixed) << 64 | u128::from(mixed)));
        let exchange = KeyExchange {
            operation,
            key_number,
            value_from: u32::try_from(mixed % VALUE_OFFSETS).expect("an offset"),
            value_length: u32::try_from(size).expect(SIZE),
            received: 0,
            mismatch: None,
        };
        self.write_key(key_number);
        exchange
    }

    /// Writes a key into [`Self::key`], with leading zeros, so that all keys have the same length.
    #[inline]
    pub fn write_key(&mut self, number: u64) {
        self.key.clear();
        self.key.extend_from_slice(self.spec.key_prefix.as_bytes());
        let mut buffer = itoa::Buffer::new();
        let digits = buffer.format(number).as_bytes();
        self.key.resize(self.key.len() + self.key_digits - digits.len(), b'0');
        self.key.extend_from_slice(digits);
    }

    /// The command of an exchange.
    #[inline]
    pub fn command(&self, exchange: &KeyExchange) -> KeyCommand {
        self.spec.mix[exchange.operation as usize].0
    }

    /// Whether this is the key of an exchange. Parses the number, which is cheaper than to write it again.
    #[inline]
    pub fn is_key(&self, exchange: &KeyExchange, key: &[u8]) -> bool {
        let Some(digits) = key.strip_prefix(self.spec.key_prefix.as_bytes()) else { return false };
        // Wrapping: 20 digits from the server may exceed the range of the number.
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

    /// The value of the key of an exchange.
    #[inline]
    pub fn value(&self, exchange: &KeyExchange) -> &[u8] {
        &self.text[exchange.value_from as usize..][..exchange.value_length as usize]
    }

    /// Compares the length of a value, which comes first, with the stored value.
    #[inline]
    pub fn check_length(&self, exchange: &mut KeyExchange, length: u32) {
        if self.spec.verify && length != exchange.value_length {
            exchange.mismatch = Some("the value has another length than the stored one");
        }
    }

    /// Compares the next piece of a value with the stored value.
    #[inline]
    pub fn check_data(&self, exchange: &mut KeyExchange, data: &[u8]) {
        let from = exchange.received as usize;
        exchange.received = exchange.received.saturating_add(u32::try_from(data.len()).unwrap_or(u32::MAX));
        if self.spec.verify && self.value(exchange).get(from..exchange.received as usize) != Some(data) {
            exchange.mismatch = exchange.mismatch.or(Some("the value is not the stored one"));
        }
    }
}

/// The result of a command that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drivers) enum KeyAnswer {
    /// The key was there.
    Hit,
    /// The key was not there.
    Miss,
    /// The value is stored.
    Stored,
}

/// Ends an exchange with a complete reply that answers its command.
pub(in crate::drivers) fn conclude(exchange: &KeyExchange, answer: KeyAnswer, counters: &mut [u64]) -> Step {
    if let Some(mismatch) = exchange.mismatch {
        return Step::Failed(Fault::unexpected(mismatch, true));
    }
    match answer {
        KeyAnswer::Hit => counters[HITS] += 1,
        KeyAnswer::Miss => counters[MISSES] += 1,
        KeyAnswer::Stored => {}
    }
    Step::Done { reuse: true }
}

#[cfg(test)]
pub(in crate::drivers) mod tests {
    use super::super::spec::default_prefix;
    use super::*;
    use crate::inputs::keys::Popularity;

    /// One command over a thousand keys with values of five bytes.
    pub fn sample(command: KeyCommand) -> KeyspaceSpec {
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
    fn keys_have_one_length_and_fixed_values() {
        let mut keyspace = Keyspace::new(&sample(KeyCommand::Set), 0, 1).expect("a key space");
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let first = keyspace.begin(0, &mut rng);
        assert_eq!(keyspace.key(), b"key-000");
        let value = keyspace.value(&first).to_vec();
        let second = keyspace.begin(0, &mut rng);
        assert_eq!((keyspace.key(), keyspace.value(&first)), (&b"key-001"[..], &value[..]));
        assert_ne!(keyspace.value(&second), value);
        assert!(keyspace.is_key(&first, b"key-000") && keyspace.is_key(&second, b"key-001"));
        for other in [&b"key-001"[..], b"key-00", b"key-0000", b"kex-000", b"key-00:", b"key-0 0", b""] {
            assert!(!keyspace.is_key(&first, other), "{other:?}");
        }
    }

    #[test]
    fn the_workers_of_a_populate_run_store_each_key_once() {
        let populate = sample(KeyCommand::Get).populate();
        let mut numbers: Vec<u64> = (0..3)
            .flat_map(|worker| {
                let mut keyspace = Keyspace::new(&populate, worker, 3).expect("a key space");
                let mut rng = Pcg64Mcg::seed_from_u64(1);
                (0..share(1_000, worker, 3))
                    .map(move |_| keyspace.begin(0, &mut rng).key_number)
                    .collect::<Vec<_>>()
            })
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..1_000).collect::<Vec<_>>());
    }

    #[test]
    fn a_value_is_compared_with_the_stored_one_piece_by_piece() {
        let mut keyspace = Keyspace::new(&sample(KeyCommand::Get), 0, 1).expect("a key space");
        let mut exchange = keyspace.begin(0, &mut Pcg64Mcg::seed_from_u64(1));
        let stored = keyspace.value(&exchange).to_vec();
        keyspace.check_length(&mut exchange, 5);
        keyspace.check_data(&mut exchange, &stored[..2]);
        keyspace.check_data(&mut exchange, &stored[2..]);
        assert_eq!(exchange.mismatch, None);
        keyspace.check_data(&mut exchange, b"x");
        assert_eq!(exchange.mismatch, Some("the value is not the stored one"));
    }
}
