//! The command line from end to end: completions, manual pages, color, and the installation of all of them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const SHOWDOWN: &str = env!("CARGO_BIN_EXE_showdown");

/// Runs showdown in an empty directory, without the variables that select color.
fn showdown(args: &[&str], variables: &[(&str, &str)]) -> Output {
    let directory = tempfile::tempdir().expect("a directory");
    Command::new(SHOWDOWN)
        .args(args)
        .current_dir(directory.path())
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("showdown runs")
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("showdown prints text")
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Every verb that `showdown --help` lists.
fn verbs() -> Vec<String> {
    let help = stdout(&showdown(&["--help"], &[]));
    let (_, rest) = help.split_once("Commands:\n").expect("a list of verbs");
    let (list, _) = rest.split_once("\n\n").expect("the end of the list");
    let lines = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn completions_name_every_verb_and_are_accepted_by_their_shell() {
    let verbs = verbs();
    assert!(verbs.len() > 15, "{verbs:?}");
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&showdown(&["completions", shell], &[]));
        for verb in &verbs {
            assert!(script.contains(verb.as_str()), "{shell}: {verb} is missing");
        }
        assert!(
            !script.contains("known-server") && !script.contains("load-process"),
            "{shell}: a hidden verb"
        );
        // Bash is everywhere; the others are checked where they are installed.
        if shell != "bash" && !is_installed(shell) {
            continue;
        }
        let mut check = Command::new(shell).arg("-n").stdin(Stdio::piped()).spawn().expect("a shell");
        check.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("the shell reads");
        assert!(check.wait().expect("the shell ends").success(), "{shell} refuses the script");
    }
    assert_eq!(showdown(&["completions", "tcsh"], &[]).status.code(), Some(2));
}

/// Fails if man(1) warns about a page.
fn assert_well_formed(page: &Path) {
    let output =
        Command::new("man").args(["--warnings", "--local-file"]).arg(page).output().expect("man runs");
    let warnings = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && warnings.is_empty(), "{}: {warnings}", page.display());
}

