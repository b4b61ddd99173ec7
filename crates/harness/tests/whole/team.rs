//! A team: TLS, accounts with roles, secrets of controllers, the audit. The holes of other harnesses are here by name.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::home::{Home, call, showdown};

const PASSWORD: &str = "correct horse battery";

/// A server with TLS, and its accounts: one for each role, with the name of the role.
struct Team {
    home: Home,
    agent: ureq::Agent,
}

/// What a browser or a program gets.
struct Got {
    status: u16,
    headers: ureq::http::HeaderMap,
    text: String,
}

impl Team {
    fn start() -> Self {
        let mut home = Home::empty();
        certify(&home);
        fs::write(home.dir.path().join("password"), format!("{PASSWORD}\nnot this line\n")).expect("a file");
        for role in ["viewer", "submitter", "operator", "admin"] {
            let added = home.run(&["account", "add", role, "--role", role, "--password-file", "password"]);
            assert!(added.status.success(), "{added:?}");
        }
        home.start_server(&["--no-controller", "--tls", "cert.pem,key.pem"]);
        let pem = fs::read(home.dir.path().join("cert.pem")).expect("a certificate");
        let roots = vec![Certificate::from_pem(&pem).expect("a certificate")];
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(harness::tls::provider())
            .root_certs(RootCerts::Specific(Arc::new(roots)));
        let config = ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0);
        // A refusal ends a connection whose request was not read to its end: the next request has another one.
        let config = config.max_idle_connections(0).allow_non_standard_methods(true).tls_config(tls.build());
        Self { home, agent: config.build().into() }
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Got {
        let url = format!("{}{path}", self.home.link);
        let mut request = ureq::http::Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut answer =
            self.agent.run(request.body(body.to_owned()).expect("a request")).expect("an answer");
        let text = answer.body_mut().read_to_string().expect("text");
        Got { status: answer.status().as_u16(), headers: answer.headers().clone(), text }
    }

    fn get(&self, path: &str, cookie: &str) -> Got {
        self.ask("GET", path, &[("cookie", cookie)], "")
    }

    /// A form on a page of the server.
    fn form(&self, path: &str, cookie: &str, body: &str) -> Got {
        let headers = [
            ("cookie", cookie),
            ("sec-fetch-site", "same-origin"),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        self.ask("POST", path, &headers, body)
    }

    fn log_in(&self, name: &str, password: &str) -> Got {
        self.form("/login", "", &format!("name={name}&password={}&to=/hosts", password.replace(' ', "+")))
    }

    /// The cookie of a session.
    fn session(&self, name: &str) -> String {
        let opened = self.log_in(name, PASSWORD);
        assert_eq!((opened.status, &opened.headers["location"]), (303, &"/hosts".parse().expect("a path")));
        let cookie = opened.headers["set-cookie"].to_str().expect("text");
        assert!(
            cookie.starts_with("__Host-") && cookie.contains("HttpOnly") && cookie.ends_with("; Secure"),
            "{cookie}"
        );
        cookie.split(';').next().expect("a value").to_owned()
    }

    /// The secret that a page shows once.
    fn secret(&self, path: &str, cookie: &str, body: &str) -> String {
        let page = self.form(path, cookie, body);
        let (_, rest) = page.text.split_once("SHOWDOWN_TOKEN=").expect("a secret");
        rest.split('<').next().expect("a secret").to_owned()
    }

    fn api(&self, method: &str, path: &str, secret: &str, body: &Value) -> Got {
        let bearer = format!("Bearer {secret}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        self.ask(method, &format!("/api/v1/{path}"), &headers, &body.to_string())
    }

    fn plan(&self) -> String {
        fs::read_to_string(self.home.plan(3)).expect("a plan")
    }
}

/// A certificate for localhost, and its key.
fn certify(home: &Home) {
    let mut openssl = Command::new("openssl");
    openssl.args(
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem"
            .split(' '),
    );
    openssl.args([
        "-addext",
        "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-addext",
        "basicConstraints=critical,CA:FALSE",
    ]);
    let made = openssl.current_dir(home.dir.path()).output().expect("openssl runs");
    assert!(made.status.success(), "{made:?}");
}

#[test]
fn other_machines_are_served_with_tls_only() {
    let home = Home::empty();
    let refused = home.run(&["serve", "--listen", "0.0.0.0:0"]);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && message.lines().count() == 1 && message.contains("--tls"),
        "{message}"
    );
    certify(&home);
    fs::write(home.dir.path().join("other.pem"), "no key").expect("a file");
    let refused = home.run(&["serve", "--listen", "0.0.0.0:0", "--tls", "cert.pem,other.pem"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("other.pem has no key in PEM"), "{refused:?}");
    for (url, is_refused) in [("http://lab.example", true), ("https://127.0.0.1:1", false)] {
        let mut queue = home.at_home(&showdown());
        let output =
            queue.env("SHOWDOWN_TOKEN", "x").args(["queue", "--server", url]).output().expect("it runs");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(message.contains("could read the secret"), is_refused, "{message}");
    }
}

#[test]
fn an_account_has_a_good_password_which_is_no_argument() {
    let home = Home::empty();
    fs::write(home.dir.path().join("short"), "short\n").expect("a file");
    fs::write(home.dir.path().join("good"), PASSWORD).expect("a file");
    for (args, why) in [
        (&["add", "ada", "--password-file", "short"][..], "12 to 200 characters"),
        (&["add", "a/da", "--password-file", "good"], "is no name"),
        (&["add", "ada"], "no terminal"),
        (&["role", "nobody", "viewer"], "there is no account"),
        (&["add", "ada", PASSWORD], "unexpected argument"),
    ] {
        let refused = home.run(&[&["account"], args].concat());
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && message.contains(why), "{args:?}: {message}");
    }
    assert!(home.run(&["account", "add", "ada", "--password-file", "good"]).status.success());
    assert!(!home.run(&["account", "add", "ada", "--password-file", "good"]).status.success(), "it is there");
    let listed = home.run(&["account", "list"]);
    assert_eq!(String::from_utf8_lossy(&listed.stdout), "ada\tsubmitter\n");
    let database = fs::read(home.runs().join(".harness/queue.sqlite")).expect("a file");
    assert!(!database.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes()), "only a hash is kept");
}

