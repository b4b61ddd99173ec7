//! The account of a server's CPU time: what it used in its slices, and the operations of the same time.

use std::time::Duration;

use archive::model::{CpuTimePerOperation, PartCpuTime};
use host::process::CpuUsed;
use machine::ServerCpuUsed;

/// Largest CPU time between a server's slices, as a share of its CPU time in its slices, beyond the least share of the servers of the
/// block. What all servers do between their slices cancels in a ratio; beside other programs it is more (3.7 % of equal servers were seen).
const MAX_BETWEEN: f64 = 0.03;

/// A server's CPU time before and after a slice, with settling and draining.
#[derive(Clone, Debug)]
pub struct SliceCpu {
    /// Just before.
    pub before: ServerCpuUsed,
    /// Just after.
    pub after: ServerCpuUsed,
    /// From one reading to the other.
    pub length: Duration,
    /// Operations that ended in between, failed ones included.
    pub operations: u64,
}

impl SliceCpu {
    /// CPU time an operation, microseconds; 0 without one, and where a rounded reading is lower than the one before.
    fn each_us(&self) -> f64 {
        let used = self.after.whole.time.saturating_sub(self.before.whole.time);
        if self.operations == 0 { 0.0 } else { used.as_secs_f64() * 1e6 / self.operations as f64 }
    }
}

/// All slices of a server.
///
/// A value in clock ticks is rounded in each reading. The rounding at the end of a slice cancels the rounding at the begin of the next
/// slice, because a server without load hardly uses CPU time in between. So the sums are taken before the difference.
#[derive(Clone, Debug, Default)]
pub struct CpuAccount {
    before: CpuUsed,
    after: CpuUsed,
    first: Option<CpuUsed>,
    last: CpuUsed,
    length: Duration,
    operations: u64,
    slices_us: Vec<f64>,
    parts: Vec<PartAccount>,
}

/// A part of the server, before and after its slices.
#[derive(Clone, Debug, Default)]
struct PartAccount {
    name: String,
    before: Duration,
    after: Duration,
}

impl CpuAccount {
    /// An account of a server with these parts; none where its CPU time is not divided.
    pub fn of_parts(names: Vec<String>) -> Self {
        let mut parts = Vec::new();
        for name in names {
            parts.push(PartAccount { name, ..PartAccount::default() });
        }
        Self { parts, ..Self::default() }
    }

    /// Adds a slice.
    pub fn count(&mut self, slice: &SliceCpu) {
        self.before += slice.before.whole;
        self.after += slice.after.whole;
        self.first.get_or_insert(slice.before.whole);
        self.last = slice.after.whole;
        let readings = slice.before.parts.iter().zip(&slice.after.parts);
        for (part, (before, after)) in self.parts.iter_mut().zip(readings) {
            part.before += *before;
            part.after += *after;
        }
        self.length += slice.length;
        self.operations += slice.operations;
        self.slices_us.push(slice.each_us());
    }

    /// CPU time between its slices, when others were loaded, as a share of its CPU time in its slices; none before the first slice.
    pub fn between_share(&self) -> Option<f64> {
        let used = (self.after - self.before).time;
        let between = (self.last - self.first?).time.saturating_sub(used);
        Some(between.as_secs_f64() / used.as_secs_f64().max(1e-9))
    }

    /// Why the server must run alone: it works for itself while others are loaded, which takes from their slices and is missing in
    /// its own. None if it does so hardly more than the one that does so least, `least` of its CPU time.
    pub fn why_alone(&self, name: &str, least: f64) -> Option<String> {
        let share = self.between_share().filter(|share| *share > least + MAX_BETWEEN)?;
        Some(format!(
            "{name} used {:.1} % of its CPU time between its slices, when others were loaded (at most {:.1} %)",
            share * 100.0,
            (least + MAX_BETWEEN) * 100.0
        ))
    }

