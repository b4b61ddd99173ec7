//! Exact counts: client and server count the same operations, and the same seed repeats the same operations.

use crate::client::{load, measure, number};
use crate::servers::{memcached, nginx, redis};

#[test]
fn nginx_counts_the_same_requests() {
    let nginx = nginx();
    let url = nginx.url("http", "/1k");
    for args in [
        &["-c", "8", "-n", "5000"][..],
        &["-c", "7", "-t", "3", "-n", "1001"],
        &["-c", "8", "-d", "300ms"],
        &["-c", "8", "-d", "300ms", "-r", "2k"],
        &["-c", "8", "-d", "300ms", "-r", "1k", "--requests-per-connection", "1"],
        &["-c", "3", "-n", "100", "--requests-per-connection", "7"],
        &["-c", "8", "-d", "300ms", "--think", "10ms"],
    ] {
        let before = nginx.requests_of_nginx();
        let mut all = vec![url.as_str()];
        all.extend(args);
        let result = measure(&all);
        let served = nginx.requests_of_nginx() - before - 1;
        assert_eq!((number(&result, "/requests"), number(&result, "/failed")), (served, 0), "{args:?}");
        if let ["-n", count, ..] = &args[args.len() - 2..] {
            assert_eq!(served.to_string(), **count);
        }
    }
}

#[test]
fn the_warm_up_is_not_counted() {
    let nginx = nginx();
    let before = nginx.requests_of_nginx();
    let url = nginx.url("http", "/1k");
    let result =
        measure(&[&url, "-c", "4", "-r", "1k", "--arrivals", "constant", "--warmup", "500ms", "-d", "1s"]);
    let served = nginx.requests_of_nginx() - before - 1;
    assert_eq!(served, 1_500);
    assert_eq!(number(&result, "/requests"), 1_000, "{result}");
}

#[test]
fn connections_are_opened_and_renewed_as_requested() {
    let nginx = nginx();
    let url = nginx.url("http", "/1k");
    let kept = measure(&[&url, "-c", "20", "-n", "1000"]);
    assert_eq!((number(&kept, "/connections/opened"), number(&kept, "/connections/peak")), (20, 20));
    let renewed = measure(&[&url, "-c", "1", "-n", "100", "--requests-per-connection", "10"]);
    assert_eq!(number(&renewed, "/connections/opened"), 10, "{renewed}");
    let each = measure(&[&url, "-c", "4", "-n", "100", "--requests-per-connection", "1"]);
    assert_eq!(number(&each, "/connections/opened"), 100, "{each}");
}

#[test]
fn a_value_that_memcached_refuses_is_reported_in_its_words() {
    let memcached = memcached();
    let url = memcached.url("memcache", "");
    let large = ["-c", "1", "-n", "6", "--keys", "3", "--value-size", "2m"];
    let refused = load(&[&[url.as_str(), "--populate"][..], &large].concat());
    assert_eq!(refused.code(), 1, "{refused:?}");
    let said = "3 of 3 operations failed: unexpected reply: the server answers SERVER_ERROR object too large for cache";
    assert!(refused.stderr.contains(said), "{refused:?}");
}

#[test]
fn memcached_counts_the_same_gets_and_every_get_hits_after_populate() {
    for dialect in ["text", "meta"] {
        let memcached = memcached();
        let url = memcached.url("memcache", "");
        let missed = measure(&[&url, "-c", "4", "-n", "100", "--dialect", dialect]);
        assert_eq!((number(&missed, "/counters/hits"), number(&missed, "/counters/misses")), (0, 100));
        let options = ["-c", "4", "-t", "2", "-n", "2000", "--keys", "500", "--dialect", dialect];
        let sizes = ["--value-size", "4..100:60,1k..2k:30,5k..20k:10", "--populate"];
        let result = measure(&[&[url.as_str()][..], &options, &sizes].concat());
        assert_eq!((number(&result, "/requests"), number(&result, "/failed")), (2_000, 0), "{result}");
        assert_eq!((number(&result, "/counters/hits"), number(&result, "/counters/misses")), (2_000, 0));
        assert_eq!(memcached.memcached("cmd_get"), 2_100, "{dialect}");
        assert_eq!((memcached.memcached("cmd_set"), memcached.memcached("curr_items")), (500, 500));
        let other = measure(&[&[url.as_str()][..], &options, &["--seed", "1"]].concat());
        assert_eq!(number(&other, "/failed"), 0, "without --populate values are not checked");
    }
}

#[test]
fn redis_counts_the_same_commands() {
    let redis = redis();
    let url = redis.url("redis", "");
    let mix = ["--get", "80", "--set", "15", "--delete", "5", "--keys", "100", "--populate", "-c", "5"];
    let result = measure(&[&[url.as_str(), "-n", "2000"][..], &mix].concat());
    assert_eq!(number(&result, "/failed"), 0, "{result}");
    let count = |at: usize| number(&result, &format!("/operations/{at}/requests"));
    assert_eq!(
        (redis.redis("get"), redis.redis("set"), redis.redis("del")),
        (count(0), count(1) + 100, count(2))
    );
    assert_eq!(count(0) + count(1) + count(2), 2_000);
    let looked_up = number(&result, "/counters/hits") + number(&result, "/counters/misses");
    assert_eq!(looked_up, count(0) + count(2), "a delete is a hit or a miss, too");
}

#[test]
fn the_same_seed_gives_the_same_operations() {
    let nginx = nginx();
    let mix = nginx.write(
        "mix.toml",
        "[[op]]\nweight = 3\npath = \"/echo/{{ uniform(1, 1000) }}\"\n\
         [[op]]\nname = \"popular\"\npath = \"/echo/{{ zipf(1, 1000, 0.99) }}?{{ alnum(8) }}\"\n",
    );
    let url = nginx.url("http", "");
    let mut seen = 0;
    let mut requests = |seed: &str, connections: &str| {
        let ended = load(&[&url, "--ops", &mix, "-n", "400", "-c", connections, "--seed", seed]);
        assert!(matches!(ended.code(), 0 | 3), "{ended:?}");
        let mut lines = nginx.access_log(seen + 400).split_off(seen);
        seen += 400;
        lines.sort();
        lines
    };
    let first = requests("7", "1");
    assert_eq!(first.len(), 400);
    assert_eq!(first, requests("7", "1"));
    assert_eq!(first, requests("7", "8"), "the number of connections does not change the operations");
    assert_ne!(first, requests("8", "1"));
    let of_first = first.iter().filter(|line| !line.contains('?')).count();
    assert!((250..350).contains(&of_first), "{of_first} of 400 belong to the operation with weight 3 of 4");
}
