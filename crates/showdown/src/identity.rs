//! What identifies this machine and its user, for `export --anonymous`. What cannot be read is left out.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use archive::Identity;

/// Users below this ID belong to the system, such as root and www-data.
const FIRST_USER_ID: u32 = 1000;

/// Identifiers of the installation and of the machine (machine-id(5), SMBIOS).
const IDENTIFIERS: [&str; 6] = [
    "/etc/machine-id",
    "/sys/class/dmi/id/product_serial",
    "/sys/class/dmi/id/product_uuid",
    "/sys/class/dmi/id/board_serial",
    "/sys/class/dmi/id/chassis_serial",
    "/sys/class/dmi/id/chassis_asset_tag",
];

/// Serial numbers of disks, below `/sys/block/DISK`.
const OF_DISKS: [&str; 4] = ["serial", "device/serial", "device/wwid", "wwid"];

/// What vendors write who have no serial number.
const NO_SERIAL: [&str; 6] =
    ["none", "not specified", "default string", "unknown", "not applicable", "to be filled by o.e.m."];

/// Collects it.
pub fn of_this_machine() -> Identity {
    let home = std::env::var("HOME").ok();
    let accounts = accounts();
    let variables = ["USER", "LOGNAME", "SUDO_USER"].into_iter().filter_map(|name| std::env::var(name).ok());
    let users = accounts.iter().filter(|account| account.is_person).map(|account| account.name.clone());
    let homes = accounts.iter().map(|account| account.home.clone());
    let is_home = |home: &String| home.len() > 1 && !home.starts_with("/nonexistent");
    let executable = std::env::current_exe().ok().and_then(|path| path.parent().map(Path::to_path_buf));
    let directories = [std::env::current_dir().ok(), executable, Some(std::env::temp_dir())];
    let text = |path: PathBuf| path.to_str().map(str::to_owned);
    Identity {
        hosts: hosts(),
        users: unique(variables.chain(users)),
        homes: unique(home.into_iter().chain(homes).filter(is_home)),
        directories: unique(directories.into_iter().flatten().filter_map(text)),
        paths: Vec::new(),
        serials: serials(),
    }
}

fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(name.clone())).collect()
}

/// A line of passwd(5) of a person, or of root.
struct Account {
    name: String,
    home: String,
    is_person: bool,
}

fn accounts() -> Vec<Account> {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let account = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, id, _, _, home, _] = fields[..] else { return None };
        let id: u32 = id.parse().ok()?;
        let is_person = id >= FIRST_USER_ID && name != "nobody";
        (is_person || id == 0).then(|| Account { name: name.to_owned(), home: home.to_owned(), is_person })
    };
    passwd.lines().filter_map(account).collect()
}

/// The host's name, its first label, and the names that hosts(5) gives it.
fn hosts() -> Vec<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
    let mut names = vec![name.clone()];
    names.extend(name.split_once('.').map(|(label, _)| label.to_owned()));
    for line in fs::read_to_string("/etc/hosts").unwrap_or_default().lines() {
        let line = line.split('#').next().unwrap_or_default();
        let of_line: Vec<&str> = line.split_whitespace().skip(1).collect();
        if of_line.contains(&name.as_str()) {
            names
                .extend(of_line.into_iter().filter(|name| !name.starts_with("localhost")).map(str::to_owned));
        }
    }
    unique(names.into_iter())
}

fn serials() -> Vec<String> {
    let disks = fs::read_dir("/sys/block").into_iter().flatten().flatten().map(|disk| disk.path());
    let of_disks = disks.flat_map(|disk| OF_DISKS.map(|file| disk.join(file)));
    let files = IDENTIFIERS.map(PathBuf::from).into_iter().chain(of_disks);
    let serials = files.filter_map(|path| fs::read_to_string(path).ok()).map(|text| text.trim().to_owned());
    let is_serial =
        |serial: &String| serial.len() >= 4 && !NO_SERIAL.contains(&serial.to_lowercase().as_str());
    unique(serials.filter(is_serial))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_name_and_a_working_directory() {
        let identity = of_this_machine();
        let name = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
        assert_eq!(identity.hosts[0], name.trim());
        let here = std::env::current_dir().expect("a directory").display().to_string();
        assert!(identity.directories.contains(&here), "{identity:?}");
    }
}
