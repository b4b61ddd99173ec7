//! Who may do what: the holes of other harnesses, by name, and the description of the API.

use std::fmt::Write;

use queue::api::ServerFile;
use serde_json::{Value, json};

use crate::home::{Home, call};

/// A request of a browser: a method, a path, headers, a body.
fn browse(
    home: &Home,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> ureq::http::Response<ureq::Body> {
    let config = ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0);
    let agent: ureq::Agent = config.build().into();
    let mut request =
        ureq::http::Request::builder().method(method).uri(format!("{}{path}", home.server().url));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    agent.run(request.body(body.to_owned()).expect("a request")).expect("an answer")
}

const OWN_PAGE: (&str, &str) = ("sec-fetch-site", "same-origin");
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// Opens a session with the link; the cookie.
fn session(home: &Home) -> String {
    let (_, secret) = home.link.split_once("secret=").expect("a secret");
    let opened = browse(home, "POST", "/link", &[OWN_PAGE, FORM], &format!("secret={secret}"));
    assert_eq!(opened.status(), 303);
    let cookie = opened.headers()["set-cookie"].to_str().expect("text").to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    cookie.split(';').next().expect("a value").to_owned()
}

#[test]
fn a_link_works_once_and_no_page_is_open_without_it() {
    let home = Home::without_controller();
    for path in [
        "/",
        "/archive",
        "/hosts",
        "/entries/1",
        "/runs/x/report",
        "/api/v1/entries",
        "/api/v1/entries/1/events",
    ] {
        assert_eq!(browse(&home, "GET", path, &[], "").status(), 401, "{path}");
    }
    // A program that only looks at links uses none up.
    let (_, path) = home.link.split_once("/link").expect("a link");
    assert_eq!(browse(&home, "GET", &format!("/link{path}"), &[], "").status(), 200);
    let cookie = session(&home);
    assert_eq!(browse(&home, "GET", "/", &[("cookie", &cookie)], "").status(), 200);
    let (_, secret) = home.link.split_once("secret=").expect("a secret");
    let again = browse(&home, "POST", "/link", &[OWN_PAGE, FORM], &format!("secret={secret}"));
    assert_eq!(again.status(), 403);
    // The database has digests only.
    let database = std::fs::read(home.runs().join(".harness/queue.sqlite-wal")).expect("a file");
    for secret in [cookie.split_once('=').expect("a value").1, secret, &home.server().token] {
        assert!(
            !database.windows(secret.len()).any(|part| part == secret.as_bytes()),
            "a secret is written down"
        );
    }
}

#[test]
fn no_page_of_another_site_changes_or_reads_anything() {
    let home = Home::without_controller();
    let cookie = session(&home);
    let with_cookie = ("cookie", cookie.as_str());
    let plan = std::fs::read_to_string(home.plan(3)).expect("a plan");
    let mut body = "plan=".to_owned();
    for byte in plan.bytes() {
        let _ = write!(body, "%{byte:02x}");
    }
    let url = home.server().url;
    for headers in [
        vec![("sec-fetch-site", "cross-site")],
        vec![("sec-fetch-site", "same-site")],
        vec![("origin", "http://evil.example")],
        vec![("origin", "null")],
        vec![],
    ] {
        let headers = [&headers[..], &[with_cookie, FORM]].concat();
        assert_eq!(browse(&home, "POST", "/entries", &headers, &body).status(), 403, "{headers:?}");
    }
    assert_eq!(home.call("GET", "entries", &Value::Null).1["entries"], json!([]), "nothing was submitted");
    for own in [OWN_PAGE, ("origin", url.as_str())] {
        assert_eq!(browse(&home, "POST", "/entries", &[own, with_cookie, FORM], &body).status(), 303);
    }
    // A name of somebody else that leads to this address.
    let renamed = browse(&home, "GET", "/", &[with_cookie, ("host", "evil.example:7437")], "");
    assert_eq!(renamed.status(), 421);
    // No change by GET.
    for order in ["kill", "pause", "first"] {
        assert_eq!(
            browse(&home, "GET", &format!("/entries/1/{order}"), &[with_cookie], "").status(),
            405,
            "{order}"
        );
    }
    assert_eq!(home.entry(1).state, queue::EntryState::Waiting);
}

