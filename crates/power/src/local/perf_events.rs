//! Opens events of perf in the kernel. Which events there are and what their counts mean is left to [`super::perf`].

use std::fmt;
use std::io;

use perf_event_open::config::{All, Cpu, Opts};
use perf_event_open::count::Counter;
use perf_event_open::event::dp::DynamicPmu;

/// An event of a PMU that counts for a CPU and all that share its package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PmuEvent {
    /// The number of the PMU.
    pub pmu: u32,
    /// Which of its events.
    pub config: u64,
    /// The CPU.
    pub cpu: u32,
}

/// What opens events: the kernel, or what a test makes up.
pub(super) trait EventOpener {
    /// Opens an event, which counts from now on.
    fn open(&self, event: PmuEvent) -> io::Result<Box<dyn EventCount>>;
}

/// An open event.
pub(super) trait EventCount: Send {
    /// The count since it was opened, in the unit of the event.
    fn count(&mut self) -> io::Result<u64>;
}

impl fmt::Debug for dyn EventCount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an event")
    }
}

/// The kernel's events.
pub(super) struct KernelEvents;

impl EventOpener for KernelEvents {
    fn open(&self, event: PmuEvent) -> io::Result<Box<dyn EventCount>> {
        let PmuEvent { pmu, config, cpu } = event;
        let event = DynamicPmu { ty: pmu, config, config1: 0, config2: 0, config3: 0 };
        let options = Opts { enable: true, ..Opts::default() };
        Ok(Box::new(Counter::new(event, (Cpu(cpu), All), options)?))
    }
}

impl EventCount for Counter {
    fn count(&mut self) -> io::Result<u64> {
        Ok(self.stat()?.count)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Virtual machines have no energy, but the PMU `msr` has the time-stamp counter: it is opened in the same way.
    #[test]
    fn an_event_of_this_kernel_counts_up() {
        let Ok(text) = fs::read_to_string("/sys/bus/event_source/devices/msr/type") else { return };
        let pmu = text.trim().parse().unwrap();
        let mut counter = match KernelEvents.open(PmuEvent { pmu, config: 0, cpu: 0 }) {
            Ok(counter) => counter,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return,
            Err(error) => panic!("{error}"),
        };
        let before = counter.count().unwrap();
        assert!(counter.count().unwrap() > before);
    }

    #[test]
    fn an_event_that_the_kernel_does_not_have_is_refused() {
        assert!(KernelEvents.open(PmuEvent { pmu: u32::MAX, config: 0, cpu: 0 }).is_err());
    }
}
