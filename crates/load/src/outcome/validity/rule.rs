//! The rules of validity as a reader gets them: each broken one with its figures, and its sentence.

use std::fmt;

use super::limits::{BUSY, MAX_ERROR_SHARE, MAX_MISSING_CONNECTIONS, MAX_STARVATION, MAX_UTILISATION};

/// A rule that a run broke, with its figures: why the run is invalid.
#[derive(Clone, Debug, PartialEq)]
pub enum BrokenRule {
    /// Nothing was measured.
    NothingSucceeded,
    /// The client needed more of its cores than [`MAX_UTILISATION`].
    ClientCpu {
        /// Share of its cores, 0 to 1.
        utilisation: f64,
    },
    /// The client was ready to run and had no CPU for more of its time than [`MAX_STARVATION`].
    Starved {
        /// Share of its time, 0 to 1.
        share: f64,
    },
    /// Sends were late.
    Lag {
        /// 99th percentile, microseconds.
        p99_us: u64,
        /// Median response time, microseconds.
        response_time_p50_us: u64,
        /// Share of its cores that the client needed, 0 to 1.
        utilisation: f64,
    },
    /// Replies lay unread.
    Pickup {
        /// 99th percentile, microseconds.
        p99_us: u64,
        /// Median response time, microseconds.
        response_time_p50_us: u64,
        /// Share of its cores that the client needed, 0 to 1.
        utilisation: f64,
    },
    /// Fewer operations ended than were offered, and not because the server was slow.
    Achieved {
        /// Operations a second that fell due.
        offered_per_s: f64,
        /// Operations a second that ended.
        achieved_per_s: f64,
    },
    /// A closed loop had fewer connections than its spec: it is another, smaller load.
    Connections {
        /// Connections of the spec.
        wanted: u32,
        /// Most that were open at once.
        open: u64,
    },
    /// Connections whose operations all went without a reply: one failure each, whatever the others carried meanwhile.
    SilentConnections {
        /// How many.
        silent: u64,
        /// Connections of the spec.
        wanted: u32,
    },
    /// Too many operations failed.
    Errors {
        /// Share of all operations, 0 to 1.
        share: f64,
    },
    /// The share of an operation was not the declared one.
    Mix {
        /// The operation.
        operation: String,
        /// Its share, per cent.
        percent: f64,
        /// The declared share.
        declared_percent: f64,
        /// How far it may be from that, per cent points.
        allowed_points: f64,
    },
    /// Users fell behind their cycles: operations took longer.
    Delay {
        /// The mean delay as it was, seconds.
        actual_s: f64,
        /// The mean that was drawn.
        drawn_s: f64,
        /// How much longer it may be, per cent.
        allowed_percent: f64,
    },
    /// The delays that were drawn are not those that were declared.
    DrawnDelay {
        /// The mean that was drawn, seconds.
        drawn_s: f64,
        /// The declared mean of the same operations.
        declared_s: f64,
        /// How far it may be from that, per cent.
        allowed_percent: f64,
    },
    /// An operation of users missed its own limit.
    OperationLimit {
        /// The operation.
        operation: String,
        /// The limit as it is written.
        limit: String,
        /// Median response time, microseconds.
        p50_us: u64,
        /// 90th percentile.
        p90_us: u64,
        /// 99th percentile.
        p99_us: u64,
    },
    /// A figure of the scenario is beyond its bound.
    Ratio {
        /// The bound as it is written.
        ratio: String,
        /// The ratio.
        found: f64,
    },
    /// Visits arrived that found no slot: the load was smaller than the arrivals say.
    RefusedVisits {
        /// How many were refused.
        refused: u64,
        /// Of how many.
        arrived: u64,
    },
    /// An operation outside the mix of users failed too often.
    OutsideOperation {
        /// The operation.
        operation: String,
        /// How often it failed.
        failed: u64,
        /// Of how many.
        of: u64,
    },
    /// The users are not as many as throughput and times say: some did not take part, or something was not recorded.
    LittlesLaw {
        /// How many the load has.
        users: u32,
        /// Throughput times the mean of response and delay until the next.
        found: f64,
    },
    /// The clock of one of several clients ran faster or slower than the one here.
    ClockDrift {
        /// By this during the load, microseconds; negative where it was slower.
        drift_us: f64,
        /// At most this.
        allowed_us: f64,
    },
    /// One of several clients broke a rule.
    OfClient {
        /// Its name.
        client: String,
        /// The rule.
        rule: Box<Self>,
    },
    /// One of several clients was lost.
    ClientLost {
        /// Its name.
        client: String,
        /// Why, with its name.
        why: String,
    },
}

impl BrokenRule {
    /// The rule, whichever client broke it.
    pub fn kind(&self) -> &Self {
        match self {
            Self::OfClient { rule, .. } => rule,
            other => other,
        }
    }

    /// Whether it is about what users did: their walk, their delays, the limits of their operations.
    pub fn is_of_users(&self) -> bool {
        matches!(
            self.kind(),
            Self::Mix { .. }
                | Self::Delay { .. }
                | Self::DrawnDelay { .. }
                | Self::OperationLimit { .. }
                | Self::Ratio { .. }
                | Self::RefusedVisits { .. }
                | Self::OutsideOperation { .. }
                | Self::LittlesLaw { .. }
        )
    }

    /// The client that broke it, where there are several.
    pub fn client(&self) -> Option<&str> {
        match self {
            Self::OfClient { client, .. } | Self::ClientLost { client, .. } => Some(client),
            _ => None,
        }
    }
}

