//! `showdown shift` at a real HAProxy before real nginx servers: a good candidate reaches its last step, a bad one is rolled back, and
//! mistakes are named before anything is changed. How runs end before their time is in `ends`, mail servers are in `mail`.

mod ends;
mod mail;
mod site;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use site::{Site, answer};

#[test]
fn a_good_candidate_reaches_its_last_step_and_everything_is_as_before() {
    let site = Site::start(200);
    let users = site.users();
    let output = site.shift(&["--yes", "--format", "json"]);
    drop(users);
    let answer = answer(&output);
    assert_eq!(answer["status"], "no_worse", "{answer}");
    assert_eq!(output.status.code(), Some(0));
    let steps = answer["steps"].as_array().expect("steps");
    assert!(steps.iter().any(|step| step["phase"] == "step 2, 25.0 % of the traffic"), "{answer}");
    site.assert_as_before();

    let folder = PathBuf::from(answer["directory"].as_str().expect("a folder"));
    let page = fs::read_to_string(folder.join("report.html")).expect("the page");
    assert!(page.contains("no worse than the control") && page.contains("<polyline class=\"control\""));
    assert_keys_are_documented(&folder);

    let status = site.shift(&["--status"]);
    assert_eq!(String::from_utf8_lossy(&status.stdout), "no run at this balancer\n");
    let abort = site.shift(&["--abort"]);
    assert_eq!((abort.status.code(), &*abort.stdout), (Some(0), &b"no run at this balancer\n"[..]));
}

/// Every key of the files of a run is in docs/LIVE-TRAFFIC.md.
fn assert_keys_are_documented(folder: &Path) {
    fn keys(value: &serde_json::Value, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (key, value) in fields {
                    found.push(key.clone());
                    keys(value, found);
                }
            }
            serde_json::Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
            _ => {}
        }
    }
    let page = include_str!("../../../../docs/LIVE-TRAFFIC.md");
    let windows = fs::read_to_string(folder.join("windows.jsonl")).expect("the seconds");
    let answer = fs::read_to_string(folder.join("answer.json")).expect("the answer");
    let mut found = Vec::new();
    for line in windows.lines().take(5) {
        keys(&serde_json::from_str(line).expect("an object a line"), &mut found);
    }
    keys(&serde_json::from_str(&answer).expect("an object"), &mut found);
    assert!(found.len() > 50, "{found:?}");
    for key in found {
        assert!(page.contains(&format!("`{key}`")), "docs/LIVE-TRAFFIC.md lacks {key}");
    }
}

#[test]
fn a_candidate_that_answers_5xx_is_rolled_back() {
    let site = Site::start(503);
    let users = site.users();
    let output = site.shift(&["--yes", "--format", "json"]);
    drop(users);
    let answer = answer(&output);
    assert_eq!(answer["status"], "rolled_back", "{answer}");
    // By the evidence of the counts or by the hard limit: whichever is first.
    let sentence = answer["answer"].as_str().expect("a sentence");
    assert!(sentence.starts_with("rolled back at 10.0 % after") && sentence.contains("failed"), "{answer}");
    assert_eq!(answer["steps"][0]["phase"], "step 1, 10.0 % of the traffic", "{answer}");
    assert_eq!(output.status.code(), Some(1));
    site.assert_as_before();
}

#[test]
fn mistakes_are_named_before_anything_is_changed() {
    let site = Site::start(200);
    let plan = fs::read_to_string(&site.plan).expect("the plan");
    for (from, to, options, text) in [
        (
            "margin = 4",
            "margin = 4",
            &[][..],
            "live traffic is at stake: read the lines above, then pass --yes",
        ),
        ("margin = 4", "margin = 0", &["--yes"], "plan.toml:16: [rules] margin: a ratio above 1"),
        ("backend = \"b\"", "backend = \"c\"", &["--yes"], "backend"),
        ("\"old2\"]", "\"old3\"]", &["--yes"], "old3 is not in the backend"),
        (
            "margin = 4",
            "margin = 4",
            &["--yes", "--max-share", "1%"],
            "[rules] max_share: no step has so small a share",
        ),
    ] {
        fs::write(&site.plan, plan.replacen(from, to, 1)).expect("a file");
        let output = site.shift(options);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}: {errors}");
        assert!(errors.contains(text), "{errors} lacks {text}");
        site.assert_as_before();
    }
    fs::write(&site.plan, plan).expect("a file");
    let plan = site.plan.display().to_string();
    for verb in ["run", "submit"] {
        let output = Command::new(site::PROGRAM).args([verb, &plan]).output().expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{verb}: {errors}");
        assert!(errors.contains("`showdown shift PLAN`"), "{verb}: {errors}");
    }
}

#[test]
fn a_log_that_does_not_arrive_is_refused_before_anything_is_changed() {
    let site = Site::start(200);
    let plan = fs::read_to_string(&site.plan).expect("the plan");
    let elsewhere = plan.replace("log = \"127.0.0.1:", "log = \"127.0.0.2:");
    fs::write(&site.plan, elsewhere).expect("a file");
    let users = site.users();
    let output = site.shift(&["--yes"]);
    drop(users);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("no line of the log about old1 has arrived"), "{errors}");
    site.assert_as_before();
}
