//! The floor below the cost of every client: a loop that sends a fixed request, counts the bytes of the reply, and
//! sends again. It parses, checks and records nothing, so its cost is the kernel's. `floor clock` measures the cycles in
//! a second of CPU time, for machines without hardware counters.
//!
//! This file parses the command line. [`protocol`] has the bytes, [`bare`] the loop, [`clock`] the cycles.

mod bare;
mod clock;
mod protocol;

use std::fmt;
use std::io;
use std::net::SocketAddrV4;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use crate::protocol::Exchange;

const USAGE: &str = "Usage: floor http ADDRESS:PORT PATH CONNECTIONS SECONDS
       floor memcached ADDRESS:PORT KEY CONNECTIONS SECONDS
       floor clock SECONDS

Prints one JSON object: requests and seconds, or cycles_per_s.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("floor: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Why there is no result.
enum FloorError {
    Usage,
    NotA { text: String, wanted: &'static str },
    Load { server: SocketAddrV4, error: io::Error },
}

impl fmt::Display for FloorError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage => out.write_str(USAGE),
            Self::NotA { text, wanted } => write!(out, "'{text}' is not {wanted}\n{USAGE}"),
            Self::Load { server, error } => write!(out, "{server}: {error}"),
        }
    }
}

fn run(arguments: &[&str]) -> Result<String, FloorError> {
    match arguments {
        ["http", server, path, connections, seconds] => {
            load(server, &Exchange::http(server, path), connections, seconds)
        }
        ["memcached", server, key, connections, seconds] => {
            load(server, &Exchange::memcached(key), connections, seconds)
        }
        ["clock", seconds] => {
            let rate = clock::cycles_per_second(duration(seconds)?);
            Ok(format!("{{\"cycles_per_s\": {rate:.0}}}"))
        }
        _ => Err(FloorError::Usage),
    }
}

fn load(server: &str, exchange: &Exchange, connections: &str, seconds: &str) -> Result<String, FloorError> {
    let server: SocketAddrV4 = parsed(server, "an IPv4 address and port")?;
    let connections = parsed(connections, "a number of connections")?;
    let outcome = bare::run(server, exchange, connections, duration(seconds)?)
        .map_err(|error| FloorError::Load { server, error })?;
    let bare::Outcome { requests, seconds } = outcome;
    Ok(format!("{{\"requests\": {requests}, \"seconds\": {seconds:.6}}}"))
}

fn parsed<T: FromStr>(text: &str, wanted: &'static str) -> Result<T, FloorError> {
    text.parse().map_err(|_| FloorError::NotA { text: text.to_owned(), wanted })
}

fn duration(text: &str) -> Result<Duration, FloorError> {
    let wanted = "a number of seconds";
    let seconds = parsed(text, wanted)?;
    Duration::try_from_secs_f64(seconds).map_err(|_| FloorError::NotA { text: text.to_owned(), wanted })
}
