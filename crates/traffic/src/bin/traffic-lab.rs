//! The processes of this crate's tests: the supervisor of their servers, the process of a lease, and a run that is killed. (`showdown` is
//! itself each of them.)

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use traffic::lease::{Probe, lease_main};
use traffic::live::{Joining, LiveBalancer, LiveSettings};
use traffic::observation::Action;

fn main() -> ExitCode {
    let special = lease_main(std::env::args_os()).or_else(|| host::supervisor_main(std::env::args_os()));
    special.unwrap_or_else(|| match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("failed: {error}"));
            ExitCode::FAILURE
        }
    })
}

/// A run with the servers `cand` and `control` at weight 64 each, until its standard input ends: `SOCKET BACKEND DIRECTORY CANDIDATE CONTROL`.
/// It tries to raise the candidate's weight again and again, as a run does that knows nothing of its loss.
fn run() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [socket, backend, directory, candidate, control] = arguments.as_slice() else {
        return Err("wrong arguments".into());
    };
    let mut live = LiveBalancer::open(LiveSettings {
        socket: socket.into(),
        backend: backend.parse()?,
        log: "127.0.0.1:0".parse()?,
        directory: directory.into(),
        mail: None,
        configuration: None,
        program: std::env::current_exe()?,
        // A busy machine stands still for a second or two.
        lease_valid: Duration::from_secs(4),
    })?;
    let mut joining = Vec::new();
    for (name, address) in [("cand", candidate), ("control", control)] {
        joining.push(Joining {
            name: name.parse()?,
            address: address.parse()?,
            probe: Probe::Connect,
            sends_proxy_header: false,
            most_connections: None,
        });
    }
    live.join(&joining)?;
    for server in ["cand", "control"] {
        live.apply(&Action::SetWeight { server: server.parse()?, weight: 64 })?;
    }
    say(&format!("lease {}", live.lease_pid().unwrap_or_default()));
    let has_ended = std::thread::spawn(|| drop(io::stdin().read_to_end(&mut Vec::new())));
    let mut weight = 64;
    let mut observed = Instant::now();
    while !has_ended.is_finished() {
        live.renew();
        std::thread::sleep(Duration::from_millis(100));
        weight = (weight + 1).min(200);
        let _ = live.apply(&Action::SetWeight { server: "cand".parse()?, weight });
        if observed.elapsed() > Duration::from_secs(1) {
            observed = Instant::now();
            for alarm in live.observe().alarms {
                say(&format!("alarm {alarm}"));
            }
        }
    }
    live.apply(&Action::Done)?;
    say("done");
    Ok(())
}

fn say(line: &str) {
    let mut output = io::stdout().lock();
    // Whoever reads it may be gone.
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}
