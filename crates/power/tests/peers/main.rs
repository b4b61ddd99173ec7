//! Meters on the network against peers that speak their protocols: Debian's snmpd with the trees of PDUs, ipmi_sim, and an HTTP server
//! with recorded answers and with bad ones.

mod bad_answers;
mod bmc;
mod http_server;
mod pdus;
mod plugs;

use std::time::{Duration, Instant};

use power::{PowerError, PowerReading, PowerSource, SourceKeys};

/// The source of an argument of `--source`.
fn open(argument: &str) -> Box<dyn PowerSource> {
    let keys = SourceKeys::from_argument(argument).expect("an argument");
    keys.check("meter").expect("a source").open().expect("its secrets")
}

/// What it says. A peer on a busy machine may be slower than the time limits, so silence is asked again.
fn read(source: &mut dyn PowerSource) -> Result<f64, PowerError> {
    let begin = Instant::now();
    loop {
        match source.read() {
            Err(PowerError::NoAnswer { .. }) if begin.elapsed() < Duration::from_mins(2) => {}
            Ok(PowerReading::Power(watts)) => return Ok(watts.value()),
            Ok(PowerReading::Energy(_)) => panic!("no counter is on the network"),
            Err(error) => return Err(error),
        }
    }
}

/// The watts that it gives.
fn watts(source: &mut dyn PowerSource) -> f64 {
    read(source).expect("watts")
}

/// The one line of its error, which is not silence.
fn error(source: &mut dyn PowerSource) -> String {
    line(&read(source).expect_err("no watts"))
}

/// The one line of what it says when nobody answers.
fn silence(source: &mut dyn PowerSource) -> String {
    let error = source.read().expect_err("no watts");
    assert!(matches!(error, PowerError::NoAnswer { .. }), "{error}");
    line(&error)
}

fn line(error: &PowerError) -> String {
    let line = error.to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}
