//! Settings in a directory that stands in for the machine's root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use host::Host;
use host::knobs::{Change, Error, Knob};

use crate::common::{KEEPER, eventually, processes_of};

const SOMAXCONN: &str = "proc/sys/net/core/somaxconn";
const THP: &str = "sys/kernel/mm/transparent_hugepage/enabled";

/// A machine with two settings.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().expect("there is a place for temporary files"));
        for (path, text) in [
            (SOMAXCONN, "4096\n"),
            (THP, "always [madvise] never\n"),
            ("proc/sys/kernel/random/boot_id", "first\n"),
        ] {
            let path = machine.0.path().join(path);
            fs::create_dir_all(path.parent().expect("it has a directory")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        }
        machine
    }

    fn host(&self) -> Host {
        Host::below(self.0.path(), KEEPER)
    }

    fn journal(&self) -> PathBuf {
        self.0.path().join("state")
    }

    fn leave_in_the_journal(&self, text: &str) {
        fs::create_dir_all(self.journal()).expect("it can be made");
        fs::write(self.journal().join("knobs.journal"), text).expect("it can be written");
    }

    fn recover(&self) -> Result<Vec<Change>, Error> {
        self.host().recover_knobs(&self.journal())
    }

    fn value(&self, path: &str) -> String {
        fs::read_to_string(self.0.path().join(path)).expect("it is there").trim().to_owned()
    }
}

fn knob(name: &str) -> Knob {
    name.parse().expect("the name of a setting")
}

#[test]
fn a_setting_is_changed_and_put_back() -> Result<(), Error> {
    let machine = Machine::new();
    let mut knobs = machine.host().knobs(&machine.journal())?;
    let change = knobs.set(&knob("net.core.somaxconn"), " 65535 ")?;
    assert_eq!((change.from.as_str(), change.to.as_str()), ("4096", "65535"));
    knobs.set(&knob("net.core.somaxconn"), "1")?;
    assert_eq!(machine.value(SOMAXCONN), "1");
    drop(knobs);
    assert_eq!(machine.value(SOMAXCONN), "4096", "the first old value, not the second");
    assert_eq!(machine.recover()?, [], "and the journal knows");
    Ok(())
}

#[test]
fn of_several_choices_the_chosen_one_is_put_back() -> Result<(), Error> {
    let machine = Machine::new();
    let mut knobs = machine.host().knobs(&machine.journal())?;
    knobs.set(&knob("/sys/kernel/mm/transparent_hugepage/enabled"), "never")?;
    let back = knobs.restore()?;
    assert_eq!(
        back,
        [Change {
            knob: knob("/sys/kernel/mm/transparent_hugepage/enabled"),
            from: "never".into(),
            to: "madvise".into()
        }]
    );
    assert_eq!(knobs.restore()?, [], "a second time there is nothing to do");
    Ok(())
}

#[test]
fn what_is_not_there_or_not_allowed_changes_nothing() -> Result<(), Error> {
    let machine = Machine::new();
    let mut knobs = machine.host().knobs(&machine.journal())?;
    let error = knobs.set(&knob("no.such.setting"), "1").expect_err("it is not there").to_string();
    assert!(
        error.starts_with("cannot read no.such.setting") && !machine.0.path().join("proc/sys/no").exists(),
        "{error}"
    );
    Ok(())
}

#[test]
fn the_real_kernel_s_refusal_is_told() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let mut knobs = Host::local_with_keeper(KEEPER).knobs(dir.path())?;
    // Read-only for root, too.
    let error = knobs.set(&knob("kernel.osrelease"), "7.0").expect_err("nobody may").to_string();
    assert!(error.contains("kernel.osrelease may only be set to 7.0 by root"), "{error}");
    Ok(())
}

#[test]
fn without_one_who_would_put_it_back_nothing_is_changed() -> Result<(), Error> {
    let machine = Machine::new();
    for keeper in ["/no/such/program", "/bin/true"] {
        let mut knobs = Host::below(machine.0.path(), keeper).knobs(&machine.journal())?;
        let error =
            knobs.set(&knob("net.core.somaxconn"), "1").expect_err("nobody would put it back").to_string();
        assert!(error.starts_with("cannot start the keeper of settings"), "{error}");
    }
    assert_eq!(machine.value(SOMAXCONN), "4096");
    Ok(())
}

