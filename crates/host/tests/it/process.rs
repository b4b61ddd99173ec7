//! Starting, checking and stopping servers.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use procfs::FromRead;
use procfs::process::Stat;

use crate::common::{
    DAEMON, FORKER, SPENDTHRIFT, STUBBORN, eventually, eventually_gone, local, perl, processes_of, skip,
};
use host::process::{CpuUsedMeter, Error, LogText, Pipes, ProcessExit, StopSignal};
use host::{CpuSet, Readiness, ServerCommand};

const LONG: Duration = Duration::from_secs(30);

/// A probe that is ready when the log contains this line.
fn logged(dir: &Path, line: &str) -> impl FnMut() -> Readiness {
    let (log, line) = (dir.join("log"), line.to_owned());
    move || match fs::read_to_string(&log) {
        Ok(text) if text.contains(&line) => Readiness::Ready,
        _ => Readiness::NotYet("its log does not contain the line".into()),
    }
}

#[test]
fn a_server_has_its_directory_cpus_environment_and_session() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let one: CpuSet = CpuSet::of_this_thread()?.iter().take(1).collect();
    let mut command =
        perl(r#"$| = 1; print "$ENV{COLOUR}-$ENV{CARGO_MANIFEST_DIR}\n"; sleep 1 while 1"#, dir.path());
    command.cpus = Some(one.clone());
    command.env.insert("COLOUR".into(), "blue".into());
    let server = local().start(&command)?;
    server.wait_ready(LONG, logged(dir.path(), "blue-\n"))?;

    let proc = format!("/proc/{}", server.pid());
    assert_eq!(fs::read_link(format!("{proc}/cwd"))?, dir.path());
    let status = fs::read_to_string(format!("{proc}/status"))?;
    assert!(status.contains(&format!("Cpus_allowed_list:\t{one}\n")), "{status}");
    let stat = Stat::from_file(format!("{proc}/stat"))?;
    assert_eq!([stat.pgrp, stat.session], [server.pid().cast_signed(); 2]);
    assert_eq!(server.tree().processes().len(), 1);
    Ok(())
}

#[test]
fn the_cpu_time_of_ended_processes_is_not_lost() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let server = local().start(&perl(SPENDTHRIFT, dir.path()))?;
    let has_ended =
        |line: &str| fs::read_to_string(dir.path().join("log")).is_ok_and(|log| log.contains(line));
    eventually("both have ended", || has_ended("waited\n") && has_ended("orphan\n"));
    eventually("the supervisor has waited for the orphan", || server.tree().processes().len() == 1);
    let meter = CpuUsedMeter::new(server.tree());
    eventually("the time of both is counted", || meter.used().time > Duration::from_millis(550));
    let used = meter.used();
    let running = server.tree().cpu_time();
    assert!(running < used.time.saturating_sub(Duration::from_millis(500)), "{running:?} of {used:?}");
    assert!(used.user + used.system > Duration::from_millis(500), "{used:?}");
    Ok(())
}

#[test]
fn a_server_has_its_limit_of_descriptors() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let mut command = perl(r#"$| = 1; print "up\n"; sleep 1 while 1"#, dir.path());
    command.descriptors = Some(100);
    let server = local().start(&command)?;
    server.wait_ready(LONG, logged(dir.path(), "up\n"))?;
    let limits = &local().process_facts(server.pid()).ok_or("it runs")?.limits;
    assert!(limits["Max open files"].starts_with("100 / "), "{limits:?}");
    Ok(())
}

/// Writes 80 MiB and waits.
const TALKATIVE: &str = r#"$| = 1; print "begin\n"; my $line = ("x" x 1023) . "\n";
    print $line for 1 .. 80 << 10; print "end\n"; sleep 1 while 1"#;

#[test]
fn a_long_log_takes_limited_space_and_keeps_its_beginning_and_end() -> Result<(), Box<dyn std::error::Error>>
{
    const MIB: u64 = 1 << 20;
    let dir = tempfile::tempdir()?;
    let log = dir.path().join("log");
    let server = local().start(&perl(TALKATIVE, dir.path()))?;
    let ends = |server: &host::ServerProcess| server.log_tail().lines().last().is_some_and(|l| l == "end");
    eventually("the server has written all", || ends(&server));
    eventually("the log is short", || fs::metadata(&log).is_ok_and(|log| log.blocks() * 512 < 65 * MIB));
    server.check()?;
    let metadata = fs::metadata(&log)?;
    assert_eq!(metadata.len(), 80 * MIB + "begin\nend\n".len() as u64);
    let text = LogText::read(&log)?;
    assert_eq!(text.left_out, metadata.len() - 2 * MIB);
    assert!(text.text.starts_with("begin\n") && text.text.ends_with("\nend\n"));
    Ok(())
}

