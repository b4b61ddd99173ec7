//! The smallest difference that a comparison detects on this host: restarts of one server, paired as in a comparison,
//! and the scatter of their ratios.

use std::time::Duration;

use serde::Serialize;
use stats::power::smallest_difference;
use stats::ratio::estimate;
use stats::verdict::VerdictRule;

use crate::instrument::{CheckError, Instrument, LoadShape, TestLoad};

const CONNECTIONS: u32 = 64;
/// Probability of detecting the difference.
const POWER: f64 = 0.8;
const LENGTHS: [usize; 4] = [3, 6, 10, 20];
/// CPU time of a request at the server: enough to make the server the limit, not the client.
const WORK: Duration = Duration::from_micros(40);

/// The smallest differences that comparisons detect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resolution {
    /// Standard deviation of the log ratio of a block, with the same server on both sides.
    pub log_sd: f64,
    /// Pairs of a number of blocks and the smallest relative difference that they detect in 4 of 5 runs; `None` if
    /// they detect none.
    pub smallest_difference: Vec<(usize, Option<f64>)>,
}

/// Measures this number of blocks, with two restarts each.
pub fn resolution(
    instrument: &Instrument<'_>,
    blocks: usize,
    length: Duration,
) -> Result<Option<Resolution>, CheckError> {
    let trial = || -> Result<f64, CheckError> {
        let server = instrument.start(|behaviour| (behaviour.work, behaviour.log) = (WORK, false))?;
        Ok(instrument
            .run(&server, &TestLoad::http(CONNECTIONS, LoadShape::Closed, length))?
            .summary
            .throughput_per_s)
    };
    let pairs = (0..blocks).map(|_| Ok((trial()?, trial()?))).collect::<Result<Vec<_>, CheckError>>()?;
    let rule = VerdictRule::default();
    Ok(estimate(&pairs, rule.confidence).ok().map(|estimate| {
        let smallest = |blocks| (blocks, smallest_difference(blocks, estimate.log_sd, &rule, POWER));
        Resolution { log_sd: estimate.log_sd, smallest_difference: LENGTHS.map(smallest).to_vec() }
    }))
}