#[test]
fn only_one_at_a_time_may_change_settings() -> Result<(), Error> {
    let machine = Machine::new();
    let mut first = machine.host().knobs(&machine.journal())?;
    first.set(&knob("net.core.somaxconn"), "1")?;
    let error = machine.host().knobs(&machine.journal()).expect_err("it is taken").to_string();
    assert!(error.contains(&format!("being changed by pid {}", std::process::id())), "{error}");
    assert_eq!(machine.recover()?, [], "and nobody takes the settings from a living owner");
    assert_eq!(machine.value(SOMAXCONN), "1");
    drop(first);
    machine.host().knobs(&machine.journal())?;
    Ok(())
}

#[test]
fn a_line_cut_short_was_not_done_and_what_is_no_setting_is_not_written() -> Result<(), Error> {
    let machine = Machine::new();
    let entry = r#"{"changing":{"knob":"net.core.somaxconn","old":"128","boot_id":"first"}}"#;
    let evil = r#"{"changing":{"knob":"/etc/passwd","old":"root::0:0::/:","boot_id":"first"}}"#;
    let text = format!("{entry}\n{evil}\n{}", &entry[..entry.len() - 20]);
    machine.leave_in_the_journal(&text);
    let back = machine.recover()?;
    assert_eq!(back, [Change { knob: knob("net.core.somaxconn"), from: "4096".into(), to: "128".into() }]);
    assert!(!machine.0.path().join("etc/passwd").exists());
    Ok(())
}

#[test]
fn a_setting_that_went_with_its_device_needs_no_putting_back() -> Result<(), Error> {
    let machine = Machine::new();
    let mut knobs = machine.host().knobs(&machine.journal())?;
    knobs.set(&knob("net.core.somaxconn"), "1")?;
    fs::remove_file(machine.0.path().join(SOMAXCONN)).expect("it is there");
    assert_eq!(knobs.restore()?, []);
    Ok(())
}

#[test]
fn a_reboot_has_put_all_back_already() -> Result<(), Error> {
    let machine = Machine::new();
    let entry = r#"{"changing":{"knob":"net.core.somaxconn","old":"128","boot_id":"another"}}"#;
    machine.leave_in_the_journal(entry);
    assert_eq!(machine.recover()?, []);
    assert_eq!(machine.value(SOMAXCONN), "4096");
    Ok(())
}

const VICTIM_ROOT: &str = "HOST_TEST_VICTIM_ROOT";

/// Not a test: changes settings and waits to be killed, in another process.
#[test]
#[ignore = "is what the tests below kill"]
fn victim() {
    let Ok(dir) = std::env::var(VICTIM_ROOT) else { return };
    let dir = Path::new(&dir);
    let mut knobs = Host::below(dir, KEEPER).knobs(&dir.join("state")).expect("it is free");
    knobs.set(&knob("net.core.somaxconn"), "65535").expect("it is there");
    knobs.set(&knob("/sys/kernel/mm/transparent_hugepage/enabled"), "never").expect("it is there");
    loop {
        std::thread::park();
    }
}

/// Another process that has changed the settings of this machine.
fn start_victim(machine: &Machine) -> Child {
    let child = Command::new(std::env::current_exe().expect("Linux"))
        .args(["--ignored", "--exact", "knobs::victim"])
        .env(VICTIM_ROOT, machine.0.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("this program can be run");
    eventually("it has changed its settings", || machine.value(THP) == "never");
    assert_eq!(machine.value(SOMAXCONN), "65535");
    child
}

fn kill(pids: &[&str]) {
    Command::new("kill").arg("-9").args(pids).status().expect("kill can be run");
}

#[test]
fn settings_are_put_back_when_their_owner_is_killed() -> std::io::Result<()> {
    let machine = Machine::new();
    let mut victim = start_victim(&machine);
    kill(&[&victim.id().to_string()]);
    victim.wait()?;
    eventually("they are put back", || machine.value(SOMAXCONN) == "4096" && machine.value(THP) == "madvise");
    Ok(())
}

#[test]
fn the_next_start_puts_back_what_is_left_when_all_are_killed() -> Result<(), Box<dyn std::error::Error>> {
    let machine = Machine::new();
    let mut victim = start_victim(&machine);
    // The restorer has the machine's root among its arguments.
    let restorer = processes_of(&machine.0.path().join("")).pop().expect("it runs");
    kill(&[&restorer, &victim.id().to_string()]);
    victim.wait()?;
    let back: Vec<String> = machine.recover()?.into_iter().map(|change| change.to).collect();
    assert_eq!(back, ["madvise", "4096"], "the last first");
    assert_eq!(machine.value(SOMAXCONN), "4096");
    assert_eq!(machine.recover()?, []);
    Ok(())
}
