//! The script that starts an agent on a host, and the lines that it prints: pure text.

use std::path::{Path, PathBuf};

use crate::program::{Program, Programs};

/// The script; its first lines are comments.
const SCRIPT: &str = include_str!("bootstrap.sh");

/// What the login shell of a host is asked to run. `nonce` marks the script's lines and the agent's; `become_root` has the words
/// before the agent's command.
pub(super) fn command(nonce: &str, programs: &Programs, become_root: &[String]) -> String {
    let arm = |(architecture, program): (&str, &Program)| {
        format!("{architecture}) h={}; n={};;", program.sha256, program.bytes.len())
    };
    let arms: Vec<String> = programs.iter().map(arm).collect();
    let lines = SCRIPT.lines().filter(|line| !line.starts_with('#'));
    let script = lines.collect::<Vec<_>>().join(" ");
    let script = script.replace("@NONCE@", nonce).replace("@PROGRAMS@", &arms.join(" "));
    let script = script.replace("@BECOME@", &become_root.join(" "));
    format!("exec /bin/sh -c '{script}'")
}

/// Where the script keeps the programs that other machines send to this user; none if the user has no home directory.
pub fn copied_programs() -> Option<PathBuf> {
    if let Some(cache) = absolute("XDG_CACHE_HOME") {
        return Some(in_cache(&cache));
    }
    Some(in_cache(&absolute("HOME")?.join(CACHE)))
}

/// The absolute path that a variable names.
fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Below a home directory.
const CACHE: &str = ".cache";

fn in_cache(cache: &Path) -> PathBuf {
    cache.join("showdown/programs")
}

/// A line of the script, without its marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BootstrapLine {
    /// The host's system and architecture, as uname(1) prints them.
    Host { system: String, architecture: String },
    /// It expects the bytes of the program, and has this much room.
    Want { free_kib: Option<u64> },
    /// It starts the program.
    Run,
    /// The agent runs: frames follow.
    Agent,
    /// It has given up.
    Failed { step: BootstrapStep, why: String },
    /// No line of the script's.
    Unknown,
}

/// What the script could not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BootstrapStep {
    /// Find a home directory.
    Home,
    /// Make a directory for the program.
    Directory,
    /// Write the program.
    Write,
    /// Get what was sent.
    Sum,
    /// Run the program.
    Run,
    /// Run it with root's rights.
    Become,
}

