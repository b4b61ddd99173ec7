//! The second program, which no host needs. `showdown serve` and `showdown controller` start it.

use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
use harness::controller::rules::Rules;
use harness::controller::workplace::Workplace;
use harness::serve::accounts::account;
use harness::serve::serve;
use queue::arguments::{AccountArgs, ControllerArgs, ServeArgs};

/// Queue runs, watch them, and compare them in a browser; `showdown serve` starts it
#[derive(Parser)]
#[command(name = "showdown-harness", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,

    // `showdown` passes on what it was given.
    #[arg(long = "color", global = true, hide = true)]
    _color: Option<clap::ColorChoice>,
}

#[derive(Subcommand)]
enum Verb {
    /// Serve this machine's queue and archive
    Serve(ServeArgs),
    /// Take runs from a server
    Controller(ControllerArgs),
    /// Add and change accounts of a team
    Account(AccountArgs),
}

fn main() -> ExitCode {
    let result = match Cli::parse().verb {
        Verb::Serve(args) => serve(&args),
        Verb::Controller(args) => controller(&args),
        Verb::Account(args) => account(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            harness::serve::say(&format!("showdown: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn controller(args: &ControllerArgs) -> anyhow::Result<()> {
    let rules = match (&args.rules, &args.server) {
        (Some(path), _) => Rules::read(path)?,
        (None, None) => Rules::of_owner(),
        (None, Some(_)) => anyhow::bail!(
            "--server needs --rules FILE: the file says what this machine accepts, such as  workloads = [\"static-web\"]"
        ),
    };
    let server = match &args.server {
        Some(url) => {
            let token = std::env::var("SHOWDOWN_TOKEN");
            let token =
                token.context("--server needs the secret of controllers in the variable SHOWDOWN_TOKEN")?;
            anyhow::ensure!(
                queue::api::is_private(url),
                "{url} has no TLS, so everyone on the network could read the secret: use https://, or reach the server with ssh -L"
            );
            Some((url.trim_end_matches('/').to_owned(), token))
        }
        None => None,
    };
    harness::controller::run(&Workplace::new(&args.runs, server, rules)?)
}
