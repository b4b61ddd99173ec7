//! A kernel setting that cannot be restored at the end of a run, from end to end. The setting is a file that is mounted
//! over the real one in a name space of this test, and the journal is in memory, so the machine keeps its settings.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::geteuid;

use crate::home::{FEW_KEYS, TestHome, skip, text};

const SETTING: &str = "net.ipv4.tcp_autocorking";
const FILE: &str = "/proc/sys/net/ipv4/tcp_autocorking";

/// Runs a plan that sets the setting, then twice one that sets none. The setting can be written again before the last run.
fn script(home: &TestHome) -> String {
    let showdown = env!("CARGO_BIN_EXE_showdown");
    let here = home.path("").display().to_string();
    format!(
        "set -e; cd {here}; echo 7 > setting; mount --bind setting {FILE}; \
         mkdir -p /run/showdown; mount -t tmpfs -o mode=755 journal /run/showdown; touch ready; set +e; \
         {showdown} run setting.toml --progress json > first 2> first.events; echo $? > first.code; \
         cat /run/showdown/knobs.journal > first.journal; \
         {showdown} run plain.toml --progress none > second 2>&1; echo $? > second.code; \
         mount -o remount,bind,rw {FILE}; \
         {showdown} run plain.toml --progress none > third 2>&1; echo $? > third.code; \
         cat /run/showdown/knobs.journal > third.journal; cat {FILE} > third.value"
    )
}

/// Waits until it is so; `log` is for the message where it never is.
fn wait(child: &mut Child, what: &str, log: impl Fn() -> String, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(5);
    while !is_so() {
        let goes_on = Instant::now() < deadline && child.try_wait().expect("a process").is_none();
        assert!(goes_on, "{what}: {}", log());
        thread::sleep(Duration::from_millis(10));
    }
}

/// Makes the setting read-only for the processes of the name space.
fn make_read_only(child: &Child) {
    let target = child.id().to_string();
    let remounted = Command::new("nsenter")
        .args(["--target", &target, "--mount", "mount", "-o", "remount,bind,ro", FILE])
        .status();
    assert!(remounted.expect("nsenter runs").success());
}

#[test]
fn a_setting_that_cannot_be_restored_is_named_and_kept_in_the_journal() {
    if !geteuid().is_root() {
        return skip("only root may mount a file over a kernel setting");
    }
    let home = TestHome::with_few_keys();
    // Every trial has the setting, and no spare block comes after the last one.
    let variants =
        ["memcached:threads=1", "memcached:threads=2"].map(|variant| format!("{variant},{SETTING}=3"));
    let plans = [
        ("setting.toml", &variants[0], &variants[1]),
        ("plain.toml", &"memcached".into(), &"memcached".into()),
    ];
    for (name, a, b) in plans {
        let plan = home.small_plan(&[a, b, "--workload", FEW_KEYS, "--spare-blocks", "0"]);
        fs::rename(plan, home.path(name)).expect("a plan");
    }
    let mut command = Command::new("unshare");
    home.at_home(command.args(["--mount", "sh", "-c", &script(&home)]));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("unshare runs");
    let read = |name: &str| fs::read_to_string(home.path(name)).unwrap_or_default();
    let deadline = Instant::now() + Duration::from_mins(1);
    while !home.path("ready").exists() {
        if child.try_wait().expect("a process").is_some() || Instant::now() > deadline {
            return skip("this container forbids mounts");
        }
        thread::sleep(Duration::from_millis(10));
    }
    wait(
        &mut child,
        "the server of the last trial does not start",
        || read("first.events"),
        || {
            let events = read("first.events");
            let last =
                events.lines().skip_while(|line| !line.contains(r#""event":"trial_begins","number":6"#));
            last.skip(1).any(|line| line.contains(r#""event":"doing""#))
        },
    );
    make_read_only(&child);
    let output = child.wait_with_output().expect("it ends");

    let problem = format!("kernel setting {SETTING} is not restored to 7: ");
    let first = read("first.events");
    assert_eq!(read("first.code"), "1\n", "{first} {}", text(&output.stderr));
    let line = first.lines().last().unwrap_or_default();
    assert!(
        line.starts_with(&format!("showdown: {problem}")) && line.contains("the run is kept in"),
        "{line}"
    );
    assert!(first.contains(r#""event":"kernel_setting_not_restored""#), "{first}");
    assert!(read("first").contains("report"), "the answer is printed: {}", read("first"));
    assert!(read("first.journal").contains(SETTING), "{}", read("first.journal"));

    let second = read("second");
    assert!(["0\n", "3\n"].contains(&read("second.code").as_str()), "{second}");
    assert!(second.contains(&format!("note: {problem}")), "{second}");

    let third = read("third");
    assert!(["0\n", "3\n"].contains(&read("third.code").as_str()), "{third}");
    assert!(!third.contains("not restored"), "{third}");
    assert_eq!(read("third.value").trim(), "7", "it is restored now");
    assert!(!read("third.journal").contains("changing"), "{}", read("third.journal"));
    home.assert_nothing_runs();
}