#[test]
fn a_person_logs_in_and_nobody_else() {
    let team = Team::start();
    let shut = team.get("/archive?q=x", "");
    assert_eq!(
        (shut.status, shut.headers["location"].to_str().expect("text")),
        (303, "/login?to=%2Farchive%3Fq%3Dx")
    );
    assert_eq!(team.ask("GET", "/api/v1/entries", &[], "").status, 401);
    for (name, password) in [("viewer", "correct horse batterz"), ("nobody", PASSWORD), ("", "")] {
        assert_eq!(team.log_in(name, password).status, 403, "{name}");
    }
    // A page of another site logs nobody in, as somebody else would.
    let headers = [("sec-fetch-site", "cross-site"), ("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(team.ask("POST", "/login", &headers, "name=viewer&password=x").status, 403);
    let elsewhere = team.form(
        "/login",
        "",
        &format!("name=viewer&password={}&to=//evil.example", PASSWORD.replace(' ', "+")),
    );
    assert_eq!(elsewhere.headers["location"], "/");
    let cookie = team.session("viewer");
    assert_eq!(team.get("/", &cookie).status, 200);
    assert_eq!(team.form("/logout", &cookie, "").status, 303);
    assert_eq!(team.get("/", &cookie).status, 303, "the session is over");
    let mut tries = Vec::new();
    for _ in 0..20 {
        tries.push(team.log_in("operator", "wrong").status);
    }
    assert!(tries.contains(&429), "{tries:?}");
}

#[test]
fn a_role_may_do_its_own_and_no_more() {
    let team = Team::start();
    let plan = team.plan();
    let admin = team.session("admin");
    let mut entries = Vec::new();
    // Entry 1 is the submitter's, entry 2 the admin's.
    for role in ["submitter", "admin"] {
        let secret = team.secret("/account/secret", &team.session(role), "");
        let submitted = team.api("POST", "entries", &secret, &json!({ "plan": plan }));
        assert_eq!(submitted.status, 201, "{}", submitted.text);
        entries.push(secret);
    }
    // What each role gets, in the order viewer, submitter, operator: Faban let a kill of somebody else through, and took a denied one
    // for done.
    let table = [
        ("GET", "/entries/2", [200, 200, 200]),
        ("GET", "/audit", [403, 403, 403]),
        ("GET", "/people", [403, 403, 403]),
        ("POST", "/entries/2/kill", [403, 403, 303]),
        ("POST", "/entries/1/first", [403, 403, 303]),
        ("POST", "/entries/1/pause", [403, 303, 303]),
        ("POST", "/hosts/nowhere/clean", [403, 403, 404]),
        ("POST", "/runs/x/delete", [403, 403, 403]),
        ("POST", "/people", [403, 403, 403]),
        ("POST", "/people/controllers", [403, 403, 403]),
        ("POST", "/runs/x/note", [403, 404, 404]),
    ];
    let sessions = ["viewer", "submitter", "operator"].map(|role| team.session(role));
    for (method, path, expected) in table {
        for (cookie, expected) in sessions.iter().zip(expected) {
            let got = if method == "GET" {
                team.get(path, cookie)
            } else {
                team.form(path, cookie, "reason=x&note=x&name=x")
            };
            assert_eq!(got.status, expected, "{method} {path}: {}", got.text);
        }
    }
    // Without a session nothing is killed, by whatever name the entry has.
    for path in ["/entries/1/kill", "/api/v1/entries/1/kill", "/entries/..%2f1/kill", "/entries/1%00/kill"] {
        assert_eq!(team.form(path, "", "").status, 401, "{path}");
    }
    assert_eq!(team.home.entry(1).state, queue::EntryState::Paused);
    assert_eq!(team.home.entry(2).state, queue::EntryState::Cancelled);
    // A submitter does not go before others.
    let first = team.api("POST", "entries", &entries[0], &json!({ "plan": plan, "priority": 5 }));
    assert_eq!(first.status, 403, "{}", first.text);
    let audit = team.get("/audit", &admin).text;
    assert!(
        audit.contains("kill entry 2") && audit.contains("operator") && audit.contains("submit entry 1"),
        "{audit}"
    );
}

#[test]
fn views_belong_to_their_account() {
    let team = Team::start();
    let [viewer, operator, admin] = ["viewer", "operator", "admin"].map(|role| team.session(role));
    let saved =
        team.form("/views", &viewer, "name=my+runs&q=nginx&tag=a+b&tag=c&state=finished&order=oldest");
    assert_eq!(saved.status, 303, "{}", saved.text);
    let address = saved.headers["location"].to_str().expect("a path").to_owned();
    assert_eq!(address, "/archive?q=nginx&tag=a%20b&tag=c&state=finished&order=oldest&view=1");
    let page = team.get(&address, &viewer).text;
    assert!(page.contains("<h1>Archive: my runs</h1>") && page.contains(r#"value="a b" checked"#), "{page}");
    // The search can be given to others; the view, its name and its number are the account's.
    let other = team.get(&address, &operator);
    assert!(other.status == 200 && !other.text.contains("my runs"), "{}", other.text);
    for cookie in [&operator, &admin] {
        assert_eq!(team.get("/views/1", cookie).status, 404);
        for change in ["name", "search", "delete"] {
            assert_eq!(team.form(&format!("/views/1/{change}"), cookie, "name=x").status, 404, "{change}");
        }
    }
    assert_eq!(team.form("/views", &viewer, "name=my+runs").status, 400, "the name is taken");
    assert_eq!(team.form("/views", &viewer, "name=x&state=over").status, 400);
    assert_eq!(team.form("/views", &operator, "name=my+runs").status, 303, "by another account");
    let renamed = team.form("/views/1/name", &viewer, "name=%3Cimg+src%3Dx%3E");
    assert_eq!(renamed.status, 303);
    let page = team.get(renamed.headers["location"].to_str().expect("a path"), &viewer).text;
    assert!(page.contains("&lt;img src=x&gt;") && !page.contains("<img"), "{page}");
    assert_eq!(team.form("/views/1/search", &viewer, "q=apache").status, 303);
    let opened = team.get("/views/1", &viewer);
    assert_eq!(
        (opened.status, &opened.headers["location"]),
        (303, &"/archive?q=apache&view=1".parse().expect("a path"))
    );
    let audit = team.get("/audit", &admin).text;
    for what in ["save view 1 of the archive: my runs", "rename view 1", "change view 1"] {
        assert!(audit.contains(what), "{what}: {audit}");
    }
    assert_eq!(team.form("/views/1/delete", &viewer, "").status, 303);
    assert_eq!(team.get("/views/1", &viewer).status, 404);
}

#[test]
fn a_closed_account_and_a_removed_secret_are_over_at_once() {
    let team = Team::start();
    let admin = team.session("admin");
    let cookie = team.session("submitter");
    let secret = team.secret("/account/secret", &cookie, "");
    assert_eq!(team.api("GET", "entries", &secret, &Value::Null).status, 200);
    // From a terminal of another machine, by the program that measures: with TLS, and a certificate that it is told to trust.
    let mut queue = team.home.at_home(&showdown());
    queue.env("SHOWDOWN_TOKEN", &secret).env("SSL_CERT_FILE", "cert.pem");
    let listed = queue.args(["queue", "--server", &team.home.link]).output().expect("it runs");
    assert!(listed.status.success(), "{listed:?}");
    assert_eq!(team.form("/people/admin/role", &admin, "role=viewer").status, 403, "one admin is left");
    assert_eq!(team.form("/people/submitter/role", &admin, "role=closed").status, 303);
    assert_eq!(team.get("/", &cookie).status, 303);
    assert_eq!(team.api("GET", "entries", &secret, &Value::Null).status, 401);
    assert_eq!(team.log_in("submitter", PASSWORD).status, 403);
    let operator = team.session("operator");
    let other = "old=correct+horse+battery&new=another+long+password";
    assert_eq!(team.form("/account/password", &operator, &other.replace("old=c", "old=k")).status, 403);
    assert_eq!(team.form("/account/password", &operator, other).status, 303);
    assert_eq!(team.get("/", &operator).status, 303, "it logs in again");
    assert_eq!(team.log_in("operator", "another long password").status, 303);
}

#[test]
fn a_controller_speaks_for_its_own_runs_only() {
    let team = Team::start();
    let admin = team.session("admin");
    let [own, other] =
        ["lab-1", "lab-2"].map(|name| team.secret("/people/controllers", &admin, &format!("name={name}")));
    let plan = team.plan();
    for _ in 0..2 {
        team.home.call("POST", "entries", &json!({ "plan": plan }));
    }
    let new = json!({ "id": "c", "boot": "1", "name": "c", "host": "m", "version": "0", "rules": "all" });
    assert_eq!(team.api("POST", "controllers", &own, &new).status, 204);
    assert_eq!(team.api("POST", "controllers", &other, &new).status, 403, "the name is taken");
    let asks = json!({ "controller": { "id": "c", "boot": "1" } });
    assert_eq!(team.api("POST", "claims", &other, &asks).status, 403);
    let work: Value = serde_json::from_str(&team.api("POST", "claims", &own, &asks).text).expect("work");
    let token = work["work"]["attempt"]["token"].as_u64().expect("a token");
    let ends = json!({ "token": token, "ends": { "outcome": "failed", "reason": "no" } });
    // A token is a small number, which can be guessed.
    assert_eq!(team.api("POST", "attempts/1", &other, &ends).status, 403);
    assert_eq!(
        team.api("PUT", &format!("attempts/1/bundle?token={token}"), &other, &Value::Null).status,
        403
    );
    assert_eq!(team.api("POST", "hosts/m/clean", &other, &json!({ "reason": "x" })).status, 403);
    assert_eq!(team.api("POST", "attempts/1", &own, &ends).status, 200);
    // Nor does a person speak for a run, or a controller for a person.
    assert_eq!(call(&team.home.server(), "POST", "attempts/2", &ends).0, 403);
    assert_eq!(team.api("POST", "entries", &own, &json!({ "plan": plan })).status, 403);
    assert_eq!(team.form("/people/controllers/lab-1/remove", &admin, "").status, 303);
    assert_eq!(team.api("POST", "claims", &own, &asks).status, 401);
}

#[test]
fn no_name_leads_out_of_the_archive() {
    let team = Team::start();
    let admin = team.session("admin");
    for id in ["..%2f..%2fetc", "%2e%2e", "..%2f.harness", ".harness", "x%2f..%2f..%2fkey.pem", "a%00b"] {
        for path in [
            format!("/runs/{id}"),
            format!("/runs/{id}/report"),
            format!("/api/v1/runs/{id}/bundle"),
            format!("/runs/{id}/file?name=cert.pem"),
        ] {
            let got = team.get(&path, &admin);
            assert!(matches!(got.status, 400 | 404), "{path}: {}", got.status);
            assert!(!got.text.contains("BEGIN"), "{path}");
        }
        assert!(team.form(&format!("/runs/{id}/delete"), &admin, "reason=x").status >= 400, "{id}");
    }
    assert!(team.home.runs().join(".harness/queue.sqlite").is_file());
}