#[test]
fn verbs_of_the_second_program_show_and_check_their_options_without_it() {
    // A copy in a folder of its own: nothing is beside it.
    let folder = tempfile::tempdir().expect("a folder");
    let alone = folder.path().join("showdown");
    fs::hard_link(SHOWDOWN, &alone).or_else(|_| fs::copy(SHOWDOWN, &alone).map(drop)).expect("a copy");
    let run = |args: &[&str]| Command::new(&alone).args(args).stdin(Stdio::null()).output().expect("it runs");
    for (verb, option) in
        [("serve", "--tls <CERTIFICATE,KEY>"), ("controller", "--rules <FILE>"), ("account", "add ")]
    {
        let help = stdout(&run(&[verb, "--help"]));
        assert!(help.contains(option), "{verb}: {help}");
    }
    assert!(stdout(&run(&["account", "add", "--help"])).contains("--password-file <FILE>"));
    let wrong = run(&["serve", "--listen", "here"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    let missing = run(&["serve"]);
    let message = String::from_utf8_lossy(&missing.stderr);
    assert!(message.contains("showdown-harness is missing") && message.lines().count() == 1, "{message}");
    assert_eq!(missing.status.code(), Some(1), "{message}");
}

#[test]
fn every_verb_has_a_manual_page_without_warnings() {
    let directory = tempfile::tempdir().expect("a directory");
    let folder = directory.path().join("man1");
    assert_eq!(stdout(&showdown(&["man", "--out", &folder.display().to_string()], &[])), "");
    let pages = verbs().into_iter().map(|verb| format!("showdown-{verb}.1"));
    for page in pages.chain(["showdown.1".to_owned(), "showdown-plan-compare.1".to_owned()]) {
        let page = folder.join(page);
        let text = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        assert!(text.contains("Examples:"), "{} has no example", page.display());
        if is_installed("man") {
            assert_well_formed(&page);
        }
    }
    let main_page = stdout(&showdown(&["man"], &[]));
    assert_eq!(main_page, fs::read_to_string(folder.join("showdown.1")).expect("a page"));
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let output = showdown(&["man", "--out", "/proc/nowhere"], &[]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(message.contains("--out /proc/nowhere: cannot write the manual pages: "), "{message}");
}

/// Whether a command prints an escape sequence on standard output and on standard error.
fn has_escapes(args: &[&str], variables: &[(&str, &str)]) -> (bool, bool) {
    let output = showdown(args, variables);
    (output.stdout.contains(&0x1b), output.stderr.contains(&0x1b))
}

#[test]
fn color_follows_the_option() {
    for args in [&["workloads"][..], &["--help"], &["compare", "--help"]] {
        let always = [args, &["--color", "always"]].concat();
        assert_eq!(has_escapes(&always, &[]), (true, false), "{always:?}");
        let never = [args, &["--color=never"]].concat();
        assert_eq!(has_escapes(&never, &[("CLICOLOR_FORCE", "1")]), (false, false), "{never:?}");
        assert_eq!(
            has_escapes(args, &[]),
            (false, false),
            "{args:?}: output that is no terminal has no color"
        );
    }
    for wrong in
        [&["compare", "nginx", "--color=always"][..], &["--color", "always", "compare", "--nonsense"]]
    {
        assert_eq!(has_escapes(wrong, &[]), (false, true), "{wrong:?}");
    }
    assert_eq!(showdown(&["list", "--color", "sometimes"], &[]).status.code(), Some(2));
}

#[test]
fn no_color_removes_every_escape_sequence() {
    for args in [&["workloads"][..], &["--help"], &["compare", "nginx"], &["compare", "--nonsense"]] {
        let forced = ("CLICOLOR_FORCE", "1");
        let (on_stdout, on_stderr) = has_escapes(args, &[forced]);
        assert!(on_stdout || on_stderr, "{args:?}: CLICOLOR_FORCE colors output that is no terminal");
        assert_eq!(has_escapes(args, &[("NO_COLOR", "1"), forced]), (false, false), "{args:?}");
    }
}

/// The `NO_COLOR` convention is about terminals, so this one runs in a terminal, which script(1) provides.
#[test]
fn no_color_applies_to_a_terminal() {
    if !is_installed("script") {
        return;
    }
    let on_terminal = |variables: &[(&str, &str)]| {
        let command = format!("{SHOWDOWN} workloads");
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--command", &command, "/dev/null"]).stdin(Stdio::null());
        script.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env("TERM", "xterm-256color");
        script.envs(variables.iter().copied()).output().expect("script runs").stdout
    };
    let colored = on_terminal(&[]);
    assert!(colored.contains(&0x1b), "{}", String::from_utf8_lossy(&colored));
    let plain = on_terminal(&[("NO_COLOR", "1")]);
    assert!(!plain.contains(&0x1b) && !plain.is_empty(), "{}", String::from_utf8_lossy(&plain));
}

#[test]
fn json_never_has_color() {
    let output = showdown(&["list", "--format", "json", "--color", "always"], &[]);
    assert_eq!(stdout(&output), "[]\n");
}

/// `make` in the project's directory.
fn make(target: &str, destination: &Path) -> Output {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new("make")
        .args(["--silent", target, "PREFIX=/usr", &format!("BINARY={SHOWDOWN}")])
        .arg(format!("DESTDIR={}", destination.display()))
        .current_dir(project)
        // The variables of a `make test` around this test are not for this one.
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .output()
        .expect("make runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn files(directory: &Path) -> Vec<String> {
    let output =
        Command::new("find").args([".", "-type", "f"]).current_dir(directory).output().expect("find runs");
    let mut files: Vec<String> = stdout(&output).lines().map(str::to_owned).collect();
    files.sort();
    files
}

#[test]
fn the_installation_can_be_packaged_and_removed() {
    let destination = tempfile::tempdir().expect("a directory");
    let root = destination.path();
    let other = root.join("usr/share/man/man1/other.1");
    fs::create_dir_all(other.parent().expect("a folder")).expect("a folder");
    fs::write(&other, ".TH other 1\n").expect("a page of another program");
    make("install", root);
    let installed = files(root);
    for file in [
        "./usr/bin/showdown",
        "./usr/share/bash-completion/completions/showdown",
        "./usr/share/zsh/site-functions/_showdown",
        "./usr/share/fish/vendor_completions.d/showdown.fish",
        "./usr/share/man/man1/showdown.1",
        "./usr/share/man/man1/showdown-compare.1",
    ] {
        assert!(installed.iter().any(|name| name == file), "{file} is not in {installed:?}");
    }
    let version = Command::new(root.join("usr/bin/showdown")).arg("--version").output().expect("it runs");
    assert!(stdout(&version).starts_with("showdown "));
    // A second installation replaces the first.
    make("install", root);
    assert_eq!(files(root), installed);
    make("uninstall", root);
    assert_eq!(files(root), ["./usr/share/man/man1/other.1"]);
}

/// `showdown mcp`, with pipes to it and from it.
fn start_mcp() -> std::process::Child {
    Command::new(SHOWDOWN)
        .arg("mcp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("showdown runs")
}

/// What `showdown mcp` answers to these lines.
fn mcp(lines: &[&str]) -> Vec<serde_json::Value> {
    let mut child = start_mcp();
    let mut stdin = child.stdin.take().expect("a pipe");
    for line in lines {
        writeln!(stdin, "{line}").expect("it reads");
    }
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    stdout(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn an_assistant_lists_the_tools_and_asks_for_a_plan() {
    let answers = mcp(&[
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"no/such"}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"run","arguments":{"variants":["nginx"],"yes":true}}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"plan","arguments":{"variants":["nginx","apache"],"quick":true}}}"#,
    ]);
    let of = |id: u64| {
        answers.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("{id} in {answers:?}"))
    };
    assert_eq!(of(1)["result"]["protocolVersion"], "2025-03-26");
    let names: Vec<&str> = of(2)["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["doctor", "workloads", "plan", "run", "show", "explain"]);
    assert_eq!(of(3)["error"]["code"], -32_601);
    assert!(of(4)["error"]["message"].as_str().is_some_and(|why| why.contains("\"yes\"")), "{answers:?}");
    let plan = of(5)["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(plan.contains("kind = \"compare\"") && plan.contains("(exit code 0)"), "{plan}");
}

#[test]
fn one_array_answers_the_requests_of_a_batch() {
    let answers = mcp(&[
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},7,
        {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"workloads","arguments":{"name":"static-web"}}}]"#
            .replace('\n', "")
            .as_str(),
        r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#,
        "[]",
    ]);
    let invalid = answers.iter().find(|answer| answer.is_object()).expect("an answer to the empty batch");
    assert_eq!(invalid["error"]["code"], -32_600);
    let batch = answers.iter().find_map(serde_json::Value::as_array).expect("an answer to the batch");
    assert_eq!((batch.len(), answers.len()), (3, 2), "{answers:?}");
    assert_eq!((&batch[0]["id"], &batch[1]["error"]["code"]), (&1.into(), &(-32_600).into()));
    let text = batch[2]["result"]["content"][0]["text"].as_str().expect("the tool's answer");
    assert!(text.contains("nginx") && text.contains("(exit code 0)"), "{text}");
}

