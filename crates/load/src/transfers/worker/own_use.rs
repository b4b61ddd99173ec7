//! CPU time and memory of this process.

/// CPU time of this process since its start, in user mode and in the kernel.
pub(super) fn cpu_us() -> u64 {
    use nix::sys::resource::{UsageWho, getrusage};
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return 0 };
    let us = |time: nix::sys::time::TimeVal| (time.tv_sec() * 1_000_000 + time.tv_usec()).cast_unsigned();
    us(usage.user_time()) + us(usage.system_time())
}

/// Memory of this process that is in no file; 0 where the kernel does not say.
pub(super) fn memory_bytes() -> u64 {
    let status = procfs::process::Process::myself().and_then(|process| process.status());
    status.ok().and_then(|status| status.rssanon).unwrap_or_default() * 1024
}
