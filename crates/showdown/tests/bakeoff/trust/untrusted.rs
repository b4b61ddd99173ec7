//! Plans and workloads of somebody else, from end to end: no value is evaluated, other users' folders are refused, and a
//! plan that came from elsewhere needs consent. Nothing here is run: each command ends before the first trial.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Output, Stdio};

use rustix::process::geteuid;

use crate::home::{TestHome, error_line, text};

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
    let plan = home.small_plan(&["memcached:allocator=jemalloc,net.core.no_such=1,threads=2", "memcached"]);
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
        "install            libjemalloc2\n                     memcached\n",
        "start              memcached:allocator=jemalloc,threads=2,net.core.no_such=1\n",
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
    let id = archive::example::comparison(&home.path("runs"), 3).expect("a run");
    let run = home.path("runs").join(id.as_str());
    let own = run.join("plan.toml").display().to_string();
    let impossible = |plan: &str| home.run(&["run", plan, "--runs", "/dev/null"]);
    let why = error_line(&impossible(&own));
    assert!(!why.contains("--yes"), "an own run needs no consent: {why}");

    assert!(home.run(&["export", "latest", "-o", "run.tar.gz"]).status.success());
    assert!(home.run(&["import", "run.tar.gz", "--runs", "theirs"]).status.success());
    let theirs = home.path("theirs").join(id.as_str()).join("plan.toml").display().to_string();
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

/// Fails if a text has a character that a terminal obeys, other than the program's own styles.
fn assert_visible(what: &str, text: &str) {
    for obeyed in ["\u{1b}]", "\u{1b}[2J", "\u{7}", "\u{9b}", "\u{202e}", "\r"] {
        assert!(!text.contains(obeyed), "{what}: {obeyed:?} in {text:?}");
    }
}

#[test]
fn names_of_an_imported_run_reach_no_terminal_as_control_characters() {
    let home = TestHome::new();
    let fixture = format!("{}/../archive/tests/format-1/comparison.tar.gz", env!("CARGO_MANIFEST_DIR"));
    let id = text(&home.run(&["import", &fixture]).stdout).trim().to_owned();
    let run = home.path("runs").join(&id);
    // The same escapes are those of JSON and of TOML.
    let hostile = "nginx \\u001b]0;owned\\u0007\\u001b[2J\\u009b2J\\u202e\\n";
    for (file, name) in [("verdict.json", "nginx"), ("plan.toml", "command = [\"")] {
        let path = run.join(file);
        let before = fs::read_to_string(&path).expect("a file");
        let after = before.replace(
            name,
            &if file == "plan.toml" { format!("{name}{hostile}") } else { hostile.to_owned() },
        );
        assert_ne!(after, before);
        fs::write(&path, after).expect("a file");
    }
    assert!(home.run(&["export", &id, "-o", "run.tar.gz"]).status.success());
    assert!(home.run(&["import", "run.tar.gz", "--runs", "theirs"]).status.success());
    for args in [
        &["list"][..],
        &["list", "--format", "json"],
        &["show", &id],
        &["show", &id, "--format", "json"],
        &["report", &id, "--format", "md"],
        &["report", &id, "--format", "json"],
    ] {
        let output = home.run(&[args, &["--runs", "theirs", "--color", "always"]].concat());
        let shown = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success() && shown.contains("owned"), "{args:?}: {shown}");
        assert_visible(&args.join(" "), &shown);
    }
    assert!(home.run(&["report", &id, "--runs", "theirs"]).status.success());
    let page = fs::read_to_string(home.path("theirs").join(&id).join("report.html")).expect("a page");
    assert!(page.contains("owned"));
    assert_visible("the page", &page);
    assert!(!page.contains("\\u001b]0;"), "the page has the visible escape");

    let plan = home.path("theirs").join(&id).join("plan.toml").display().to_string();
    let asked = home.run(&["run", &plan, "--color", "always"]);
    assert_eq!(asked.status.code(), Some(2));
    assert_visible("the question", &text(&asked.stderr));
}

#[test]
fn the_log_of_a_server_reaches_the_terminal_with_visible_escapes() {
    let home = TestHome::new();
    let folder = home.path("workloads/api");
    fs::create_dir_all(&folder).expect("a folder");
    let start = r#"["sh", "-c", "printf '\\033]0;owned\\007\\033[2J\\n'; exit 1", "{{ port }}"]"#;
    let workload = format!(
        "title = \"API\"\n[server.api]\nstart = {start}\n[load]\nprotocol = \"http\"\nslo = \"p99<5ms\"\n[[load.op]]\npath = \"/\"\n"
    );
    fs::write(folder.join("workload.toml"), workload).expect("a file");
    let plan = home.small_plan(&["api", "api"]);
    let output = home.run(&["run", &plan, "--progress", "bar", "--color", "always"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output.stdout) + &text(&output.stderr);
    assert!(shown.contains("\\u{1b}]0;owned"), "{shown}");
    assert_visible("the error", &shown.replace('\r', ""));
}
