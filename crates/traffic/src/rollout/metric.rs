//! What candidate and control are compared by, and how much worse the candidate can be in it. The processes that say so are in `evidence`.

use std::fmt;

use stats::anytime::counts::TwoCounts;

use crate::guard::percent;
use crate::observation::MailWindow;

/// What is compared. α is divided among the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Answers later than the objective.
    Late,
    /// Requests that failed, of any kind.
    Failed,
    /// Mail that is to be tried again: turned away with 4xx, or accepted and not delivered at the first try.
    Deferred,
    /// Mail that was turned away with 5xx, or bounced.
    Rejected,
    /// Mail that a recipient got again.
    DeliveredTwice,
}

impl Metric {
    /// Those of all runs.
    const USUAL: [Self; 2] = [Self::Late, Self::Failed];
    /// Those of a run before mail servers.
    const OF_MAIL: [Self; 5] =
        [Self::Late, Self::Failed, Self::Deferred, Self::Rejected, Self::DeliveredTwice];

    /// What is compared in a run.
    pub fn of(is_mail: bool) -> &'static [Self] {
        if is_mail { &Self::OF_MAIL } else { &Self::USUAL }
    }

    /// The end of "of the candidate's requests" or "messages".
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Late => "were late",
            Self::Failed => "failed",
            Self::Deferred => "were deferred",
            Self::Rejected => "were rejected",
            Self::DeliveredTwice => "were delivered twice",
        }
    }

    /// What its share is of.
    pub(super) fn counted(self) -> &'static str {
        match self {
            Self::Late | Self::Failed => "requests",
            Self::Deferred | Self::Rejected | Self::DeliveredTwice => "messages",
        }
    }

    /// In one or two words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::Failed => "failed",
            Self::Deferred => "deferred",
            Self::Rejected => "rejected",
            Self::DeliveredTwice => "delivered twice",
        }
    }

    /// How often it occurred in a window of a mail server.
    pub(super) fn in_mail(self, mail: &MailWindow) -> u64 {
        match self {
            Self::Late | Self::Failed => 0,
            Self::Deferred => mail.deferred,
            Self::Rejected => mail.rejected,
            Self::DeliveredTwice => mail.delivered_twice,
        }
    }
}

/// Where a metric stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricState {
    /// Which one.
    pub metric: Metric,
    /// Events and requests of both sides since the start.
    pub counts: TwoCounts,
    /// ln E against "the candidate does no harm". The run ends at ln(1/α), α being the metric's part.
    pub harm_log: f64,
    /// The smallest ratio to the control that is excluded. None if none is.
    pub ratio_bound: Option<f64>,
    /// The highest possible share of the candidate's requests.
    pub highest_rate: f64,
}

/// How much worse than the control the candidate can be in one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// Less than this ratio to the control's share.
    Ratio(f64),
    /// Less than this share of its requests: there were too few events for a ratio, and so few that they do not matter.
    Rate(f64),
}

impl Bound {
    /// The bound of a metric for a margin.
    pub(super) fn of(state: &MetricState, margin: f64) -> Self {
        match state.ratio_bound {
            Some(ratio) if ratio <= margin => Self::Ratio(ratio),
            _ => Self::Rate(state.highest_rate),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratio(ratio) => write!(f, "{ratio:.2} ×"),
            Self::Rate(rate) => f.write_str(&percent(*rate)),
        }
    }
}