    /// The CPU time of each operation; none where the slices had no operation, or the kernel counts no CPU time.
    pub fn per_operation(&self, rate_per_s: f64) -> Option<CpuTimePerOperation> {
        let used = self.after - self.before;
        let whole = self.last - self.first?;
        let cpu_s = used.time.as_secs_f64();
        if self.operations == 0 || cpu_s <= 0.0 {
            return None;
        }
        let each_us = cpu_s * 1e6 / self.operations as f64;
        let user_share = used.user_share();
        Some(CpuTimePerOperation {
            rate_per_s,
            cpu_s,
            operations: self.operations,
            user_us: each_us * user_share,
            system_us: each_us * (1.0 - user_share),
            between_s: whole.time.saturating_sub(used.time).as_secs_f64(),
            slices_us: self.slices_us.clone(),
            stolen_s: used.stolen.as_secs_f64(),
            others_cores: self.others_cores(),
            parts: self.of_each_part(),
        })
    }

    /// What other programs used of the server's CPUs in its slices, in cores; none where the kernel does not tell.
    fn others_cores(&self) -> Option<f64> {
        let used = self.after - self.before;
        let others = used.all_programs.saturating_sub(used.time).as_secs_f64();
        (!used.all_programs.is_zero() && !self.length.is_zero()).then(|| others / self.length.as_secs_f64())
    }

