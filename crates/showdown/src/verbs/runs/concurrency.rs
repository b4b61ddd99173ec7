//! `showdown concurrency`: how many downloads a server has in progress at once before it breaks.

use std::time::Duration;

use archive::model::Plan;
use concurrency::{ConcurrencyRequest, StepsRequest};
use host::Host;
use load::inputs::units::{parse_count, parse_duration, parse_rate, parse_share, parse_size};
use machine::Hosts;
use runs::{Permissions, RunRequest};
use workload::names_host;

use crate::answer::execute::{end, execute, why_not};
use crate::answer::of_run::{AnswerForm, print_answer};
use crate::args::clients::ClientOptions;
use crate::args::options::{AnswerFormat, ProgressArgs, RunsDir};
use crate::args::plan_trust;
use crate::exit::{CommandStatus, usage};
use crate::interrupt;

/// Options of `showdown concurrency`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown concurrency nginx --to 50000
  showdown concurrency apache:mpm=event --to 20k --client-rate 1k
  showdown concurrency nginx --from 125k --to 1M --hold-last 60s
  showdown concurrency nginx --on sut --clients c1,c2 --to 40k
  showdown concurrency http://127.0.0.1:8080/big.iso --step 2x --until 'availability<50%'

A transfer is a download in progress: its client reads at a set pace, so that it stays open. Steps rise by a factor until \
the server breaks, and are finer near the break. Then all clients leave, and the run watches how long it takes until new \
ones are answered within a second.

Before the first step, the run says what this machine can hold. As root it changes the kernel settings that are too small \
(net.ipv4.tcp_mem, net.ipv4.tcp_notsent_lowat), and puts them back, also when it is killed.

A client whose reads are too late for its pace, or that runs out of ports, ends the run: it would measure itself.

Exit codes: 0 an answer, 2 usage error, 3 the client was the limit, 1 failure, 130 interrupted.")]
pub struct ConcurrencyArgs {
    /// Load this server of a workload (SERVER or SERVER:KNOB=VALUE,KNOB=VALUE), or the file of this URL
    #[arg(value_name = "SERVER|URL")]
    pub target: String,

    /// Use this workload: a name, or the path of a workload.toml [default: download]
    #[arg(long, short)]
    pub workload: Option<String>,

    /// Download the file of this operation of the workload, such as get-10m
    #[arg(long, value_name = "OPERATION")]
    pub on_op: Option<String>,

    /// Begin with this number of transfers [default: 1000, or --to if that is less]
    #[arg(long, value_parser = parse_transfers)]
    pub from: Option<u32>,

    /// Go up to this number of transfers
    #[arg(long, default_value = "50000", value_parser = parse_transfers)]
    pub to: u32,

    /// Take steps of this factor
    #[arg(long, default_value = "2x", value_parser = parse_step)]
    pub step: f64,

    /// Take this number of finer steps near the break
    #[arg(long, default_value = "2")]
    pub finer: u32,

    /// Stop at this availability: the server is broken
    #[arg(long, default_value = "availability<50%", value_parser = parse_until)]
    pub until: f64,

    /// Read each transfer at this pace, bytes a second [default: 1792 up to 20,000 transfers, then less, so that all clients
    /// together make about 40,000 reads a second, and each one in 28 s]
    #[arg(long, value_name = "RATE", value_parser = parse_pace)]
    pub client_rate: Option<u64>,

    /// Maintain each step for this long at least, and until it is steady
    #[arg(long = "hold", value_name = "HOLD", default_value = "5s", value_parser = parse_duration)]
    pub step_length: Duration,

    /// Maintain the last step for this long at least [default: --hold]
    #[arg(long = "hold-last", value_name = "HOLD_LAST", value_parser = parse_duration)]
    pub last_step_length: Option<Duration>,

    /// Open at most this number of connections a second while a step rises
    #[arg(long, default_value = "10000", value_name = "RATE", value_parser = parse_rate)]
    pub begin_rate: f64,

    /// Give the 99th percentile of the time to first byte up to which clients are comfortable
    #[arg(long, default_value = "1s", value_parser = parse_duration)]
    pub comfort: Duration,

    /// Keep all kernel settings as they are
    #[arg(long)]
    pub keep_settings: bool,

    /// Allow a URL with a public address: the server there is yours
    #[arg(long)]
    pub target_is_mine: bool,

    /// Derive the run from this seed [default: a new one, recorded in the plan]
    #[arg(long)]
    pub seed: Option<u32>,

    /// Mark the run with this tag, for `showdown list --tag`; may be repeated
    #[arg(long)]
    pub tag: Vec<String>,

