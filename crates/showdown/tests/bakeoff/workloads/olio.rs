//! Olio from end to end, and the check of a server's work after its load: the comparison of two implementations in a small form,
//! implementations that cheat once they are loaded, and a server that answers wrongly.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::home::{SHORT, TestHome, json, only_run, skip, text, trials};

const PARTS: [&str; 5] = ["database", "cache", "geocoder", "application", "web"];

fn gate<'t>(record: &'t Value, id: &str) -> &'t Value {
    let gates = record["gates"].as_array().unwrap_or_else(|| panic!("no gates: {record}"));
    gates.iter().find(|gate| gate["id"] == id).unwrap_or_else(|| panic!("no gate {id}: {record}"))
}

/// The implementation that is compared here: without PHP, it is the reference itself.
fn honest() -> Option<&'static str> {
    let needed = ["/usr/sbin/nginx", "/usr/sbin/mariadbd", "/usr/bin/memcached"];
    if let Some(missing) = needed.iter().find(|program| !Path::new(program).exists()) {
        skip(&format!("olio needs {missing}"));
        return None;
    }
    let has_php = ["/usr/sbin/php-fpm8.2", "/usr/lib/php/20220829/memcached.so"]
        .iter()
        .all(|path| Path::new(path).exists());
    Some(if has_php { "olio-php" } else { "olio-rust" })
}

/// Makes the data of all starts once, because a start has a minute for them. Without the program, the test is skipped.
fn has_data() -> bool {
    let olio = Path::new(env!("CARGO_BIN_EXE_showdown")).with_file_name("olio");
    if !olio.exists() {
        skip("olio is not built: cargo build -p olio");
        return false;
    }
    let data = Command::new(&olio).args(["data", "--rows", "25"]).output().expect("olio runs");
    assert!(data.status.success(), "{}", text(&data.stderr));
    true
}

/// A copy of the workload with one server more: the reference with a program before its web server, which begins to answer wrongly
/// under load, as its knob `cheat` says.
fn with_cheats(home: &TestHome) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/olio");
    let copy = home.path("workloads/cheats");
    fs::create_dir_all(copy.parent().expect("a parent")).expect("a directory");
    assert!(Command::new("cp").arg("-r").arg(&folder).arg(&copy).status().expect("cp").success());
    let file = copy.join("workload.toml");
    let definition = fs::read_to_string(&file).expect("the workload");
    let server = definition.find("[server.olio-rust]").expect("the reference");
    let companions = definition.find("[[server.olio-rust.companion]]").expect("its companions");
    let knobs = definition.find("[server.olio-rust.knobs").expect("its knobs");
    let others = definition.find("[server.olio-php]").expect("the next server");
    let load = definition.find("[load]").expect("the load");

    let web = &definition[server..companions];
    let start = web.lines().find(|line| line.starts_with("start = ")).expect("its command");
    let behind = format!(
        "[[server.cheat.companion]]\nname = \"nginx\"\nconfig = [\"nginx.conf\", \"http.application.conf\"]\n\
         prepare = [[\"olio\", \"data\", \"--rows\", \"{{{{ rows }}}}\", \"--seed\", \"{{{{ data_seed }}}}\", \"--assets\", \
         \"{{{{ dir }}}}/assets\"]]\n{start}\nunprivileged = true\n\n\
         [server.cheat.knobs.cheat]\ndefault = \"kept-replies\"\n\
         choices = [\"kept-replies\", \"stale-lists\", \"kept-home\", \"lost-writes\"]\n\n"
    );
    let before = "start = [\"olio\", \"cheat\", \"{{ cheat }}\", \"--port\", \"{{ port }}\", \"--site\", \
                  \"{{ companion.nginx.port }}\"]";
    let cheat = [
        &web.replace(start, before).replace("config = [\"nginx.conf\", \"http.application.conf\"]\n", ""),
        &definition[companions..knobs],
        &behind,
        &definition[knobs..others],
    ];
    let cheat = cheat.concat().replace("server.olio-rust", "server.cheat");
    fs::write(&file, [&definition[..load], &cheat, &definition[load..]].concat()).expect("the workload");
}