#[test]
fn a_line_that_is_no_text_is_an_error_and_the_next_one_is_answered() {
    let mut child = start_mcp();
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"\xff\xfe\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let text = stdout(&output);
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((lines.len(), &lines[0]["error"]["code"], &lines[1]["id"]), (2, &(-32_700).into(), &1.into()));
}

/// A home directory with what runs leave, of the user `nobody`, and showdown as this user.
struct LeftHome(tempfile::TempDir);

impl LeftHome {
    /// Where runs have left something, below the home directory.
    const FILES: [&str; 4] = [
        ".cache/showdown/data/0a/1k",
        ".cache/showdown/programs/5f/showdown",
        ".local/state/showdown/packages.lock",
        "tmp/showdown-killed/.showdown-scratch",
    ];

    fn new() -> Self {
        let home = Self(tempfile::tempdir().expect("a directory"));
        for file in Self::FILES {
            let path = home.path(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, "left").expect("a file");
        }
        for file in ["lock", "runs"] {
            fs::write(home.path(file), "").expect("a file");
        }
        fs::copy(SHOWDOWN, home.path("program")).expect("a copy");
        let owned = Command::new("chown").args(["-R", "65534:65534"]).arg(home.0.path()).status();
        assert!(owned.expect("chown runs").success());
        home
    }

    fn path(&self, file: &str) -> std::path::PathBuf {
        self.0.path().join(file)
    }

    fn clean(&self, args: &[&str]) -> Output {
        Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(self.path("program"))
            .arg("clean")
            .args(args)
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env("TMPDIR", self.path("tmp"))
            .env("SHOWDOWN_LOCK", self.path("lock"))
            .env_remove("XDG_CACHE_HOME")
            .env_remove("XDG_STATE_HOME")
            .stdin(Stdio::null())
            .output()
            .expect("setpriv runs")
    }

    fn left(&self) -> Vec<&'static str> {
        Self::FILES.into_iter().filter(|file| self.path(file).exists()).collect()
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn what_runs_have_left_is_listed_and_removed_only_if_asked_and_never_beside_a_run() {
    // For root, and for an ordinary user, this would be what they have left themselves.
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: only root can try `clean` as a user who has left nothing else");
        return;
    }
    let home = LeftHome::new();
    let listed = stdout(&home.clean(&[]));
    for path in
        [".cache/showdown/data ", ".cache/showdown/programs ", "state/showdown ", "showdown-killed ", "lock "]
    {
        assert!(listed.contains(path), "{path}: {listed}");
    }
    assert!(listed.contains("clean --yes") && listed.contains("`showdown rm`"), "{listed}");
    assert_eq!(home.left(), LeftHome::FILES);

