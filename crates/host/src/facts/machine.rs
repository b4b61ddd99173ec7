//! The machine: distribution, virtualization, power source, measuring tools.

use std::fs::File;

use serde::{Deserialize, Serialize};

use super::cpu::FirstCpu;
use super::libc;
use crate::root::Root;

/// The machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// The host name.
    pub hostname: Option<String>,
    /// The distribution's name and version.
    pub distribution: Option<String>,
    /// `x86_64`, `aarch64`, ...
    pub architecture: String,
    /// The default C library.
    pub libc: Option<String>,
    /// The kind of virtual machine, if it is one.
    pub virtualization: Option<String>,
    /// The kind of container that this process runs in, if any.
    pub container: Option<String>,
    /// The power source, if the machine reports it.
    pub power_source: Option<PowerSource>,
    /// Whether the processor's energy counters are readable.
    pub rapl: Rapl,
}

/// The power source of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PowerSource {
    /// Mains power.
    Mains,
    /// A battery. The machine saves energy.
    Battery,
}

/// The energy counters of the processor (powercap.rst).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rapl {
    /// There are none: an unsupported processor, or a virtual machine.
    #[default]
    Absent,
    /// Only root may read them (since Linux 5.10, because of CVE-2020-8694).
    Unreadable,
    /// They are readable.
    Readable,
}

impl MachineFacts {
    pub(super) fn read(root: &Root) -> Self {
        Self {
            hostname: root.read("/proc/sys/kernel/hostname"),
            distribution: root.os_release().remove("PRETTY_NAME"),
            architecture: std::env::consts::ARCH.to_owned(),
            libc: libc::of_the_system(root),
            virtualization: virtualization(root),
            container: container(root),
            power_source: power_source(root),
            rapl: rapl(root),
        }
    }
}

/// The kind of virtual machine. A CPU flag on x86 and the device tree on Arm identify a virtual machine. Its kind is the
/// board name from the firmware, or else follows from the available clocksources.
fn virtualization(root: &Root) -> Option<String> {
    let is_virtual =
        FirstCpu::read(root).is_virtual() || root.read("/proc/device-tree/hypervisor/compatible").is_some();
    if !is_virtual {
        return None;
    }
    let board: Vec<_> = ["sys_vendor", "product_name"]
        .iter()
        .filter_map(|f| root.read(format!("/sys/class/dmi/id/{f}")))
        .collect();
    if !board.is_empty() {
        return Some(board.join(" "));
    }
    let clocks =
        root.read("/sys/devices/system/clocksource/clocksource0/available_clocksource").unwrap_or_default();
    let by_clock = [("kvm-clock", "KVM"), ("hyperv_clocksource", "Hyper-V"), ("xen", "Xen")];
    let hypervisor = by_clock.iter().find(|(clock, _)| clocks.contains(clock));
    Some(hypervisor.map_or("unknown hypervisor", |(_, name)| name).to_owned())
}

fn container(root: &Root) -> Option<String> {
    let by_file = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    let by_group = ["docker", "kubepods", "lxc", "containerd"];
    let groups = root.read("/proc/1/cgroup").unwrap_or_default();
    by_file
        .iter()
        .find(|(file, _)| root.path(file).exists())
        .map(|(_, name)| (*name).to_owned())
        .or_else(|| by_group.iter().find(|name| groups.contains(**name)).map(|name| (*name).to_owned()))
}

/// The power source is a battery if a battery of the machine is discharging. Batteries of devices such as mice have the
/// scope "Device" (sysfs-class-power) and do not count.
fn power_source(root: &Root) -> Option<PowerSource> {
    const SUPPLIES: &str = "/sys/class/power_supply";
    let mut source = None;
    for supply in root.list(SUPPLIES) {
        let read = |file: &str| root.read(format!("{SUPPLIES}/{supply}/{file}"));
        let is_of_machine = read("scope").is_none_or(|scope| scope != "Device");
        match read("type").as_deref() {
            Some("Battery") if is_of_machine && read("status").as_deref() == Some("Discharging") => {
                return Some(PowerSource::Battery);
            }
            Some(_) if is_of_machine => source = Some(PowerSource::Mains),
            _ => {}
        }
    }
    source
}

fn rapl(root: &Root) -> Rapl {
    const POWERCAP: &str = "/sys/class/powercap";
    let zones = root.list(POWERCAP).into_iter().filter(|name| name.contains("rapl:"));
    let counters: Vec<_> = zones
        .map(|zone| root.path(format!("{POWERCAP}/{zone}/energy_uj")))
        .filter(|path| path.exists())
        .collect();
    match counters.iter().any(|path| File::open(path).is_ok()) {
        true => Rapl::Readable,
        false if counters.is_empty() => Rapl::Absent,
        false => Rapl::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    #[test]
    fn a_laptop_on_battery_power() {
        let (_dir, root) = fake_root(&[
            ("/etc/os-release", "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"),
            ("/proc/cpuinfo", "processor\t: 0\nflags\t: fpu avx\n"),
            ("/sys/class/power_supply/AC/type", "Mains\n"),
            ("/sys/class/power_supply/BAT0/type", "Battery\n"),
            ("/sys/class/power_supply/BAT0/status", "Discharging\n"),
            ("/sys/class/powercap/intel-rapl:0/energy_uj", "1\n"),
        ]);
        let machine = MachineFacts::read(&root);
        assert_eq!(machine.distribution.as_deref(), Some("Debian GNU/Linux 12"));
        assert_eq!(machine.power_source, Some(PowerSource::Battery));
        assert_eq!((machine.virtualization, machine.rapl), (None, Rapl::Readable));
    }

    #[test]
    fn the_battery_of_a_mouse_is_not_a_power_source() {
        let (_dir, root) = fake_root(&[
            ("/sys/class/power_supply/hidpp_battery_0/type", "Battery\n"),
            ("/sys/class/power_supply/hidpp_battery_0/scope", "Device\n"),
            ("/sys/class/power_supply/hidpp_battery_0/status", "Discharging\n"),
        ]);
        assert_eq!(power_source(&root), None);
    }

    #[test]
    fn a_virtual_machine_is_identified_by_its_board_or_its_clocks() {
        let flags = ("/proc/cpuinfo", "processor\t: 0\nflags\t: fpu hypervisor\n");
        let (_dir, cloud) = fake_root(&[
            flags,
            ("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
            ("/sys/class/dmi/id/product_name", "m7i.large\n"),
        ]);
        assert_eq!(virtualization(&cloud).as_deref(), Some("Amazon EC2 m7i.large"));
        let clocks =
            ("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock\n");
        let (_dir, micro) = fake_root(&[flags, clocks]);
        assert_eq!(virtualization(&micro).as_deref(), Some("KVM"));
    }
}
