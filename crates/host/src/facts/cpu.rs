//! The processors: model, topology, frequency control, idle states, mitigations.

use std::collections::{BTreeMap, BTreeSet};

use procfs::{CpuInfo, FromRead};
use serde::{Deserialize, Serialize};

use crate::affinity;
use crate::root::Root;

const CPUS: &str = "/sys/devices/system/cpu";

/// CPU features that affect the speed of servers: copying, checksums, TLS, hashing, locks, and the clock.
const RELEVANT_FLAGS: &[&str] = &[
    // x86
    "hypervisor",
    "constant_tsc",
    "nonstop_tsc",
    "sse4_2",
    "avx",
    "avx2",
    "avx512f",
    "avx512bw",
    "avx512_vnni",
    "amx_tile",
    "aes",
    "vaes",
    "pclmulqdq",
    "vpclmulqdq",
    "sha_ni",
    "erms",
    "fsrm",
    "rdrand",
    "rtm",
    "pcid",
    "invpcid",
    "fsgsbase",
    "ibrs_enhanced",
    // Arm
    "asimd",
    "atomics",
    "crc32",
    "sha2",
    "sha512",
    "pmull",
    "sve",
    "sve2",
    "bf16",
    "i8mm",
];

/// The processors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuFacts {
    /// The model name; on Arm, implementer and part.
    pub model: Option<String>,
    /// x86: family, model and stepping.
    pub stepping: Option<String>,
    /// The microcode's revision.
    pub microcode: Option<String>,
    /// The CPU features that affect servers.
    pub flags: Vec<String>,
    /// The number of online CPUs (hardware threads).
    pub online: usize,
    /// The number of their physical cores.
    pub cores: usize,
    /// The number of their NUMA nodes.
    pub numa_nodes: usize,
    /// Simultaneous multithreading: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
    pub smt: Option<String>,
    /// Whether several threads of a core are online.
    pub smt_active: Option<bool>,
    /// The caches of the first CPU, such as `L1d 48K`.
    pub caches: Vec<String>,
    /// CPUs isolated from the scheduler.
    pub isolated: Option<String>,
    /// The frequency driver.
    pub frequency_driver: Option<String>,
    /// The frequency governors in use.
    pub governors: BTreeSet<String>,
    /// The energy-performance preferences in use.
    pub energy_preferences: BTreeSet<String>,
    /// Whether cores may run faster than their base frequency.
    pub turbo: Option<bool>,
    /// The maximum frequency, in kHz.
    pub max_khz: Option<u64>,
    /// The driver of idle states.
    pub idle_driver: Option<String>,
    /// The governor of idle states.
    pub idle_governor: Option<String>,
    /// The mitigation of each hardware vulnerability.
    pub mitigations: BTreeMap<String, String>,
}

impl CpuFacts {
    pub(super) fn read(root: &Root) -> Self {
        let first = FirstCpu::read(root);
        let online = affinity::online(root);
        let cores = affinity::cores(root, &online);
        let of_all = |file: &str| -> BTreeSet<String> {
            online.iter().filter_map(|cpu| root.read(format!("{CPUS}/cpu{cpu}/cpufreq/{file}"))).collect()
        };
        Self {
            model: first.model(),
            stepping: first.stepping(),
            microcode: first.get("microcode"),
            flags: first.relevant_flags(),
            online: online.len(),
            cores: cores.len(),
            numa_nodes: cores.iter().map(|core| core.node).collect::<BTreeSet<_>>().len(),
            smt: root.read(format!("{CPUS}/smt/control")),
            smt_active: root.flag(format!("{CPUS}/smt/active")),
            caches: caches(root),
            isolated: root.read(format!("{CPUS}/isolated")),
            frequency_driver: root.read(format!("{CPUS}/cpu0/cpufreq/scaling_driver")),
            governors: of_all("scaling_governor"),
            energy_preferences: of_all("energy_performance_preference"),
            turbo: turbo(root),
            max_khz: root.parse(format!("{CPUS}/cpu0/cpufreq/cpuinfo_max_freq")),
            idle_driver: root.read(format!("{CPUS}/cpuidle/current_driver")).filter(|name| name != "none"),
            idle_governor: root.read(format!("{CPUS}/cpuidle/current_governor")),
            mitigations: mitigations(root),
        }
    }
}

