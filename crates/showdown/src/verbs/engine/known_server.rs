//! `showdown __known-server`: a server of known behaviour, to check a load generator against.

use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::thread;

use anyhow::Context;
use host::Host;
use truth::known::behaviour::Behaviour;
use truth::known::{child, server};

use crate::exit::CommandStatus;

/// Options of the hidden verb.
#[derive(clap::Args, Debug)]
pub struct KnownServerArgs {
    #[command(flatten)]
    behaviour: Behaviour,

    /// Serve until the standard input ends: print the port, and the account at each line of it
    #[arg(long)]
    until_eof: bool,
}

/// Serves until it is killed, or its input ends.
pub fn run(args: &KnownServerArgs) -> anyhow::Result<CommandStatus> {
    let mut behaviour = args.behaviour.clone();
    if args.until_eof {
        if behaviour.port == 0 {
            behaviour.port = Host::local().free_ports(behaviour.host, 1)?[0];
        }
        let address = SocketAddr::new(behaviour.host, behaviour.port);
        thread::spawn(move || {
            // Whoever reads the account is gone when it cannot be written.
            let _ = answer(address);
            std::process::exit(0)
        });
    }
    server::run(&behaviour).with_context(|| {
        format!("cannot serve on {}, port {}: pass another --port", behaviour.host, behaviour.port)
    })?;
    Ok(CommandStatus::Success)
}

/// Prints the port, and then the account for each line of the standard input.
fn answer(address: SocketAddr) -> anyhow::Result<()> {
    child::wait_for(address)?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", address.port())?;
    stdout.flush()?;
    for line in std::io::stdin().lock().lines() {
        let _ = line?;
        writeln!(stdout, "{}", serde_json::to_string(&child::account_of(address)?)?)?;
        stdout.flush()?;
    }
    Ok(())
}
