//! The examples of the help text, shortened.

use serde_json::Value;

use crate::client::{load, measure, number};
use crate::servers::{memcached, nginx};

#[test]
fn a_closed_loop_prints_every_figure() {
    let nginx = nginx();
    let ended = load(&[&nginx.url("http", "/1k"), "-c", "64", "-t", "1", "-d", "300ms"]);
    assert!(matches!(ended.code(), 0 | 3), "{ended:?}");
    let text = &ended.stdout;
    for word in [
        "requests/s",
        "response time",
        "service time",
        "p99.99",
        "max",
        "connections",
        "sent late",
        "Little's law",
    ] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    let last = text.lines().last().expect("lines");
    assert!(last == "VALID" || last.starts_with("INVALID: "), "{text}");
    assert_eq!(last == "VALID", ended.code() == 0, "{text}");
    assert_eq!(ended.stderr, "", "no progress bar without a terminal");
}

#[test]
fn an_open_loop_runs_over_tls() {
    let nginx = nginx();
    let result =
        measure(&[&nginx.url("https", "/1k"), "-c", "50", "-r", "1000", "-d", "500ms", "--warmup", "200ms"]);
    assert_eq!(number(&result, "/failed"), 0, "{result}");
    assert_eq!(result["spec"]["shape"]["arrivals"], "poisson");
    assert_eq!(number(&result, "/connections/tls/handshakes"), 50, "{result}");
}

#[test]
fn a_cache_is_loaded_with_popular_keys_and_values_of_many_sizes() {
    let memcached = memcached();
    let url = memcached.url("memcache", "");
    let mix = ["--get", "90", "--set", "10", "--keys", "1000", "--key-skew", "zipf:0.99"];
    let sizes = ["--value-size", "4..100:60,1k..2k:30,5k..20k:10", "--populate"];
    let result =
        measure(&[&[url.as_str(), "-c", "64", "-r", "2000", "-d", "500ms"][..], &mix, &sizes].concat());
    assert_eq!(number(&result, "/failed"), 0, "{result}");
    assert_eq!(number(&result, "/counters/misses"), 0, "{result}");
    let names: Vec<&Value> =
        result["operations"].as_array().expect("a list").iter().map(|op| &op["name"]).collect();
    assert_eq!(names, ["get", "set"]);
}

#[test]
fn the_capacity_of_a_mix_is_found() {
    let nginx = nginx();
    let mix = nginx.write(
        "mix.toml",
        "[[op]]\nname = \"page\"\nweight = 9\npath = \"/1k\"\nexpect = { status = 200, bytes = 1024, contains = \"xx\" }\n\
         [[op]]\nname = \"echo\"\npath = \"/echo/{{ uniform(1, 9) }}\"\n",
    );
    // One connection limits the server, so that the client is not the limit.
    let result = measure(&[
        &nginx.url("http", ""),
        "--ops",
        &mix,
        "-c",
        "1",
        "--find-capacity",
        "p50<5ms",
        "-d",
        "150ms",
        "--warmup",
        "50ms",
    ]);
    // On a busy machine the client may be the limit, and then no capacity is found. The search itself has scripted tests.
    let capacity = &result["capacity_per_s"];
    assert!(capacity.as_f64().is_some_and(|rate| rate > 0.0) || !result["reasons"].is_null(), "{result}");
    let curve = result["curve"].as_array().expect("a curve");
    let rates: Vec<f64> = curve.iter().filter_map(|step| step["rate_per_s"].as_f64()).collect();
    assert!(!rates.is_empty() && rates.is_sorted(), "{rates:?}");
    assert!(result["method"].as_str().is_some_and(|method| method.contains("Poisson arrivals")), "{result}");
}

#[test]
fn a_search_uses_the_requested_arrivals() {
    let nginx = nginx();
    let url = nginx.url("http", "/1k");
    let slo = ["--find-capacity", "p50<5ms", "-d", "100ms", "--warmup", "10ms", "-c", "1"];
    let result = measure(&[&[url.as_str(), "--arrivals", "constant"][..], &slo].concat());
    assert_eq!(result["curve"][0]["summary"]["spec"]["shape"]["arrivals"], "constant", "{result}");
}
