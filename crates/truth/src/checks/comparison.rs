//! What a comparison can show here: restarts of one server, paired as a comparison pairs them, and how far
//! their ratios scatter.

use std::time::Duration;

use serde::Serialize;
use stats::power::smallest_difference;
use stats::ratio::estimate;
use stats::verdict::VerdictRule;

use crate::instrument::{CheckError, Instrument, Load, Pace};

const CONNECTIONS: u32 = 64;
/// So often would a difference be found.
const POWER: f64 = 0.8;
const LENGTHS: [usize; 4] = [3, 6, 10, 20];
/// What a request occupies the server for: enough that the server is the limit and not the client.
const WORK: Duration = Duration::from_micros(40);

/// What comparisons of some lengths can show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resolution {
    /// Standard deviation of the logarithm of a block's ratio, server against itself.
    pub log_sd: f64,
    /// Blocks of a comparison, and the smallest relative difference that it finds four times in five; none if
    /// there is none.
    pub smallest: Vec<(usize, Option<f64>)>,
}

/// From this many blocks of two restarts each.
pub fn resolution(
    instrument: &Instrument<'_>,
    blocks: usize,
    length: Duration,
) -> Result<Option<Resolution>, CheckError> {
    let trial = || -> Result<f64, CheckError> {
        let server = instrument.start(|behaviour| (behaviour.work, behaviour.log) = (WORK, false))?;
        Ok(instrument.run(&server, &Load::http(CONNECTIONS, Pace::Closed, length))?.summary.throughput_per_s)
    };
    let pairs = (0..blocks).map(|_| Ok((trial()?, trial()?))).collect::<Result<Vec<_>, CheckError>>()?;
    let rule = VerdictRule::default();
    Ok(estimate(&pairs, rule.confidence).ok().map(|estimate| {
        let smallest = |blocks| (blocks, smallest_difference(blocks, estimate.log_sd, &rule, POWER));
        Resolution { log_sd: estimate.log_sd, smallest: LENGTHS.map(smallest).to_vec() }
    }))
}