    /// Print the answer in this form
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,

    #[command(flatten)]
    pub progress: ProgressArgs,

    /// Run the server on this host of the hosts file; one without ssh is this machine, by its address
    #[arg(long, value_name = "HOST", help_heading = "Clients")]
    pub on: Option<String>,

    #[command(flatten)]
    pub clients: ClientOptions,

    #[command(flatten)]
    pub runs: RunsDir,
}

/// Parses `50000`, `50k` or `1M`.
pub fn parse_transfers(text: &str) -> Result<u32, String> {
    match parse_count(text).map(u32::try_from) {
        Ok(Ok(transfers)) => Ok(transfers),
        Ok(Err(_)) => Err("expected at most 10,000,000 transfers".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses `2x` or `1.5`.
fn parse_step(text: &str) -> Result<f64, String> {
    let factor = text.strip_suffix(['x', 'X']).unwrap_or(text).parse::<f64>();
    match factor {
        Ok(factor) if factor >= 1.05 => Ok(factor),
        _ => Err("expected a factor of at least 1.05, such as 2x".to_owned()),
    }
}

/// Parses `availability<50%`.
fn parse_until(text: &str) -> Result<f64, String> {
    let share = text.strip_prefix("availability<").map(parse_share);
    match share {
        Some(Ok(share)) if share > 0.0 => Ok(share),
        Some(Err(error)) => Err(error.to_string()),
        _ => Err("expected a condition such as availability<50%".to_owned()),
    }
}

/// Parses `100`, `2k` or `2k/s`.
fn parse_pace(text: &str) -> Result<u64, String> {
    match parse_size(text.strip_suffix("/s").unwrap_or(text)) {
        Ok(0) => Err("a client that reads nothing has no pace: give 1 or more".to_owned()),
        Ok(pace) => Ok(pace),
        Err(error) => Err(error.to_string()),
    }
}

/// `showdown concurrency`.
pub fn run(args: &ConcurrencyArgs) -> anyhow::Result<CommandStatus> {
    let plan = plan(args)?;
    if plan.has_workload() {
        plan_trust::note_workload_on_disk(&plan)?;
    }
    let permissions = Permissions {
        target_is_mine: args.target_is_mine,
        programs: args.clients.program.clone(),
        ..Permissions::default()
    };
    let request = RunRequest::Plan(Box::new(plan));
    let answer = execute(&request, &permissions, &args.runs, &args.progress, &interrupt::context()?)?;
    print_answer(&answer, AnswerForm::Plain(args.format))?;
    end(answer)
}

/// The plan of the options.
pub fn plan(args: &ConcurrencyArgs) -> anyhow::Result<Plan> {
    let names_host = args.on.is_some() || !args.clients.clients.is_empty() || names_host(&args.target);
    args.clients
        .refuse_without_host(names_host, "write SERVER@HOST, or pass --on HOST or --clients HOSTS")?;
    let steps = StepsRequest {
        from: args.from,
        to: args.to,
        step: args.step,
        finer: args.finer,
        until_availability: args.until,
        pace_bytes_per_s: args.client_rate,
        step_length: args.step_length,
        last_step_length: args.last_step_length,
        begin_per_s: args.begin_rate,
        comfort_first_byte: args.comfort,
        keep_settings: args.keep_settings,
    };
    let request = ConcurrencyRequest {
        command: std::env::args().collect(),
        target: args.target.clone(),
        workload: args.workload.clone(),
        on_op: args.on_op.clone(),
        steps: steps.steps(),
        seed: args.seed,
        tags: args.tag.clone(),
        on: args.on.clone(),
        hosts: if names_host {
            Hosts::read(args.clients.hosts.as_deref()).map_err(usage)?.0
        } else {
            Vec::new()
        },
        clients: args.clients.clients.clone(),
    };
    concurrency::plan(&request, &Host::local()).map_err(why_not)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_conditions_and_paces_are_parsed() {
        assert_eq!([parse_step("2x"), parse_step("1.5")], [Ok(2.0), Ok(1.5)]);
        assert!(["1x", "x", "-2x", "nanx"].iter().all(|text| parse_step(text).is_err()));
        assert_eq!(parse_until("availability<50%"), Ok(0.5));
        assert!(
            ["50%", "availability>50%", "availability<", "availability<0%"]
                .iter()
                .all(|t| parse_until(t).is_err())
        );
        assert_eq!([parse_pace("100"), parse_pace("2k/s")], [Ok(100), Ok(2048)]);
        assert!(parse_pace("0").is_err());
    }
}
