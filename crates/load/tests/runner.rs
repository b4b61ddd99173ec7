//! Runs of the engine with a runner: the results of a correct one, and the errors of incorrect ones. The runners are shell
//! scripts of a few lines; the protocol needs no more.

use std::fs::{File, OpenOptions};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use load::drivers::ProtocolSpec;
use load::engine::{self, LoadOutcome, RunContext};
use load::record::ErrorKind;
use load::runner::{RunnerSession, RunnerSpec};
use load::spec::{Arrivals, LoadSpec, Shape};
use load::summary::Summary;
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// A shell script at the other end of two pipes.
struct Script {
    child: Child,
    spec: RunnerSpec,
    _ends: [File; 2],
    _dir: tempfile::TempDir,
}

impl Script {
    /// Starts it, and waits until it reports that it is ready; the error is why it does not.
    fn start(script: &str) -> Result<Self, String> {
        let dir = tempfile::tempdir().expect("a directory");
        let (stdin, stdout) = (dir.path().join("in"), dir.path().join("out"));
        for path in [&stdin, &stdout] {
            mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        }
        let open_both = |path| OpenOptions::new().read(true).write(true).open(path).expect("a pipe");
        let (to, both) = (open_both(&stdin), open_both(&stdout));
        // Opened only for reading, so that the end of the script is an end of file.
        let from = File::open(&stdout).expect("a pipe");
        let child = Command::new("sh")
            .args(["-c", script])
            .stdin(File::open(&stdin).expect("a pipe"))
            .stdout(OpenOptions::new().write(true).open(&stdout).expect("a pipe"))
            .stderr(Stdio::null())
            .spawn()
            .expect("there is a shell");
        let mix = vec![("read".to_owned(), 9.0), ("update".to_owned(), 1.0)];
        let spec = RunnerSpec { stdin, stdout, mix };
        let script = Self { child, spec, _ends: [to, from], _dir: dir };
        let mut session = RunnerSession::open(&script.spec).map_err(|e| e.to_string())?;
        // Not before: if the script had ended by then, its end would be lost.
        drop(both);
        while !session.is_ready().map_err(|e| e.to_string())? {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(script)
    }

    fn load_spec(&self) -> LoadSpec {
        let address = ([127, 0, 0, 1], 0).into();
        LoadSpec::closed(ProtocolSpec::Runner(self.spec.clone()), address, 1)
            .with_duration(Duration::from_millis(400))
            .with_timeout(Duration::from_secs(5))
            .with_interval(Duration::from_millis(100))
            .with_seed(42)
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(spec: &LoadSpec) -> Result<LoadOutcome, String> {
    engine::run(spec, &RunContext::default(), &mut |_| {}).map_err(|e| e.to_string())
}

/// Prints intervals after each start and the rest after each stop, and continues until its input ends.
const CORRECT: &str = r#"
    echo '{"runner": 1}'
    while read word interval_ms seed mix; do
        if [ "$word" = start ]; then
            [ "$interval_ms $seed $mix" = "100 42 read=9 update=1" ] || exit 1
            echo '{"interval": 0, "operations": {"read": {"values_us": [[100, 8], [200, 1]]}}}'
            echo '{"interval": 1}'
            echo '{"interval": 2, "operations": {"update": {"values_us": [[900, 1]], "errors": {"locked": 2}}}}'
        else
            echo '{"stopped": 0.4, "operations": {"read": {"values_us": [[5000, 1]]}}}'
        fi
    done"#;

#[test]
fn the_intervals_of_a_runner_are_collected_like_those_of_any_other_load()
-> Result<(), Box<dyn std::error::Error>> {
    let script = Script::start(CORRECT)?;
    for _ in 0..2 {
        let outcome = run(&script.load_spec())?;
        let summary = Summary::of(&outcome);
        assert_eq!(outcome.measured, Duration::from_millis(400));
        assert_eq!((summary.requests, summary.failed), (11, 2));
        assert_eq!(summary.errors[&ErrorKind::Reported], 2);
        assert_eq!(summary.error_examples[&ErrorKind::Reported], "locked");
        let (name, read) = &summary.operations[0];
        assert_eq!((name.as_str(), read.requests, read.response_time_us.p50), ("read", 10, 100));
        // Operations that ended after the stop are not throughput.
        assert!((summary.throughput_per_s - 10.0 / 0.4).abs() < 1e-6, "{}", summary.throughput_per_s);
        assert_eq!(outcome.intervals.len(), 4);
    }
    Ok(())
}

#[test]
fn a_load_that_a_runner_cannot_make_is_refused() -> Result<(), String> {
    let script = Script::start(CORRECT)?;
    let refused = |spec: LoadSpec| run(&spec).expect_err("a refusal");
    assert!(refused(script.load_spec().with_workers(2).with_connections(2)).contains("on one worker"));
    let open = Shape::open(100.0, Arrivals::Poisson);
    assert!(refused(script.load_spec().with_shape(open)).contains("throughput instead of a rate"));
    Ok(())
}

#[test]
fn a_runner_that_never_gets_ready_is_an_error_with_the_reason() {
    let refused = |script: &str| Script::start(script).err().expect("an error");
    assert!(refused("exit 3").contains("ended too early"));
    assert!(refused("echo hello").contains(r#"printed "hello", which is not of the protocol"#));
    assert!(refused(r#"echo '{"runner": 7}'"#).contains("uses version 7"));
    assert!(refused(r#"echo '{"interval": 0}'"#).contains("printed something before it was started"));
}

#[test]
fn a_silent_runner_is_an_error() -> Result<(), String> {
    let script = Script::start(r#"echo '{"runner": 1}'; read start; sleep 60"#)?;
    let spec = script.load_spec().with_timeout(Duration::from_millis(300));
    let error = run(&spec).expect_err("an error");
    assert!(error.contains("printed nothing for 300ms") && !error.contains('\n'), "{error}");
    Ok(())
}

#[test]
fn every_breach_of_the_protocol_is_an_error() -> Result<(), String> {
    let breaches = [
        ("exit 0", "ended too early"),
        (r#"echo '{"interval": 3}'; echo '{"interval": 3}'"#, "printed interval 3 after interval 3"),
        (r#"echo '{"runner": 1}'"#, "printed that it is ready while it ran"),
        (r#"echo '{"stopped": 1}'"#, "printed that it has stopped before the stop line"),
        (
            r#"echo '{"interval": 0}'; sleep 0.2; echo '{"interval": 1}'; read stop; echo '{"stopped": 9.5}'"#,
            "reports that it ran for 9.500 s, but by the clock of showdown it was 0.",
        ),
        (
            r#"i=0; while :; do echo "{\"interval\": $i}"; i=$((i + 1)); sleep 0.05; done"#,
            "did not answer the stop line within",
        ),
        ("echo Segmentation fault", r#"printed "Segmentation fault""#),
        (
            r#"echo '{"interval": 0, "operations": {"read": {"histogram": "HISTFAAAAA=="}}}'"#,
            "is not an HdrHistogram",
        ),
        (r"head -c 17000000 /dev/zero | tr '\0' x; sleep 60", "a line of more than 16777216 bytes"),
    ];
    for (after_start, why) in breaches {
        let script = Script::start(&format!(r#"echo '{{"runner": 1}}'; read start; {after_start}"#))?;
        let error = run(&script.load_spec()).expect_err(after_start);
        assert!(error.contains(why) && !error.contains('\n'), "{after_start}: {error}");
    }
    Ok(())
}
