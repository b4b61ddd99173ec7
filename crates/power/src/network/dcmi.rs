//! IPMI DCMI's power reading, through `ipmitool`: the machine's own BMC, or one on the network.

use std::io::{ErrorKind, Read};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use stats::quantity::Watts;

use crate::boundary::Boundary;
use crate::error::{PowerError, excerpt};
use crate::secret::Login;
use crate::source::{PowerReading, PowerSource, SourceAbout};

/// A BMC on the network needs a session for each reading: up to a second or two, and 4 s where it does not list its ciphers.
const TIMEOUT: Duration = Duration::from_secs(10);

const PROGRAM: &str = "ipmitool";

/// A BMC.
#[derive(Debug)]
pub(crate) struct Dcmi {
    about: SourceAbout,
    /// Host, port and login; none for the machine's own.
    remote: Option<(String, u16, Login)>,
}

impl Dcmi {
    /// The machine's own BMC. DCMI does not say on which side of the power supply it measures.
    pub(crate) fn local() -> Self {
        let about = SourceAbout {
            name: "bmc".to_owned(),
            kind: "ipmi-dcmi",
            origin: "the BMC of this machine".to_owned(),
            boundary: Boundary::Unknown,
            uncertainty_percent: None,
        };
        Self { about, remote: None }
    }

    /// One on the network.
    pub(crate) fn remote(about: SourceAbout, host: String, port: u16, login: Login) -> Self {
        Self { about, remote: Some((host, port, login)) }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        command.env("LC_ALL", "C");
        if let Some((host, port, login)) = &self.remote {
            // -N and -R: a second for each of three tries. -E: the password is in the environment, which other users do not see.
            command.args([
                "-I",
                "lanplus",
                "-N",
                "1",
                "-R",
                "2",
                "-H",
                host,
                "-p",
                &port.to_string(),
                "-U",
                &login.user,
                "-E",
            ]);
            command.env("IPMI_PASSWORD", login.password.expose());
        }
        command.args(["dcmi", "power", "reading"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

fn failed(why: impl Into<String>) -> PowerError {
    PowerError::Program { program: PROGRAM, why: why.into() }
}

impl PowerSource for Dcmi {
    fn about(&self) -> &SourceAbout {
        &self.about
    }

    fn read(&mut self) -> Result<PowerReading, PowerError> {
        let mut child = self.command().spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => failed("it is not installed: sudo apt install ipmitool"),
            _ => failed(error.to_string()),
        })?;
        let stdout = collect(child.stdout.take());
        let stderr = collect(child.stderr.take());
        let is_done = wait(&mut child);
        if !is_done {
            // It is killed, so its pipes close and the readers end.
            let _ = child.kill();
            let _ = child.wait();
        }
        let text = |reader: thread::JoinHandle<String>| reader.join().unwrap_or_default();
        let (stdout, stderr) = (text(stdout), text(stderr));
        if !is_done {
            let why = format!("nothing within {} s", TIMEOUT.as_secs());
            return Err(PowerError::NoAnswer { address: self.about.origin.clone(), why });
        }
        match watts(&stdout) {
            Ok(watts) => Ok(PowerReading::Power(Watts::new(watts))),
            // The last line has the end of it; lines before may be of tries that do not matter.
            Err(why) => Err(match stderr.lines().rfind(|line| !line.trim().is_empty()) {
                Some(line) => {
                    failed(format!("{}: check that you are root, or the host and its login", excerpt(line)))
                }
                None => PowerError::Unmeasured { address: self.about.origin.clone(), why: why.to_owned() },
            }),
        }
    }
}

/// Waits for the end of the program; whether it came in time.
fn wait(child: &mut Child) -> bool {
    let deadline = Instant::now() + TIMEOUT;
    while Instant::now() < deadline {
        match child.try_wait() {
            Ok(None) => thread::sleep(Duration::from_millis(20)),
            Ok(Some(_)) => return true,
            Err(_) => return false,
        }
    }
    false
}

/// Reads the beginning of a pipe on a thread of its own.
fn collect(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            let _ = pipe.take(64 * 1024).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The present power in what `ipmitool dcmi power reading` prints.
fn watts(text: &str) -> Result<f64, &'static str> {
    const NO_DCMI: &str = "it has no power reading by DCMI: try Redfish";
    let value = |name: &str| {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.trim() == name)
            .map(|(_, v)| v.trim())
    };
    if value("Power reading state is").is_some_and(|state| state != "activated") {
        return Err("its power measurement is off: activate it in the BMC");
    }
    let (number, unit) =
        value("Instantaneous power reading").and_then(|v| v.split_once(' ')).ok_or(NO_DCMI)?;
    if unit.trim() != "Watts" {
        return Err("its reading is not in Watts: it is not used");
    }
    number.parse().map_err(|_| NO_DCMI)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\n    Instantaneous power reading:                   220 Watts\n    \
        Minimum during sampling period:                 10 Watts\n    \
        Average power reading over sample period:      216 Watts\n    \
        IPMI timestamp:                           Thu Jan  1 00:00:00 2026\n    \
        Sampling period:                          00000001 Seconds.\n    \
        Power reading state is:                   activated\n\n\n";

    #[test]
    fn the_present_power_is_read_and_nothing_else() {
        assert_eq!(watts(PRINTED), Ok(220.0));
        assert!(watts(&PRINTED.replace("  activated", "  deactivated")).unwrap_err().contains("activate it"));
        assert!(watts(&PRINTED.replace("220 Watts", "220 BTU")).unwrap_err().contains("not in Watts"));
        assert!(
            watts("DCMI request failed because: Invalid command (c1)\n").unwrap_err().contains("try Redfish")
        );
        assert!(watts("").is_err());
    }

    #[test]
    fn a_password_is_not_on_the_command_line() {
        let about = Dcmi::local().about().clone();
        let login = Login { user: "operator".to_owned(), password: crate::secret::Secret::new("hunter2") };
        let command = Dcmi::remote(about, "10.0.0.9".to_owned(), 623, login).command();
        assert!(command.get_args().all(|argument| argument != "hunter2"));
        assert!(command.get_envs().any(|(name, _)| name == "IPMI_PASSWORD"));
    }
}
