//! Shortens long timelines without hiding bad intervals.

use archive::model::Tick;

/// At most `max_points` points, and the number of recorded points in each.
///
/// Throughputs of equal intervals may be averaged. Percentiles may not: a point has the *worst* percentile of its group,
/// so a stall stays visible. The page states this.
pub(crate) fn shorten(timeline: &[Tick], max_points: usize) -> (Vec<Tick>, usize) {
    let group = timeline.len().div_ceil(max_points.max(1)).max(1);
    if group == 1 {
        return (timeline.to_vec(), 1);
    }
    (timeline.chunks(group).filter_map(merged).collect(), group)
}

fn merged(group: &[Tick]) -> Option<Tick> {
    let first = group.first()?;
    let mean = |values: &mut dyn Iterator<Item = f64>| {
        let (count, sum) = values.fold((0, 0.0), |(count, sum), value| (count + 1, sum + value));
        (count > 0).then(|| sum / f64::from(count))
    };
    Some(Tick {
        t_s: first.t_s,
        throughput_per_s: mean(&mut group.iter().map(|tick| tick.throughput_per_s)).unwrap_or(0.0),
        offered_per_s: mean(&mut group.iter().filter_map(|tick| tick.offered_per_s)),
        p50_us: group.iter().filter_map(|tick| tick.p50_us).max(),
        p99_us: group.iter().filter_map(|tick| tick.p99_us).max(),
        gave_up_from_us: group.iter().filter_map(|tick| tick.gave_up_from_us).min(),
        failed: group.iter().map(|tick| tick.failed).sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(n: u32) -> Vec<Tick> {
        (0..n)
            .map(|i| Tick {
                t_s: f64::from(i),
                throughput_per_s: 100.0,
                p99_us: Some(if i == 13 { 90_000 } else { 1_000 }),
                failed: u64::from(i == 13),
                ..Tick::default()
            })
            .collect()
    }

    #[test]
    fn a_short_timeline_is_unchanged() {
        assert_eq!(shorten(&line(20), 20), (line(20), 1));
        assert_eq!(shorten(&[], 20), (Vec::new(), 1));
    }

    #[test]
    fn a_stall_of_one_point_stays_visible() {
        let (short, group) = shorten(&line(1000), 50);
        assert_eq!((short.len(), group), (50, 20));
        assert_eq!(short[0].p99_us, Some(90_000));
        assert_eq!(short.iter().map(|tick| tick.failed).sum::<u64>(), 1);
        assert!(short.iter().all(|tick| tick.throughput_per_s == 100.0));
    }
}
