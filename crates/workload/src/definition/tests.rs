//! Whole workload files: which are accepted, and with which line and message others are refused.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::render::TemplateVariables;

/// A service of the user's own, in one file.
const MY_API: &str = r#"title = "My API"

[server.api]
start   = ["./my-api", "--port", "{{ port }}", "--workers", "{{ workers }}"]
ready   = { http = "/health", within = "10s" }
version = ["./my-api", "--version"]

[server.api.knobs.workers]
about   = "worker threads"
default = 2
range   = "1..64"

[load]
protocol = "http"
slo      = "p99<20ms"

[[load.op]]
name   = "list"
weight = 90
path   = "/items?page={{ uniform(1, 100) }}"
expect = { status = 200, contains = "items" }
"#;

fn read(text: &str) -> Result<Workload, String> {
    let folder = tempfile::tempdir().expect("the directory is created");
    std::fs::write(folder.path().join("workload.toml"), text).expect("the file is written");
    let read = Workload::read(&Folder::Disk(folder.path().to_owned()), "workload.toml");
    let directory = format!("{}/", folder.path().display());
    read.map_err(|error| error.to_string().replace(&directory, ""))
}

/// The error where the example has `to` in place of `from`.
fn refused(from: &str, to: &str) -> String {
    assert!(MY_API.contains(from), "{from}");
    read(&MY_API.replacen(from, to, 1)).expect_err(to)
}

#[test]
fn a_service_is_defined_in_one_file() -> Result<(), Box<dyn std::error::Error>> {
    let workload = read(MY_API)?;
    let server = workload.server("api")?;
    assert_eq!(
        server.ready,
        ReadyCheck {
            probe: ReadyProbe::Http(HttpProbe { url: "/health".into(), headers: Vec::new() }),
            within: Duration::from_secs(10)
        }
    );
    assert_eq!(
        server.version,
        Some(VersionCommand { run: vec!["./my-api".into(), "--version".into()], after: String::new() })
    );
    assert_eq!((workload.connections(), workload.load.names), (64, vec!["list".to_owned()]));
    Ok(())
}

#[test]
fn a_server_may_listen_on_a_socket_in_its_own_directory() -> Result<(), Box<dyn std::error::Error>> {
    let own = MY_API.replace("version =", "socket = \"{{ dir }}/{{ workers }}.sock\"\nversion =");
    assert_eq!(read(&own)?.server("api")?.socket.as_deref(), Some("{{ dir }}/{{ workers }}.sock"));
    // For all servers; empty for one that has its port.
    let of_all = MY_API.replace("slo ", "socket = \"{{ dir }}/app.sock\"\nslo ");
    assert_eq!(read(&of_all)?.server("api")?.socket.as_deref(), Some("{{ dir }}/app.sock"));
    let none =
        of_all.replace("version =", "socket = \"{% if workers > 2 %}{{ dir }}/a{% endif %}\"\nversion =");
    assert!(read(&none)?.server("api")?.socket.as_deref().is_some_and(|socket| socket.starts_with("{% if")));

    for path in ["/run/docker.sock", "app.sock", "{{ dir }}", "{{ dir }}/../private/x", "{{ data }}/../x"] {
        let error = refused("version =", &format!("socket = \"{path}\"\nversion ="));
        assert!(error.starts_with("workload.toml:6: socket: "), "{error}");
        assert!(error.ends_with("is not below the server's directory: write {{ dir }}/NAME"), "{error}");
    }
    let error = refused("version =", "socket = \"{{ dri }}/a\"\nversion =");
    assert!(error.contains("there is no variable \"dri\""), "{error}");
    Ok(())
}

#[test]
fn a_knob_may_be_a_port_that_follows_from_the_servers() -> Result<(), Box<dyn std::error::Error>> {
    let metrics =
        "[server.api.knobs.metrics]\ndefault = \"{{ port + 1 }}\"\nrange = \"1024..65535\"\n\n[load]";
    let with_metrics = MY_API.replace("[load]", metrics).replace("{{ workers }}", "{{ workers + metrics }}");
    assert!(read(&with_metrics)?.server("api")?.knob("metrics").is_ok());
    Ok(())
}

