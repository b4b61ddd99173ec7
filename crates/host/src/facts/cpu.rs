//! The processors: what they are, and how they may run.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::affinity;
use crate::root::Root;

const CPUS: &str = "/sys/devices/system/cpu";

/// Instruction sets and features that change how fast servers run: copying, checksums, TLS, hashing, locks,
/// and the clock.
const FLAGS_THAT_MATTER: &[&str] = &[
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
pub struct Cpu {
    /// The model's name; implementer and part on Arm.
    pub model: Option<String>,
    /// x86: family, model and stepping.
    pub stepping: Option<String>,
    /// The microcode's revision.
    pub microcode: Option<String>,
    /// Those of its features that matter to servers.
    pub flags: Vec<String>,
    /// CPUs (hardware threads) that are switched on.
    pub online: usize,
    /// Physical cores among those.
    pub cores: usize,
    /// NUMA nodes among those.
    pub numa_nodes: usize,
    /// Simultaneous multithreading: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
    pub smt: Option<String>,
    /// Whether cores have more than one of their threads switched on.
    pub smt_active: Option<bool>,
    /// The caches of the first CPU, such as `L1d 48K`.
    pub caches: Vec<String>,
    /// CPUs that the scheduler leaves alone.
    pub isolated: Option<String>,
    /// The frequency driver.
    pub frequency_driver: Option<String>,
    /// The frequency governors in use.
    pub governors: BTreeSet<String>,
    /// The preferences between energy and performance in use.
    pub energy_preferences: BTreeSet<String>,
    /// Whether cores may run faster than their base frequency.
    pub turbo: Option<bool>,
    /// The highest frequency, in kHz.
    pub max_khz: Option<u64>,
    /// The driver of idle states.
    pub idle_driver: Option<String>,
    /// The governor of idle states.
    pub idle_governor: Option<String>,
    /// What is done against each hardware vulnerability.
    pub mitigations: BTreeMap<String, String>,
}

impl Cpu {
    pub(super) fn read(root: &Root) -> Self {
        let info = FirstCpu::read(root);
        let online = affinity::online(root);
        let cores = affinity::cores(root, &online);
        let of_all = |file: &str| -> BTreeSet<String> {
            online.iter().filter_map(|cpu| root.read(format!("{CPUS}/cpu{cpu}/cpufreq/{file}"))).collect()
        };
        Self {
            model: info.model(),
            stepping: info.stepping(),
            microcode: info.get("microcode"),
            flags: info.flags_that_matter(),
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

/// The first block of `/proc/cpuinfo`, by its keys.
struct FirstCpu(BTreeMap<String, String>);

impl FirstCpu {
    fn read(root: &Root) -> Self {
        let text = root.read("/proc/cpuinfo").unwrap_or_default();
        let lines = text.lines().take_while(|line| !line.trim().is_empty());
        Self(
            lines
                .filter_map(|line| line.split_once(':'))
                .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
                .collect(),
        )
    }

    fn get(&self, key: &str) -> Option<String> {
        self.0.get(key).cloned()
    }

    fn model(&self) -> Option<String> {
        let arm =
            || Some(format!("implementer {} part {}", self.get("CPU implementer")?, self.get("CPU part")?));
        self.get("model name").or_else(arm)
    }

    fn stepping(&self) -> Option<String> {
        Some(format!("{}/{}/{}", self.get("cpu family")?, self.get("model")?, self.get("stepping")?))
    }

    fn flags_that_matter(&self) -> Vec<String> {
        let all = self.get("flags").or_else(|| self.get("Features")).unwrap_or_default();
        all.split(' ').filter(|flag| FLAGS_THAT_MATTER.contains(flag)).map(str::to_owned).collect()
    }
}

fn caches(root: &Root) -> Vec<String> {
    let dir = format!("{CPUS}/cpu0/cache");
    let one = |index: &String| {
        let read = |file: &str| root.read(format!("{dir}/{index}/{file}"));
        let kind = match read("type")?.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        Some(format!("L{}{kind} {}", read("level")?, read("size")?))
    };
    root.list(&dir).iter().filter_map(one).collect()
}

/// Turbo is the absence of `no_turbo` with Intel's own driver, and `boost` with the others.
fn turbo(root: &Root) -> Option<bool> {
    let no_turbo = root.flag(format!("{CPUS}/intel_pstate/no_turbo"));
    no_turbo.map(|off| !off).or_else(|| root.flag(format!("{CPUS}/cpufreq/boost")))
}

fn mitigations(root: &Root) -> BTreeMap<String, String> {
    let dir = format!("{CPUS}/vulnerabilities");
    let names = root.list(&dir).into_iter();
    names.filter_map(|name| root.read(format!("{dir}/{name}")).map(|state| (name, state))).collect()
}

/// Throttling because of heat since the start, summed over all CPUs.
pub(super) fn core_throttles(root: &Root) -> Option<u64> {
    let of_one = |cpu| root.parse::<u64>(format!("{CPUS}/cpu{cpu}/thermal_throttle/core_throttle_count"));
    affinity::online(root).iter().filter_map(of_one).reduce(|a, b| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::stand_in;

    #[test]
    fn an_intel_server_with_its_own_frequency_driver() {
        let (_dir, root) = stand_in(&[
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
        let cpu = Cpu::read(&root);
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
        let (_dir, root) = stand_in(&[(
            "/proc/cpuinfo",
            "processor\t: 0\nFeatures\t: fp asimd atomics\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
        )]);
        let cpu = Cpu::read(&root);
        assert_eq!(cpu.model.as_deref(), Some("implementer 0x41 part 0xd0c"));
        assert_eq!(cpu.flags, ["asimd", "atomics"]);
    }
}
