//! `showdown mcp`: a server of the Model Context Protocol (<https://modelcontextprotocol.io/specification>) on standard input and
//! output: a line of JSON-RPC 2.0 for each message. What each tool runs is in `tools`. The protocol is a page of serde and needs no
//! runtime: decision 0043.

mod tools;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::exit::CommandStatus;

/// Options of `showdown mcp`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown mcp

The tools are doctor, workloads, plan, run, show and explain. Each runs this program with the same rights and the same questions as \
its user has on the command line, in the directory in which `showdown mcp` was started.")]
pub struct McpArgs {}

/// Revisions of the protocol that are spoken, the newest first.
const REVISIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];
/// A longer line is no request of a client.
const MOST_LINE_BYTES: u64 = 1024 * 1024;
/// JSON-RPC's codes of errors.
const NO_JSON: i32 = -32_700;
const NO_METHOD: i32 = -32_601;
const BAD_PARAMETERS: i32 = -32_602;

/// The running tools, by the text of their request's id.
type Running = Arc<Mutex<BTreeMap<String, ToolCall>>>;

/// A tool that was called and has not answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ToolCall {
    /// Its process does not run yet.
    Starting,
    /// It was cancelled before its process ran.
    Cancelled,
    /// Its process.
    Runs(Pid),
}

impl ToolCall {
    /// Ends the process, now or as soon as it runs.
    fn cancel(&mut self) {
        match self {
            Self::Starting | Self::Cancelled => *self = Self::Cancelled,
            Self::Runs(pid) => {
                let _ = kill_process(*pid, Signal::INT);
            }
        }
    }

    /// Its process runs.
    fn has_started(&mut self, pid: Pid) {
        let is_cancelled = *self == Self::Cancelled;
        *self = Self::Runs(pid);
        if is_cancelled {
            self.cancel();
        }
    }
}

/// Runs the verb: it ends with its input, and the tools that still run end with it.
pub fn run(_: &McpArgs) -> anyhow::Result<CommandStatus> {
    let running = Running::default();
    let mut calls: Vec<JoinHandle<()>> = Vec::new();
    let input_end = answer_lines(&mut BufReader::new(std::io::stdin()), &running, &mut calls);
    for call in locked(&running).values_mut() {
        call.cancel();
    }
    for call in calls {
        let _ = call.join();
    }
    input_end.context("cannot read the standard input")?;
    Ok(CommandStatus::Success)
}

/// Answers each line until the input ends. The threads of tools that may still run are added to `calls`.
fn answer_lines(
    input: &mut impl BufRead,
    running: &Running,
    calls: &mut Vec<JoinHandle<()>>,
) -> std::io::Result<()> {
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(MOST_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let message: Value = match serde_json::from_slice(&line) {
            Ok(message) => message,
            Err(error) => {
                reply(
                    &json!({ "jsonrpc": "2.0", "id": null, "error": { "code": NO_JSON, "message": error.to_string() } }),
                );
                continue;
            }
        };
        if let Some(call) = handle(&message, running) {
            calls.push(call);
        }
        calls.retain(|call| !call.is_finished());
    }
}