#[test]
fn a_mistake_is_reported_with_its_line_and_the_expected_form() {
    let range = refused("\"1..64\"", "\"64..1\"");
    assert_eq!(range, "workload.toml:11: knob \"workers\": range \"64..1\" goes down: write it as 1..64");
    for (from, to, expected) in [
        ("title = \"My API\"\n", "", "workload.toml:1: missing field `title`"),
        ("title =", "titel =", ":1: unknown key \"titel\" (did you mean \"title\"? available: "),
        ("path ", "#", ":17: operation \"list\" needs path"),
        (
            "uniform(1, 100)",
            "uniform(9, 1)",
            ":17: operation \"list\": \"uniform(9, 1)\" is not possible: A must not be above B",
        ),
        ("weight =", "wieght =", ":19: unknown key \"wieght\" (did you mean \"weight\"? available: "),
        ("\"http\"\nslo", "\"htp\"\nslo", ":14: unknown value \"htp\" (did you mean \"http\"? available: "),
        ("p99<20ms", "p99<20", ":15: slo: \"p99<20\" is not an objective: 20 has no unit: write p99<20ms"),
        ("= 90", "= \"much\"", ":19: invalid type: string \"much\", expected a number without quotes"),
        ("= 90", "= -1", "load: "),
        (
            "uniform(1, 100)",
            "unifrom(1, 100)",
            ":17: operation \"list\": \"unifrom(1, 100)\" is not uniform(A, B)",
        ),
        (
            "{{ workers }}",
            "{{ wokers }}",
            ":4: \"{{ wokers }}\": there is no variable \"wokers\" (did you mean \"workers\"? available: ",
        ),
        (
            "{{ workers }}",
            "2",
            ":8: knob \"workers\" is not used: use {{ workers }} in start, config or environment",
        ),
        (
            "{{ workers }}",
            "{{ workers | no }}{{ password }}",
            ":4: \"{{ workers | no }}{{ password }}\": use the password only in config",
        ),
        ("[\"./my-api\", \"--version\"]", "[]", ":6: a command is a list of words with a program first"),
        ("[\"./my-api\", \"--version\"]", "\"v\"", ":6: invalid type: string \"v\", expected a command"),
        ("http = \"/health\"", "http = \"/\", tcp = true", ":5: ready: give one of"),
        ("\"/health\"", "\"health\"", ":5: ready: \"health\" is not where a GET can go: write /path"),
        ("\"10s\"", "\"soon\"", ":5: ready: within: \"soon\" is not a time above 0"),
        ("knobs.workers", "knobs.port", ":8: knob \"port\": templates have a variable of that name"),
        ("knobs.workers", "knobs.Workers", ":8: knob \"Workers\": write its name in small letters"),
        (
            "[server.api]",
            "[server.\"a:b\"]\nstart = [\"x\"]\n[server.api]",
            ": server \"a:b\": write its name in letters",
        ),
        ("ready ", "config = [\"api.conf\"]\nready ", ":5: config "),
        ("ready ", "config = [\"../x\"]\nready ", ":5: config \"../x\": give the name of a file"),
        (
            "ready ",
            "protocol = \"redis\"\nready ",
            ":5: server \"api\": the protocol does not have the operations",
        ),
        ("ready ", "statistics = { http = \"/\" }\nready ", ":5: missing field `counters`"),
        ("ready ", "observe = [{ http = \"/\" }]\nready ", ":5: missing field `values`"),
        ("ready ", "observe = [{ values = {} }]\nready ", ":5: observe: give one of http"),
        (
            "ready ",
            "observe = [{ http = \"/\", values = {} }]\nready ",
            ":5: observe: values: name one at least",
        ),
        (
            "ready ",
            "observe = [{ http = \"/\", values = { a = { about = \"x\" } } }]\nready ",
            ":5: observe: a: give one of counter",
        ),
        (
            "ready ",
            "observe = [{ http = \"/\", values = { a = { gauge = \"x\", about = \"x\", limit = \"many\" } } }]\nready ",
            ":5: observe: a: limit \"many\" becomes \"many\", which is not a number",
        ),
        (
            "ready ",
            "observe = [{ http = \"/\", values = { a = { counter = \"x\", about = \"x\", scale = 0.0 } } }]\nready ",
            ":5: observe: a: scale: give a number above 0",
        ),
        ("ready ", "packages = { debian = \"-y\" }\nready ", ":5: \"-y\" is not a package name"),
        (
            "[load]",
            "[data]\nfiles = [{ path = \"../a\", size = \"1k\" }]\n[load]",
            ":14: file \"../a\": give a path below",
        ),
        (
            "[load]",
            "[data]\nfiles = [{ path = \"a\", size = \"1t\" }]\n[load]",
            ":14: size: \"1t\" is not a size",
        ),
        ("[load]", "[load]\nconnections = 0", ":14: connections: give at least one"),
        (
            "[load]",
            "[load.keyspace]\nkeys = 1\nvalue_size = \"1\"\n[load]",
            "keyspace: it is for memcache and redis",
        ),
    ] {
        let error = refused(from, to);
        assert!(error.starts_with("workload.toml:") && error.contains(expected), "{to}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn a_server_that_cannot_know_its_port_is_refused() -> Result<(), Box<dyn std::error::Error>> {
    let fixed = MY_API.replace("{{ port }}", "8080");
    let error = read(&fixed).expect_err("a port of its own");
    assert!(
        error.starts_with("workload.toml:4: start does not use {{ port }}: showdown chooses the port"),
        "{error}"
    );
    for told in [
        "environment = { PORT = \"{{ port }}\" }",
        "environment = { LISTEN = \"{{ address }}\" }",
        "socket = \"{{ dir }}/s\"",
        "stop = [\"docker\", \"stop\", \"api\"]",
        "stop = [\"docker\", \"stop\", \"api\"]\npid = \"/run/api.pid\"",
    ] {
        read(&fixed.replace("version =", &format!("{told}\nversion =")))?;
    }
    Ok(())
}

#[test]
fn a_need_that_cannot_be_looked_for_is_refused() {
    for (needs, expected) in [
        ("{ packages = {} }", "give one of program, library and path"),
        ("{ program = \"x\", path = \"/x\" }", "give one of program, library and path"),
        ("{ path = \"source\" }", "\"source\" is not an absolute path"),
        ("{ program = \"/bin/x\" }", "\"/bin/x\" is not the name of a program or a library"),
        (
            "{ program = \"x\", only_with = { worker = \"2\" } }",
            "only_with: the server has no knob \"worker\"",
        ),
        ("{ program = \"x\", only_with = { workers = \"many\" } }", "only_with: workers: "),
        ("{ program = \"x\", only_with = { allocator = \"x\" } }", "only_with: allocator: "),
    ] {
        let error = refused("ready ", &format!("needs = [{needs}]\nready "));
        assert!(error.starts_with(&format!("workload.toml:5: needs: {expected}")), "{error}");
    }
}

#[test]
fn a_server_needs_its_program_and_what_its_knobs_call_for() -> Result<(), Box<dyn std::error::Error>> {
    let needs = r#"needs = [
    { program = "make", packages = { debian = "make" } },
    { library = "libtwo.so", only_with = { workers = "2" } },
]
ready "#;
    let workload = read(
        &MY_API.replacen("\"./my-api\", \"--port", "\"my-api\", \"--port", 1).replacen("ready ", needs, 1),
    )?;
    let needed = |settings: &[(&str, &str)]| -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let variant = workload.variant("api", settings.iter().copied())?;
        Ok(workload.dependencies(&variant).into_iter().map(|dependency| dependency.name).collect())
    };
    assert_eq!(needed(&[])?, ["my-api", "make", "libtwo.so"], "the default is 2");
    assert_eq!(needed(&[("workers", "2")])?, ["my-api", "make", "libtwo.so"]);
    assert_eq!(needed(&[("workers", "3")])?, ["my-api", "make"]);
    assert_eq!(
        needed(&[("binary", "/bin/sh"), ("workers", "3")])?,
        ["make"],
        "a build of one's own is there"
    );
    assert_eq!(
        needed(&[("allocator", "jemalloc"), ("workers", "3")])?,
        ["my-api", "make", "libjemalloc.so.2"]
    );
    Ok(())
}