    let run = fs::File::open(home.path("lock")).expect("the lock");
    run.lock().expect("nobody measures");
    let refused = home.clean(&["--yes"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(message.contains("another showdown is measuring"), "{message}");
    assert_eq!(home.left(), LeftHome::FILES);
    drop(run);

    // A directory of a run that goes on is not listed.
    let running = fs::File::open(home.path(LeftHome::FILES[3])).expect("its marker");
    running.lock().expect("it was killed");
    assert!(!stdout(&home.clean(&[])).contains("showdown-killed"));
    drop(running);

    let removed = stdout(&home.clean(&["--yes"]));
    assert_eq!(removed.lines().count(), 5, "{removed}");
    assert_eq!(home.left(), [""; 0]);
    assert!(!home.path("lock").exists() && !home.path(".cache/showdown").exists());
    assert!(home.path("runs").exists(), "runs are not touched");
    assert!(stdout(&home.clean(&[])).contains("has left nothing"));
    assert_eq!(home.clean(&["--all"]).status.code(), Some(2));
}

/// The block of a page below the mark of an example, without the command.
fn example(page: &str, name: &str) -> String {
    let text = fs::read_to_string(root().join(page)).expect("a page");
    let mark = format!("<!-- example: {name} -->\n```console\n$ ");
    let (_, rest) = text.split_once(&mark).unwrap_or_else(|| panic!("{page} has no example {name}"));
    let (block, _) = rest.split_once("```\n").expect("the end of the block");
    let (_, printed) = block.split_once('\n').expect("a line with the command");
    printed.to_owned()
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_example_of_readme_and_start_is_what_the_program_prints_of_its_run() {
    let folder = root().join("docs/examples/compare").canonicalize().expect("the folder of the example");
    let runs: Vec<String> = fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("a run").file_name().to_string_lossy().into_owned())
        .collect();
    let [run] = &runs[..] else { panic!("not one run: {runs:?}") };
    let folder = folder.to_str().expect("a path of text");
    let shown = stdout(&showdown(&["show", run, "--runs", folder, "--color", "never"], &[]));
    // `show` ends with how to repeat the run; the command that was run, with where its files are.
    let (answer, _) = shown.split_once("\nrun  ").expect("where the run is");
    // It names a run by its path if the run is not in ./runs.
    let answer = answer.replace(&format!("{folder}/"), "");
    let expected = format!("{answer}\nrun     runs/{run}\nreport  runs/{run}/report.html\n");
    for page in ["README.md", "docs/START.md"] {
        assert_eq!(example(page, "compare"), expected, "{page}: run  make examples EXAMPLES_OPTIONS=--text");
    }
}

#[test]
fn what_start_explains_is_in_its_example() {
    let page = fs::read_to_string(root().join("docs/START.md")).expect("a page");
    let example = example("docs/START.md", "compare");
    let (_, rest) = page.split_once("## 3. Read the answer").expect("a section");
    let (section, _) = rest.split_once("\n## ").expect("the next section");
    let mut explained = 0;
    for line in section.lines().filter_map(|line| line.strip_prefix("| `")) {
        let (part, _) = line.split_once("` |").expect("the end of a part");
        assert!(example.contains(part), "START explains `{part}`, which is not in its example");
        explained += 1;
    }
    assert!(explained >= 8, "{explained} parts are explained");
}

#[test]
fn the_example_of_doctor_has_the_form_and_the_checks_of_this_program() {
    /// The level and the name of a finding's first line.
    fn finding(line: &str) -> Option<(&str, &str)> {
        let (head, _) = line.split_once(": ")?;
        let (level, name) = head.split_once(' ')?;
        ["WARN", "note", "ok"].contains(&level).then_some((level, name.trim_start()))
    }

    let example = example("docs/START.md", "doctor");
    let mut lines = example.lines();
    let verdict = lines.next().expect("a first line");
    assert!(
        verdict.starts_with("This host is fit") || verdict.starts_with("This host is unfit"),
        "{verdict}"
    );
    let now = showdown(&["doctor", "--color", "never"], &[]);
    let now = String::from_utf8(now.stdout).expect("text");
    let known: Vec<&str> = now.lines().filter_map(finding).map(|(_, name)| name).collect();
    let last = now.lines().last().expect("a last line");
    assert!(
        last.contains("`showdown doctor --precision`") && example.ends_with(&format!("\n{last}\n")),
        "{last}"
    );
    let mut found = 0;
    for line in lines.filter(|line| !line.is_empty() && *line != last) {
        match finding(line) {
            Some((_, name)) if known.contains(&name) => found += 1,
            // What only some hosts have.
            Some((level, _)) => assert_eq!(level, "note", "no check of this program: {line}"),
            None => assert!(line.starts_with("      "), "neither a check nor its explanation: {line}"),
        }
    }
    assert!(found >= 8, "{found} checks of {known:?} in\n{example}");
}