impl BootstrapLine {
    pub fn parse(line: &str) -> Self {
        let mut words = line.split_whitespace();
        let mut word = || words.next().unwrap_or_default().to_owned();
        match word().as_str() {
            "host" => Self::Host { system: word(), architecture: word() },
            "want" => Self::Want { free_kib: word().parse().ok() },
            "run" => Self::Run,
            "agent" => Self::Agent,
            "failed" => {
                let step = match word().as_str() {
                    "home" => BootstrapStep::Home,
                    "directory" => BootstrapStep::Directory,
                    "write" => BootstrapStep::Write,
                    "sum" => BootstrapStep::Sum,
                    "run" => BootstrapStep::Run,
                    "become" => BootstrapStep::Become,
                    _ => return Self::Unknown,
                };
                let why = line.trim().splitn(3, ' ').nth(2).unwrap_or_default().trim();
                Self::Failed { step, why: why.to_owned() }
            }
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    const ARCHITECTURE: &str = std::env::consts::ARCH;

    /// Something that runs as a program does: it prints its arguments.
    fn programs(text: &str) -> Programs {
        Programs::of([(ARCHITECTURE.to_owned(), Program::of(text.as_bytes().to_vec()))])
    }

    fn installed(shell: &str) -> bool {
        Command::new(shell).args(["-c", "exit 0"]).stdin(Stdio::null()).status().is_ok_and(|s| s.success())
    }

    /// What the login shell prints that runs the script with this standard input.
    fn run(shell: &str, programs: &Programs, home: &Path, input: &[u8]) -> Vec<String> {
        run_as(shell, programs, "", home, input)
    }

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn run_as(shell: &str, programs: &Programs, become_root: &str, home: &Path, input: &[u8]) -> Vec<String> {
        let mut child = Command::new(shell)
            .args(["-c", &command("n0", programs, &words(become_root))])
            .env("HOME", home)
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the shell runs");
        // It may end before it has read all.
        let _ = child.stdin.take().expect("a pipe").write_all(input);
        let output = child.wait_with_output().expect("it ends");
        String::from_utf8_lossy(&output.stdout).lines().filter(|l| !l.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn any_login_shell_can_pass_the_script_on() {
        let text = command("n0", &programs("x"), &words("sudo -n"));
        let script = text.strip_prefix("exec /bin/sh -c '").and_then(|text| text.strip_suffix('\''));
        let script = script.expect("the form of the command");
        assert!(!script.contains(['\'', '!', '\\', '\n']), "{script}");
        assert!(!script.contains("showdown-n0"), "an echo of the command must not look like its answer");
    }

    #[test]
    fn the_program_is_sent_once_and_then_started_from_the_cache() -> std::io::Result<()> {
        let text = "#!/bin/sh\necho started \"$@\"\n";
        let programs = programs(text);
        for shell in ["sh", "dash", "bash", "zsh", "fish", "csh", "tcsh"].into_iter().filter(|s| installed(s))
        {
            let home = tempfile::tempdir()?;
            let lines = run(shell, &programs, home.path(), text.as_bytes());
            let [host, want, run_line, started] = &lines[..] else { panic!("{shell}: {lines:?}") };
            assert_eq!(*host, format!("showdown-n0 host Linux {ARCHITECTURE}"), "{shell}");
            let parsed = BootstrapLine::parse(want.strip_prefix("showdown-n0 ").expect("the marker"));
            assert!(matches!(parsed, BootstrapLine::Want { free_kib: Some(1..) }), "{shell}: {want}");
            assert_eq!(
                (run_line.as_str(), started.as_str()),
                ("showdown-n0 run", "started agent --stdio --marker n0")
            );
            let again = run(shell, &programs, home.path(), b"");
            assert_eq!(again.iter().collect::<Vec<_>>(), [host, run_line, started], "{shell}");
            let folder = in_cache(&home.path().join(CACHE));
            let mut kept: Vec<_> = walk(&folder)
                .iter()
                .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
                .collect();
            kept.sort();
            assert_eq!(kept, ["checked", "showdown"], "no temporary file stays");
        }
        Ok(())
    }

    #[test]
    fn a_program_is_tried_once_and_one_that_was_changed_is_sent_again() -> std::io::Result<()> {
        let text = "#!/bin/sh\necho \"$1\" >> \"$HOME/starts\"\n";
        let (programs, home) = (programs(text), tempfile::tempdir()?);
        for _ in 0..2 {
            run("sh", &programs, home.path(), text.as_bytes());
        }
        let starts = std::fs::read_to_string(home.path().join("starts"))?;
        assert_eq!(starts.lines().collect::<Vec<_>>(), ["--version", "agent", "agent"]);
        let program = walk(home.path()).into_iter().find(|path| path.ends_with("showdown"));
        let program = program.expect("the program");
        std::fs::write(&program, text.to_uppercase())?;
        let lines = run("sh", &programs, home.path(), text.as_bytes());
        assert!(lines[1].starts_with("showdown-n0 want "), "{lines:?}");
        assert_eq!(std::fs::read_to_string(&program)?, text);
        Ok(())
    }

    #[test]
    fn the_agent_is_started_by_the_command_that_gives_rights() -> std::io::Result<()> {
        let text = "#!/bin/sh\necho as ${RIGHTS-none} \"$@\"\n";
        let (programs, home) = (programs(text), tempfile::tempdir()?);
        let started = run_as("sh", &programs, "env RIGHTS=root", home.path(), text.as_bytes());
        assert_eq!(started.last().map(String::as_str), Some("as root agent --stdio --marker n0"));
        let refused = run_as("sh", &programs, "false", home.path(), b"");
        assert_eq!(refused.last().map(String::as_str), Some("showdown-n0 failed become "));
        Ok(())
    }

    fn walk(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
        entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn what_goes_wrong_is_one_line() -> std::io::Result<()> {
        let text = "#!/bin/sh\necho no >&2; exit 1\n";
        let programs = programs(text);
        let home = tempfile::tempdir()?;
        let last = |input: &[u8]| {
            let lines = run("sh", &programs, home.path(), input);
            let last =
                lines.last().expect("a line").strip_prefix("showdown-n0 ").expect("the marker").to_owned();
            BootstrapLine::parse(&last)
        };
        let failed = |step, why: &str| BootstrapLine::Failed { step, why: why.to_owned() };
        assert_eq!(last(b"too short"), failed(BootstrapStep::Sum, ""));
        let wrong: Vec<u8> = text.bytes().rev().collect();
        assert_eq!(last(&wrong), failed(BootstrapStep::Sum, ""));
        assert_eq!(last(text.as_bytes()), failed(BootstrapStep::Run, "no"));
        std::fs::remove_dir_all(home.path().join(".cache"))?;
        std::fs::write(home.path().join(".cache"), "a file")?;
        let BootstrapLine::Failed { step: BootstrapStep::Directory, why } = last(b"") else {
            panic!("a file is no directory")
        };
        assert!(why.contains("Not a directory") || why.contains("File exists"), "{why}");
        let no_home = run("sh", &programs, Path::new(""), b"");
        assert_eq!(no_home[1], "showdown-n0 failed home");
        let other =
            Programs::of([("pdp11".to_owned(), programs.get(ARCHITECTURE).expect("a program").clone())]);
        assert_eq!(run("sh", &other, home.path(), b"").len(), 1, "the host's line only");
        Ok(())
    }
}
