//! `showdown export --anonymous` of a real run: nothing in the bundle names the machine, its user or its directories.

use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::home::{TestHome, json, only_run, text};

/// Text of servers and configurations of other machines, with what identifies them.
const PLANTED: &str = "\
listen 10.20.30.40:80; allow 192.168.7.0/24; resolver fd12:3456:789a::53;
link 52:54:00:Ab:cd:ef as enx525400abcdef, disk 0f8fad5b-d9cd-469f-a165-70867728950e
user alice runs /srv/acme/bin/api and /opt/acme/lib/x.so from /home/bob/src as bob; alice's cache is /srv/acme/cache
127.0.0.1 [::1] /usr/sbin/nginx version 1.22.1
";

/// All files below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// The text of a file without encoded numbers, in which any short word may occur.
fn readable(file: &Path) -> String {
    let text = String::from_utf8_lossy(&fs::read(file).expect("a file")).into_owned();
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("hlog") => text
            .lines()
            .map(|line| line.rsplit_once(',').map_or(line, |(fields, _)| fields).to_owned() + "\n")
            .collect(),
        Some("parquet") => {
            // Compressed columns have short words by chance, such as the name of a machine that is called `vm`.
            let is_of_text = |c: char| c.is_ascii_alphanumeric() || "_./:-,= \"{}[]".contains(c);
            let runs = text.split(|c: char| !is_of_text(c));
            runs.filter(|run| run.len() > 11).map(|run| run.to_owned() + "\n").collect()
        }
        _ => text,
    }
}

/// Whether a text has this name as a word. A dot beside it makes it a part of another name, as in `vm.swappiness`.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_.".contains(c);
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + word.len()..].chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Addresses in a text that identify a machine.
fn addresses(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || ":.-".contains(c)));
    let is_address = |word: &&str| {
        let word = word.trim_matches(['.', ':', '-']);
        let without_port = word.rsplit_once(':').map_or(word, |(address, _)| address);
        let four =
            without_port.parse::<Ipv4Addr>().is_ok_and(|ip| !(ip.is_loopback() || ip.is_unspecified()));
        let six = word.parse::<Ipv6Addr>().is_ok_and(|ip| !(ip.is_loopback() || ip.is_unspecified()));
        let pairs: Vec<&str> = word.split([':', '-']).collect();
        let is_pair = |pair: &str| pair.len() == 2 && pair.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mac = pairs.len() == 6 && pairs.iter().all(|pair| is_pair(pair));
        let lengths: Vec<usize> = pairs.iter().map(|part| part.len()).collect();
        four || six || mac || lengths == [8, 4, 4, 4, 12]
    };
    words.filter(is_address).collect()
}