/// Answers a message at once, or starts a tool whose thread answers later.
fn handle(message: &Value, running: &Running) -> Option<JoinHandle<()>> {
    let (id, parameters) = (message["id"].clone(), message["params"].clone());
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => initialized(&parameters),
        "ping" => json!({}),
        "tools/list" => json!({ "tools": tools::all() }),
        "tools/call" => {
            let arguments = match tools::arguments(
                parameters["name"].as_str().unwrap_or_default(),
                &parameters["arguments"],
            ) {
                Ok(arguments) => arguments,
                Err(why) => {
                    reply(
                        &json!({ "jsonrpc": "2.0", "id": id, "error": { "code": BAD_PARAMETERS, "message": why } }),
                    );
                    return None;
                }
            };
            let (running, token) = (Arc::clone(running), parameters["_meta"]["progressToken"].clone());
            locked(&running).insert(id.to_string(), ToolCall::Starting);
            return Some(thread::spawn(move || {
                let result = called(&arguments, &id, &token, &running);
                locked(&running).remove(&id.to_string());
                reply(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
            }));
        }
        "notifications/cancelled" => {
            if let Some(call) = locked(running).get_mut(&parameters["requestId"].to_string()) {
                call.cancel();
            }
            return None;
        }
        // Other notifications need no answer.
        _ if id.is_null() => return None,
        method => {
            let message = format!("there is no method {method:?}");
            reply(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": NO_METHOD, "message": message } }));
            return None;
        }
    };
    reply(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    None
}

/// The client's revision if it is spoken here, otherwise the newest.
fn initialized(parameters: &Value) -> Value {
    let wanted = parameters["protocolVersion"].as_str().unwrap_or_default();
    let revision = if REVISIONS.contains(&wanted) { wanted } else { REVISIONS[0] };
    json!({
        "protocolVersion": revision,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "showdown", "version": env!("CARGO_PKG_VERSION") },
        "instructions": "Call doctor first. run takes minutes, and its answer is only as good as its validity: quote the interval and \
                         the reasons, and do not compute differences yourself.",
    })
}

/// Runs this program and returns what it printed. Its progress goes to the client, if the client wants it.
fn called(arguments: &[String], id: &Value, token: &Value, running: &Running) -> Value {
    match output(arguments, id, token, running) {
        Ok((code, stdout, stderr)) => {
            // An invalid measurement and a missed condition are answers.
            let is_error = !matches!(code, 0 | 3 | 4);
            let text = format!("{stdout}{stderr}\nshowdown {} (exit code {code})", arguments.join(" "));
            json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
        }
        Err(error) => {
            json!({ "content": [{ "type": "text", "text": format!("{error:#}") }], "isError": true })
        }
    }
}

/// The exit code, the standard output, and the lines of standard error that are no progress.
fn output(
    arguments: &[String],
    id: &Value,
    token: &Value,
    running: &Running,
) -> anyhow::Result<(i32, String, String)> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child: Child = command.spawn().context("cannot start this program")?;
    if let Some(call) = locked(running).get_mut(&id.to_string()) {
        call.has_started(Pid::from_child(&child));
    }
    let errors = child.stderr.take().map(|errors| {
        let token = token.clone();
        thread::spawn(move || without_progress(BufReader::new(errors), &token))
    });
    let mut stdout = String::new();
    if let Some(mut from) = child.stdout.take() {
        from.read_to_string(&mut stdout).context("cannot read the answer")?;
    }
    let stderr = errors.map(|errors| errors.join().unwrap_or_default()).unwrap_or_default();
    let status = child.wait().context("cannot wait for the answer")?;
    Ok((status.code().unwrap_or(-1), stdout, stderr))
}

/// Passes lines of progress on, and returns the others.
fn without_progress(errors: impl BufRead, token: &Value) -> String {
    let mut others = String::new();
    let mut count = 0_u64;
    for line in errors.lines().map_while(Result::ok) {
        if !line.starts_with('{') {
            others.push_str(&line);
            others.push('\n');
        } else if !token.is_null() {
            count += 1;
            let parameters = json!({ "progressToken": token, "progress": count, "message": line });
            reply(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": parameters }));
        }
    }
    others
}

/// Writes a message. A client that is gone has no answer.
fn reply(message: &Value) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{message}").and_then(|()| stdout.flush());
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_call_that_is_cancelled_before_its_process_runs_ends_at_once() {
        let running = Running::default();
        locked(&running).insert("7".to_owned(), ToolCall::Starting);
        handle(&json!({ "method": "notifications/cancelled", "params": { "requestId": 7 } }), &running);
        let mut child = Command::new("sleep").arg("600").spawn().expect("a process");
        locked(&running).get_mut("7").expect("the call").has_started(Pid::from_child(&child));
        assert_eq!(child.wait().expect("its end").signal(), Some(Signal::INT.as_raw()));
    }
}
