//! Output for programs: the JSON object, the histogram log, and progress as JSON lines.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;

use crate::client::{load, measure, number};
use crate::servers::{memcached, nginx};

#[test]
fn the_json_object_has_every_documented_field() {
    let memcached = memcached();
    let result = measure(&[&memcached.url("memcache", ""), "-n", "1000", "-c", "4"]);
    for count in ["/requests", "/failed", "/connections/opened", "/counters/misses"] {
        number(&result, count);
    }
    assert!(
        result["errors"].is_object() && result["valid"].is_boolean() && result["reasons"].is_array(),
        "{result}"
    );
    for real in [
        "/duration_s",
        "/throughput_per_s",
        "/bytes_per_s",
        "/offered_per_s",
        "/client/user_cpu_s",
        "/client/system_cpu_s",
        "/client/utilisation",
        "/client/run_delay_s",
    ] {
        assert!(result.pointer(real).is_some_and(Value::is_f64), "{real} in {result}");
    }
    for times in ["/response_time_us", "/service_time_us", "/first_byte_us", "/client/lag_us"] {
        assert!(result.pointer(&format!("{times}/mean")).is_some_and(Value::is_f64), "{times} in {result}");
        let percentiles = ["p50", "p90", "p95", "p99", "p99_9", "p99_99", "max"];
        let values = percentiles.map(|name| number(&result, &format!("{times}/{name}")));
        assert!(values.is_sorted(), "{times}: {values:?}");
    }
    assert_eq!(number(&result, "/operations/0/requests"), 1_000);
    assert!(result["reasons"].as_array().is_some_and(|reasons| reasons.iter().all(Value::is_string)));
}

#[test]
fn a_load_that_misses_an_objective_fails_a_job_with_a_code_of_its_own() {
    let nginx = nginx();
    let url = nginx.url("http", "/1k");
    for (condition, code) in [("max>1us", 4), ("max>1h", 0)] {
        let ended = load(&[&url, "-n", "200", "-c", "2", "--fail-if", condition]);
        // A busy machine may make any load invalid.
        assert!([code, 3].contains(&ended.code()), "{condition}: {ended:?}");
        assert_eq!(ended.stderr.contains("this load fails --fail-if max>1us"), code == 4, "{ended:?}");
    }
}

#[test]
fn the_intervals_add_up_to_the_total() {
    let nginx = nginx();
    let result = measure(&[&nginx.url("http", "/1k"), "-r", "500", "-d", "2500ms", "-c", "4"]);
    let intervals = result["intervals"].as_array().expect("intervals");
    let starts: Vec<f64> = intervals.iter().filter_map(|interval| interval["start_s"].as_f64()).collect();
    assert_eq!(starts, [0.0, 1.0, 2.0]);
    let each = |name: &str| intervals.iter().map(|interval| number(interval, name)).sum::<u64>();
    assert_eq!(each("/requests") + number(&result, "/drain/requests"), number(&result, "/requests"));
}

#[test]
fn a_run_lasts_as_long_as_requested_even_if_few_operations_are_due() {
    let nginx = nginx();
    let url = nginx.url("http", "/1k");
    for shape in [&["-r", "2", "--arrivals", "constant"][..], &["--think", "800ms"]] {
        let result = measure(&[&[url.as_str(), "-c", "1", "-d", "1s"][..], shape].concat());
        assert_eq!((number(&result, "/requests"), result["duration_s"].as_f64()), (2, Some(1.0)), "{result}");
    }
}

#[test]
fn each_step_of_the_offered_load_is_reported() {
    let nginx = nginx();
    let result =
        measure(&[&nginx.url("http", "/1k"), "-r", "100,200,400/500ms", "--arrivals", "constant", "-c", "4"]);
    let steps = result["steps"].as_array().expect("steps");
    let result: Vec<(f64, f64)> = steps
        .iter()
        .map(|step| {
            (step["start_s"].as_f64().expect("a time"), step["offered_per_s"].as_f64().expect("a rate"))
        })
        .collect();
    for ((start, offered), (expected_start, expected)) in
        result.iter().zip([(0.0, 100.0), (0.5, 200.0), (1.0, 400.0)])
    {
        assert!((start - expected_start).abs() < 1e-9, "{result:?}");
        assert!((offered - expected).abs() < expected / 20.0, "{result:?}");
    }
    assert_eq!(result.len(), 3);
}

