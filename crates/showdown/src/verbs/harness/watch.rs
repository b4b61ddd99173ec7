//! `watch`: follows an entry to its end, on a terminal or in a script.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use queue::{Entry, EntryId, EntryState};
use serde_json::Value;

use super::client::{HarnessClient, ServerArgs};
use crate::exit::CommandStatus;
use crate::print::{note, print, print_text};
use crate::show::layout::units::give_or_take;

/// The pause before a stream that was cut is opened again.
const PAUSE: Duration = Duration::from_secs(1);

/// A stream without a line for so long is dead: the server sends a ping after 15 s of silence.
const SILENCE: Duration = Duration::from_secs(40);

/// The lines that wait to be printed.
const LINES_AHEAD: usize = 100;

/// How often it is opened again in vain.
const MOST_FAILURES: u32 = 30;

/// Options of `showdown watch`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown watch 7

Exit codes: 0 the entry is done, 1 it failed, was stopped or is lost.")]
pub struct WatchArgs {
    /// Wait for the end of this entry, and print what happens until then
    #[arg(value_name = "ENTRY")]
    pub entry: EntryId,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// What the stream has said so far.
#[derive(Default)]
struct Watched {
    last: Option<String>,
    state: Option<EntryState>,
    entry: Option<Entry>,
    is_over: bool,
    /// Whether a line has come since the stream was opened.
    is_heard: bool,
}

/// `showdown watch`.
pub fn run(args: &WatchArgs) -> anyhow::Result<CommandStatus> {
    let mut client = args.server.client()?;
    let mut watched = Watched::default();
    let mut failures = 0;
    while !watched.is_over {
        match watched.follow(&client, args.entry) {
            Ok(()) => failures = 0,
            Err(error) if failures == 0 && watched.last.is_none() && watched.state.is_none() => {
                return Err(error);
            }
            Err(error) if failures >= MOST_FAILURES => return Err(error),
            Err(_) => {
                failures = if watched.is_heard { 1 } else { failures + 1 };
                // A server that was started again has another secret, and perhaps another port.
                client = args.server.client()?;
            }
        }
        if !watched.is_over {
            thread::sleep(PAUSE);
        }
    }
    let Some(entry) = watched.entry else {
        anyhow::bail!("the server has said nothing of entry {}", args.entry)
    };
    if entry.state == EntryState::Done {
        print(&format!("{}\n", entry.run.unwrap_or_default()))?;
        return Ok(CommandStatus::Success);
    }
    let reason = entry.reason.unwrap_or_default();
    anyhow::bail!("entry {} is {}: {reason}", entry.id, entry.state.name())
}

impl Watched {
    /// Reads the stream until it ends, is cut or is silent for too long.
    fn follow(&mut self, client: &HarnessClient, entry: EntryId) -> anyhow::Result<()> {
        self.is_heard = false;
        let stream =
            client.stream(&format!("entries/{entry}/events"), self.last.as_deref(), Some(SILENCE))?;
        self.read(stream, SILENCE)
    }

    fn read(&mut self, stream: impl Read + Send + 'static, silence: Duration) -> anyhow::Result<()> {
        // A read has no limit of time: it is left behind with its thread where nothing comes.
        let (to, lines) = sync_channel(LINES_AHEAD);
        thread::Builder::new().name("stream".to_owned()).spawn(move || {
            for line in BufReader::new(stream).lines() {
                if to.send(line).is_err() {
                    break;
                }
            }
        })?;
        let (mut name, mut data) = (String::new(), String::new());
        loop {
            let line = match lines.recv_timeout(silence) {
                Ok(line) => line?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => anyhow::bail!(
                    "the harness has said nothing for {} s: see whether `showdown serve` runs, and watch again",
                    silence.as_secs()
                ),
            };
            self.is_heard = true;
            match line.split_once(": ") {
                Some(("event", value)) => value.clone_into(&mut name),
                Some(("data", value)) => value.clone_into(&mut data),
                Some(("id", value)) => self.last = Some(value.to_owned()),
                _ if line.is_empty() => {
                    self.take(&name, &data)?;
                    name.clear();
                    data.clear();
                }
                _ => {}
            }
        }
    }

