//! Whether the kernel takes the time that a hypervisor stole out of the CPU time of threads.
//!
//! With `CONFIG_PARAVIRT_TIME_ACCOUNTING` the clock of a run queue stands still while its CPU is stolen (`update_rq_clock_task` in
//! `kernel/sched/core.c`), and with it the CPU time of threads: `schedstat`, the clocks of processes and threads, and the sum of user and
//! system time. Without it, or with `no-steal-acc`, stolen time is counted as the thread's that was to run.

use std::fs::File;
use std::io::Read;

use flate2::read::GzDecoder;

use crate::root::Root;

/// Stolen time is not in the CPU time of threads.
pub const TAKEN_OUT: &str = "not in CPU time";
/// Stolen time is in the CPU time of threads.
pub const COUNTED: &str = "in CPU time";
/// The kernel takes out what the hypervisor reports, and it has reported nothing: there was nothing, or it does not report it. What is not
/// reported is in the CPU time.
pub const UNREPORTED: &str = "unknown: none was reported since the boot";

/// The setting that takes it out.
const SETTING: &str = "CONFIG_PARAVIRT_TIME_ACCOUNTING=y";
/// The boot parameter that leaves it in.
const OFF: &str = "no-steal-acc";
/// No configuration of a kernel is longer.
const LONGEST_CONFIGURATION: u64 = 8 << 20;

/// One of the three; none where the configuration of the kernel cannot be read.
pub(super) fn stolen_time(root: &Root) -> Option<String> {
    let command_line = root.read("/proc/cmdline").unwrap_or_default();
    let is_off = command_line.split_whitespace().any(|word| word == OFF);
    let is_taken_out = !is_off && configuration(root)?.lines().any(|line| line == SETTING);
    let where_it_is = match (is_taken_out, has_reported(root)) {
        (false, _) => COUNTED,
        (true, true) => TAKEN_OUT,
        (true, false) => UNREPORTED,
    };
    Some(where_it_is.to_owned())
}

/// Whether the hypervisor has reported since the boot that it took time from a CPU.
fn has_reported(root: &Root) -> bool {
    /// The column of `/proc/stat`, after the name.
    const STEAL: usize = 7;
    let text = root.read("/proc/stat").unwrap_or_default();
    let of_all_cpus = text.lines().find_map(|line| line.strip_prefix("cpu "));
    let stolen = of_all_cpus.and_then(|times| times.split_whitespace().nth(STEAL));
    stolen.and_then(|ticks| ticks.parse::<u64>().ok()).is_some_and(|ticks| ticks > 0)
}

/// The configuration with which the running kernel was built.
fn configuration(root: &Root) -> Option<String> {
    let release = root.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    of_running_kernel(root).or_else(|| root.read(format!("/boot/config-{release}")))
}

fn of_running_kernel(root: &Root) -> Option<String> {
    let file = File::open(root.path("/proc/config.gz")).ok()?;
    let mut text = String::new();
    GzDecoder::new(file).take(LONGEST_CONFIGURATION).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    fn found(files: &[(&str, &str)]) -> Option<String> {
        let (_dir, root) = fake_root(files);
        stolen_time(&root)
    }

    #[test]
    fn the_configuration_and_the_boot_parameters_say_where_stolen_time_is() {
        let release = ("/proc/sys/kernel/osrelease", "6.1.0\n");
        let with = ("/boot/config-6.1.0", "CONFIG_PARAVIRT=y\nCONFIG_PARAVIRT_TIME_ACCOUNTING=y\n");
        let without =
            ("/boot/config-6.1.0", "CONFIG_PARAVIRT=y\n# CONFIG_PARAVIRT_TIME_ACCOUNTING is not set\n");
        let reported = ("/proc/stat", "cpu  1 0 1 9 0 0 0 3 0 0\ncpu0 1 0 1 9 0 0 0 3 0 0\n");
        assert_eq!(found(&[release, with, reported]).as_deref(), Some(TAKEN_OUT));
        let silent = ("/proc/stat", "cpu  1 0 1 9 0 0 0 0 0 0\n");
        assert_eq!(found(&[release, with, silent]).as_deref(), Some(UNREPORTED));
        assert_eq!(found(&[release, without]).as_deref(), Some(COUNTED));
        assert_eq!(found(&[release, without, reported]).as_deref(), Some(COUNTED));
        let off = ("/proc/cmdline", "quiet no-steal-acc\n");
        assert_eq!(found(&[release, with, off]).as_deref(), Some(COUNTED));
        assert_eq!(found(&[release]), None, "the configuration cannot be read");
    }
}