/// The end of the sentence about a client that is late: what helps depends on whether it has much to do.
fn against_delays(utilisation: f64) -> String {
    if utilisation > BUSY {
        return ": give it more cores or less load".to_owned();
    }
    format!(
        ", with {:.0} % of its cores unused: a program or the hypervisor stopped it: use a quieter machine, or measure for longer",
        (1.0 - utilisation) * 100.0
    )
}

impl fmt::Display for BrokenRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingSucceeded => f.write_str("no operation succeeded"),
            Self::ClientCpu { utilisation } => write!(
                f,
                "the client was the limit: it needed {:.0} % of its cores (at most {:.0} %): give it more threads and cores, or less load",
                utilisation * 100.0,
                MAX_UTILISATION * 100.0
            ),
            Self::Starved { share } => write!(
                f,
                "the client waited for a CPU for {:.1} % of its time (at most {:.0} %): keep the server and other programs off its cores (taskset), or give it less load",
                share * 100.0,
                MAX_STARVATION * 100.0
            ),
            Self::Lag { p99_us, response_time_p50_us, utilisation } => write!(
                f,
                "the client sent late: lag p99 {p99_us} µs at a median response time of {response_time_p50_us} µs{}",
                against_delays(*utilisation)
            ),
            Self::Pickup { p99_us, response_time_p50_us, utilisation } => write!(
                f,
                "the client read late: replies lay unread for {p99_us} µs (p99) at a median response time of {response_time_p50_us} µs{}",
                against_delays(*utilisation)
            ),
            Self::Achieved { offered_per_s, achieved_per_s } => write!(
                f,
                "achieved {achieved_per_s:.0}/s of {offered_per_s:.0}/s offered, and the server was not the limit: give more connections, or more cores for the client"
            ),
            Self::Connections { wanted, open } => write!(
                f,
                "at most {open} of {wanted} connections were open (at most {:.0} % may be missing): the closed loop was smaller than asked for: give fewer connections, or let the server and this host have more",
                MAX_MISSING_CONNECTIONS * 100.0
            ),
            Self::ClockDrift { drift_us, allowed_us } => write!(
                f,
                "its clock ran {:.1} ms {} than the one here during the load (at most {:.1} ms, a tenth of an interval): synchronize it (chrony), and let no hypervisor pause the host",
                drift_us.abs() / 1e3,
                if *drift_us < 0.0 { "slower" } else { "faster" },
                allowed_us / 1e3
            ),
            Self::Mix { operation, percent, declared_percent, allowed_points } => write!(
                f,
                "operation {operation} was {percent:.1} % of the mix, and {declared_percent:.1} % is declared (at most {allowed_points:.1} points apart): measure for longer after a warm-up, or correct the rows of next"
            ),
            Self::Delay { actual_s, drawn_s, allowed_percent } => write!(
                f,
                "the mean delay was {actual_s:.3} s where {drawn_s:.3} s was drawn (at most {allowed_percent} % longer): operations took longer than their cycles: give fewer users, or cycles that the server can meet"
            ),
            Self::DrawnDelay { drawn_s, declared_s, allowed_percent } => write!(
                f,
                "a mean delay of {drawn_s:.3} s was drawn where {declared_s:.3} s is declared (at most {allowed_percent} % apart): measure for longer"
            ),
            Self::OperationLimit { operation, limit, p50_us, p90_us, p99_us } => write!(
                f,
                "operation {operation} misses {limit}: p50 {p50_us} µs, p90 {p90_us} µs, p99 {p99_us} µs: give fewer users, or another limit"
            ),
            Self::Ratio { ratio, found } => {
                write!(f, "{ratio} is not met: it was {found:.4}: correct the scenario, or the bound")
            }
            Self::RefusedVisits { refused, arrived } => write!(
                f,
                "{refused} of {arrived} visits found no slot (at most 0.1 %): raise the limit of visits, or let fewer arrive"
            ),
            Self::OutsideOperation { operation, failed, of } => write!(
                f,
                "operation {operation}, outside the mix, failed {failed} of {of} times (at most {:.0} %): correct the scenario, or see what the server says",
                MAX_ERROR_SHARE * 100.0
            ),
            Self::LittlesLaw { users, found } => write!(
                f,
                "{users} users, and {found:.1} by Little's law from throughput, response and delay: some did not take part: see the errors of connections, or measure for longer after a warm-up"
            ),
            Self::OfClient { client, rule } => write!(f, "client {client}: {rule}"),
            Self::ClientLost { why, .. } => f.write_str(why),
            Self::SilentConnections { silent, wanted } => write!(
                f,
                "{silent} of {wanted} connections never had a reply (at most {:.0} %): give fewer connections, or let the server serve as many at once",
                MAX_MISSING_CONNECTIONS * 100.0
            ),
            Self::Errors { share } => {
                write!(
                    f,
                    "{:.2} % of operations failed (at most {:.0} %)",
                    share * 100.0,
                    MAX_ERROR_SHARE * 100.0
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_cores_are_advised_only_to_a_client_that_needs_them() {
        let late = |utilisation| {
            BrokenRule::Lag { p99_us: 700, response_time_p50_us: 2_000, utilisation }.to_string()
        };
        assert!(late(0.6).ends_with("2000 µs: give it more cores or less load"), "{}", late(0.6));
        assert!(late(0.15).contains("with 85 % of its cores unused"), "{}", late(0.15));
        assert!(!late(0.15).contains("more cores"), "{}", late(0.15));
    }
}