#[test]
fn every_answer_forbids_what_it_does_not_need() {
    let home = Home::without_controller();
    let cookie = session(&home);
    let root = home.runs();
    let id = archive::example::comparison(&root, 3).expect("a run");
    for path in ["/", "/archive", &format!("/runs/{id}"), "/nowhere"] {
        let page = browse(&home, "GET", path, &[("cookie", &cookie)], "");
        let policy = page.headers()["content-security-policy"].to_str().expect("text");
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{path}: {policy}");
        assert_eq!(page.headers()["x-content-type-options"], "nosniff");
    }
    // A report has no origin, so it reaches neither cookie nor API; what lies in the directory is never sent as a page.
    std::fs::write(root.join(id.as_str()).join("report.html"), "<script>planted</script>").expect("a file");
    let mut report = browse(&home, "GET", &format!("/runs/{id}/report"), &[("cookie", &cookie)], "");
    assert!(
        report.headers()["content-security-policy"]
            .to_str()
            .expect("text")
            .starts_with("sandbox allow-scripts")
    );
    assert!(!report.body_mut().read_to_string().expect("text").contains("planted"));
    let file = browse(&home, "GET", &format!("/runs/{id}/file?name=report.html"), &[("cookie", &cookie)], "");
    assert_eq!(file.status(), 404);
    for name in ["../../lock", "/etc/passwd", "..%2f..%2flock"] {
        let file = browse(&home, "GET", &format!("/runs/{id}/file?name={name}"), &[("cookie", &cookie)], "");
        assert!(!file.status().is_success(), "{name}: {}", file.status());
    }
}

#[test]
fn a_hostile_text_is_text() {
    let home = Home::without_controller();
    let cookie = session(&home);
    let id = archive::example::comparison(&home.runs(), 2).expect("a run");
    let hostile = "<img src=x onerror=alert(1)>";
    let change = json!({ "add_tags": [hostile], "note": hostile });
    assert_eq!(home.call("PATCH", &format!("runs/{id}"), &change).0, 200);
    for path in [format!("/runs/{id}"), "/archive".to_owned(), format!("/archive?q={}", "%3Cimg%20src%3Dx")] {
        let mut page = browse(&home, "GET", &path, &[("cookie", &cookie)], "");
        let text = page.body_mut().read_to_string().expect("text");
        assert!(!text.contains("<img"), "{path}");
    }
}

#[test]
fn a_controller_reaches_its_attempts_only() {
    let home = Home::without_controller();
    let controller = home.for_controllers();
    for (method, path) in [
        ("GET", "entries"),
        ("POST", "entries"),
        ("GET", "runs"),
        ("POST", "entries/1/kill"),
        ("POST", "links"),
    ] {
        assert_eq!(call(&controller, method, path, &json!({})).0, 403, "{method} {path}");
    }
    let nobody = ServerFile { token: "0".repeat(64), ..controller };
    assert_eq!(call(&nobody, "GET", "entries", &Value::Null).0, 401);
}

#[test]
fn a_run_is_deleted_with_a_reason_and_put_back() {
    let home = Home::without_controller();
    let id = archive::example::comparison(&home.runs(), 2).expect("a run");
    let path = format!("runs/{id}");
    assert_eq!(home.call("DELETE", &path, &json!({ "reason": " " })).0, 400);
    assert_eq!(home.call("DELETE", &path, &json!({ "reason": "a cable was loose" })).0, 204);
    assert_eq!(home.call("GET", "runs", &Value::Null).1, json!([]));
    assert_eq!(home.call("POST", &format!("{path}/restore"), &json!({})).0, 204);
    assert_eq!(home.call("GET", "runs", &Value::Null).1[0]["id"], id.as_str());
}

