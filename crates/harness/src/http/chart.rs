//! The chart of a history: where its marks are, in units of an SVG. The page draws it, and has all of it in a table, too.

use serde::Serialize;

use super::render::figure_text;
use crate::series::SeriesHistory;

/// The size of the chart, and the frame in it.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 708.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 240.0;

/// About how many lines there are across the chart.
const LINES: f64 = 5.0;

/// Marks closer than this have no number of their own.
const ROOM_OF_A_NUMBER: f64 = 16.0;

/// Where the marks are.
#[derive(Debug, PartialEq, Serialize)]
pub struct Chart {
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    lines: Vec<ChartLine>,
    /// The line of no difference, where it is in the chart.
    one: Option<f64>,
    points: Vec<ChartPoint>,
    /// Runs without a value.
    gaps: Vec<f64>,
    changes: Vec<ChartChange>,
    first_unix_ms: i64,
    last_unix_ms: i64,
}

/// A line across the chart, with its value.
#[derive(Debug, PartialEq, Serialize)]
struct ChartLine {
    y: f64,
    label: String,
}

/// A run with its interval.
#[derive(Debug, PartialEq, Serialize)]
struct ChartPoint {
    x: f64,
    y: f64,
    /// The upper end of the interval, which has the smaller number in a picture.
    from: Option<f64>,
    to: Option<f64>,
}

/// Between two runs whose facts differ.
#[derive(Debug, PartialEq, Serialize)]
struct ChartChange {
    x: f64,
    /// How many facts, where there is room for it.
    count: Option<usize>,
}

fn rounded(place: f64) -> f64 {
    (place * 10.0).round() / 10.0
}

/// The chart of a history. None if no run has a value.
pub fn chart(history: &SeriesHistory) -> Option<Chart> {
    let (first, last) = (history.runs.first()?, history.runs.last()?);
    let mut bounds: Vec<f64> = Vec::new();
    for run in &history.runs {
        bounds.extend(run.value);
        bounds.extend(run.low);
        bounds.extend(run.high);
    }
    bounds.retain(|bound| bound.is_finite());
    let (low, high) = (bounds.iter().copied().reduce(f64::min)?, bounds.iter().copied().reduce(f64::max)?);
    // Equal values are in the middle.
    let margin = if high > low { (high - low) * 0.08 } else { low.abs().max(1e-9) * 0.05 };
    let (low, high) = (low - margin, high + margin);
    let step = (RIGHT - LEFT) / history.runs.len() as f64;
    let mut chart = Chart {
        width: WIDTH,
        height: HEIGHT,
        left: LEFT,
        right: RIGHT,
        top: TOP,
        bottom: BOTTOM,
        lines: lines(low, high),
        one: if history.is_ratio && low < 1.0 && 1.0 < high { Some(y_of(1.0, low, high)) } else { None },
        points: Vec::new(),
        gaps: Vec::new(),
        changes: Vec::new(),
        first_unix_ms: first.started_unix_ms,
        last_unix_ms: last.started_unix_ms,
    };
    for (number, run) in history.runs.iter().enumerate() {
        let begin = LEFT + step * number as f64;
        let x = rounded(begin + step / 2.0);
        match run.value {
            Some(value) => chart.points.push(ChartPoint {
                x,
                y: y_of(value, low, high),
                from: run.high.map(|bound| y_of(bound, low, high)),
                to: run.low.map(|bound| y_of(bound, low, high)),
            }),
            None => chart.gaps.push(x),
        }
        let count = run.changes.len() + run.further;
        if count > 0 {
            let has_room = step >= ROOM_OF_A_NUMBER;
            chart
                .changes
                .push(ChartChange { x: rounded(begin), count: if has_room { Some(count) } else { None } });
        }
    }
    Some(chart)
}

/// The place of a value; one that is not finite is at the edge.
fn y_of(value: f64, low: f64, high: f64) -> f64 {
    let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
    rounded(BOTTOM - share * (BOTTOM - TOP))
}

/// Lines at round values: 1, 2 or 5 times a power of ten apart.
fn lines(low: f64, high: f64) -> Vec<ChartLine> {
    let wanted = (high - low) / LINES;
    let power = 10_f64.powf(wanted.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= wanted).unwrap_or(10.0);
    let apart = factor * power;
    let digits = (-apart.log10().floor()).max(0.0) as usize;
    let mut lines = Vec::new();
    let mut number = (low / apart).ceil();
    while number * apart <= high && lines.len() < 20 {
        let value = number * apart;
        let label = if digits == 0 { figure_text(value) } else { format!("{value:.digits$}") };
        lines.push(ChartLine { y: y_of(value, low, high), label });
        number += 1.0;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::{ChangedFact, SeriesRun};

    fn run(value: Option<f64>, changes: usize) -> SeriesRun {
        let fact = ChangedFact { name: "host: x".to_owned(), before: None, now: Some("y".to_owned()) };
        SeriesRun {
            id: "r".to_owned(),
            started_unix_ms: 7,
            state: "finished".to_owned(),
            value,
            low: value.map(|value| value * 0.99),
            high: value.map(|value| value * 1.01),
            why_none: None,
            changes: vec![fact; changes],
            further: 0,
        }
    }

    fn of(runs: Vec<SeriesRun>) -> SeriesHistory {
        SeriesHistory { is_ratio: true, runs, ..crate::series::history("k", Vec::new(), None) }
    }

    #[test]
    fn a_larger_value_is_higher_and_all_is_in_the_frame() {
        let chart = chart(&of(vec![run(Some(0.95), 0), run(None, 2), run(Some(1.05), 0)])).unwrap();
        let [first, last] = chart.points.as_slice() else { panic!("{chart:?}") };
        assert!(first.x < last.x && first.y > last.y, "{chart:?}");
        for point in &chart.points {
            let (from, to) = (point.from.unwrap(), point.to.unwrap());
            assert!(TOP <= from && from < point.y && point.y < to && to <= BOTTOM, "{point:?}");
        }
        assert!(chart.gaps.len() == 1 && first.x < chart.gaps[0] && chart.gaps[0] < last.x);
        assert_eq!((chart.changes.len(), chart.changes[0].count), (1, Some(2)));
        assert!(chart.changes[0].x < chart.gaps[0], "the mark is before the run");
        let labels: Vec<&str> = chart.lines.iter().map(|line| line.label.as_str()).collect();
        assert_eq!(labels, ["0.95", "1.00", "1.05"]);
        let one = chart.lines.iter().find(|line| line.label == "1.00").unwrap();
        assert_eq!(chart.one, Some(one.y));
    }

    #[test]
    fn odd_histories_have_a_chart_or_none() {
        assert_eq!(chart(&of(Vec::new())), None);
        assert_eq!(chart(&of(vec![run(None, 0)])), None);
        let mut zero = run(Some(0.0), 0);
        zero.high = Some(f64::INFINITY);
        let flat = chart(&of(vec![zero])).unwrap();
        assert!(flat.points[0].y.is_finite() && flat.points[0].from == Some(TOP), "{flat:?}");
        let many = chart(&of(vec![run(Some(51_000.0), 1); 200])).unwrap();
        assert!(many.lines.iter().any(|line| line.label.contains(',')), "{:?}", many.lines);
        assert_eq!(many.changes[5].count, None, "there is no room for a number");
    }
}
