//! `showdown agent`: the far end of a connection to this host, started by the showdown of another one.

use crate::exit::CommandStatus;

/// Options of `showdown agent`.
#[derive(clap::Args, Debug)]
pub struct AgentArgs {
    /// Use standard input and output
    #[arg(long, required = true)]
    pub stdio: bool,

    /// Print a line with this word before the first frame
    #[arg(long, value_name = "WORD")]
    pub marker: String,
}

/// Runs the verb until its standard input ends.
pub fn run(args: &AgentArgs) -> anyhow::Result<CommandStatus> {
    machine::agent::agent_main(&args.marker)?;
    Ok(CommandStatus::Success)
}