#[test]
fn a_search_is_saved_and_shows_its_runs() {
    let home = Home::without_controller();
    let (old, new) = (one_of_many(&home, 1), one_of_many(&home, 2));
    home.call("PATCH", &format!("runs/{old}"), &json!({ "add_tags": ["a b"] }));
    let search = json!({ "text": "nginx", "tags": ["made-up", "a b"], "kind": "compare" });
    let (status, view) = home.call("POST", "views", &json!({ "name": "tuned", "search": search }));
    assert_eq!((status, &view["name"], &view["search"]["order"]), (201, &json!("tuned"), &json!("newest")));
    let id = &view["id"];
    let listed = home.call("GET", &format!("runs?view={id}"), &Value::Null).1;
    assert_eq!((listed[0]["id"].as_str(), listed.as_array().map(Vec::len)), (Some(old.as_str()), Some(1)));
    let wider = json!({ "search": { "order": "oldest" } });
    assert_eq!(home.call("PATCH", &format!("views/{id}"), &wider).1["name"], "tuned");
    let listed = home.call("GET", &format!("runs?view={id}"), &Value::Null).1;
    assert_eq!((&listed[0]["id"], &listed[1]["id"]), (&json!(old), &json!(new)));
    assert_eq!(
        home.call("GET", "runs?tag=made-up&tag=a%20b&state=finished", &Value::Null).1[0]["id"],
        old.as_str()
    );
    for (method, path, body, expected) in [
        ("POST", "views", json!({ "name": "tuned" }), 400),
        ("POST", "views", json!({ "name": " " }), 400),
        ("POST", "views", json!({ "name": "x", "search": { "state": "over" } }), 422),
        ("PATCH", "views/99", json!({ "name": "x" }), 404),
        ("GET", "runs?view=99", Value::Null, 404),
        ("GET", "runs?limit=many", Value::Null, 400),
    ] {
        assert_eq!(home.call(method, path, &body).0, expected, "{method} {path} {body}");
    }
    assert_eq!(home.call("DELETE", &format!("views/{id}"), &Value::Null).0, 204);
    assert_eq!(home.call("GET", "views", &Value::Null).1, json!([]));
}

/// A made-up run of a series.
fn one_of_many(home: &Home, number: u32) -> String {
    archive::example::one_of_many(&home.runs(), number).expect("a run").to_string()
}

