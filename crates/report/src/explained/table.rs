//! An explanation as CSV, one row per figure: each has its variant, its part of the explanation, its unit and its source.

use crate::{ReportError, cell::word};
use archive::model::{ExplainedServer, Explanation, Figure, WaitPlace, WaitProfile};

/// `low` and `high` bound a confidence interval. `note` has the meaning of a figure or why it is missing, `source` where it comes
/// from: of a function its file.
const COLUMNS: [&str; 9] = ["variant", "part", "name", "value", "low", "high", "unit", "note", "source"];

type Row = [String; 9];

pub(crate) fn render(explanation: &Explanation) -> Result<String, ReportError> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(COLUMNS)?;
    let differences = explanation.difference.iter().flat_map(|found| {
        let pair = format!("{} - {}", found.b, found.a);
        found.frames.iter().map(move |frame| {
            let value = [frame.b_us - frame.a_us, frame.low_us, frame.high_us];
            let name = [&pair, "difference of own CPU time", &frame.frame];
            let note = format!("{}significant", if frame.is_significant { "" } else { "not " });
            row(name, value.map(Some), ["µs", &note, &frame.module])
        })
    });
    for row in explanation.servers.iter().flat_map(of_server).chain(differences) {
        csv.write_record(row)?;
    }
    let bytes = csv.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8(bytes).expect("all fields are text"))
}

fn of_server(server: &ExplainedServer) -> Vec<Row> {
    let variant = server.variant.as_str();
    let closed_loop = &server.closed_loop;
    let of_load = [
        ("connections", f64::from(closed_loop.connections), ""),
        ("throughput", closed_loop.throughput_per_s, "/s"),
        ("mean response time", closed_loop.mean_response_us, "µs"),
    ];
    let mut rows: Vec<Row> = of_load
        .into_iter()
        .map(|(name, value, unit)| {
            row([variant, "load", name], [Some(value), None, None], [unit, "", "load engine"])
        })
        .collect();
    for suspect in &server.suspects {
        rows.push(row(
            [variant, "suspect", &suspect.title],
            [None; 3],
            [suspect.word.name(), &suspect.sentence, &suspect.source],
        ));
    }
    for tried in &server.perturbations {
        let values =
            tried.elasticity.map_or([None; 3], |found| [found.value, found.low, found.high].map(Some));
        rows.push(row(
            [variant, "elasticity", &tried.title],
            values,
            ["", &tried.sentence, "pairs of slices"],
        ));
    }
    for resource in &server.resources {
        let uses = [
            ("demand", &resource.demand),
            ("in use", &resource.utilisation),
            ("waiting", &resource.saturation),
        ];
        for (part, figure) in uses {
            rows.extend(figure.as_ref().map(|figure| of_figure(variant, part, &resource.title, figure)));
        }
        if let Some(why) = &resource.missing {
            rows.push(row([variant, "missing", &resource.title], [None; 3], ["", why, ""]));
        }
    }
    for statistic in &server.statistics {
        let values = [Some(statistic.value), None, None];
        rows.push(row(
            [variant, "statistic", &statistic.name],
            values,
            [&statistic.unit, &statistic.about, variant],
        ));
    }
    if let Some(profile) = &server.profile {
        for frame in &profile.frames {
            for (part, us) in [("own CPU time", frame.self_us), ("CPU time with callees", frame.total_us)] {
                let values = [Some(us), None, None];
                rows.push(row([variant, part, &frame.frame], values, ["µs", &profile.folded, &frame.module]));
            }
        }
        // All functions have a row.
        for (what, us) in profile.remainder(profile.frames.len()).skip(1) {
            rows.push(row(
                [variant, "own CPU time", what],
                [Some(us), None, None],
                ["µs", &profile.folded, ""],
            ));
        }
    }
    rows.extend(server.waits.iter().flat_map(|waits| of_waits(variant, waits)));
    for part in server.slow_requests.iter().flat_map(|slow| &slow.parts) {
        for (of, us) in [("slow request", part.slow_us), ("median request", part.median_us)] {
            rows.push(row([variant, of, &part.part], [Some(us), None, None], ["µs", "", ""]));
        }
    }
    for unknown in &server.unknown {
        rows.push(row([variant, "unknown", &unknown.what], [None; 3], ["", &unknown.why, ""]));
    }
    rows
}

/// Where threads wait: time and number for each operation. The note has who ends it, most often first.
fn of_waits(variant: &str, waits: &WaitProfile) -> Vec<Row> {
    let of_place = |place: &WaitPlace| {
        let part = if place.is_idle { "wait for work" } else { "wait" };
        let name = format!("{}: {}", place.kind, place.place());
        let woken = place.woken_by();
        let time = row([variant, part, &name], [Some(place.us), None, None], ["µs", &woken, &waits.folded]);
        let times = place.waits.map(|count| {
            row([variant, part, &name], [Some(count), None, None], ["waits", &woken, &waits.folded])
        });
        [Some(time), times]
    };
    waits.places.iter().flat_map(of_place).flatten().collect()
}

fn of_figure(variant: &str, part: &str, title: &str, figure: &Figure) -> Row {
    row(
        [variant, part, title],
        [Some(figure.value), None, None],
        [&figure.unit, &figure.about, &figure.source],
    )
}

fn row(names: [&str; 3], values: [Option<f64>; 3], rest: [&str; 3]) -> Row {
    let [variant, part, name] = names.map(word);
    let [value, low, high] = values.map(|value| value.map(|value| value.to_string()).unwrap_or_default());
    let [unit, note, source] = rest.map(word);
    [variant, part, name, value, low, high, unit, note, source]
}
