//! Reports of made-up runs: Markdown and CSV as snapshots, and safety against text from untrusted runs.
#![allow(clippy::unwrap_used, reason = "tests: a panic is a failure with a line")]

use archive::model::CpuTimeModes;
use archive::{Run, example, layout};
use std::{fs, path::Path};

/// A made-up run, read from a temporary directory.
fn made_up(write: impl FnOnce(&Path) -> archive::Result<archive::RunId>) -> (tempfile::TempDir, Run) {
    let root = tempfile::tempdir().unwrap();
    let id = write(root.path()).unwrap();
    let run = Run::open(&root.path().join(id.as_str())).unwrap();
    (root, run)
}

/// Replaces the random salt of the id.
fn without_salt(text: &str, run: &Run) -> String {
    let (front, _) = run.id.as_str().rsplit_once('-').unwrap();
    text.replace(run.id.as_str(), &format!("{front}-SALT"))
}

#[test]
fn markdown_of_a_comparison() {
    let (_root, run) = made_up(|root| example::comparison(root, 6));
    insta::assert_snapshot!(without_salt(&report::markdown(&run).unwrap(), &run));
}

#[test]
fn markdown_of_cpu_time_has_both_modes_and_what_it_replaced() {
    let (_root, mut run) = made_up(|root| example::comparison(root, 6));
    let verdict = run.verdict.as_mut().unwrap();
    verdict.replaced = Some("CPU time an operation was measured instead of capacity".to_owned());
    verdict.variants[0].cpu_time_us = Some(CpuTimeModes { user: 8.25, system: 11.75 });
    let markdown = report::markdown(&run).unwrap();
    assert!(
        markdown.contains("\n\nCPU time an operation was measured instead of capacity.\n\n"),
        "{markdown}"
    );
    assert!(markdown.contains("| nginx | 8.25 µs | 11.8 µs |"), "{markdown}");
    assert!(!markdown.contains("| apache | 8.25"), "{markdown}");
}

#[test]
fn markdown_of_a_sweep() {
    let (_root, run) = made_up(example::sweep);
    insta::assert_snapshot!(without_salt(&report::markdown(&run).unwrap(), &run));
}

#[test]
fn csv_of_a_comparison() {
    let (_root, run) = made_up(|root| example::comparison(root, 2));
    insta::assert_snapshot!(report::csv(&run).unwrap());
}

#[test]
fn watts_are_in_markdown_csv_and_json() {
    let (_root, run) = made_up(|root| example::metered_comparison(root, 6, &[1.0, 0.5], Some(11)));
    insta::assert_snapshot!(without_salt(&report::markdown(&run).unwrap(), &run));
    let csv = report::csv(&run).unwrap();
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let column = {
        let names = rows.headers().unwrap().clone();
        move |name: &str| names.iter().position(|found| found == name).unwrap()
    };
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    let cell = |trial: usize, name: &str| rows[trial - 1][column(name)].to_owned();
    assert_eq!(cell(1, "power.rack.boundary"), "wall");
    assert_eq!(cell(1, "power.rapl-package.boundary"), "package");
    let number = |trial: usize, name: &str| cell(trial, name).parse::<f64>().unwrap();
    assert!(number(1, "power.rack.watts_at_load") > number(1, "power.rack.watts_idle"));
    assert!(
        number(1, "power.rack.operations_per_joule") > number(1, "power.rack.overall_operations_per_joule")
    );
    // The meter at the wall is lost from trial 11 on; the other one is not.
    assert_eq!(cell(11, "power.rack.watts_at_load"), "");
    assert!(number(11, "power.rapl-package.watts_at_load") > 0.0);
    let json: serde_json::Value = serde_json::from_str(&report::json(&run).unwrap()).unwrap();
    assert_eq!(json["power"]["variants"][0]["meter"]["name"], "rack");
}

#[test]
fn csv_of_a_sweep_has_a_column_for_each_axis() {
    let (_root, run) = made_up(example::sweep);
    let csv = report::csv(&run).unwrap();
    assert!(csv.starts_with("trial,block,position,variant,connections,threads,status,value,"));
    assert_eq!(csv.lines().count(), 1 + run.trials.len());
}