#[test]
fn the_standard_reader_finds_every_operation_in_the_histogram_log() {
    let nginx = nginx();
    let path = nginx.path("load.hlog").display().to_string();
    let mix = nginx.write(
        "mix.toml",
        "[[op]]\nname = \"a page, small\"\npath = \"/1k\"\n[[op]]\nname = \"echo\"\npath = \"/echo/\"\n",
    );
    let result =
        measure(&[&nginx.url("http", ""), "--ops", &mix, "-r", "400", "-d", "1200ms", "--hlog", &path]);
    let log = std::fs::read(&path).expect("a log");
    let mut sums: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
    for entry in IntervalLogIterator::new(&log) {
        let LogEntry::Interval(interval) = entry.expect("a line of the format") else { continue };
        let tag = interval.tag().expect("every line has a tag").as_str().to_owned();
        let bytes = base64(interval.encoded_histogram());
        let histogram = Deserializer::new().deserialize(&mut bytes.as_slice()).expect("a histogram");
        sums.entry(tag)
            .or_insert_with(|| Histogram::new(3).expect("three digits"))
            .add(histogram)
            .expect("adds");
    }
    let requests: u64 =
        ["a_page__small.response_time", "echo.response_time"].map(|tag| sums[tag].len()).iter().sum();
    assert_eq!(requests, number(&result, "/requests"));
    assert_eq!(sums["echo.service_time"].len(), number(&result, "/operations/1/requests"));
    let mut all = sums["a_page__small.response_time"].clone();
    all.add(&sums["echo.response_time"]).expect("adds");
    assert_eq!(all.value_at_quantile(0.99), number(&result, "/response_time_us/p99"));
    assert_eq!(sums["client.lag"].max(), number(&result, "/client/lag_us/max"));
}

/// The alphabet of RFC 4648, section 4.
fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    let bytes = |four: &[u8]| {
        let word =
            four.iter().fold(0_u32, |word, digit| word << 6 | u32::from(*digit)) << (6 * (4 - four.len()));
        word.to_be_bytes()[1..four.len()].to_vec()
    };
    digits.chunks(4).flat_map(bytes).collect()
}

#[test]
fn json_progress_is_one_line_for_each_event() {
    let nginx = nginx();
    let url = nginx.url("http", "/1k");
    let ended = load(&[&url, "-r", "200", "-d", "2s", "--progress", "json", "--format", "json"]);
    ended.measured();
    let lines: Vec<Value> =
        ended.stderr.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines[0]["event"], "load_begins");
    let ticks: Vec<&Value> = lines.iter().filter(|line| line["event"] == "tick").collect();
    assert!(ticks.len() >= 2 && ticks[0]["throughput_per_s"].is_f64());
}

#[test]
fn a_reader_that_closes_the_pipe_early_is_no_failure() {
    use std::process::Stdio;
    let nginx = nginx();
    let mut command = crate::client::command(&[&nginx.url("http", "/1k"), "-n", "100"]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let ended = command.stdout(writer).stderr(Stdio::piped()).output().expect("showdown runs");
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{ended:?}");
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
}

#[test]
fn another_measurement_is_noted_and_in_the_json_object() {
    let nginx = nginx();
    let lock = std::fs::File::create(nginx.path("lock")).expect("the lock file");
    let url = nginx.url("http", "/1k");
    let load = |args: &[&str]| {
        let mut command = crate::client::command(&[&[&url, "--format", "json"], args].concat());
        command.env("SHOWDOWN_LOCK", nginx.path("lock"));
        crate::client::start(command).wait()
    };
    let who = format!("(pid {}): ", std::process::id());
    lock.lock().expect("this test has the lock");
    let ended = load(&["-n", "10"]);
    assert!(ended.stderr.contains("note: another showdown is measuring"), "{ended:?}");
    let other = |ended: &crate::client::CommandResult| ended.json()["other_measurement"].clone();
    assert!(other(&ended).as_str().is_some_and(|other| other.starts_with(&who)), "{ended:?}");
    lock.unlock().expect("the test gives it back");
    let ended = load(&["-n", "10"]);
    assert_eq!((ended.stderr.as_str(), other(&ended)), ("", Value::Null));
}
