//! Users who carry out a scenario, over HTTP and over memcached's protocol.

use crate::client::{load, measure, number};
use crate::servers::{memcached, nginx};

const PAGES: &str = r#"
[load.users]
count = 4
delay = { cycle = "exp:10ms" }
next.page = { echo = 100 }
next.echo = { page = 50, echo = 50 }
[[load.op]]
name = "page"
limit = "p90<60s"
path = "/1k"
[[load.op]]
name = "echo"
[[load.op.step]]
path = "/echo/{{ user }}"
[[load.op.step]]
path = "/1k"
"#;

#[test]
fn users_walk_through_pages() {
    let nginx = nginx();
    let scenario = nginx.write("shop.toml", PAGES);
    let url = nginx.url("http", "");
    let result = measure(&[&url, "--scenario", &scenario, "--users", "5", "-n", "200", "--seed", "1"]);
    assert_eq!((number(&result, "/failed"), number(&result, "/requests")), (0, 200), "{result}");
    assert_eq!((number(&result, "/users/count"), number(&result, "/users/begun")), (5, 200), "{result}");
    assert_eq!(result["users"]["operations"][0]["declared_next_percent"][1], 100.0);
    assert_eq!(result["users"]["operations"][0]["meets_limit"], true);
    let text = load(&[&url, "--scenario", &scenario, "-n", "100"]).stdout;
    assert!(text.contains("next, % (declared)") && text.contains("4 users;"), "{text}");
}

#[test]
fn keys_have_an_order_and_delays() {
    let memcached = memcached();
    let scenario = memcached.write(
        "keys.toml",
        "[load.users]\ncount = 3\nsequence = [\"set\", \"get\"]\ndelay = { think = \"1ms\" }\n\
         [load.keyspace]\nkeys = 10\nvalue_size = \"10\"\n\
         [[load.op]]\ncommand = \"get\"\n[[load.op]]\ncommand = \"set\"\n",
    );
    let result = measure(&[&memcached.url("memcache", ""), "--scenario", &scenario, "-n", "300", "-t", "1"]);
    assert_eq!(number(&result, "/failed"), 0, "{result}");
    let begun = |at: usize| number(&result, &format!("/users/operations/{at}/begun"));
    assert_eq!(begun(0) + begun(1), 300, "{result}");
    assert!(begun(1) >= begun(0) && begun(1) - begun(0) <= 3, "each user sets first: {result}");
}

#[test]
fn a_mistake_in_a_scenario_is_named_with_its_line() {
    let nginx = nginx();
    let scenario = nginx.write("shop.toml", &PAGES.replace("page = 50", "page = 51"));
    let ended = load(&[&nginx.url("http", ""), "--scenario", &scenario]);
    assert_eq!(ended.code(), 2);
    assert!(ended.stderr.contains("shop.toml:6: next.echo: the row adds up to 101 per cent"), "{ended:?}");
}
