//! The users of a load as text: their walk and their pacing, as measured beside the declared.

use std::fmt::Write;

use load::user_summary::OutsideOperation;
use load::user_summary::{UserOperation, UserSummary};
use stats::times::Times;

use crate::show::layout::table::table;
use crate::show::layout::units::{count, plural, time};

/// Up to this many operations, the rows of the matrix are shown.
const MOST_COLUMNS: usize = 10;

/// The tables.
pub fn lines(users: &UserSummary) -> String {
    let mut rows = vec![
        ["walk", "begun", "share", "declared", "delay", "drawn", "actual", "limit"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for operation in &users.operations {
        rows.push(vec![
            operation.name.clone(),
            count(operation.begun),
            percent(operation.percent),
            percent(Some(operation.declared_percent)),
            operation.delay.clone(),
            seconds(operation.drawn_delay_s),
            seconds(operation.actual_delay_s),
            limit(operation),
        ]);
    }
    let mut out = table(&rows);
    let has_matrix = users.operations.iter().any(|operation| !operation.declared_next_percent.is_empty());
    if has_matrix && users.operations.len() <= MOST_COLUMNS {
        out.push('\n');
        out.push_str(&matrix(&users.operations));
    }
    let who = match (users.arrived, users.refused) {
        (Some(arrived), Some(refused)) => {
            format!(
                "{} arrived, {} refused, {} left",
                plural(arrived, "visit"),
                count(refused),
                count(users.left)
            )
        }
        _ => plural(users.count.into(), "user"),
    };
    let _ = writeln!(
        out,
        "\n  {who}; {} at once by Little's law; mean delay {} declared, {} drawn, {} actual",
        users.count_by_littles_law.map_or("–".to_owned(), |found| format!("{found:.1}")),
        seconds(Some(users.declared_delay_s)),
        seconds(users.drawn_delay_s),
        seconds(users.actual_delay_s),
    );
    if !users.late_us.is_empty() {
        let _ = writeln!(
            out,
            "  operations later than their cycles, because the one before took longer: p50 {}, p99 {}, max {}",
            time(users.late_us.p50 as f64),
            time(users.late_us.p99 as f64),
            time(users.late_us.max as f64)
        );
    }
    out
}

/// What users did outside their mix.
pub fn outside(operations: &[OutsideOperation]) -> String {
    let mut rows =
        vec![["outside the mix", "due", "done", "failed", "p50", "p99", "max"].map(str::to_owned).to_vec()];
    for operation in operations {
        let Times { p50, p99, max, .. } = operation.response_time_us;
        let at = |us: u64| if operation.requests == 0 { "–".to_owned() } else { time(us as f64) };
        rows.push(vec![
            operation.name.clone(),
            operation.due.clone(),
            count(operation.requests),
            count(operation.failed),
            at(p50),
            at(p99),
            at(max),
        ]);
    }
    table(&rows)
}

/// What came after each operation, per cent, measured and declared.
fn matrix(operations: &[UserOperation]) -> String {
    let mut head = vec!["next, % (declared)".to_owned()];
    head.extend(operations.iter().map(|operation| operation.name.clone()));
    let row = |from: &UserOperation| {
        let mut row = vec![from.name.clone()];
        row.extend(from.declared_next_percent.iter().enumerate().map(|(to, declared)| {
            match from.next_percent.get(to) {
                _ if *declared == 0.0 => "·".to_owned(),
                Some(found) => format!("{found:.1} ({declared:.0})"),
                None => format!("– ({declared:.0})"),
            }
        }));
        row
    };
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(operations.iter().map(row)).collect();
    table(&rows)
}

fn percent(percent: Option<f64>) -> String {
    percent.map_or("–".to_owned(), |percent| format!("{percent:.1} %"))
}

fn seconds(seconds: Option<f64>) -> String {
    seconds.map_or("–".to_owned(), |seconds| time(seconds * 1e6))
}

fn limit(operation: &UserOperation) -> String {
    match (&operation.limit, operation.meets_limit) {
        (Some(limit), Some(true)) => format!("{limit} met"),
        (Some(limit), _) => format!("{limit} missed"),
        (None, _) => String::new(),
    }
}
