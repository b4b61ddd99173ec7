//! The behaviour of a known server: one definition for the data and for the command-line options.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use load::inputs::units::parse_duration_or_zero;

use super::option_values::{OptionValueError, parse_pair, parse_share, share, time};
use super::service::ServiceTime;

/// The behaviour of a known server and its address. By default it answers every request at once.
#[derive(clap::Args, Clone, Debug, PartialEq)]
pub struct Behaviour {
    /// Listen on this address
    #[arg(long, default_value = "127.0.0.1")]
    pub host: IpAddr,

    /// Listen on this port
    #[arg(long)]
    pub port: u16,

    /// Set the service time, from a request's arrival to its reply: fixed:1ms, uniform:1ms..3ms, exponential:2ms or
    /// bimodal:1ms,10ms,5%
    #[arg(long, default_value = "fixed:0s")]
    pub service: ServiceTime,

    /// Spend this CPU time on each request
    #[arg(long, value_parser = parse_duration_or_zero, default_value = "0s")]
    pub work: Duration,

    /// Add this share of a request's CPU time as extra work, such as 5%
    #[arg(long, value_parser = parse_extra, default_value = "0%")]
    pub extra_work: f64,

    /// Freeze for a time in the middle of each period, such as 1s/10s, from the first request on
    #[arg(long, value_name = "LENGTH/PERIOD")]
    pub freeze: Option<Freeze>,

    /// Pause for a time after every Nth reply, such as 30ms/20000: a pause by work, as a collection of garbage is
    #[arg(long, value_name = "LENGTH/N")]
    pub pauses: Option<Pauses>,

    /// Slow down: add this time for each second since the first request
    #[arg(long, value_name = "TIME", value_parser = parse_duration_or_zero, default_value = "0s")]
    pub slows: Duration,

    /// Simulate a cache that fills in a time, with an extra time for each miss, such as 5s/4ms
    #[arg(long, value_name = "LENGTH/EXTRA")]
    pub warms: Option<CacheWarmUp>,

    /// Serve at most N requests at once
    #[arg(long, value_name = "N")]
    pub slots: Option<usize>,

    /// Let N further requests wait; refuse all others
    #[arg(long, value_name = "N", default_value = "0", requires = "slots")]
    pub queue: usize,

    /// Answer every Nth request with an error
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub errs_every: Option<u64>,

    /// Close the connection instead of answering every Nth request
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub drops_every: Option<u64>,

    /// Set the size of a reply's body or value, bytes
    #[arg(long, default_value = "128")]
    pub bytes: usize,

    /// Record the times of every request and reply, 16 bytes each
    #[arg(long)]
    pub log: bool,

    /// Derive all random numbers from this seed
    #[arg(long, default_value = "1")]
    pub seed: u64,
}

impl Behaviour {
    /// A server on this loopback port that answers at once.
    pub fn on(port: u16) -> Self {
        Self {
            host: IpAddr::from([127, 0, 0, 1]),
            port,
            service: ServiceTime::Fixed(Duration::ZERO),
            work: Duration::ZERO,
            extra_work: 0.0,
            freeze: None,
            pauses: None,
            slows: Duration::ZERO,
            warms: None,
            slots: None,
            queue: 0,
            errs_every: None,
            drops_every: None,
            bytes: 128,
            log: false,
            seed: 1,
        }
    }

    /// The command-line options of this behaviour.
    pub fn arguments(&self) -> Vec<String> {
        let mut options = vec![
            format!("--host={}", self.host),
            format!("--port={}", self.port),
            format!("--service={}", self.service),
            format!("--work={}", time(self.work)),
            format!("--extra-work={}", share(self.extra_work)),
            format!("--slows={}", time(self.slows)),
            format!("--bytes={}", self.bytes),
            format!("--seed={}", self.seed),
        ];
        options.extend(self.freeze.map(|freeze| format!("--freeze={freeze}")));
        options.extend(self.pauses.map(|pauses| format!("--pauses={pauses}")));
        options.extend(self.warms.map(|warms| format!("--warms={warms}")));
        if let Some(slots) = self.slots {
            options.extend([format!("--slots={slots}"), format!("--queue={}", self.queue)]);
        }
        options.extend(self.errs_every.map(|n| format!("--errs-every={n}")));
        options.extend(self.drops_every.map(|n| format!("--drops-every={n}")));
        options.extend(self.log.then(|| "--log".to_owned()));
        options
    }
}

