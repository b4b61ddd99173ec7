//! When visits arrive, as plain data.

use crate::inputs::rate::Arrivals;
use crate::inputs::rate::RateProfile;

/// Visits that arrive from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct VisitArrivals {
    /// Visits a second over time.
    pub rate: RateProfile,
    /// Gaps between them.
    pub arrivals: Arrivals,
}
