//! Olio's own program: the reference implementation, the data that all implementations share, the geocoder, and the command that proves
//! an implementation. `showdown` does not contain it; `workloads/olio` starts it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program prints its answer, and why there is none"
)]

mod data;
mod geocoder;
mod java;
mod making;
mod needs;
mod prove;
mod site;
mod sources;
mod stack;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Olio: a web application of social events, in several implementations that do the same work.
#[derive(Parser)]
#[command(name = "olio", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the reference implementation (settings: OLIO_… in the environment, see contract.md)
    Serve {
        /// Unix socket to listen on
        #[arg(long)]
        socket: PathBuf,
        /// Threads, and connections to the database
        #[arg(long, default_value_t = 8)]
        workers: usize,
    },
    /// Serve the implementation in Java; Maven compiles it on its first use
    Java(java::JavaRequest),
    /// Answer as a geocoder: every address has one place
    Geocoder {
        /// Port on the loopback address
        #[arg(long)]
        port: u16,
        /// How long each answer takes, in milliseconds
        #[arg(long, default_value_t = 0)]
        latency: u64,
    },
    /// Make the database, media and statics once, and copy the database to a new directory
    Data(data::DataRequest),
    /// Start one implementation with all its parts, for a browser or a script
    Stack(stack::StackRequest),
    /// Compare pages of a running site with those of the reference on the same tables
    Verify(prove::VerifyRequest),
    /// Stand before a site and answer wrongly under load, to see that `verify` finds it
    Cheat(prove::CheatRequest),
    /// Prove that an implementation does what the reference does
    Prove(prove::Request),
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("olio: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Serve { socket, workers } => site::serve(&socket, workers),
        Command::Java(request) => java::serve(&request),
        Command::Geocoder { port, latency } => geocoder::serve(port, latency),
        Command::Data(request) => request.make(),
        Command::Stack(request) => stack::run(&request),
        Command::Verify(request) => request.run(),
        Command::Cheat(request) => request.serve(),
        Command::Prove(request) => prove::run(&request),
    }
}