/// The first CPU in `/proc/cpuinfo`.
pub(super) struct FirstCpu(Option<CpuInfo>);

impl FirstCpu {
    pub(super) fn read(root: &Root) -> Self {
        Self(CpuInfo::from_file(root.path("/proc/cpuinfo")).ok())
    }

    fn get(&self, key: &str) -> Option<String> {
        self.0.as_ref()?.get_field(0, key).map(str::to_owned)
    }

    fn model(&self) -> Option<String> {
        let arm =
            || Some(format!("implementer {} part {}", self.get("CPU implementer")?, self.get("CPU part")?));
        self.get("model name").or_else(arm)
    }

    fn stepping(&self) -> Option<String> {
        Some(format!("{}/{}/{}", self.get("cpu family")?, self.get("model")?, self.get("stepping")?))
    }

    /// Whether the CPU belongs to a virtual machine. Only x86 has this flag.
    pub(super) fn is_virtual(&self) -> bool {
        self.get("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))
    }

    fn relevant_flags(&self) -> Vec<String> {
        let all = self.get("flags").or_else(|| self.get("Features")).unwrap_or_default();
        all.split(' ').filter(|flag| RELEVANT_FLAGS.contains(flag)).map(str::to_owned).collect()
    }
}

fn caches(root: &Root) -> Vec<String> {
    let dir = format!("{CPUS}/cpu0/cache");
    let one = |index: &String| {
        let read = |file: &str| root.read(format!("{dir}/{index}/{file}"));
        let suffix = match read("type")?.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        Some(format!("L{}{suffix} {}", read("level")?, read("size")?))
    };
    root.list(&dir).iter().filter_map(one).collect()
}

/// Turbo: `no_turbo` with Intel's driver, `boost` with others.
fn turbo(root: &Root) -> Option<bool> {
    let no_turbo = root.flag(format!("{CPUS}/intel_pstate/no_turbo"));
    no_turbo.map(|off| !off).or_else(|| root.flag(format!("{CPUS}/cpufreq/boost")))
}

fn mitigations(root: &Root) -> BTreeMap<String, String> {
    let dir = format!("{CPUS}/vulnerabilities");
    let names = root.list(&dir).into_iter();
    names.filter_map(|name| root.read(format!("{dir}/{name}")).map(|state| (name, state))).collect()
}

/// Thermal throttling events since boot, summed over all CPUs.
pub(super) fn core_throttles(root: &Root) -> Option<u64> {
    let of_one = |cpu| root.parse::<u64>(format!("{CPUS}/cpu{cpu}/thermal_throttle/core_throttle_count"));
    affinity::online(root).iter().filter_map(of_one).reduce(|a, b| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    #[test]
    fn an_intel_server_with_intel_pstate() {
        let (_dir, root) = fake_root(&[
            (
                "/proc/cpuinfo",
                "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Xeon\nstepping\t: 8\n\
                 microcode\t: 0x2b\nflags\t\t: fpu avx2 aes\n\nprocessor\t: 1\nmodel name\t: other\n",
            ),
            ("/sys/devices/system/cpu/online", "0-1\n"),
            ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
            ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
            ("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n"),
            ("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index0/level", "1\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n"),
            ("/sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
        ]);
        let cpu = CpuFacts::read(&root);
        assert_eq!((cpu.model.as_deref(), cpu.stepping.as_deref()), (Some("Xeon"), Some("6/143/8")));
        assert_eq!(cpu.flags, ["avx2", "aes"]);
        assert_eq!((cpu.turbo, cpu.smt_active), (Some(false), None));
        assert_eq!(cpu.governors.iter().collect::<Vec<_>>(), ["performance", "powersave"]);
        assert_eq!((cpu.online, cpu.cores, cpu.caches), (2, 2, vec!["L1d 48K".to_owned()]));
        assert_eq!(cpu.mitigations["meltdown"], "Not affected");
        assert_eq!(core_throttles(&root), Some(7));
    }

    #[test]
    fn an_arm_server() {
        let (_dir, root) = fake_root(&[(
            "/proc/cpuinfo",
            "processor\t: 0\nFeatures\t: fp asimd atomics\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
        )]);
        let cpu = CpuFacts::read(&root);
        assert_eq!(cpu.model.as_deref(), Some("implementer 0x41 part 0xd0c"));
        assert_eq!(cpu.flags, ["asimd", "atomics"]);
    }
}
