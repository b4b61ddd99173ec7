//! Kernel settings in a directory that replaces the machine's root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use host::Host;
use host::knobs::{Error, Knob, KnobChange, Knobs, Restoration};

use crate::common::{SUPERVISOR, eventually, processes_of, skip};

const SOMAXCONN: &str = "proc/sys/net/core/somaxconn";
const THP: &str = "sys/kernel/mm/transparent_hugepage/enabled";

/// An invented machine with two settings.
struct FakeMachine(tempfile::TempDir);

impl FakeMachine {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().expect("make a temporary directory"));
        for (path, text) in [
            (SOMAXCONN, "4096\n"),
            (THP, "always [madvise] never\n"),
            ("proc/sys/kernel/random/boot_id", "first\n"),
        ] {
            machine.write(path, text);
        }
        machine
    }

    fn host(&self) -> Host {
        Host::below(self.0.path(), SUPERVISOR)
    }

    fn journal(&self) -> PathBuf {
        self.0.path().join("state")
    }

    fn write_journal(&self, text: &str) {
        fs::create_dir_all(self.journal()).expect("make a directory");
        fs::write(self.journal().join("knobs.journal"), text).expect("write a file");
    }

    fn knobs(&self) -> Result<Knobs, Error> {
        Ok(self.host().knobs(&self.journal())?.0)
    }

    /// Restores what a killed process left, which must succeed.
    fn recover(&self) -> Result<Vec<KnobChange>, Error> {
        let restoration = self.host().recover_knobs(&self.journal())?;
        assert_eq!(restoration.failures, []);
        Ok(restoration.changes)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("a file has a parent")).expect("make a directory");
        fs::write(path, text).expect("write a file");
    }

    fn value(&self, path: &str) -> String {
        fs::read_to_string(self.0.path().join(path)).expect("read the setting").trim().to_owned()
    }
}

fn knob(name: &str) -> Knob {
    name.parse().expect("the name of a setting")
}

#[test]
fn a_changed_setting_is_restored() -> Result<(), Error> {
    let machine = FakeMachine::new();
    let mut knobs = machine.knobs()?;
    let change = knobs.set(&knob("net.core.somaxconn"), " 65535 ")?;
    assert_eq!((change.from.as_str(), change.to.as_str()), ("4096", "65535"));
    knobs.set(&knob("net.core.somaxconn"), "1")?;
    assert_eq!(machine.value(SOMAXCONN), "1");
    drop(knobs);
    assert_eq!(machine.value(SOMAXCONN), "4096", "the value before the first change");
    assert_eq!(machine.recover()?, [], "the journal is empty");
    Ok(())
}

#[test]
fn the_selected_choice_is_restored() -> Result<(), Error> {
    let machine = FakeMachine::new();
    let mut knobs = machine.knobs()?;
    knobs.set(&knob("/sys/kernel/mm/transparent_hugepage/enabled"), "never")?;
    let restored = knobs.restore()?.changes;
    assert_eq!(
        restored,
        [KnobChange {
            knob: knob("/sys/kernel/mm/transparent_hugepage/enabled"),
            from: "never".into(),
            to: "madvise".into()
        }]
    );
    assert_eq!(knobs.restore()?.changes, [], "restoring twice does nothing");
    Ok(())
}

#[test]
fn a_missing_setting_is_an_error_and_is_not_created() -> Result<(), Error> {
    let machine = FakeMachine::new();
    let mut knobs = machine.knobs()?;
    let error = knobs.set(&knob("no.such.setting"), "1").expect_err("no such setting").to_string();
    assert!(
        error.starts_with("cannot read no.such.setting") && !machine.0.path().join("proc/sys/no").exists(),
        "{error}"
    );
    Ok(())
}

#[test]
fn a_refusal_of_the_kernel_is_an_error() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let (mut knobs, _) = Host::local_with_supervisor(SUPERVISOR).knobs(dir.path())?;
    // Read-only, also for root.
    let error = knobs.set(&knob("kernel.osrelease"), "7.0").expect_err("a read-only setting").to_string();
    assert!(error.contains("kernel.osrelease may only be set to 7.0 by root"), "{error}");
    Ok(())
}

