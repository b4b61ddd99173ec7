//! The controller's end against agents that do not do what they should: shell scripts in the place of the program.

mod script;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machine::frame::encode;
use machine::protocol::{AgentProgram, CloseProbe, FromAgent, Hello, OpenProbe, PROTOCOL};
use machine::transport::Transport;
use machine::{Connection, MachineError};

const LONG: Duration = Duration::from_mins(1);

/// A frame as the argument of printf(1).
fn frame(message: &FromAgent) -> String {
    octal(&encode(message).expect("a short message"))
}

/// Bytes as printf(1) takes them.
fn octal(bytes: &[u8]) -> String {
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
    let other = Hello { sources: "0123456789ab".to_owned(), ..Hello::of_this_process() };
    let error = refused(&frame(&FromAgent::Hello(other)), "cat > /dev/null");
    let is = format!(
        "host h: its agent is another build of showdown {} (of the sources 0123456789ab; ",
        env!("CARGO_PKG_VERSION")
    );
    assert!(
        error.starts_with(&is) && error.ends_with("pass --program with a build of the same sources"),
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

/// The bytes of a frame with a text of a MiB, as a command of the shell.
fn long_output(channel: u64) -> String {
    let plain = format!(r#"{{"program":{{"channel":{channel},"message":{{"output":""#);
    let (tail, text) = (r#""}}}"#, 1_u32 << 20);
    let length = (plain.len() + tail.len()) as u32 + text;
    let octal = octal(&length.to_le_bytes());
    format!("printf '{octal}%s' '{plain}'; head -c {text} /dev/zero | tr '\\000' x; printf '%s' '{tail}'")
}

#[test]
fn output_without_end_and_a_reply_that_is_too_long_end_in_one_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let interrupted = Arc::default();
    let started = frame(&FromAgent::Reply { id: 2, result: Ok(serde_json::Value::Null) });
    let rest = format!(
        "head -c 1 > /dev/null; printf '{started}'; while {}; do :; done & cat > /dev/null",
        long_output(1)
    );
    let flooding = open(&directory, &frame(&hello()), &rest, &interrupted).expect("an agent");
    let program = AgentProgram::Selftest { options: Vec::new() };
    let (_input, mut output) = flooding.start_program(program, None).expect("it says that it has started");
    // Nobody reads meanwhile.
    std::thread::sleep(Duration::from_secs(1));
    let error =
        std::io::Read::read_to_end(&mut output, &mut Vec::new()).expect_err("it is no agent").to_string();
    assert!(
        error.starts_with("host h was lost: its answers cannot be read (a program's output beyond"),
        "{error}"
    );

    let directory = tempfile::tempdir().expect("a directory");
    let size = (1_u32 << 20) + 100;
    let head = r#"{"reply":{"id":1,"result":{"Ok":""#;
    let octal = octal(&size.to_le_bytes());
    let fill = size as usize - head.len() - 4;
    let reply = format!(
        "head -c 1 > /dev/null; printf '{octal}%s' '{head}'; head -c {fill} /dev/zero | tr '\\000' x; printf '%s' '\"}}}}}}'; cat > /dev/null"
    );
    let long = open(&directory, &frame(&hello()), &reply, &interrupted).expect("an agent");
    let error = long.call(CloseProbe {}, LONG).expect_err("too long").to_string();
    assert!(error.contains("a reply of 1048676 bytes; 1048576 at most are allowed"), "{error}");
}

#[test]
fn a_host_that_takes_nothing_holds_nobody_up() {
    let directory = tempfile::tempdir().expect("a directory");
    let interrupted = Arc::new(AtomicBool::new(false));
    let pong = frame(&FromAgent::Pong);
    let pongs = format!("while printf '{pong}'; do sleep 0.2; done");
    let stuck = open(&directory, &frame(&hello()), &pongs, &interrupted).expect("an agent");
    // More than a pipe holds.
    let long = OpenProbe { address: [127, 0, 0, 1].into(), token: "x".repeat(4 << 20) };
    let error = stuck.call(long, LONG).expect_err("it reads nothing").to_string();
    assert!(error.starts_with("host h was lost: it has read nothing for 10 s"), "{error}");
}
