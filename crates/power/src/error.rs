//! Why a source of power gives no watts. Each text is one line: what failed, why, what to do.

use std::io;

/// What an error quotes of an answer: its beginning, without control characters. A device may send anything.
pub(crate) fn excerpt(text: &str) -> String {
    text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(100).collect()
}

/// Why a source gives no watts. `source` names it as the user knows it: an address or a file.
#[derive(Debug, thiserror::Error)]
pub enum PowerError {
    /// A file of the kernel cannot be read.
    #[error("cannot read {path}: {source}: {remedy}")]
    Read {
        /// The file.
        path: String,
        /// The system's error.
        source: io::Error,
        /// What to do.
        remedy: &'static str,
    },
    /// A file of the kernel has something else than a number.
    #[error("{path} contains {text:?}, not a number: its driver is broken, use another source")]
    NotANumber {
        /// The file.
        path: String,
        /// Its beginning.
        text: String,
    },
    /// An event of the kernel cannot be counted.
    #[error("cannot count {event}: {why}: {remedy}")]
    Event {
        /// The event.
        event: String,
        /// The reason.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Nobody answers there, or not in time.
    #[error("{address} does not answer: {why}: check the address, the network and that the device is on")]
    NoAnswer {
        /// The address.
        address: String,
        /// The reason.
        why: String,
    },
    /// The device wants another user or password, or one at all.
    #[error("{address} refuses access ({why}): check {keys} in the file of targets")]
    Refused {
        /// The address.
        address: String,
        /// Its reason, such as a status.
        why: String,
        /// The keys that have the user and the secret.
        keys: &'static str,
    },
    /// The certificate of the device is of nobody who is trusted.
    #[error(
        "{address} is not trusted ({why}): name its authority as certificate = \"FILE.pem\" in the file of targets"
    )]
    Untrusted {
        /// The address.
        address: String,
        /// What is wrong with the certificate.
        why: String,
    },
    /// The device has nothing there. Another path may have it.
    #[error(
        "{address} has nothing there: check the kind of the source and its numbers (channel, outlet, module)"
    )]
    NotThere {
        /// The address with the path.
        address: String,
    },
    /// The answer is not what this kind of device says.
    #[error("the answer of {address} is of no use: {why}: check the kind of the source")]
    Answer {
        /// The address with the path.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// The device answers, but it does not measure.
    #[error("{address} does not measure power: {why}")]
    Unmeasured {
        /// The address.
        address: String,
        /// The reason and what to do.
        why: String,
    },
    /// No machine takes this power.
    #[error(
        "{source_name} says {watts} W, which no machine takes: check the meter, its unit and its numbers"
    )]
    Implausible {
        /// The source.
        source_name: String,
        /// The figure.
        watts: f64,
    },
    /// A counter went backwards in a way that no wrap explains.
    #[error("the counter of {source_name} began anew: there are no watts for this moment")]
    Restarted {
        /// The source.
        source_name: String,
    },
    /// A program that is needed failed.
    #[error("{program} failed: {why}")]
    Program {
        /// The program.
        program: &'static str,
        /// The reason and what to do.
        why: String,
    },
}

/// A meter that gives no watts when they are to be recorded.
#[derive(Debug, thiserror::Error)]
#[error("{name} gives no watts: {why}")]
pub struct MeterError {
    /// Its name.
    pub name: String,
    /// Why, and what to do.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_device_says_is_one_short_line() {
        assert_eq!(excerpt("  a\u{1b}[2J\nb "), "a [2J b");
        assert_eq!(excerpt(&"x".repeat(1000)).len(), 100);
    }
}
