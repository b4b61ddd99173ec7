//! Plans and workloads of somebody else, from end to end: no value is evaluated, other users' folders are refused, and a
//! plan that came from elsewhere needs consent. Nothing here is run: each command ends before the first trial.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Output, Stdio};

use rustix::process::geteuid;

use crate::home::{TestHome, error_line, only_run, text};

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it belongs to this user");
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    error_line(output)
}

/// A plan of a comparison with a value of a knob replaced, as somebody could have written it.
fn plan_with(home: &TestHome, variants: &[&str], from: &str, to: &str) -> String {
    let plan = home.small_plan(variants);
    let written = fs::read_to_string(&plan).expect("a plan");
    assert!(written.contains(from), "{from}: {written}");
    fs::write(&plan, written.replace(from, to)).expect("a plan");
    plan
}

#[test]
fn a_text_that_could_be_evaluated_is_refused_in_a_plan() {
    let home = TestHome::new();
    let directory = home.path("tmp").display().to_string();
    for evil in [
        "$(shell touch executed)",
        "/tmp/`touch executed`",
        "/tmp/a\\nb",
        "/tmp;touch executed",
        "--sync=data",
    ] {
        let knob = format!("\"{directory}\"");
        let variant = format!("disk:directory={directory}");
        let plan = plan_with(&home, &[&variant, "disk"], &knob, &format!("\"{evil}\""));
        let why = refused(&home.run(&["run", &plan]));
        assert!(why.contains("is not the absolute path of a directory"), "{why}");
    }
    for (compiler, reason) in [
        ("rm", "is not the name or absolute path of a program"),
        ("/usr/bin/rm", "is not the name or absolute path of a program"),
        ("g++ -wrapper touch", "is not the name or absolute path of a program"),
        ("/nowhere/g++", "is not a file that exists"),
    ] {
        let plan = plan_with(
            &home,
            &["googletest:compiler=g++", "googletest"],
            "compiler = \"g++\"",
            &format!("compiler = \"{compiler}\""),
        );
        let why = refused(&home.run(&["run", &plan]));
        assert!(why.contains(reason), "{why}");
    }
    let library = home.path("librocksdb.so");
    fs::write(&library, "").expect("a file");
    set_mode(&library, 0o666);
    let why = refused(&home.run(&[
        "compare",
        &format!("rocksdb:library={}", library.display()),
        "rocksdb",
        "--quick",
    ]));
    assert!(why.contains("other users may write to"), "{why}");
    assert!(!home.path("executed").exists());
}

#[test]
fn a_workload_that_others_control_is_refused_and_an_own_one_is_named() {
    let home = TestHome::new();
    assert!(home.run(&["workloads", "new", "cache"]).status.success());
    let folder = home.path("workloads/cache");
    let plan = |home: &TestHome| home.run(&["plan", "compare", "cache:cache=off", "cache:cache=on"]);
    let own = plan(&home);
    assert!(own.status.success(), "{}", text(&own.stderr));
    let said = "note: using ./workloads/cache, not the built-in workload\n";
    assert!(text(&own.stderr).contains(said), "{}", text(&own.stderr));
    let built_in = home.run(&["plan", "compare", "nginx", "apache"]);
    assert_eq!(text(&built_in.stderr), "", "a built-in workload is not worth a note");

    set_mode(&folder, 0o777);
    let why = refused(&plan(&home));
    assert!(why.contains("other users may write to") && why.contains("workloads/cache"), "{why}");
    set_mode(&folder, 0o755);
    set_mode(&folder.join("server.py"), 0o666);
    assert!(refused(&plan(&home)).contains("server.py"), "also a file in it");
    set_mode(&folder.join("server.py"), 0o644);
    // The servers of the built-in workload of this name are not used instead.
    set_mode(&folder, 0o777);
    let why = refused(&home.run(&["plan", "compare", "memcached", "redis"]));
    assert!(why.contains("other users may write to"), "{why}");
    set_mode(&folder, 0o755);
    if geteuid().is_root() {
        chown(&folder, Some(4_242), None).expect("root may");
        assert!(refused(&plan(&home)).contains("belongs to user 4242"));
        let mut sudo = home.showdown(&["plan", "compare", "cache:cache=off", "cache:cache=on"]);
        let sudo = sudo.env("SUDO_UID", "4242").output().expect("showdown runs");
        assert!(sudo.status.success(), "it is the invoking user: {}", text(&sudo.stderr));
    }
}

#[test]
fn a_plan_from_elsewhere_is_shown_and_needs_consent() {
    let home = TestHome::new();
    let plan = home.small_plan(&["memcached:net.core.no_such=1,threads=2", "memcached"]);
    let run = |args: &[&str]| home.run(&[&["run", &plan], args].concat());
    // Without a question this plan is an error of its own: nothing is run.
    let why = refused(&run(&[]));
    assert!(why.contains("pass --allow-kernel"), "{why}");

    set_mode(Path::new(&plan), 0o666);
    let asked = run(&[]);
    let why = refused(&asked);
    assert!(why.contains("other users may write to") && why.contains("pass --yes"), "{why}");
    let shown = text(&asked.stderr);
    for what in [
        "use                the built-in workload cache\n",
        "execute            memcached {% if user %}",
        "memcached -V\n",
        "install            memcached\n",
        "start              memcached:threads=2,net.core.no_such=1\n",
        "set in the kernel  net.core.no_such=1\n",
        "run                6 trials\n",
    ] {
        assert!(shown.contains(what), "{what:?} in {shown}");
    }
    assert!(refused(&run(&["--yes"])).contains("pass --allow-kernel"));
    if geteuid().is_root() {
        set_mode(Path::new(&plan), 0o644);
        chown(&plan, Some(4_242), None).expect("root may");
        assert!(refused(&run(&[])).contains("belongs to user 4242"));
    }
}

#[test]
fn the_plan_of_an_imported_run_needs_consent() {
    let home = TestHome::new();
    let plan = home.small_plan(&["memcached:threads=1", "memcached:threads=2"]);
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    let run = only_run(&home);
    let own = run.join("plan.toml").display().to_string();
    let impossible = |plan: &str| home.run(&["run", plan, "--runs", "/dev/null"]);
    let why = error_line(&impossible(&own));
    assert!(!why.contains("--yes"), "an own run needs no consent: {why}");

    assert!(home.run(&["export", "latest", "-o", "run.tar.gz"]).status.success());
    assert!(home.run(&["import", "run.tar.gz", "--runs", "theirs"]).status.success());
    let id = run.file_name().expect("an id").to_string_lossy().into_owned();
    let theirs = home.path("theirs").join(&id).join("plan.toml").display().to_string();
    let why = refused(&impossible(&theirs));
    assert!(why.contains("the run was imported") && why.contains("pass --yes"), "{why}");

    // On a terminal it asks.
    for (answer, said) in [("n", "was not run"), ("y", "/dev/null")] {
        let showdown = env!("CARGO_BIN_EXE_showdown");
        let command = format!("{showdown} run {theirs} --runs /dev/null --progress none");
        let mut script = std::process::Command::new("script");
        script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
        let script = home.at_home(&mut script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut script = script.stderr(Stdio::piped()).spawn().expect("script(1)");
        let mut terminal = script.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut terminal, format!("{answer}\n").as_bytes()).expect("it reads");
        drop(terminal);
        let output = script.wait_with_output().expect("it ends");
        let shown = text(&output.stdout);
        assert!(shown.contains("Run it? [y/N]") && shown.contains(said), "{answer}: {shown}");
    }
}