#[test]
fn nothing_in_an_anonymous_export_identifies_the_machine_or_the_user() {
    let home = TestHome::new();
    let alice = home.path("alice");
    fs::create_dir(&alice).expect("a directory");
    let showdown = |args: &[&str]| {
        let mut command = home.showdown(args);
        command
            .env("HOME", &alice)
            .env("USER", "alice")
            .env("LOGNAME", "alice")
            .output()
            .expect("showdown runs")
    };
    let plan = home.small_plan(&["nginx", "nginx:sendfile=off", "--on-op", "get-1k", "--tag", "for-alice"]);
    let ended = showdown(&["run", &plan, "--progress", "none"]);
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{}", text(&ended.stderr));
    let run = only_run(&home);
    let here = home.path("").display().to_string();
    let here = here.trim_end_matches('/');
    let planted = format!("{PLANTED}{here}/workloads/acme on {}\n", hostname());
    for file in files(&run).iter().filter(|file| file.ends_with("server.log") || file.ends_with("nginx.conf"))
    {
        let log = fs::read_to_string(file).expect("a log");
        fs::write(file, log + &planted).expect("a log");
    }
    let mut facts = json(&run.join("facts.json"));
    facts["host"]["planted"] = planted.clone().into();
    facts["host"]["machine.hostname"] = "build-7.acme.example".into();
    fs::write(run.join("facts.json"), facts.to_string()).expect("facts");

    let exported = showdown(&["export", "latest", "--anonymous", "-o", "run.tar.gz"]);
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    let unpacked = home.path("unpacked");
    fs::create_dir(&unpacked).expect("a directory");
    let mut tar = Command::new("tar");
    assert!(tar.args(["xzf", "../run.tar.gz"]).current_dir(&unpacked).status().expect("tar").success());
    let (before, after) = (files(&run), files(&unpacked));
    assert_eq!(after.len(), before.iter().filter(|file| !file.ends_with("report.html")).count());
    for file in &after {
        let (name, text) = (file.strip_prefix(&unpacked).expect("a name").display(), readable(file));
        for path in [
            here,
            "/srv/acme",
            "/opt/acme",
            "/home/bob",
            env!("CARGO_MANIFEST_DIR"),
            env!("CARGO_BIN_EXE_showdown"),
        ] {
            assert!(!text.contains(path), "{name} has {path}");
        }
        for word in [&hostname(), "build-7.acme.example", "alice", "bob"] {
            assert!(!has_word(&text, word), "{name} has {word}: {text}");
        }
        assert_eq!(addresses(&text), Vec::<&str>::new(), "{name}");
    }
    // The same thing has the same name everywhere, and what does not identify stays.
    let texts: Vec<String> =
        after.iter().filter(|file| file.ends_with("server.log")).map(|file| readable(file)).collect();
    let last = |text: &String| text.lines().rev().take(5).map(str::to_owned).collect::<Vec<_>>();
    assert!(texts.len() >= 6 && texts.iter().all(|text| last(text) == last(&texts[0])), "{texts:?}");
    assert!(texts[0].contains("127.0.0.1 [::1] /usr/sbin/nginx version 1.22.1"), "{}", texts[0]);
    let conf =
        after.iter().find(|file| file.ends_with("nginx.conf")).map(|file| readable(file)).expect("a file");
    assert_eq!(last(&conf), last(&texts[0]));

    // Numbers are the same byte for byte: JSON without its strings does not change.
    let numbers = |file: &PathBuf| -> String {
        let text = readable(file).replace("\\\"", "");
        text.split('"').step_by(2).collect()
    };
    let json_files = |files: &[PathBuf]| -> Vec<String> {
        let is_json = |file: &&PathBuf| file.extension().is_some_and(|extension| extension == "json");
        files.iter().filter(is_json).map(numbers).collect()
    };
    assert_eq!(json_files(&before), json_files(&after));

    // It is imported, read without a problem, and has the same numbers.
    let id = unpacked.read_dir().expect("a directory").flatten().next().expect("a run").file_name();
    let id = id.to_str().expect("text");
    assert!(showdown(&["import", "run.tar.gz", "--runs", "others"]).status.success());
    let report = |runs: &str| -> Value {
        let shown = showdown(&["show", "latest", "--format", "json", "--runs", runs]);
        serde_json::from_slice(&shown.stdout).unwrap_or_else(|error| panic!("{error}: {shown:?}"))
    };
    let (original, anonymous) = (report("runs"), report("others"));
    assert_eq!(
        (&anonymous["run"]["id"], &anonymous["run"]["problems"]),
        (&id.into(), &Value::Array(Vec::new()))
    );
    assert_eq!(original["verdict"]["variants"], anonymous["verdict"]["variants"]);
    assert_eq!(original["facts"]["workload"], anonymous["facts"]["workload"], "digests");
    let values = |report: &Value| -> Vec<Value> {
        report["trials"].as_array().expect("trials").iter().map(|trial| trial["measured"].clone()).collect()
    };
    assert_eq!(values(&original), values(&anonymous));
    let page = showdown(&["report", "latest", "--runs", "others", "-o", "page.html"]);
    assert!(page.status.success(), "{}", text(&page.stderr));
    let page = fs::read_to_string(home.path("page.html")).expect("a page");
    assert!(!page.contains(here) && !has_word(&page, "alice") && page.contains("cpu.0.user"), "the page");
}

fn hostname() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").expect("a name").trim().to_owned()
}
