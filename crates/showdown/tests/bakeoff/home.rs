//! A directory of its own for each test, and functions that read its runs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The lengths of the phases of a quick plan, for tests that need many operations on a busy machine, too.
pub const QUICK: &str = "1s 200ms";

/// The length of a phase for tests that need few operations. Beside other tests no trial of any length is valid.
pub const SHORT: &str = "200ms";

/// A workload with the servers of `cache` and few keys. Loading the 100,000 of `cache` takes most of a short trial.
pub const FEW_KEYS: &str = "few-keys";
const FEW_KEYS_TOML: &str = include_str!("../few-keys.toml");

/// Says that this machine cannot run a test, as `scripts/checks` expects it.
#[expect(clippy::print_stderr, reason = "a test that did not run must say so")]
pub fn skip(why: &str) {
    eprintln!("SKIPPED: {why}");
}

/// The settings of this machine, which tests share. Each test may be a process of its own, so the lock is a file's.
fn settings_of_machine() -> File {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("settings-of-machine.lock");
    File::options().create(true).append(true).open(path).expect("a lock file")
}

/// For a test that changes a setting of the machine: while it has the file, no test compares settings.
pub fn while_settings_change() -> File {
    let file = settings_of_machine();
    file.lock().expect("a lock");
    file
}

/// For a test that compares the settings of the machine with earlier ones: while it has the file, no test changes them.
pub fn while_settings_stay() -> File {
    let file = settings_of_machine();
    file.lock_shared().expect("a lock");
    file
}

/// The directory of one test: its runs, its plans, its lock.
pub struct TestHome {
    dir: tempfile::TempDir,
}

impl TestHome {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    /// A directory with the workload [`FEW_KEYS`].
    pub fn with_few_keys() -> Self {
        let home = Self::new();
        let folder = home.path("workloads").join(FEW_KEYS);
        fs::create_dir_all(&folder).expect("a directory");
        fs::write(folder.join("workload.toml"), FEW_KEYS_TOML).expect("a workload");
        home
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

    /// Makes a command run in this directory.
    pub fn at_home<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        // A lock of its own, so that tests with different homes can run at the same time.
        let command = command.current_dir(self.dir.path()).stdin(Stdio::null());
        command.env("TMPDIR", self.tmp()).env("SHOWDOWN_LOCK", self.path("lock"))
    }

    /// Servers that root starts change their user, which must be able to enter this directory.
    fn tmp(&self) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let tmp = self.path("tmp");
        fs::create_dir_all(&tmp).expect("a directory");
        for dir in [self.dir.path(), &tmp] {
            fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).expect("permissions");
        }
        tmp
    }

    /// What is in the temporary directory.
    pub fn scratch(&self) -> Vec<PathBuf> {
        fs::read_dir(self.tmp()).expect("a directory").flatten().map(|entry| entry.path()).collect()
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.showdown(args).output().expect("showdown runs")
    }

    /// A plan with three blocks of short closed loops, for these variants and options.
    pub fn small_plan(&self, variants: &[&str]) -> String {
        self.small_plan_of(variants, "throughput")
    }

    /// The same plan with another measure.
    pub fn small_plan_of(&self, variants: &[&str], measure: &str) -> String {
        self.comparison(variants, measure, SHORT)
    }

    /// The same plan with longer phases.
    pub fn longer_plan(&self, variants: &[&str]) -> String {
        self.comparison(variants, "throughput", QUICK)
    }

    fn comparison(&self, variants: &[&str], measure: &str, phase: &str) -> String {
        let options = ["--blocks", "3", "--measure", measure, "--seed", "7"];
        self.plan(&[&["compare"], variants, &options].concat(), phase)
    }

    /// The plan that `showdown plan --quick` prints for these arguments, with phases of this length, a short warm-up, and
    /// no spare blocks: a busy machine makes trials invalid, and the number of trials must not depend on it.
    pub fn plan(&self, args: &[&str], phase: &str) -> String {
        let plan = self.run(&[&["plan"], args, &["--quick"]].concat());
        assert!(plan.status.success(), "{}", text(&plan.stderr));
        let plan = text(&plan.stdout);
        let shorter: Vec<String> = plan.lines().map(|line| shortened(line, phase)).collect();
        fs::write(self.path("plan.toml"), shorter.join("\n") + "\n").expect("a plan");
        self.path("plan.toml").display().to_string()
    }

    /// Processes with this directory in their command line or as their working directory: servers and supervisors.
    pub fn processes(&self) -> Vec<String> {
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

    /// Waits until no process of this directory runs.
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

/// A line of a quick plan as a test has it. It knows the names of the fields and not their values, which change.
fn shortened(line: &str, phase: &str) -> String {
    let Some((name, value)) = line.split_once(" = ") else { return line.to_owned() };
    let is_time = value.starts_with('"');
    match name {
        "spare_blocks" => format!("{name} = 0"),
        "min" | "closed_loop" => format!("{name} = {phase:?}"),
        "load" | "max" if is_time => format!("{name} = {phase:?}"),
        // The study of an explanation: two experiments of a few pairs, and two rounds of a profile.
        "experiments" | "pairs" | "profiled_rounds" => format!("{name} = 2"),
        "profiled_slice" => format!("{name} = \"500ms\""),
        _ => line.to_owned(),
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The one line that a failing command prints.
pub fn error_line(output: &Output) -> String {
    let message = text(&output.stderr);
    let lines: Vec<&str> = message.lines().filter(|line| line.starts_with("showdown: ")).collect();
    assert_eq!(lines.len(), 1, "{message}");
    lines[0].to_owned()
}

pub fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

pub fn only_run(home: &TestHome) -> PathBuf {
    let runs = fs::read_dir(home.path("runs")).expect("runs").flatten().map(|entry| entry.path());
    let runs: Vec<PathBuf> = runs.filter(|path| path.join("plan.toml").is_file()).collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs[0].clone()
}

/// The records of the trials of a run whose load a runner makes, in their order. Not of those that are refused because a busy
/// machine gave the runner its CPU late, which the program takes for a wrong clock: they have no phases.
pub fn records_of_runners(run: &Path) -> Vec<Value> {
    let records = trials(run).into_iter().map(|trial| json(&trial.join("trial.json")));
    records
        .filter(|record| !record["reasons"].to_string().contains("the runner reports that it ran for"))
        .collect()
}

/// The directories of the trials of a run, in their order.
pub fn trials(run: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(run.join("trials")).expect("trials").flatten();
    let mut trials: Vec<PathBuf> = entries.map(|trial| trial.path()).collect();
    trials.sort();
    trials
}

pub fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("the process is there");
}
