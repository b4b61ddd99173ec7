//! Kernel settings in a directory that replaces the machine's root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use host::Host;
use host::knobs::{Error, Knob, KnobChange};

use crate::common::{KEEPER, eventually, processes_of};

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
            let path = machine.0.path().join(path);
            fs::create_dir_all(path.parent().expect("a file has a parent")).expect("make a directory");
            fs::write(path, text).expect("write a file");
        }
        machine
    }

    fn host(&self) -> Host {
        Host::below(self.0.path(), KEEPER)
    }

    fn journal(&self) -> PathBuf {
        self.0.path().join("state")
    }

    fn write_journal(&self, text: &str) {
        fs::create_dir_all(self.journal()).expect("make a directory");
        fs::write(self.journal().join("knobs.journal"), text).expect("write a file");
    }

    fn recover(&self) -> Result<Vec<KnobChange>, Error> {
        self.host().recover_knobs(&self.journal())
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
    let mut knobs = machine.host().knobs(&machine.journal())?;
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
    let mut knobs = machine.host().knobs(&machine.journal())?;
    knobs.set(&knob("/sys/kernel/mm/transparent_hugepage/enabled"), "never")?;
    let restored = knobs.restore()?;
    assert_eq!(
        restored,
        [KnobChange {
            knob: knob("/sys/kernel/mm/transparent_hugepage/enabled"),
            from: "never".into(),
            to: "madvise".into()
        }]
    );
    assert_eq!(knobs.restore()?, [], "restoring twice does nothing");
    Ok(())
}

#[test]
fn a_missing_setting_is_an_error_and_is_not_created() -> Result<(), Error> {
    let machine = FakeMachine::new();
    let mut knobs = machine.host().knobs(&machine.journal())?;
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
    let mut knobs = Host::local_with_keeper(KEEPER).knobs(dir.path())?;
    // Read-only, also for root.
    let error = knobs.set(&knob("kernel.osrelease"), "7.0").expect_err("a read-only setting").to_string();
    assert!(error.contains("kernel.osrelease may only be set to 7.0 by root"), "{error}");
    Ok(())
}

#[test]
fn nothing_is_changed_without_a_restorer() -> Result<(), Error> {
    let machine = FakeMachine::new();
    for keeper in ["/no/such/program", "/bin/true"] {
        let mut knobs = Host::below(machine.0.path(), keeper).knobs(&machine.journal())?;
        let error = knobs.set(&knob("net.core.somaxconn"), "1").expect_err("no restorer").to_string();
        assert!(error.starts_with("cannot start the restorer of kernel settings"), "{error}");
    }
    assert_eq!(machine.value(SOMAXCONN), "4096");
    Ok(())
}

#[test]
fn only_one_process_at_a_time_may_change_settings() -> Result<(), Error> {
    let machine = FakeMachine::new();
    let mut first = machine.host().knobs(&machine.journal())?;
    first.set(&knob("net.core.somaxconn"), "1")?;
    let error = machine.host().knobs(&machine.journal()).expect_err("the journal is locked").to_string();
    assert!(error.contains(&format!("in use by pid {}", std::process::id())), "{error}");
    assert_eq!(machine.recover()?, [], "the settings of a running owner are not restored");
    assert_eq!(machine.value(SOMAXCONN), "1");
    drop(first);
    machine.host().knobs(&machine.journal())?;
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
    let mut knobs = machine.host().knobs(&machine.journal())?;
    knobs.set(&knob("net.core.somaxconn"), "1")?;
    fs::remove_file(machine.0.path().join(SOMAXCONN)).expect("remove the setting");
    assert_eq!(knobs.restore()?, []);
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

const OWNER_ROOT: &str = "HOST_TEST_OWNER_ROOT";

/// Not a test: the process that changes settings and that the tests kill.
#[test]
#[ignore = "a process for the tests below"]
fn owner() {
    let Ok(dir) = std::env::var(OWNER_ROOT) else { return };
    let dir = Path::new(&dir);
    let mut knobs = Host::below(dir, KEEPER).knobs(&dir.join("state")).expect("lock the journal");
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