#[test]
fn pages_are_those_of_the_reference_or_the_trial_of_a_cheat_is_invalid() {
    let Some(honest) = honest() else { return };
    if !has_data() {
        return;
    }
    let home = TestHome::new();
    with_cheats(&home);
    // `olio prove rust --cheats` has the others.
    // The rows follow from the users, and so do the persons and tags that the load asks for.
    let honest = format!("{honest}:scale=users");
    let variants = [honest.as_str(), "cheat:cheat=stale-lists,rows=25", "cheat:cheat=lost-writes,rows=25"];
    let arguments =
        [&["compare"], &variants[..], &["--users", "24", "--blocks", "3", "--seed", "7"]].concat();
    let output = home.run(&["run", &home.plan(&arguments, "600ms")]);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    home.assert_nothing_runs();
    let trials = trials(&only_run(&home));
    assert_eq!(trials.len(), 9, "{said}");
    for trial in trials {
        let record = json(&trial.join("trial.json"));
        let verify = gate(&record, "verify");
        let message = verify["message"].as_str().expect("a message");
        let cheats = match record["variant"].as_str().expect("a variant") {
            "cheat:cheat=stale-lists,rows=25" => "instead of",
            "cheat:cheat=lost-writes,rows=25" => "the table does not",
            _ => {
                assert_ne!(record["status"], "failed", "{record}");
                assert_eq!(verify["outcome"], "passed", "{verify}");
                let expected =
                    "100 pages and 10 changes are those of the reference, and the rows those of 25 users (";
                assert!(message.starts_with(expected), "{message}");
                assert_eq!(
                    record["load_numbers"],
                    serde_json::json!({ "persons": 2_500, "tags": 622 }),
                    "{record}"
                );
                assert_parts(&record);
                continue;
            }
        };
        assert_eq!(
            (&record["status"], &verify["outcome"]),
            (&"invalid".into(), &"failed".into()),
            "{record}"
        );
        assert!(message.contains(cheats), "{verify}");
    }
}

fn assert_parts(record: &Value) {
    let parts = record["server"]["parts"].as_array().expect("parts");
    let names: Vec<&str> = parts.iter().filter_map(|part| part["part"].as_str()).collect();
    assert_eq!(names, PARTS, "{record}");
    assert_eq!(record["users"]["count"], 24, "{record}");
}

#[test]
fn a_server_that_answers_wrongly_after_its_load_makes_its_trial_invalid_with_the_reason() {
    let home = TestHome::new();
    let output = home.run(&["workloads", "new", "shop", "--protocol", "http"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let file = home.path("workloads/shop/workload.toml");
    let definition = fs::read_to_string(&file).expect("the workload");
    // One of the two variants is wrong, and says on which page. The check reaches the server, which still runs.
    let check = "import sys, urllib.request\n\
                 urllib.request.urlopen(f'http://127.0.0.1:{sys.argv[1]}/health').read()\n\
                 print('all is well' if sys.argv[2] == 'off' else 'GET /items: a stale list')\n\
                 sys.exit(sys.argv[2] != 'off')\n";
    fs::write(home.path("workloads/shop/check.py"), check).expect("the check");
    let ready = "ready = { http = \"/health\", within = \"10s\" }\n";
    let verify = "verify = [\"python3\", \"check.py\", \"{{ port }}\", \"{{ 'on' if cache else 'off' }}\"]\n";
    assert!(definition.contains(ready));
    fs::write(&file, definition.replace(ready, &format!("{ready}{verify}"))).expect("the workload");

    let arguments =
        ["compare", "shop:cache=off", "shop:cache=on", "--blocks", "3", "--measure", "throughput"];
    let output = home.run(&["run", &home.plan(&arguments, SHORT)]);
    let answer = text(&output.stdout);
    home.assert_nothing_runs();
    for trial in trials(&only_run(&home)) {
        let record = json(&trial.join("trial.json"));
        let verify = gate(&record, "verify");
        if record["variant"] == "shop:cache=off" {
            assert_eq!((&verify["outcome"], &verify["message"]), (&"passed".into(), &"all is well".into()));
            continue;
        }
        assert_eq!(verify["outcome"], "failed", "{verify}");
        assert_eq!(record["status"], "invalid", "{record}");
        assert!(record["reasons"].to_string().contains("verify: GET /items: a stale list"), "{record}");
    }
    assert!(answer.contains("GET /items: a stale list"), "{answer}");
}
