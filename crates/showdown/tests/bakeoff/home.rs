//! A home for one test of a bake-off, and what is read of what it leaves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How long a phase of a quick plan is: for tests that want a number of operations, however busy the machine.
pub const QUICK: &str = "1s 200ms";

/// And for those that want a few of them.
pub const SHORT: &str = "600ms";

/// A home for one test: its runs, its plans, its lock.
pub struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn showdown(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_showdown"));
        command.args(args);
        self.at_home(&mut command);
        command
    }

    /// Lets a command run here.
    pub fn at_home<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        // The lock of the machine is where temporary files are: tests of different homes may run side by side.
        command.current_dir(self.dir.path()).env("TMPDIR", self.tmp()).stdin(Stdio::null())
    }

    /// Servers of root's drop its rights and must be able to come here.
    fn tmp(&self) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let tmp = self.path("tmp");
        fs::create_dir_all(&tmp).expect("a directory");
        for dir in [self.dir.path(), &tmp] {
            fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).expect("permissions");
        }
        tmp
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.showdown(args).output().expect("showdown runs")
    }

    /// A plan of three blocks of short closed loops, of these variants and options.
    pub fn small_plan(&self, variants: &[&str]) -> String {
        self.small_plan_of(variants, "throughput")
    }

    /// The same of another measure.
    pub fn small_plan_of(&self, variants: &[&str], measure: &str) -> String {
        self.comparison(variants, measure, SHORT)
    }

    /// The same of phases that leave time for a number of operations.
    pub fn longer_plan(&self, variants: &[&str]) -> String {
        self.comparison(variants, "throughput", QUICK)
    }

    fn comparison(&self, variants: &[&str], measure: &str, phase: &str) -> String {
        let options = ["--blocks", "3", "--measure", measure, "--seed", "7"];
        self.plan(&[&["compare"], variants, &options].concat(), phase)
    }

    /// The plan that `showdown plan --quick` prints for these arguments, of phases that are so long and a short warm-up.
    pub fn plan(&self, args: &[&str], phase: &str) -> String {
        let plan = self.run(&[&["plan"], args, &["--quick"]].concat());
        assert!(plan.status.success(), "{}", text(&plan.stderr));
        let shorter = text(&plan.stdout).replace(QUICK, phase).replace("most = \"10s\"", "most = \"1s\"");
        fs::write(self.path("plan.toml"), shorter).expect("a plan");
        self.path("plan.toml").display().to_string()
    }

    /// Processes that have this home in their command line or as their directory: servers and keepers.
    fn processes(&self) -> Vec<String> {
        let here = self.dir.path().display().to_string();
        fs::read_dir("/proc")
            .expect("proc")
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
            .filter_map(|entry| {
                let line = fs::read(entry.path().join("cmdline")).ok()?;
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                let cwd = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
                let is_ours = line.contains(&here) || cwd.starts_with(&here);
                is_ours.then(|| format!("{} {line}", entry.file_name().to_string_lossy()))
            })
            .collect()
    }

    /// Polls until nothing of the home is left running.
    pub fn assert_nothing_runs(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "left running: {left:#?}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The one line in which a command says what went wrong.
pub fn complaint(output: &Output) -> String {
    let said = text(&output.stderr);
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("showdown: ")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    lines[0].to_owned()
}

pub fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

pub fn only_run(home: &Home) -> PathBuf {
    let runs = fs::read_dir(home.path("runs")).expect("runs").flatten().map(|entry| entry.path());
    let runs: Vec<PathBuf> = runs.filter(|path| path.join("plan.toml").is_file()).collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs[0].clone()
}

/// The directories of a run's trials, in their order.
pub fn trials(run: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(run.join("trials")).expect("trials").flatten();
    let mut trials: Vec<PathBuf> = entries.map(|trial| trial.path()).collect();
    trials.sort();
    trials
}

pub fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("the process is there");
}