#[test]
fn a_series_has_its_runs_in_the_order_of_time() {
    let home = Home::without_controller();
    let runs = [3, 1, 2].map(|number| one_of_many(&home, number));
    archive::example::sweep(&home.runs()).expect("a run of another question");
    let listed = home.call("GET", "runs?kind=compare", &Value::Null).1;
    let key = listed[0]["series"].as_str().expect("a key").to_owned();
    let history = home.call("GET", &format!("series/{key}?of=nginx%20/%20apache"), &Value::Null).1;
    for (number, run) in [&runs[1], &runs[2], &runs[0]].into_iter().enumerate() {
        let found = &history["runs"][number];
        assert_eq!(found["id"], run.as_str());
        let [low, ratio, high] = ["low", "value", "high"].map(|name| found[name].as_f64().expect("a number"));
        assert!(1.0 < low && low < ratio && ratio < high, "{found}");
    }
    assert_eq!(history["earlier_before"], Value::Null);
    let before = &history["runs"][2]["started_unix_ms"];
    let earlier = home.call("GET", &format!("series/{key}?before={before}"), &Value::Null).1;
    assert_eq!(earlier["runs"].as_array().map(Vec::len), Some(2));
    let cookie = session(&home);
    for (path, text) in [
        (format!("/runs/{}", runs[0]), format!(r#"href="/series/{key}""#)),
        ("/archive".to_owned(), format!(r#"href="/series/{key}""#)),
        (
            format!("/series/{key}?of=median%20of%20apache"),
            "<option selected>median of apache</option>".to_owned(),
        ),
        (format!("/series/{key}"), r#"<circle class="point""#.to_owned()),
    ] {
        let mut page = browse(&home, "GET", &path, &[("cookie", &cookie)], "");
        let shown = page.body_mut().read_to_string().expect("text");
        assert!(page.status() == 200 && shown.contains(&text), "{path}: {shown}");
    }
    assert_eq!(home.call("GET", "series/0000000000000000", &Value::Null).0, 404);
    assert_eq!(home.call("GET", &format!("series/{key}?before={}", u64::MAX), &Value::Null).0, 400);
}

#[test]
fn a_submission_has_limits_and_one_effect() {
    let home = Home::without_controller();
    let plan = std::fs::read_to_string(home.plan(3)).expect("a plan");
    let submission = json!({ "plan": plan, "key": "nightly-7" });
    let (first, again) =
        (home.call("POST", "entries", &submission), home.call("POST", "entries", &submission));
    assert_eq!((first.0, again.0), (201, 200));
    assert_eq!(first.1["id"], again.1["id"]);
    let long = format!("{plan}\n{}", "#".repeat(1 << 20));
    assert_eq!(home.call("POST", "entries", &json!({ "plan": long })).0, 400);
    let wrong = home.call("POST", "entries", &json!({ "plan": "format = 2" }));
    assert_eq!(wrong.0, 400);
    assert!(wrong.1["error"].as_str().is_some_and(|why| why.starts_with("plan")), "{}", wrong.1);
}

#[test]
fn lines_are_numbered_and_a_reader_goes_on_where_it_was() {
    let home = Home::without_controller();
    let plan = std::fs::read_to_string(home.plan(3)).expect("a plan");
    home.call("POST", "entries", &json!({ "plan": plan }));
    let controller = home.for_controllers();
    let new = json!({ "id": "c", "boot": "1", "name": "c", "host": "m", "version": "0", "rules": "all" });
    assert_eq!(call(&controller, "POST", "controllers", &new).0, 204);
    let asks = json!({ "controller": { "id": "c", "boot": "1" } });
    let work = call(&controller, "POST", "claims", &asks).1;
    let token = work["work"]["attempt"]["token"].as_u64().expect("a token");
    let line = |seq: u64| format!(r#"{{"seq":{seq},"event":"doing","what":"step {seq}"}}"#);
    let tell = |lines: Vec<String>| {
        call(&controller, "POST", "attempts/1", &json!({ "token": token, "lines": lines, "begins": true }))
    };
    assert_eq!(tell(vec![line(1), line(2)]).1["next_seq"], 3);
    assert_eq!(tell(vec![line(2), line(3)]).1["next_seq"], 4, "a repeated line has no effect");
    assert_eq!(tell(vec![line(9)]).1["next_seq"], 4, "what is missing is asked for");
    assert_eq!(tell(vec![line(4), line(6)]).0, 400, "a gap is none");
    let ends = json!({ "token": token, "ends": { "outcome": "failed", "reason": "no" } });
    assert_eq!(call(&controller, "POST", "attempts/1", &ends).0, 200);
    assert_eq!(call(&controller, "POST", "attempts/1", &ends).0, 200, "an answer that was lost");
    assert_eq!(tell(vec![line(4)]).0, 409, "it is over");

    let bearer = format!("Bearer {}", home.server().token);
    let mut all = browse(&home, "GET", "/api/v1/entries/1/events", &[("authorization", &bearer)], "");
    let all = all.body_mut().read_to_string().expect("text");
    assert!(
        all.starts_with("event: reset")
            && all.contains("step 1")
            && all.trim_end().ends_with("event: end\ndata: {}"),
        "{all}"
    );
    let headers = [("authorization", bearer.as_str()), ("last-event-id", &format!("{token}-2"))];
    let mut rest = browse(&home, "GET", "/api/v1/entries/1/events", &headers, "");
    let rest = rest.body_mut().read_to_string().expect("text");
    assert!(!rest.contains("reset") && !rest.contains("step 2") && rest.contains("step 3"), "{rest}");
}
