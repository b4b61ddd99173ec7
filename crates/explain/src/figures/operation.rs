//! Figures of what an operation's time is, from profiles and watched waits: shares of the time in which it is worked on, which is
//! CPU time and waits within it. Waits of others before it are not in them.

use super::cpu::CPU_PER_OPERATION;
use super::plain::Plain;
use super::set::{Figures, Kind, SHARE};

const PROFILE: &str = "samples of stacks on the CPU";
const WAITS: &str = "stacks of waiting threads";

/// Adds them, as far as the server was watched.
pub(super) fn add(plain: &Plain<'_>, figures: &mut Figures) {
    if let Some(cpu) = &plain.watched.cpu {
        let kind = Kind { unit: SHARE, source: PROFILE };
        figures.add("profile.allocator", Some(cpu.allocator), kind, "CPU time in the memory allocator");
        figures.add("profile.collector", Some(cpu.collector), kind, "CPU time in the garbage collector");
        if let Some((name, share)) = &cpu.call {
            let about = "CPU time of the most expensive system call, not counting read, write and wait calls";
            figures.add("profile.call", Some(*share), kind, about);
            figures.add_text("profile.call_name", name.clone());
        }
    }
    let Some(waits) = &plain.watched.waits else { return };
    let Some(cpu_us) = figures.value(CPU_PER_OPERATION) else { return };
    let whole = cpu_us + waits.blocked_us;
    let kind = Kind { unit: SHARE, source: WAITS };
    let shares = [
        ("operation.locks", waits.locks_us, "waits for locks"),
        ("operation.allocator", waits.allocator_us, "waits for locks of the memory allocator"),
        ("operation.lookups", waits.lookups_us, "waits for the answers to name lookups"),
        ("operation.sleep", waits.sleep_us, "sleeps until a time passes"),
    ];
    for (name, us, about) in shares {
        figures.add(name, Some(us / whole), kind, format!("share of an operation's time in {about}"));
    }
    // Utilisation, U = X · D: flushes of one log follow one another.
    let flushing = waits.flush_us / 1e6 * plain.ended_per_s();
    let kind = Kind { unit: "threads", source: WAITS };
    figures.add("operation.flushing", Some(flushing), kind, "threads of the server in a flush, on average");
}