#[test]
fn a_store_needs_a_key_space_and_commands() {
    let store = |load: &str| {
        read(&format!(
            "title = \"S\"\n[server.s]\nstart = [\"s\", \"{{{{ port }}}}\"]\n[load]\nprotocol = \"redis\"\nslo = \"p99<5ms\"\n{load}"
        ))
    };
    let keyspace = "[load.keyspace]\nkeys = 10\nvalue_size = \"1k\"\n";
    let workload = store(&format!("{keyspace}[[load.op]]\ncommand = \"get\"\n")).expect("a store");
    assert_eq!(workload.load.counters, ["hits", "misses"]);
    assert!(workload.only("get").is_ok());
    let error = workload.only("set").expect_err("the mix has only get").to_string();
    assert!(error.ends_with(" has no operation \"set\" (available: get)"), "{error}");

    let error = store("[[load.op]]\ncommand = \"get\"\n").expect_err("the key space is missing");
    assert!(error.contains("a store needs [load.keyspace] with keys and value_size"), "{error}");
    let error =
        store(&format!("{keyspace}[[load.op]]\ncommand = \"incr\"\n")).expect_err("incr is not a command");
    assert!(error.contains(":11: unknown value \"incr\" (available: get, set, delete"), "{error}");
    let twice =
        format!("{keyspace}[[load.op]]\ncommand = \"get\"\n").repeat(1) + "[[load.op]]\ncommand = \"get\"\n";
    let error = store(&twice).expect_err("two operations have one name");
    assert!(error.contains("two operations are called \"get\""), "{error}");
}