#[test]
fn a_program_with_pipes_gets_input_and_sees_its_end() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let pipes = Pipes::make(dir.path())?;
    let ends = pipes.open_ends()?;
    let mut command = perl(
        r#"$| = 1; print STDERR "to the log\n"; while (<STDIN>) { print "heard $_" } print STDERR "end\n""#,
        dir.path(),
    );
    command.pipes = Some(pipes.clone());
    let program = local().start(&command)?;
    let mut answers = BufReader::new(fs::File::open(&pipes.stdout)?);
    fs::OpenOptions::new().write(true).open(&pipes.stdin)?.write_all(b"one\n")?;
    let mut answer = String::new();
    answers.read_line(&mut answer)?;
    assert_eq!(answer, "heard one\n");
    assert_eq!(program.log_tail().lines(), ["to the log"]);

    drop(ends);
    answer.clear();
    assert_eq!(answers.read_line(&mut answer)?, 0, "the program has exited");
    let exited = program.wait_ready(LONG, || Readiness::NotYet("it runs".into()));
    assert!(matches!(exited, Err(Error::Died { exit: ProcessExit::Code(0), .. })), "{exited:?}");
    assert_eq!(program.log_tail().lines(), ["to the log", "end"]);
    Ok(())
}

#[test]
fn errors_at_the_start_name_the_reason_and_the_remedy() -> io::Result<()> {
    let dir = tempfile::tempdir()?;
    let error = |command: &ServerCommand| local().start(command).expect_err("an invalid command").to_string();

    let missing = ServerCommand::new("my-api", ["./my-api"], dir.path(), dir.path().join("log"));
    assert_eq!(
        error(&missing),
        "cannot start my-api: there is no program ./my-api: install it, or give the path to it"
    );
    let empty = ServerCommand { argv: Vec::new(), ..missing.clone() };
    assert!(error(&empty).contains("command line is empty"));
    let no_dir = ServerCommand { dir: dir.path().join("no"), ..perl("1", dir.path()) };
    assert!(error(&no_dir).contains("cannot enter its directory"));
    let no_log = ServerCommand { log: dir.path().join("no/log"), ..perl("1", dir.path()) };
    assert!(error(&no_log).contains("cannot open its log"));
    let no_cpu = ServerCommand { cpus: Some(CpuSet::default()), ..perl("1", dir.path()) };
    assert!(error(&no_cpu).contains("cannot run on CPUs"));

    fs::write(dir.path().join("my-api"), "not executable")?;
    assert!(error(&missing).contains("chmod +x"));

    let no_supervisor = host::Host::local_with_supervisor("/bin/true").start(&perl("1", dir.path()));
    assert!(no_supervisor.expect_err("/bin/true is not a supervisor").to_string().contains("supervisor"));
    Ok(())
}

#[test]
fn a_server_that_exits_at_its_start_is_an_error_with_the_end_of_its_log()
-> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let server = local().start(&perl(r#"print STDERR "no such option: foo\n"; exit 3"#, dir.path()))?;
    let never = || Readiness::NotYet("no answer".into());
    let error = server.wait_ready(LONG, never).expect_err("the server exited");
    assert!(matches!(error, Error::Died { exit: ProcessExit::Code(3), .. }), "{error}");
    assert!(error.to_string().ends_with("ends: no such option: foo"), "{error}");
    Ok(())
}

#[test]
fn a_server_that_is_not_ready_in_time_is_an_error() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let server = local().start(&perl("sleep 1 while 1", dir.path()))?;
    let closed = host::process::tcp_probe(([127, 0, 0, 1], 1).into());
    let error = server.wait_ready(Duration::from_millis(20), closed).expect_err("port 1 is closed");
    assert!(error.to_string().contains("127.0.0.1:1 does not accept connections"), "{error}");
    let error =
        server.wait_ready(LONG, || Readiness::Never("Ctrl-C".into())).expect_err("the probe gives up");
    assert!(matches!(error, Error::GaveUp { .. }));
    Ok(())
}

#[test]
fn a_server_is_ready_when_the_probe_connects() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let script = r#"use IO::Socket; my $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 9) or die;
        open F, ">port~"; print F $s->sockport; close F; rename "port~", "port"; sleep 1 while 1;"#;
    let server = local().start(&perl(script, dir.path()))?;
    eventually("the server has written its port", || dir.path().join("port").exists());
    let port: u16 = fs::read_to_string(dir.path().join("port"))?.parse()?;
    server.wait_ready(LONG, host::process::tcp_probe(([127, 0, 0, 1], port).into()))?;
    Ok(())
}