#[test]
fn nothing_is_changed_without_a_restorer() -> Result<(), Error> {
    let machine = FakeMachine::new();
    for supervisor in ["/no/such/program", "/bin/true"] {
        let (mut knobs, _) = Host::below(machine.0.path(), supervisor).knobs(&machine.journal())?;
        let error = knobs.set(&knob("net.core.somaxconn"), "1").expect_err("no restorer").to_string();
        assert!(error.starts_with("cannot start the restorer of kernel settings"), "{error}");
    }
    assert_eq!(machine.value(SOMAXCONN), "4096");
    Ok(())
}

#[test]
fn only_one_process_at_a_time_may_change_settings() -> Result<(), Error> {
    let machine = FakeMachine::new();
    let mut first = machine.knobs()?;
    first.set(&knob("net.core.somaxconn"), "1")?;
    let error = machine.knobs().expect_err("the journal is locked").to_string();
    assert!(error.contains(&format!("in use by pid {}", std::process::id())), "{error}");
    assert_eq!(machine.recover()?, [], "the settings of a running owner are not restored");
    assert_eq!(machine.value(SOMAXCONN), "1");
    drop(first);
    machine.knobs()?;
    Ok(())
}

#[test]
fn a_truncated_line_and_an_invalid_name_in_the_journal_are_ignored() -> Result<(), Error> {
    let machine = FakeMachine::new();
    let entry = r#"{"changing":{"knob":"net.core.somaxconn","old":"128","boot_id":"first"}}"#;
    let invalid = r#"{"changing":{"knob":"/etc/passwd","old":"root::0:0::/:","boot_id":"first"}}"#;
    let text = format!("{entry}\n{invalid}\n{}", &entry[..entry.len() - 20]);
    machine.write_journal(&text);
    let restored = machine.recover()?;
    assert_eq!(
        restored,
        [KnobChange { knob: knob("net.core.somaxconn"), from: "4096".into(), to: "128".into() }]
    );
    assert!(!machine.0.path().join("etc/passwd").exists());
    Ok(())
}

#[test]
fn a_setting_of_a_removed_device_is_skipped() -> Result<(), Error> {
    let machine = FakeMachine::new();
    let mut knobs = machine.knobs()?;
    knobs.set(&knob("net.core.somaxconn"), "1")?;
    fs::remove_file(machine.0.path().join(SOMAXCONN)).expect("remove the setting");
    assert_eq!(knobs.restore()?, Restoration::default());
    Ok(())
}

#[test]
fn entries_from_before_a_reboot_are_skipped() -> Result<(), Error> {
    let machine = FakeMachine::new();
    let entry = r#"{"changing":{"knob":"net.core.somaxconn","old":"128","boot_id":"another"}}"#;
    machine.write_journal(entry);
    assert_eq!(machine.recover()?, []);
    assert_eq!(machine.value(SOMAXCONN), "4096");
    Ok(())
}

/// A line of the journal: this setting had this value.
fn entry(name: &str, old: &str) -> String {
    format!("{{\"changing\":{{\"knob\":\"{name}\",\"old\":\"{old}\",\"boot_id\":\"first\"}}}}\n")
}

/// Makes a setting of the invented machine one that cannot be read or written: a directory.
fn break_setting(machine: &FakeMachine, path: &str) {
    let path = machine.0.path().join(path);
    let _ = fs::remove_file(&path);
    fs::create_dir_all(path).expect("make a directory");
}

#[test]
fn only_the_setting_that_cannot_be_restored_stays_in_the_journal() -> Result<(), Error> {
    let machine = FakeMachine::new();
    break_setting(&machine, "proc/sys/vm/swappiness");
    machine.write_journal(&(entry("net.core.somaxconn", "128") + &entry("vm.swappiness", "60")));
    let restoration = machine.host().recover_knobs(&machine.journal())?;
    assert_eq!(machine.value(SOMAXCONN), "128", "the other setting is restored");
    let failure = restoration.failures.first().expect("the setting that cannot be restored").to_string();
    assert!(failure.starts_with("kernel setting vm.swappiness is not restored to 60: "), "{failure}");

    // Another setting may be changed and is restored; this one may not be.
    let (mut knobs, restored) = machine.host().knobs(&machine.journal())?;
    assert_eq!(restored, []);
    assert_eq!(knobs.left_behind(), restoration.failures);
    knobs.set(&knob("net.core.somaxconn"), "1")?;
    let error = knobs.set(&knob("vm.swappiness"), "1").expect_err("it is left behind").to_string();
    assert_eq!(error, failure);
    assert_eq!(knobs.restore()?.failures, [], "those of this process");
    assert_eq!(machine.value(SOMAXCONN), "128");
    drop(knobs);

    fs::remove_dir(machine.0.path().join("proc/sys/vm/swappiness")).expect("the setting can be restored now");
    machine.write("proc/sys/vm/swappiness", "1\n");
    machine.recover()?;
    assert_eq!(machine.value("proc/sys/vm/swappiness"), "60");
    assert_eq!(machine.recover()?, [], "the journal is empty");
    Ok(())
}