/// A service whose rows are asked for by numbers.
fn with_numbers(numbers: &str) -> String {
    let rows = "\n[server.api.knobs.rows]\ndefault = 10\nrange = \"1..1000\"\n";
    MY_API
        .replace("\n[load]\n", &format!("{rows}\n[load]\n"))
        .replace("\"{{ workers }}\"", "\"{{ workers }}\", \"{{ rows }}\", \"{{ users }}\"")
        .replace("\n[[load.op]]", &format!("\n[load.numbers]\n{numbers}\n\n[[load.op]]"))
        .replace("uniform(1, 100)", "uniform(1, items)")
}

#[test]
fn numbers_of_the_load_follow_from_knobs_and_users() -> Result<(), Box<dyn std::error::Error>> {
    let text = with_numbers("items = \"{{ 100 * ([users, 25] | max) if rows == 1 else 100 * rows }}\"");
    let workload = read(&text)?;
    let own = |items: u64| read(&text.replace("uniform(1, items)", &format!("uniform(1, {items})")));
    assert_eq!(workload.load.numbers, [("items".to_owned(), 1_000)].into());
    assert_eq!(workload.load.mix, own(1_000)?.load.mix, "those of the defaults");
    for (rows, users, items) in [("10", 64, 1_000), ("20", 64, 2_000), ("1", 64, 6_400), ("1", 3, 2_500)] {
        let variant = workload.variant("api", [("rows", rows)])?;
        let load = &workload.for_variant(&variant, users)?.load;
        assert_eq!(load.numbers["items"], items);
        assert_eq!(load.mix, own(items)?.load.mix, "rows={rows} with {users} users");
    }
    Ok(())
}