#[test]
fn a_report_without_a_verdict_names_missing_files() {
    let (_root, run) = made_up(|root| example::comparison(root, 2));
    fs::remove_file(run.dir.join(layout::VERDICT)).unwrap();
    fs::write(run.dir.join(&run.trials[0].folder).join(layout::TRIAL), "{").unwrap();
    let run = Run::open(&run.dir).unwrap();
    let markdown = report::markdown(&run).unwrap();
    assert!(markdown.starts_with("**No verdict: the run is unfinished (3 trials).**"), "{markdown}");
    assert!(markdown.contains("trial.json: cut short"), "{markdown}");
    assert!(report::html(&run).unwrap().contains("cut short"));
}

#[test]
fn a_run_without_readable_files_has_a_report() {
    let (_root, run) = made_up(|root| example::comparison(root, 1));
    for file in [layout::PLAN, layout::FACTS, layout::VERDICT] {
        fs::write(run.dir.join(file), "nonsense").unwrap();
    }
    fs::remove_dir_all(run.dir.join(layout::TRIALS)).unwrap();
    let run = Run::open(&run.dir).unwrap();
    assert!(report::markdown(&run).unwrap().contains("damaged"));
    assert!(report::html(&run).unwrap().contains("malformed"));
    assert_eq!(report::csv(&run).unwrap().lines().count(), 1);
    assert!(report::json(&run).unwrap().contains("\"damaged\""));
}

#[test]
fn text_of_an_untrusted_run_is_never_markup() {
    let (_root, run) = made_up(|root| example::comparison(root, 1));
    let hostile = "</script><img src=x onerror=alert(1)>";
    let path = run.dir.join(layout::VERDICT);
    let verdict = fs::read_to_string(&path).unwrap();
    fs::write(&path, verdict.replace("This is what is compared.", hostile)).unwrap();
    let run = Run::open(&run.dir).unwrap();
    assert!(serde_json::to_string(run.verdict.as_ref().unwrap()).unwrap().contains(hostile));
    let page = report::html(&run).unwrap();
    assert!(!page.contains("<img src=x"), "the page contains markup of the run");
}

#[test]
fn a_page_of_twenty_trials_is_small() {
    let (_root, run) = made_up(|root| example::comparison(root, 10));
    assert_eq!(run.trials.len(), 20);
    let bytes = report::html(&run).unwrap().len();
    assert!(bytes <= 2_000_000, "{bytes} bytes");
}

#[test]
fn the_page_has_configurations_and_telemetry_and_names_unreadable_files() {
    let (_root, run) = made_up(|root| example::comparison(root, 1));
    let page = report::html(&run).unwrap();
    assert!(page.contains("worker_processes 1;") && page.contains("cpu.1.system"));
    let telemetry = run.trials[0].trial.files.telemetry.as_ref().unwrap();
    fs::write(run.dir.join(telemetry), "not parquet").unwrap();
    let page = report::html(&run).unwrap();
    assert!(page.contains("telemetry.parquet: "), "the page names the missing file");
}