    /// What each part has of the CPU time an operation.
    fn of_each_part(&self) -> Vec<PartCpuTime> {
        let mut parts = Vec::new();
        for PartAccount { name, before, after } in &self.parts {
            let used = after.saturating_sub(*before).as_secs_f64();
            parts.push(PartCpuTime { part: name.clone(), each_us: used * 1e6 / self.operations as f64 });
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: Duration = Duration::from_millis(50);

    fn used(time_us: u64, user_ms: u64, system_ms: u64) -> ServerCpuUsed {
        let whole = CpuUsed {
            time: Duration::from_micros(time_us),
            user: Duration::from_millis(user_ms),
            system: Duration::from_millis(system_ms),
            ..CpuUsed::default()
        };
        ServerCpuUsed { whole, parts: Vec::new() }
    }

    fn used_by_two(database_us: u64, server_us: u64) -> ServerCpuUsed {
        let parts = [database_us, server_us].map(Duration::from_micros).to_vec();
        ServerCpuUsed { parts, ..used(database_us + server_us, 10, 0) }
    }

    #[test]
    fn each_part_of_a_server_has_its_share_of_an_operation() {
        let mut account = CpuAccount::of_parts(vec!["database".to_owned(), "server".to_owned()]);
        account.count(&SliceCpu {
            before: used_by_two(100, 50),
            after: used_by_two(400, 150),
            length: SLICE,
            operations: 10,
        });
        // What the parts do between slices is in no operation.
        account.count(&SliceCpu {
            before: used_by_two(900, 150),
            after: used_by_two(1_200, 250),
            length: SLICE,
            operations: 10,
        });
        let cpu = account.per_operation(1.0).expect("CPU time");
        let parts: Vec<(&str, f64)> =
            cpu.parts.iter().map(|part| (part.part.as_str(), part.each_us)).collect();
        assert_eq!(parts, [("database", 30.0), ("server", 10.0)]);
        assert!((cpu.each_us() - 40.0).abs() < 1e-9, "all parts are the server's: {cpu:?}");
    }

    #[test]
    fn slices_count_and_what_is_between_them_does_not() {
        let mut account = CpuAccount::default();
        account.count(&SliceCpu {
            before: used(1_000_000, 500, 500),
            after: used(1_020_000, 500, 510),
            length: SLICE,
            operations: 1_500,
        });
        // Between the slices it used 4 ms.
        account.count(&SliceCpu {
            before: used(1_024_000, 500, 510),
            after: used(1_044_000, 510, 520),
            length: SLICE,
            operations: 500,
        });
        let cpu = account.per_operation(7_000.0).expect("CPU time");
        assert_eq!((cpu.operations, cpu.rate_per_s), (2_000, 7_000.0));
        assert!((cpu.cpu_s - 0.040).abs() < 1e-9 && (cpu.between_s - 0.004).abs() < 1e-9, "{cpu:?}");
        assert!((cpu.user_us + cpu.system_us - 20.0).abs() < 1e-9, "{cpu:?}");
        assert!((cpu.user_us - 20.0 / 3.0).abs() < 1e-9, "a third of the ticks: {cpu:?}");
        assert_eq!(cpu.slices_us.iter().map(|us| us.round() as u64).collect::<Vec<_>>(), [13, 40]);
    }

    #[test]
    fn what_was_stolen_in_the_slices_is_known_and_what_was_between_them_is_not_in_it() {
        let stolen = |ms| {
            let ServerCpuUsed { whole, parts } = used(ms * 1_000, 0, 0);
            ServerCpuUsed { whole: CpuUsed { stolen: Duration::from_millis(ms), ..whole }, parts }
        };
        let mut account = CpuAccount::default();
        account.count(&SliceCpu { before: stolen(100), after: stolen(120), length: SLICE, operations: 1 });
        account.count(&SliceCpu { before: stolen(500), after: stolen(510), length: SLICE, operations: 1 });
        assert!((account.per_operation(1.0).expect("CPU time").stolen_s - 0.030).abs() < 1e-9);
    }

    #[test]
    fn what_other_programs_used_of_the_servers_cpus_in_its_slices_is_known() {
        fn reading(time_ms: u64, all_ms: u64) -> ServerCpuUsed {
            let ServerCpuUsed { whole, parts } = used(time_ms * 1_000, 0, 0);
            ServerCpuUsed { whole: CpuUsed { all_programs: Duration::from_millis(all_ms), ..whole }, parts }
        }
        let mut account = CpuAccount::default();
        account.count(&SliceCpu {
            before: reading(0, 1_000),
            after: reading(20, 1_030),
            length: SLICE,
            operations: 1,
        });
        // What the others do between the slices is of other servers.
        account.count(&SliceCpu {
            before: reading(20, 2_000),
            after: reading(40, 2_040),
            length: SLICE,
            operations: 1,
        });
        let cores = account.per_operation(1.0).and_then(|cpu| cpu.others_cores).expect("cores");
        assert!((cores - 0.3).abs() < 1e-9, "30 ms of 100: {cores}");
        let mut unknown = CpuAccount::default();
        unknown.count(&SliceCpu {
            before: reading(0, 0),
            after: reading(20, 0),
            length: SLICE,
            operations: 1,
        });
        assert_eq!(unknown.per_operation(1.0).and_then(|cpu| cpu.others_cores), None);
    }

    #[test]
    fn a_server_that_works_between_its_slices_more_than_another_runs_alone() {
        let mut account = CpuAccount::default();
        for slice in 0..2 {
            let begin = 24_000 * slice;
            let (before, after) = (used(begin, 0, 0), used(begin + 20_000, 0, 0));
            account.count(&SliceCpu { before, after, length: SLICE, operations: 500 });
        }
        assert_eq!(account.between_share(), Some(0.1));
        assert_eq!(account.why_alone("java", 0.08), None, "the others do it, too");
        assert_eq!(
            account.why_alone("java", 0.01).as_deref(),
            Some(
                "java used 10.0 % of its CPU time between its slices, when others were loaded (at most 4.0 %)"
            )
        );
    }

    /// The time of a child that ends moves to its parent and is rounded down there.
    #[test]
    fn a_rounded_reading_does_not_lose_the_time_of_other_slices() {
        let mut account = CpuAccount::default();
        account.count(&SliceCpu {
            before: used(15_000, 0, 0),
            after: used(12_000, 10, 0),
            length: SLICE,
            operations: 1,
        });
        account.count(&SliceCpu {
            before: used(12_000, 10, 0),
            after: used(25_000, 20, 0),
            length: SLICE,
            operations: 1,
        });
        assert!((account.per_operation(1.0).expect("CPU time").cpu_s - 0.010).abs() < 1e-9);
    }

    #[test]
    fn without_operations_there_is_no_cpu_time_of_one() {
        assert_eq!(CpuAccount::default().per_operation(1.0), None);
        let mut idle = CpuAccount::default();
        idle.count(&SliceCpu { before: used(5, 0, 0), after: used(9, 0, 0), length: SLICE, operations: 0 });
        assert_eq!(idle.per_operation(1.0), None);
    }
}