/// The server freezes for `length` in the middle of each `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// Length of a freeze.
    pub length: Duration,
    /// Time from one freeze to the next.
    pub period: Duration,
}

impl FromStr for Freeze {
    type Err = OptionValueError;

    fn from_str(text: &str) -> Result<Self, OptionValueError> {
        // With a length of a whole period the server would never answer.
        let pair = parse_pair(text).filter(|(length, period)| length < period);
        let (length, period) = pair.ok_or_else(|| {
            OptionValueError::new(text, "a freeze: give its length and a longer period, such as 1s/10s")
        })?;
        Ok(Self { length, period })
    }
}

impl fmt::Display for Freeze {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", time(self.length), time(self.period))
    }
}

/// The server pauses for `length` after every `replies`th reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pauses {
    /// Length of a pause.
    pub length: Duration,
    /// Replies from one pause to the next.
    pub replies: u64,
}

impl FromStr for Pauses {
    type Err = OptionValueError;

    fn from_str(text: &str) -> Result<Self, OptionValueError> {
        let pauses = text.split_once('/').and_then(|(length, replies)| {
            let replies = replies.parse().ok().filter(|replies| *replies > 0)?;
            Some(Self { length: parse_duration_or_zero(length).ok()?, replies })
        });
        pauses.ok_or_else(|| {
            OptionValueError::new(
                text,
                "pauses: give their length and the replies between them, such as 30ms/20000",
            )
        })
    }
}

impl fmt::Display for Pauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", time(self.length), self.replies)
    }
}

/// A cache that fills: the share of requests that take `extra` longer falls from 1 to 0 in `length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheWarmUp {
    /// How long the cache takes to fill.
    pub length: Duration,
    /// Extra time of a miss.
    pub extra: Duration,
}

impl FromStr for CacheWarmUp {
    type Err = OptionValueError;

    fn from_str(text: &str) -> Result<Self, OptionValueError> {
        let (length, extra) = parse_pair(text).ok_or_else(|| {
            OptionValueError::new(text, "a warm-up: give its length and the time of a miss, such as 5s/4ms")
        })?;
        Ok(Self { length, extra })
    }
}

impl fmt::Display for CacheWarmUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", time(self.length), time(self.extra))
    }
}

fn parse_extra(text: &str) -> Result<f64, OptionValueError> {
    parse_share(text).ok_or_else(|| OptionValueError::new(text, "a share: give one such as 5%"))
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    #[test]
    fn options_read_back_as_the_same_behaviour() {
        let mut behaviour = Behaviour::on(8080);
        let read = |behaviour: &Behaviour| {
            let command = Behaviour::augment_args(clap::Command::new("known").no_binary_name(true));
            let matches = command.try_get_matches_from(behaviour.arguments()).expect("options");
            Behaviour::from_arg_matches(&matches).expect("a behaviour")
        };
        assert_eq!(read(&behaviour), behaviour);
        behaviour.service = "bimodal:1ms,10ms,5%".parse().expect("a service time");
        behaviour.work = Duration::from_micros(20);
        behaviour.extra_work = 0.05;
        behaviour.freeze = Some("1s/10s".parse().expect("a freeze"));
        behaviour.pauses = Some("30ms/20000".parse().expect("pauses"));
        behaviour.warms = Some("5s/4ms".parse().expect("a warm-up"));
        (behaviour.slots, behaviour.queue) = (Some(3), 7);
        (behaviour.errs_every, behaviour.drops_every, behaviour.log) = (Some(50), Some(70), true);
        assert_eq!(read(&behaviour), behaviour);
    }

    #[test]
    fn a_freeze_longer_than_its_period_and_pauses_without_a_number_are_refused() {
        assert!("2s/1s".parse::<Freeze>().is_err());
        assert!(["30ms", "30ms/0", "30ms/x", "x/20"].iter().all(|text| text.parse::<Pauses>().is_err()));
    }
}
