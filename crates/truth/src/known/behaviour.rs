//! What a known server does, as plain data and as options of a command line: one definition for both.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use load::inputs::units::parse_duration_or_zero;

use super::service::Service;
use super::words::{WordError, parse_pair, parse_share, share, time};

/// Everything that a known server does, and where. What is not said is not done: the default answers every
/// request at once.
#[derive(clap::Args, Clone, Debug, PartialEq)]
pub struct Behaviour {
    /// Listen on this address
    #[arg(long, default_value = "127.0.0.1")]
    pub host: IpAddr,

    /// Listen on this port
    #[arg(long)]
    pub port: u16,

    /// From a request's arrival to its reply: fixed:1ms, uniform:1ms..3ms, exponential:2ms or
    /// bimodal:1ms,10ms,5%
    #[arg(long, default_value = "fixed:0s")]
    pub service: Service,

    /// Occupy the CPU for so long for each request
    #[arg(long, value_parser = parse_duration_or_zero, default_value = "0s")]
    pub work: Duration,

    /// Occupy it for longer by this share of all that a request takes of it, such as 5%
    #[arg(long, value_parser = parse_extra, default_value = "0%")]
    pub extra_work: f64,

    /// Do nothing at all for a time in the middle of each period, such as 1s/10s, from the first request on
    #[arg(long, value_name = "LENGTH/PERIOD")]
    pub freeze: Option<Freeze>,

    /// Take longer and longer: so much more for each second since the first request
    #[arg(long, value_name = "TIME", value_parser = parse_duration_or_zero, default_value = "0s")]
    pub slows: Duration,

    /// A cache that fills in so long, such as 5s/4ms: at first every request takes that much longer, then
    /// fewer and fewer do
    #[arg(long, value_name = "LENGTH/EXTRA")]
    pub warms: Option<Warming>,

    /// Serve at most so many requests at once
    #[arg(long, value_name = "N")]
    pub slots: Option<usize>,

    /// Let so many others wait; refuse all beyond
    #[arg(long, value_name = "N", default_value = "0", requires = "slots")]
    pub queue: usize,

    /// Answer each Nth request with an error
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub errs_every: Option<u64>,

    /// Close the connection instead of answering each Nth request
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub drops_every: Option<u64>,

    /// Bytes of a reply's body or value
    #[arg(long, default_value = "128")]
    pub bytes: usize,

    /// Keep the time of each request and reply, 16 bytes each
    #[arg(long)]
    pub log: bool,

    /// Everything drawn at random follows from this
    #[arg(long, default_value = "1")]
    pub seed: u64,
}

impl Behaviour {
    /// Answers at once, on this loopback port.
    pub fn on(port: u16) -> Self {
        Self {
            host: IpAddr::from([127, 0, 0, 1]),
            port,
            service: Service::Fixed(Duration::ZERO),
            work: Duration::ZERO,
            extra_work: 0.0,
            freeze: None,
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

    /// The options that say this.
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

/// Nothing happens for `length` in the middle of each `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// How long.
    pub length: Duration,
    /// How often.
    pub period: Duration,
}

impl FromStr for Freeze {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        // What is frozen for as long as its period never thaws.
        let pair = parse_pair(text).filter(|(length, period)| length < period);
        let (length, period) = pair.ok_or_else(|| {
            WordError::new(text, "a freeze: write its length and a longer period, such as 1s/10s")
        })?;
        Ok(Self { length, period })
    }
}

impl fmt::Display for Freeze {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", time(self.length), time(self.period))
    }
}

/// A share of the requests that falls from 1 to 0 in `length` takes `extra` longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warming {
    /// How long the cache takes to fill.
    pub length: Duration,
    /// What a miss costs.
    pub extra: Duration,
}

impl FromStr for Warming {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        let (length, extra) = parse_pair(text).ok_or_else(|| {
            WordError::new(text, "a warm-up: write its length and what a miss costs, such as 5s/4ms")
        })?;
        Ok(Self { length, extra })
    }
}

impl fmt::Display for Warming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", time(self.length), time(self.extra))
    }
}

fn parse_extra(text: &str) -> Result<f64, WordError> {
    parse_share(text).ok_or_else(|| WordError::new(text, "a share: write one such as 5%"))
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    #[test]
    fn a_behaviour_is_read_as_it_is_written() {
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
        behaviour.warms = Some("5s/4ms".parse().expect("a warm-up"));
        (behaviour.slots, behaviour.queue) = (Some(3), 7);
        (behaviour.errs_every, behaviour.drops_every, behaviour.log) = (Some(50), Some(70), true);
        assert_eq!(read(&behaviour), behaviour);
    }

    #[test]
    fn a_freeze_that_never_thaws_is_refused() {
        assert!("2s/1s".parse::<Freeze>().is_err());
    }
}