    fn take(&mut self, name: &str, data: &str) -> anyhow::Result<()> {
        match name {
            "state" => {
                let entry: Entry = serde_json::from_str(data)?;
                if self.state != Some(entry.state) {
                    note(&format!("entry {} is {}", entry.id, entry.state.name()));
                }
                self.state = Some(entry.state);
                self.entry = Some(entry);
            }
            "line" => {
                if let Some(line) = of_event(&serde_json::from_str(data)?) {
                    print_text(&format!("{line}\n"))?;
                }
            }
            "end" => self.is_over = true,
            _ => {}
        }
        Ok(())
    }
}

/// The line for an event of the run; none for one that changes all the time.
fn of_event(event: &Value) -> Option<String> {
    Some(match event["event"].as_str()? {
        "run_begins" => format!("run {} begins: {} trials", text(event, "run"), event["trials"]),
        "trial_ends" => {
            let value =
                event["value"].as_f64().map_or_else(|| "no value".to_owned(), |value| format!("{value:.4}"));
            let status = text(event, "status");
            let mark =
                if status == "valid" { String::new() } else { format!("  {status}: {}", why_invalid(event)) };
            format!(
                "{:>4}  {:<28} {value} {}{mark}",
                event["number"],
                text(event, "name"),
                text(event, "unit")
            )
        }
        "precision" => format!("      {} so far", give_or_take(event["half_width"].as_f64()?)),
        "verdict" | "measure_replaced" => text(event, "sentence"),
        "one_at_a_time" | "network_not_measured" => text(event, "why"),
        "kernel_setting_not_restored" => text(event, "problem"),
        _ => return None,
    })
}

/// Why a trial is not valid: its reasons, and the checks that it has failed.
fn why_invalid(event: &Value) -> String {
    let mut why = Vec::new();
    for reason in event["reasons"].as_array().into_iter().flatten() {
        why.extend(reason.as_str().map(str::to_owned));
    }
    for gate in event["failed_gates"].as_array().into_iter().flatten() {
        why.push(text(gate, "message"));
    }
    why.join("; ")
}

/// A text of an event; empty where it has none of this name.
fn text(event: &Value, name: &str) -> String {
    event[name].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_trial_that_is_not_valid_says_why() {
        let event = serde_json::json!({
            "event": "trial_ends", "number": 3, "name": "nginx", "status": "invalid", "value": 2.5, "unit": "requests/s",
            "reasons": ["the server ended"], "failed_gates": [{ "message": "the client was the limit" }],
        });
        let line = of_event(&event).expect("a line");
        assert!(
            line.ends_with("2.5000 requests/s  invalid: the server ended; the client was the limit"),
            "{line}"
        );
    }

    #[test]
    fn a_stream_without_a_line_is_given_up_and_goes_on_where_it_was() -> Result<(), Box<dyn std::error::Error>>
    {
        let (read, mut write) = UnixStream::pair()?;
        write.write_all(b"event: line\nid: 3-7\ndata: {\"event\":\"tick\"}\n\nevent: ping\n")?;
        let mut watched = Watched::default();
        let error = watched.read(read, Duration::from_millis(300)).expect_err("nothing more comes");
        assert!(error.to_string().contains("has said nothing"), "{error}");
        assert_eq!((watched.last.as_deref(), watched.is_heard, watched.is_over), (Some("3-7"), true, false));

        let (read, mut write) = UnixStream::pair()?;
        write.write_all(b"event: end\ndata: {}\n\n")?;
        drop(write);
        watched.read(read, SILENCE)?;
        assert!(watched.is_over);
        Ok(())
    }
}