#[test]
fn the_configured_signal_stops_the_server() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let script = r#"$| = 1; $SIG{QUIT} = sub { print "bye\n"; exit 7 }; print "up\n"; sleep 1 while 1"#;
    let server =
        local().start(&ServerCommand { stop: StopSignal::Quit, grace: LONG, ..perl(script, dir.path()) })?;
    server.wait_ready(LONG, logged(dir.path(), "up"))?;
    let stopped = server.stop()?;
    assert_eq!((stopped.exit, stopped.killed), (ProcessExit::Code(7), false));
    assert!(fs::read_to_string(dir.path().join("log"))?.ends_with("bye\n"));
    assert!(matches!(server.check(), Err(Error::Died { exit: ProcessExit::Code(7), .. })));
    assert_eq!(server.stop()?, stopped, "stopping twice has no effect");
    Ok(())
}

#[test]
fn a_server_that_ignores_the_signal_is_killed_with_all_its_sessions() -> Result<(), Box<dyn std::error::Error>>
{
    let dir = tempfile::tempdir()?;
    let server = local().start(&perl(STUBBORN, dir.path()))?;
    server.wait_ready(LONG, logged(dir.path(), "up"))?;
    assert_eq!(server.tree().processes().len(), 3);
    let stopped = server.stop()?;
    assert_eq!((stopped.exit, stopped.killed), (ProcessExit::Signal(9), true));
    assert_eq!(processes_of(dir.path()), Vec::<String>::new());
    Ok(())
}

#[test]
fn a_server_that_daemonises_is_followed() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let server = local().start(&perl(DAEMON, dir.path()))?;
    eventually("only the daemon is left", || {
        let processes = server.tree().processes();
        processes.len() == 1 && processes[0].pid == server.pid()
    });
    server.check()?;
    drop(server);
    assert_eq!(processes_of(dir.path()), Vec::<String>::new());
    Ok(())
}

#[test]
fn a_server_that_forks_continuously_is_killed() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let server = local().start(&perl(FORKER, dir.path()))?;
    server.stop()?;
    assert_eq!(processes_of(dir.path()), Vec::<String>::new());
    Ok(())
}

/// A control group with 32 MB for a server, removed at the end. None where this user cannot make one.
struct SmallGroup(PathBuf);

impl SmallGroup {
    fn new() -> Option<Self> {
        let version_1 = Path::new("/sys/fs/cgroup/memory");
        let (parent, limit, swap) = if version_1.is_dir() {
            (version_1, "memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
        } else {
            (Path::new("/sys/fs/cgroup"), "memory.max", "memory.swap.max")
        };
        let group = Self(parent.join(format!("showdown-test-{}", std::process::id())));
        fs::create_dir(&group.0).ok()?;
        fs::write(group.0.join(limit), (32 << 20).to_string()).ok()?;
        // A kernel without accounting of swap has no such file.
        let _ = fs::write(group.0.join(swap), (32 << 20).to_string());
        Some(group)
    }
}

impl Drop for SmallGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_server_that_the_kernel_ends_for_lack_of_memory_says_so() -> Result<(), Box<dyn std::error::Error>> {
    let Some(group) = SmallGroup::new() else {
        skip("this user may not make a control group with a limit of memory");
        return Ok(());
    };
    let dir = tempfile::tempdir()?;
    let script = format!(
        r#"open my $group, ">", "{}/cgroup.procs" or die; print $group $$; close $group;
        my @taken; push @taken, "x" x (1 << 20) while 1;"#,
        group.0.display()
    );
    let mut command = perl(&script, dir.path());
    command.memory_settings = vec!["cache".to_owned()];
    let server = local().start(&command)?;
    eventually("the kernel ends it", || server.check().is_err());
    let error = server.check().expect_err("it was killed").to_string();
    assert!(
        error.contains("was killed by SIGKILL: the kernel probably ended it for lack of memory"),
        "{error}"
    );
    assert!(error.contains(": give it more, or lower cache; its log "), "{error}");
    Ok(())
}

#[test]
fn the_workers_of_a_killed_server_are_killed() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let server = local().start(&perl(STUBBORN, dir.path()))?;
    server.wait_ready(LONG, logged(dir.path(), "up"))?;
    std::process::Command::new("kill").args(["-9", &server.pid().to_string()]).status()?;
    eventually("the exit is noticed", || server.check().is_err());
    let error = server.check().expect_err("the server was killed").to_string();
    assert!(error.contains("was killed by SIGKILL"), "{error}");
    eventually_gone(dir.path());
    Ok(())
}