#[test]
fn text_of_an_untrusted_run_is_never_a_formula() {
    let (_root, mut run) = made_up(example::sweep);
    let hostile = "=HYPERLINK(\"http://x\",\"y\")";
    for record in &mut run.trials {
        let trial = &mut record.trial;
        trial.variant = format!("+{hostile}");
        trial.reasons = vec![format!("-{hostile}")];
        trial.point = [(hostile.to_owned(), hostile.into()), ("depth".to_owned(), "-3".into())].into();
        if let Some(measured) = &mut trial.measured {
            (measured.unit, measured.metric) = (format!("@{hostile}"), format!("\t{hostile}"));
            measured.value = -1.5;
        }
        if let Some(saturated) = &mut trial.saturated {
            saturated.resource = format!("\r{hostile}");
        }
    }
    let table = report::csv(&run).unwrap();
    let mut rows = csv::ReaderBuilder::new().has_headers(false).from_reader(table.as_bytes());
    let mut quoted = 0;
    for row in rows.records() {
        for cell in &row.unwrap() {
            let is_number = cell.parse::<f64>().is_ok();
            assert!(is_number || !cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{cell:?}");
            quoted += usize::from(cell.starts_with('\''));
        }
    }
    assert!(quoted > run.trials.len() * 5, "{table}");
    assert!(table.contains(",-3,") && table.contains(",-1.5,"), "numbers keep their sign: {table}");
}

#[test]
fn markdown_of_an_explanation() {
    let (_root, run) = made_up(example::explanation);
    insta::assert_snapshot!(without_salt(&report::markdown(&run).unwrap(), &run));
}

#[test]
fn csv_of_an_explanation_has_a_row_for_each_figure() {
    let (_root, run) = made_up(example::explanation);
    let csv = report::csv(&run).unwrap();
    assert!(csv.starts_with("variant,part,name,value,low,high,unit,note,source\n"), "{csv}");
    assert!(csv.contains("nginx,elasticity,20 % less of the server's CPUs,0.94,0.85,1.03,,"), "{csv}");
    assert!(csv.contains("nginx,in use,server CPUs,0.99,,,share,"), "{csv}");
    assert!(csv.contains("apache,own CPU time,malloc,"), "{csv}");
    let lock =
        "apache,wait,lock: apr_thread_mutex_lock ← ap_run_log_transaction ← ap_process_request,30,,,µs,";
    assert!(csv.contains(lock), "{csv}");
    assert!(csv.contains("nginx,wait for work,events of connections: ngx_epoll_process_events"), "{csv}");
    let differences = csv.lines().filter(|line| line.starts_with("apache - nginx,")).count();
    assert_eq!(differences, run.explanation.as_ref().unwrap().difference.as_ref().unwrap().frames.len());
}

#[test]
fn json_of_an_explanation_has_it_and_the_command_that_repeats_it() {
    let (_root, run) = made_up(example::explanation);
    let value: serde_json::Value = serde_json::from_str(&report::json(&run).unwrap()).unwrap();
    assert_eq!(value["explanation"]["servers"][0]["variant"], "nginx");
    let rerun = value["run"]["rerun"].as_str().unwrap();
    assert!(rerun.starts_with("showdown run ") && rerun.ends_with("plan.toml"), "{rerun}");
    let (_root, run) = made_up(|root| example::comparison(root, 1));
    let value: serde_json::Value = serde_json::from_str(&report::json(&run).unwrap()).unwrap();
    assert_eq!(value["explanation"]["basis"], "trials");
}

#[test]
fn the_page_of_an_explanation_has_its_stacks_and_names_those_that_cannot_be_read() {
    let (_root, run) = made_up(example::explanation);
    let page = report::html(&run).unwrap();
    assert!(
        page.contains(r#""profiles":{"profiles/apache.folded":{"#) && page.contains("tcp_sendmsg_locked_[k]")
    );
    assert!(page.contains(r#""profiles/apache.waits.folded":{"#), "stacks of waits");
    fs::write(run.dir.join("profiles/nginx.folded"), "t;main 3\nnonsense\n").unwrap();
    fs::remove_file(run.dir.join("profiles/apache.folded")).unwrap();
    let page = report::html(&run).unwrap();
    assert!(
        page.contains("lines that are not stacks, and not in the flame graph: 1"),
        "a line that is not a stack is named"
    );
    assert!(page.contains(r#""file":"profiles/apache.folded""#), "a file that is missing is named");
}

#[test]
fn the_page_of_an_explanation_with_many_functions_is_small() {
    let (_root, mut run) = made_up(example::explanation);
    let stacks: Vec<String> = (0..60_000)
        .map(|n| format!("t;main;f{};g{n};a_long_name_of_a_function_{n} {}", n % 50, 1 + n % 9))
        .collect();
    fs::write(run.dir.join("profiles/nginx.folded"), stacks.join("\n")).unwrap();
    let profile = run.explanation.as_mut().unwrap().servers[0].profile.as_mut().unwrap();
    let frame = profile.frames[0].clone();
    profile.frames.extend((0..30_000).map(|_| frame.clone()));
    let bytes = report::html(&run).unwrap().len();
    assert!(bytes <= 2_000_000, "{bytes} bytes");
}
