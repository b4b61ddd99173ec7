//! The answer of `showdown load --find-capacity` as text: a sentence on the capacity or on its bound, and the curve.

use std::fmt::Write;
use std::time::Duration;

use load::capacity::{Capacity, CapacityBound, Soak};
use load::inputs::slo::Slo;

use super::{late, response_time, validity};
use crate::color;
use crate::show::layout::table::table;
use crate::show::layout::units::{count, plural, rate};

/// The answer of a search for the capacity that lasted for `searched`.
pub fn answer(title: &str, found: &Capacity, searched: Duration) -> String {
    let mut out = format!("{title}\n\n");
    let _ = writeln!(out, "  {}\n", color::heading(sentence(found)));
    let mut rows = vec![
        ["offered/s", "achieved/s", "p50", "p90", "p99", "p99.9", "max", "client", "slices", "late", ""]
            .map(str::to_owned)
            .to_vec(),
    ];
    for step in &found.curve {
        let (summary, response) = (&step.summary, &step.summary.response_time_us);
        let verdict = match step.spent.burn_rate() {
            None => "client was the limit",
            Some(burn) if burn <= 1.0 => "meets",
            Some(_) => "misses",
        };
        let late = late(step.spent.late_share(&found.slo));
        let mut row = vec![rate(step.rate_per_s), rate(summary.throughput_per_s)];
        let at_least = summary.gave_up_from_us;
        row.extend(
            [response.p50, response.p90, response.p99, response.p99_9, response.max]
                .map(|us| response_time(response, us, at_least)),
        );
        row.push(format!("{:.0} %", summary.client.utilisation * 100.0));
        row.extend([count(step.slices.into()), late, verdict.to_owned()]);
        rows.push(row);
    }
    out.push_str(&table(&rows));
    let _ =
        writeln!(out, "\n  a closed loop reached {}/s; {}\n", rate(found.closed_loop_per_s), found.method);
    if let Some(soak) = &found.soak {
        out.push_str(&soaked(soak, &found.slo));
    }
    let longer = humantime::format_duration(searched * 4);
    let mut notes = Vec::new();
    if found.uncertain().is_some() {
        notes.push(format!(
            "late operations came in few bunches, so the capacity is not known better: search for longer, such as -d {longer}"
        ));
    }
    if found.bound == Some(CapacityBound::Lower) && found.valid {
        notes.push("all that was offered was carried; more connections may carry more (-c)".to_owned());
    }
    if found.capacity_per_s.is_some() && found.soak.is_none() {
        notes.push("not checked without a break: the client was the limit, or it was interrupted".to_owned());
    }
    out.push_str(&validity(found.valid, &found.reasons, &notes));
    out
}

/// What came of the load at the capacity.
fn soaked(soak: &Soak, slo: &Slo) -> String {
    let seconds = soak.own_time.as_secs_f64();
    let late = late(soak.spent.late_share(slo));
    let answer = if soak.is_sustained() { "sustained" } else { "not sustained" };
    let loads = plural(soak.soaks.into(), "load");
    format!(
        "  {}/s for {seconds:.0} s in {loads} without a break: {late} late, {answer}\n\n",
        rate(soak.rate_per_s)
    )
}

/// The capacity, with its interval or as a bound.
fn sentence(found: &Capacity) -> String {
    let slo = &found.slo;
    let Some(capacity) = found.capacity_per_s else {
        return if found.valid {
            format!("none of the rates tried meets {slo}")
        } else {
            format!("no capacity at {slo} was found")
        };
    };
    let shown = rate(capacity);
    match (found.bound, found.interval) {
        (Some(CapacityBound::Lower), _) => {
            format!("at least {shown} requests/s meet {slo} (the highest rate offered)")
        }
        (Some(CapacityBound::Upper), _) => format!("fewer than {shown} requests/s meet {slo}"),
        (None, Some(interval)) => {
            let (low, high) = (rate(interval.low), rate(interval.high));
            if found.uncertain().is_some() {
                format!("{low} to {high} requests/s meet {slo} (95 % interval; {shown} is the best guess)")
            } else {
                format!("{shown} requests/s meet {slo} (95 % interval {low} to {high})")
            }
        }
        (None, None) => format!("{shown} requests/s meet {slo}"),
    }
}

#[cfg(test)]
mod tests {
    use load::capacity::BudgetUse;
    use load::record::Micros;
    use stats::confidence::ConfidenceInterval;

    use super::*;

    /// A capacity that two soaks have sustained.
    fn found() -> Capacity {
        let slo: Slo = "p99<5ms".parse().expect("an objective");
        let mut times = Micros::new(3).expect("three digits");
        times.record_n(1_000, 10_000).expect("a time");
        let spent = BudgetUse::of_times(&slo, &times, 0);
        Capacity {
            slo,
            capacity_per_s: Some(15_000.0),
            bound: None,
            interval: Some(ConfidenceInterval { low: 14_000.0, high: 16_000.0 }),
            valid: true,
            reasons: Vec::new(),
            method: "in one minute".to_owned(),
            closed_loop_per_s: 36_000.0,
            soak: Some(Soak { rate_per_s: 15_000.0, own_time: Duration::from_secs(30), spent, soaks: 2 }),
            curve: Vec::new(),
        }
    }

    fn text(found: &Capacity) -> String {
        answer("x", found, Duration::from_secs(20))
    }

    #[test]
    fn a_capacity_that_rests_on_few_pauses_is_given_as_an_interval_with_what_to_do() {
        let known = text(&found());
        assert!(known.contains("15,000 requests/s meet p99<5ms (95 % interval 14,000 to 16,000)"), "{known}");
        assert!(
            known.contains("15,000/s for 30 s in 2 loads without a break: 0.00 % late, sustained"),
            "{known}"
        );
        assert!(!known.contains("note"), "{known}");
        let interval = Some(ConfidenceInterval { low: 540.0, high: 36_000.0 });
        let uncertain = text(&Capacity { interval, ..found() });
        let sentence = "540 to 36,000 requests/s meet p99<5ms (95 % interval; 15,000 is the best guess)";
        assert!(uncertain.contains(sentence), "{uncertain}");
        assert!(uncertain.contains("search for longer, such as -d 1m 20s"), "{uncertain}");
    }

    #[test]
    fn a_bound_is_not_called_a_capacity() {
        let lower = text(&Capacity { bound: Some(CapacityBound::Lower), interval: None, ..found() });
        assert!(
            lower.contains("at least 15,000 requests/s meet p99<5ms (the highest rate offered)"),
            "{lower}"
        );
        assert!(lower.contains("more connections may carry more"), "{lower}");
        let upper = text(&Capacity { bound: Some(CapacityBound::Upper), valid: false, ..found() });
        assert!(upper.contains("fewer than 15,000 requests/s meet p99<5ms"), "{upper}");
    }

    #[test]
    fn a_soak_that_the_client_limited_is_not_left_out_without_a_word() {
        let unchecked = text(&Capacity { soak: None, ..found() });
        assert!(unchecked.contains("not checked without a break"), "{unchecked}");
    }
}