#[test]
fn olio_asks_for_the_persons_and_tags_that_were_loaded() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Folder::built_in("olio").ok_or("it is built in")?;
    let workload = Workload::read(&folder, "workload.toml")?;
    for server in &workload.servers {
        for (scale, users, persons, tags) in [
            ("rows", 250, 10_000, 2_311),
            ("users", 3, 2_500, 622),
            ("users", 25, 2_500, 622),
            ("users", 100, 10_000, 2_311),
            ("users", 250, 25_000, 4_241),
            ("users", 500, 50_000, 4_933),
            ("users", 1_000, 100_000, 5_000),
        ] {
            let variant = workload.variant(&server.name, [("scale", scale)])?;
            let numbers = &workload.for_variant(&variant, users)?.load.numbers;
            assert_eq!((numbers["persons"], numbers["tags"]), (persons, tags), "{scale} {users}");
        }
    }
    Ok(())
}

#[test]
fn the_database_of_olio_has_a_connection_for_each_that_the_knobs_allow()
-> Result<(), Box<dyn std::error::Error>> {
    let folder = Folder::built_in("olio").ok_or("it is built in")?;
    let workload = Workload::read(&folder, "workload.toml")?;
    for (server, knobs, connections) in [
        ("olio-rust", [("application_workers", 16), ("dir", 0)], 500),
        ("olio-rust", [("application_workers", 1024), ("dir", 0)], 1_074),
        ("olio-php", [("application_workers", 1024), ("dir", 0)], 1_074),
        ("olio-rails", [("application_workers", 8), ("processes", 64)], 562),
        ("olio-rails", [("application_workers", 600), ("processes", 0)], 650),
        ("olio-java", [("application_workers", 1024), ("pool", 600)], 650),
    ] {
        let mut variables = TemplateVariables::default();
        variables.set("dir", "/run/olio");
        for (knob, value) in knobs {
            variables.set(knob, value);
        }
        let database = &workload.server(server)?.companions[0].process;
        let argv = variables.render_argv(&database.start)?;
        assert_eq!(argv.last(), Some(&format!("--max-connections={connections}")), "{server} {knobs:?}");
    }
    Ok(())
}

#[test]
fn numbers_that_are_none_are_refused_with_their_line() {
    for (numbers, expected) in [
        ("items = 5", ":22: numbers: items: give a template, such as \"{{ 100 * users }}\""),
        ("Items = \"5\"", ":22: numbers: \"Items\": write its name in small letters"),
        (
            "items = \"{{ rows / 4 }}\"",
            ":22: numbers: items of server \"api\" with 64 users: \"2.5\" is not a whole number",
        ),
        ("items = \"{{ rows - 11 }}\"", "\"-1\" is not a whole number"),
        ("items = \"{{ row }}\"", "its template may have users, and knobs whose default is no template"),
        ("items = \"{{ rows - 10 }}\"", ":24: operation \"list\": \"uniform(1, 0)\" is not possible"),
        ("others = \"{{ rows }}\"", "\"uniform(1, items)\" is not"),
    ] {
        let error = read(&with_numbers(numbers)).expect_err(numbers);
        assert!(error.contains(expected), "{error}");
    }
    let error = read(&MY_API.replace("slo ", "numbers = 3\nslo ")).expect_err("it is no table");
    assert!(error.contains("numbers: write them as a table [load.numbers]"), "{error}");
}

#[test]
fn a_variant_whose_numbers_its_operations_cannot_have_is_refused() -> Result<(), Box<dyn std::error::Error>> {
    let workload = read(&with_numbers("items = \"{{ 10 - rows + 1 }}\""))?;
    let variant = workload.variant("api", [("rows", "11")])?;
    let error = workload.for_variant(&variant, 64).expect_err("1 to 0").to_string();
    assert!(error.contains("\"uniform(1, 0)\" is not possible"), "{error}");
    Ok(())
}

proptest! {
    #[test]
    fn no_changed_character_makes_it_panic(at in 0..MY_API.len(), with in "\\PC{0,2}") {
        let mut text = MY_API.to_owned();
        text.replace_range(at..=at, &with);
        let _ = read(&text);
    }
}
