//! The controller's end against agents that do not do what they should: shell scripts in the place of the program.

mod script;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machine::frame::encode;
use machine::protocol::{CloseProbe, FromAgent, Hello, PROTOCOL};
use machine::transport::Transport;
use machine::{Connection, MachineError};

const LONG: Duration = Duration::from_mins(1);

/// A frame as the argument of printf(1).
fn frame(message: &FromAgent) -> String {
    let bytes = encode(message).expect("a short message");
    bytes.iter().map(|byte| format!("\\{byte:03o}")).collect::<Vec<_>>().concat()
}

fn hello() -> FromAgent {
    FromAgent::Hello(Hello::of_this_process())
}

/// Opens a connection to an agent that writes its marker, these bytes for printf(1), and then runs `rest`.
fn open(
    directory: &tempfile::TempDir,
    bytes: &str,
    rest: &str,
    interrupted: &Arc<AtomicBool>,
) -> Result<Connection, MachineError> {
    let program = directory.path().join("agent");
    let text = format!("#!/bin/sh\necho noise; printf '\\nshowdown-%s agent\\n{bytes}' \"$4\"\n{rest}\n");
    script::write(&program, &text);
    Connection::open("h", &Transport::Local { program }, interrupted, &|_| ())
}

fn refused(bytes: &str, rest: &str) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    open(&directory, bytes, rest, &Arc::default()).expect_err("no agent").to_string()
}

#[test]
fn an_agent_of_another_version_or_none_is_one_line() {
    let other = Hello { protocol: PROTOCOL + 1, version: "0.0.1".to_owned(), ..Hello::of_this_process() };
    let error = refused(&frame(&FromAgent::Hello(other)), "cat > /dev/null");
    let is = format!("host h: its agent is showdown 0.0.1, protocol {}; this is ", PROTOCOL + 1);
    assert!(
        error.starts_with(&is) && error.ends_with("pass --program with a build of this version"),
        "{error}"
    );
    let error = refused("\\377\\377\\377\\377", "cat > /dev/null");
    assert!(error.contains("its answers cannot be read (a frame of 4294967295 bytes"), "{error}");
    let error = refused("", "echo out of memory >&2; exit 1");
    assert_eq!(error, "host h: its agent ended at its start (out of memory): start again");
}

#[test]
fn a_call_ends_with_the_agent_with_an_odd_answer_and_with_an_interruption() {
    let directory = tempfile::tempdir().expect("a directory");
    let interrupted = Arc::default();
    let ended = open(&directory, &frame(&hello()), "head -c 1 > /dev/null; echo broken >&2", &interrupted);
    let ended = ended.expect("an agent");
    let lost = ended.call(CloseProbe {}, LONG).expect_err("it ends").to_string();
    assert_eq!(lost, "host h was lost: broken: start again");
    assert!(matches!(ended.call(CloseProbe {}, LONG), Err(MachineError::Lost { .. })), "also later");

    let odd = FromAgent::Reply { id: 1, result: Ok(serde_json::json!("text")) };
    let answers = format!("head -c 1 > /dev/null; printf '{}'; cat > /dev/null", frame(&odd));
    let odd = open(&directory, &frame(&hello()), &answers, &interrupted).expect("an agent");
    let error = odd.call(CloseProbe {}, LONG).expect_err("a text is no unit").to_string();
    assert!(error.starts_with("host h sent an answer that is not of this version ("), "{error}");

    let silent = open(&directory, &frame(&hello()), "cat > /dev/null", &interrupted).expect("an agent");
    assert!(matches!(silent.call(CloseProbe {}, Duration::ZERO), Err(MachineError::Slow { .. })));
    interrupted.store(true, Ordering::Relaxed);
    assert!(matches!(silent.call(CloseProbe {}, LONG), Err(MachineError::Interrupted)));
}