#[test]
fn a_restored_value_is_read_back() -> Result<(), Error> {
    let machine = FakeMachine::new();
    machine.write_journal(&entry("net.core.somaxconn", "128"));
    // What is written to /dev/null is not there when it is read.
    let path = machine.0.path().join(SOMAXCONN);
    fs::remove_file(&path).expect("remove the setting");
    std::os::unix::fs::symlink("/dev/null", &path).expect("make a link");
    let failures = machine.host().recover_knobs(&machine.journal())?.failures;
    let failure = failures.first().expect("the value is another").to_string();
    assert!(failure.contains("net.core.somaxconn is not restored to 128: the kernel keeps"), "{failure}");
    assert_eq!(
        machine.host().recover_knobs(&machine.journal())?.failures,
        failures,
        "it stays in the journal"
    );
    Ok(())
}

#[test]
fn an_entry_after_a_truncated_line_is_not_lost() -> Result<(), Error> {
    let machine = FakeMachine::new();
    break_setting(&machine, "proc/sys/vm/swappiness");
    let torn = &entry("vm.swappiness", "1")[..20];
    machine.write_journal(&(entry("vm.swappiness", "60") + torn));
    let mut knobs = machine.knobs()?;
    knobs.set(&knob("net.core.somaxconn"), "1")?;
    let journal = fs::read_to_string(machine.journal().join("knobs.journal")).expect("read the journal");
    assert!(journal.lines().any(|line| line == entry("net.core.somaxconn", "4096").trim()), "{journal}");
    Ok(())
}

#[test]
fn settings_that_a_change_resets_are_journalled_and_restored_after_it() -> Result<(), Error> {
    let machine = FakeMachine::new();
    let (scheduler, requests) = ("sys/block/vda/queue/scheduler", "sys/block/vda/queue/nr_requests");
    machine.write(scheduler, "none\n");
    machine.write(requests, "256\n");
    let mut knobs = machine.knobs()?;
    knobs.set(&knob("/sys/block/vda/queue/scheduler"), "bfq")?;
    machine.write(requests, "64\n"); // as the kernel does
    let changes = knobs.restore()?.changes;
    let restored: Vec<String> = changes.iter().map(|change| change.knob.to_string()).collect();
    assert_eq!(restored, ["/sys/block/vda/queue/scheduler", "/sys/block/vda/queue/nr_requests"]);
    assert_eq!((machine.value(scheduler), machine.value(requests)), ("none".into(), "256".into()));

    // Of two settings of one quantity, the one that was in use is written; the kernel sets the other to 0.
    machine.write("proc/sys/vm/dirty_bytes", "0\n");
    machine.write("proc/sys/vm/dirty_ratio", "20\n");
    knobs.set(&knob("vm.dirty_bytes"), "1000000")?;
    machine.write("proc/sys/vm/dirty_ratio", "0\n"); // as the kernel does
    let changes = knobs.restore()?.changes;
    assert_eq!(changes[0].knob, knob("vm.dirty_ratio"));
    assert_eq!(machine.value("proc/sys/vm/dirty_ratio"), "20");
    Ok(())
}

