//! What a user allows a run, and gives it. It is no part of a request: a request may have waited, or come from somebody else.

use bakeoff::RunMeter;
use host::knobs::Knob;

use crate::prices::Prices;

/// What a user allows a run, and gives it.
#[derive(Debug, Default)]
pub struct Permissions {
    /// Kernel settings that it may set beside the usual ones of comparisons.
    pub kernel: Vec<Knob>,
    /// Builds of this program for hosts of other architectures, as `ARCHITECTURE=PATH`.
    pub programs: Vec<String>,
    /// Meters, which are read beside the load of trials.
    pub meters: Vec<RunMeter>,
    /// What the result of trials costs.
    pub prices: Option<Prices>,
    /// Whether a URL may have a public address.
    pub target_is_mine: bool,
}
