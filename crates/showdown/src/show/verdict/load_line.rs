//! The load of a run in a few words: connections or users, open or closed loop, which operations. What it did to the servers is left
//! to the verdict.

use std::path::Path;

use archive::model::{Measure, Plan, Vary};
use archive::printable::one_line;
use workload::{Catalogue, DEFINITION};

use crate::show::layout::units::{plural, rate};

/// The load that a plan asks for.
pub(super) fn of(plan: &Plan) -> String {
    // The path of an imported run may lead anywhere here. What is not known had a client most likely.
    let makes_own = !plan.workload.contains('/')
        && Catalogue::default().find(&plan.workload).is_ok_and(|workload| workload.load.is_runner());
    one_line(&text(plan, makes_own)).into_owned()
}

fn text(plan: &Plan, makes_own: bool) -> String {
    let mut parts = vec![if makes_own { own(plan) } else { of_client(plan) }];
    parts.push(match &plan.on_op {
        Some(operation) => format!("only {operation} of {}", workload_name(plan)),
        None => format!("all operations of {}", workload_name(plan)),
    });
    if let Some(background) = plan.background {
        parts.push(format!("beside a background load of {}/s", background.rate_per_s));
    }
    if plan.clients.len() > 1 {
        parts.push(format!("from {} machines", plan.clients.len()));
    }
    parts.join(", ")
}

/// The program under test makes its load, as an embedded store or a build.
fn own(plan: &Plan) -> String {
    let loops = if matches!(plan.measure, Measure::OneByOne { .. }) {
        "one operation after the other"
    } else {
        "as fast as it goes"
    };
    format!("made by the program itself, {loops}")
}

fn of_client(plan: &Plan) -> String {
    let (axis, noun) =
        if plan.measure.is_of_users() { (Vary::Users, "user") } else { (Vary::Connections, "connection") };
    let count = if plan.varies(&axis) {
        format!("{noun}s as in the table")
    } else {
        plural(u64::from(plan.load.connections), noun)
    };
    match &plan.measure {
        Measure::MaxThroughput | Measure::MaxBytes => format!("{count} in a closed loop"),
        Measure::OneByOne { .. } => format!("{count}, one operation after the other"),
        Measure::Capacity { .. } => format!("{count} in an open loop whose rate is searched"),
        Measure::LatencyCurve { .. } => format!("{count} in an open loop at the rates of the table"),
        Measure::CpuTime { rate_per_s: Some(per_s) } => {
            format!("{count} in an open loop at {}/s", rate(*per_s))
        }
        Measure::CpuTime { rate_per_s: None } => format!("{count} in an open loop"),
        Measure::UserCpuTime | Measure::UserLatency => format!("{count} with waits between operations"),
        Measure::BreakingPoint => "downloads in progress, more with each step".to_owned(),
    }
}

/// The name of a workload that a plan may name by its file.
fn workload_name(plan: &Plan) -> &str {
    let path = Path::new(&plan.workload);
    let folder = if path.ends_with(DEFINITION) { path.parent().unwrap_or(path) } else { path };
    folder.file_name().and_then(|name| name.to_str()).unwrap_or(&plan.workload)
}

#[cfg(test)]
mod tests {
    use archive::model::PlannedBackground;

    use super::*;

    #[test]
    fn the_load_is_its_connections_its_loop_and_its_operations() {
        let root = tempfile::tempdir().expect("a folder");
        let id = archive::example::comparison(root.path(), 1).expect("a run");
        let run = archive::Archive::new(root.path()).open(id.as_str()).expect("it is there");
        let mut plan = run.plan.expect("a plan");
        assert_eq!(
            of(&plan),
            "64 connections in an open loop whose rate is searched, all operations of static-web"
        );
        plan.workload = "/home/ada/my-api/workload.toml".to_owned();
        plan.load.connections = 1;
        plan.measure = Measure::MaxThroughput;
        assert_eq!(text(&plan, false), "1 connection in a closed loop, all operations of my-api");
        assert_eq!(
            text(&plan, true),
            "made by the program itself, as fast as it goes, all operations of my-api"
        );
        plan.workload = "cache".to_owned();
        plan.load.connections = 3;
        plan.on_op = Some("set".to_owned());
        plan.measure = Measure::CpuTime { rate_per_s: Some(5_600.0) };
        plan.background = Some(PlannedBackground { rate_per_s: 40.0, connections: 300 });
        assert_eq!(
            text(&plan, false),
            "3 connections in an open loop at 5,600/s, only set of cache, beside a background load of 40/s"
        );
        plan.background = None;
        plan.measure = Measure::UserLatency;
        assert_eq!(text(&plan, false), "3 users with waits between operations, only set of cache");
    }
}
