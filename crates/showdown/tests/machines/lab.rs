//! A lab of hosts behind sshds of their own: `scripts/machines-lab`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Output, Stdio};

use super::{command, run, skip, stderr};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/machines-lab");

/// A lab, which ends with the test.
pub struct Lab {
    parent: tempfile::TempDir,
    /// Its end ends the lab, also when this process is killed.
    input: Option<ChildStdin>,
}

impl Lab {
    /// Starts hosts c1 to cN. None where this user is not root, because the kernel lets nobody else make namespaces of this
    /// kind, and where a container forbids them.
    pub fn up(hosts: u32) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip("only root can start the lab of machines");
            return None;
        }
        if !machines_are_possible() {
            skip("this container may not have namespaces, networks and mounts of its own");
            return None;
        }
        let parent = tempfile::tempdir().expect("a directory");
        // The users of the hosts read what is in it.
        fs::set_permissions(parent.path(), fs::Permissions::from_mode(0o755)).expect("its permissions");
        let mut lab = Self { parent, input: None };
        let mut up = command(&lab.words(&["up", &hosts.to_string(), "--until-eof"]));
        let up = up.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut up = up.spawn().expect("the script runs");
        lab.input = up.stdin.take();
        let output = up.wait_with_output().expect("the script ends");
        assert!(output.status.success(), "{}", stderr(&output));
        Some(lab)
    }

    pub fn directory(&self) -> PathBuf {
        self.parent.path().join("lab")
    }

    fn words(&self, rest: &[&str]) -> Vec<String> {
        let directory = self.directory().display().to_string();
        let words = [SCRIPT, "--dir", &directory];
        words.iter().chain(rest).map(|word| (*word).to_owned()).collect()
    }

    fn script(&self, rest: &[&str]) -> Output {
        run(&self.words(rest))
    }

    /// Runs a command on a host as its root.
    pub fn on(&self, host: &str, words: &[&str]) -> Output {
        self.script(&[&["on", host], words].concat())
    }

    /// What a command on a host prints.
    pub fn output_on(&self, host: &str, words: &[&str]) -> String {
        let output = self.on(host, words);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What a command on the controller prints.
    pub fn output(&self, words: &[&str]) -> String {
        let output = self.script(&[&["exec"], words].concat());
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A command on the controller.
    pub fn exec(&self, words: &[&str]) -> Command {
        command(&self.words(&[&["exec"], words].concat()))
    }

    /// `showdown hosts` on the controller, with a hosts file of this text.
    pub fn hosts(&self, text: &str, options: &[&str]) -> Output {
        self.hosts_command(text, options).output().expect("it can be started")
    }

    pub fn hosts_command(&self, text: &str, options: &[&str]) -> Command {
        let words = super::hosts_command(&self.parent, text);
        let words: Vec<&str> = words.iter().map(String::as_str).chain(options.iter().copied()).collect();
        let mut command = command(&self.words(&[&["exec"], words.as_slice()].concat()));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Adds to the configuration of ssh on the controller.
    pub fn configure_ssh(&self, text: &str) {
        let file = self.directory().join("ssh_config");
        let old = fs::read_to_string(&file).expect("the script wrote it");
        // OpenSSH takes the first value of an option. The file is mounted: it keeps its place.
        fs::write(&file, format!("{text}\n{old}")).expect("it can be written");
    }

    /// Writes a file into the directory of the lab, which all hosts see.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory().join(name);
        fs::write(&path, text).expect("a file of this test");
        path
    }

    pub fn read(&self, name: impl AsRef<Path>) -> String {
        fs::read_to_string(self.directory().join(name)).expect("a file of the lab")
    }

    /// What a test may have left on a host: processes of showdown, and ports beside that of sshd.
    pub fn left_on(&self, host: &str) -> Vec<String> {
        let processes = self.output_on(host, &["ps", "-e", "-o", "stat=,args="]);
        let is_left = |line: &&str| {
            let is_ours = ["showdown", "sd-guard", "sd-keeper", "sd-restorer", "nginx", "sshd: "]
                .iter()
                .any(|name| line.contains(name));
            is_ours
                && !line.starts_with('Z')
                && !line.contains("[listener]")
                && !line.contains("machines-lab")
        };
        let ports = self.output_on(host, &["ss", "-Hltn"]);
        let ports = ports.lines().filter(|line| !line.contains(":22 ")).map(str::to_owned);
        processes.lines().filter(is_left).map(str::to_owned).chain(ports).collect()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let output = self.script(&["down"]);
        assert!(output.status.success() || std::thread::panicking(), "{}", stderr(&output));
    }
}

/// Whether the kernel lets root make what the lab is made of.
fn machines_are_possible() -> bool {
    let parts = "ip link add name lab0 type veth peer name lab1 && mount -t tmpfs none /mnt && mkdir /mnt/upper /mnt/work && \
                 mount -t overlay -o lowerdir=/var,upperdir=/mnt/upper,workdir=/mnt/work overlay /var";
    let mut unshare = Command::new("unshare");
    unshare.args([
        "--net",
        "--mount",
        "--pid",
        "--fork",
        "--uts",
        "--ipc",
        "--mount-proc",
        "sh",
        "-c",
        parts,
    ]);
    unshare.output().is_ok_and(|output| output.status.success())
}