/// The kernel itself: `vm.overcommit_kbytes` has no effect here, because `vm.overcommit_memory` is not 2.
#[test]
fn a_pair_of_the_kernel_is_restored() -> Result<(), Box<dyn std::error::Error>> {
    let now =
        |name: &str| fs::read_to_string(format!("/proc/sys/vm/{name}")).map(|text| text.trim().to_owned());
    let before = (now("overcommit_kbytes")?, now("overcommit_ratio")?);
    let dir = tempfile::tempdir()?;
    let (mut knobs, _) = Host::local_with_supervisor(SUPERVISOR).knobs(dir.path())?;
    if !rustix::process::geteuid().is_root() || now("overcommit_memory")? == "2" || before.0 != "0" {
        skip("only root may set vm.overcommit_kbytes, and only where it has no effect");
        return Ok(());
    }
    // Tests of `showdown` that compare the settings of this machine with earlier ones wait for it meanwhile.
    let lock = Path::new(env!("CARGO_TARGET_TMPDIR")).join("settings-of-machine.lock");
    let lock = fs::File::options().create(true).append(true).open(lock)?;
    lock.lock()?;
    match knobs.set(&knob("vm.overcommit_kbytes"), "1000000") {
        Err(Error::NotAllowed { .. }) => {
            skip("this container forbids kernel settings");
            return Ok(());
        }
        set => set?,
    };
    assert_eq!(now("overcommit_ratio")?, "0", "the kernel resets it");
    assert_eq!(knobs.restore()?.failures, []);
    assert_eq!((now("overcommit_kbytes")?, now("overcommit_ratio")?), before);
    Ok(())
}

#[test]
fn a_setting_that_cannot_be_undone_is_not_set() -> Result<(), Error> {
    let machine = FakeMachine::new();
    machine.write("proc/sys/kernel/modules_disabled", "0\n");
    let error = machine.knobs()?.set(&knob("kernel.modules_disabled"), "1").expect_err("one way").to_string();
    assert!(error.starts_with("kernel.modules_disabled = 1 cannot be undone, so it is not set: "), "{error}");
    assert_eq!(machine.value("proc/sys/kernel/modules_disabled"), "0");
    Ok(())
}

const OWNER_ROOT: &str = "HOST_TEST_OWNER_ROOT";

/// Not a test: the process that changes settings and that the tests kill.
#[test]
#[ignore = "a process for the tests below"]
fn owner() {
    let Ok(dir) = std::env::var(OWNER_ROOT) else { return };
    let dir = Path::new(&dir);
    let (mut knobs, _) = Host::below(dir, SUPERVISOR).knobs(&dir.join("state")).expect("lock the journal");
    knobs.set(&knob("net.core.somaxconn"), "65535").expect("change the setting");
    knobs.set(&knob("/sys/kernel/mm/transparent_hugepage/enabled"), "never").expect("change the setting");
    loop {
        std::thread::park();
    }
}

/// Starts a process that changes the settings of this machine.
fn start_owner(machine: &FakeMachine) -> Child {
    let child = Command::new(std::env::current_exe().expect("Linux"))
        .args(["--ignored", "--exact", "knobs::owner"])
        .env(OWNER_ROOT, machine.0.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("run this program");
    eventually("the settings are changed", || machine.value(THP) == "never");
    assert_eq!(machine.value(SOMAXCONN), "65535");
    child
}

fn kill(pids: &[&str]) {
    Command::new("kill").arg("-9").args(pids).status().expect("run kill");
}

#[test]
fn settings_are_restored_when_their_owner_is_killed() -> std::io::Result<()> {
    let machine = FakeMachine::new();
    let mut owner = start_owner(&machine);
    kill(&[&owner.id().to_string()]);
    owner.wait()?;
    eventually("the settings are restored", || {
        machine.value(SOMAXCONN) == "4096" && machine.value(THP) == "madvise"
    });
    Ok(())
}

#[test]
fn the_next_start_restores_settings_when_all_processes_were_killed() -> Result<(), Box<dyn std::error::Error>>
{
    let machine = FakeMachine::new();
    let mut owner = start_owner(&machine);
    // The restorer has the machine's root among its arguments.
    let restorer = processes_of(&machine.0.path().join("")).pop().expect("the restorer runs");
    kill(&[&restorer, &owner.id().to_string()]);
    owner.wait()?;
    let values: Vec<String> = machine.recover()?.into_iter().map(|change| change.to).collect();
    assert_eq!(values, ["madvise", "4096"], "the last change first");
    assert_eq!(machine.value(SOMAXCONN), "4096");
    assert_eq!(machine.recover()?, []);
    Ok(())
}
