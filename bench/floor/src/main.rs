//! The floor under every client: a loop that sends a fixed request, counts the bytes of the reply, and sends
//! again. It parses nothing, checks nothing and records nothing, so that what it costs is what the kernel
//! costs. `floor clock` tells how many cycles a second of CPU time holds, where no counter does.
//!
//! This file reads the command line; [`protocol`] knows the bytes, [`bare`] the loop, [`clock`] the cycles.

mod bare;
mod clock;
mod protocol;

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

fn run(arguments: &[&str]) -> Result<String, String> {
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
        _ => Err(USAGE.to_owned()),
    }
}

fn load(server: &str, exchange: &Exchange, connections: &str, seconds: &str) -> Result<String, String> {
    let server: SocketAddrV4 = number(server, "an IPv4 address and port")?;
    let connections = number(connections, "a number of connections")?;
    let outcome = bare::run(server, exchange, connections, duration(seconds)?)
        .map_err(|error| format!("{server}: {error}"))?;
    let bare::Outcome { requests, seconds } = outcome;
    Ok(format!("{{\"requests\": {requests}, \"seconds\": {seconds:.6}}}"))
}

fn number<T: FromStr>(text: &str, wanted: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("'{text}' is not {wanted}\n{USAGE}"))
}

fn duration(text: &str) -> Result<Duration, String> {
    let seconds = number(text, "a number of seconds")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| format!("'{text}' seconds: {error}\n{USAGE}"))
}
