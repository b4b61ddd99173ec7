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
const NO_REQUEST: i32 = -32_600;
const NO_METHOD: i32 = -32_601;
const BAD_PARAMETERS: i32 = -32_602;

/// The running tools, by the text of their request's id.
type Running = Arc<Mutex<BTreeMap<String, ToolCall>>>;

/// A tool that was called and has not answered.
struct ToolCall {
    state: CallState,
    /// Whether it loads servers, which nobody waits for when the client is gone.
    starts_servers: bool,
}

/// How far a call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CallState {
    /// Its process does not run yet.
    Starting,
    /// It was cancelled before its process ran.
    Cancelled,
    /// Its process.
    Runs(Pid),
}

impl ToolCall {
    fn starting(tool: &str) -> Self {
        Self { state: CallState::Starting, starts_servers: tools::starts_servers(tool) }
    }

    /// Ends the process, now or as soon as it runs.
    fn cancel(&mut self) {
        match self.state {
            CallState::Starting | CallState::Cancelled => self.state = CallState::Cancelled,
            CallState::Runs(pid) => {
                let _ = kill_process(pid, Signal::INT);
            }
        }
    }

    /// Its process runs.
    fn has_started(&mut self, pid: Pid) {
        let is_cancelled = self.state == CallState::Cancelled;
        self.state = CallState::Runs(pid);
        if is_cancelled {
            self.cancel();
        }
    }
}

/// What a message is answered with.
enum Answer {
    /// Nothing: it is a notification.
    Nothing,
    /// This.
    Now(Value),
    /// What this returns, when the tool has ended.
    OfTool(Box<dyn FnOnce() -> Value + Send>),
}

impl Answer {
    fn error(id: &Value, code: i32, message: &str) -> Self {
        Self::Now(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }))
    }

    /// The answer, once it is known.
    fn wait(self) -> Option<Value> {
        match self {
            Self::Nothing => None,
            Self::Now(answer) => Some(answer),
            Self::OfTool(answer) => Some(answer()),
        }
    }
}

/// Runs the verb: it ends with its input. Tools that load servers are interrupted then; the others, which end soon, are answered.
pub fn run(_: &McpArgs) -> anyhow::Result<CommandStatus> {
    let running = Running::default();
    let mut calls: Vec<JoinHandle<()>> = Vec::new();
    let input_end = answer_lines(&mut BufReader::new(std::io::stdin()), &running, &mut calls);
    for call in locked(&running).values_mut().filter(|call| call.starts_servers) {
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
        let answer = match serde_json::from_slice(&line) {
            Ok(Value::Array(members)) if !members.is_empty() => batch(&members, running),
            Ok(message) => handle(&message, running),
            Err(error) => Answer::error(&Value::Null, NO_JSON, &error.to_string()),
        };
        match answer {
            Answer::OfTool(answer) => calls.push(thread::spawn(move || reply(&answer()))),
            other => other.wait().iter().for_each(reply),
        }
        calls.retain(|call| !call.is_finished());
    }
}

/// Handles the messages of a batch, which revision 2025-03-26 has: one array answers them, when all are answered. Its tools run one
/// after another.
fn batch(messages: &[Value], running: &Running) -> Answer {
    let answers: Vec<Answer> = messages.iter().map(|message| handle(message, running)).collect();
    if answers.iter().all(|answer| matches!(answer, Answer::Nothing)) {
        return Answer::Nothing;
    }
    Answer::OfTool(Box::new(|| answers.into_iter().filter_map(Answer::wait).collect()))
}

/// Answers a message at once, or returns what runs its tool.
fn handle(message: &Value, running: &Running) -> Answer {
    let (id, parameters) = (message["id"].clone(), message["params"].clone());
    if !message["method"].is_string() {
        return Answer::error(&id, NO_REQUEST, "a request is an object with a method");
    }
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => initialized(&parameters),
        "ping" => json!({}),
        "tools/list" => json!({ "tools": tools::all() }),
        "tools/call" => {
            let tool = parameters["name"].as_str().unwrap_or_default();
            let arguments = match tools::arguments(tool, &parameters["arguments"]) {
                Ok(arguments) => arguments,
                Err(why) => return Answer::error(&id, BAD_PARAMETERS, &why),
            };
            let (running, token) = (Arc::clone(running), parameters["_meta"]["progressToken"].clone());
            locked(&running).insert(id.to_string(), ToolCall::starting(tool));
            return Answer::OfTool(Box::new(move || {
                let result = called(&arguments, &id, &token, &running);
                locked(&running).remove(&id.to_string());
                json!({ "jsonrpc": "2.0", "id": id, "result": result })
            }));
        }
        "notifications/cancelled" => {
            if let Some(call) = locked(running).get_mut(&parameters["requestId"].to_string()) {
                call.cancel();
            }
            return Answer::Nothing;
        }
        // Other notifications need no answer.
        _ if id.is_null() => return Answer::Nothing,
        method => return Answer::error(&id, NO_METHOD, &format!("there is no method {method:?}")),
    };
    Answer::Now(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
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
        locked(&running).insert("7".to_owned(), ToolCall::starting("run"));
        handle(&json!({ "method": "notifications/cancelled", "params": { "requestId": 7 } }), &running);
        let mut child = Command::new("sleep").arg("600").spawn().expect("a process");
        locked(&running).get_mut("7").expect("the call").has_started(Pid::from_child(&child));
        assert_eq!(child.wait().expect("its end").signal(), Some(Signal::INT.as_raw()));
    }
}
