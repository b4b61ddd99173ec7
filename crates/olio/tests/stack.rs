//! `olio stack`: the site as a person's browser gets it, and what is said where it cannot start.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running site, ended when it is dropped.
struct Stack {
    process: Child,
    address: String,
}

fn olio() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_olio"));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("olio-data");
    command.args(["stack", "rust", "--rows=25", "--cache"]).arg(cache);
    command
}

#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn is_installed() -> bool {
    let needed = ["/usr/sbin/nginx", "/usr/sbin/mariadbd", "/usr/bin/memcached"];
    let missing = needed.iter().find(|program| !Path::new(program).exists());
    if let Some(missing) = missing {
        println!("SKIPPED: olio needs {missing}");
    }
    missing.is_none()
}

impl Stack {
    fn start() -> Self {
        let mut process =
            olio().args(["--port", "0"]).stdout(Stdio::piped()).spawn().expect("the program starts");
        let lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let mut lines = lines.map_while(Result::ok);
        let said = lines.find(|line| line.starts_with("http://")).expect("it says where it is");
        let address = said.split('/').nth(2).expect("an address").to_owned();
        Self { process, address }
    }

    fn get(&self, path: &str) -> (String, Vec<u8>) {
        let mut response = ureq::get(format!("http://{}{path}", self.address)).call().expect("a reply");
        let content_type = response.headers()["content-type"].to_str().expect("text").to_owned();
        let mut body = Vec::new();
        response.body_mut().as_reader().read_to_end(&mut body).expect("a body");
        (content_type, body)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}

#[test]
fn a_browser_shows_the_photograph_and_the_leaflet_of_a_loaded_event() {
    if !is_installed() {
        return;
    }
    let site = Stack::start();
    let (_, page) = site.get("/events/7");
    let page = String::from_utf8_lossy(&page).into_owned();
    assert!(page.contains("/media/events/007/000/e7.jpg"), "{page}");
    assert!(page.contains("/media/eventLits/007/000/e7l.pdf"), "{page}");
    let (content_type, image) = site.get("/media/events/007/000/e7.jpg");
    assert_eq!((content_type.as_str(), &image[..2]), ("image/jpeg", &b"\xFF\xD8"[..]));
    let (content_type, leaflet) = site.get("/media/eventLits/007/000/e7l.pdf");
    assert_eq!((content_type.as_str(), &leaflet[..5]), ("application/pdf", &b"%PDF-"[..]));
}

#[test]
fn a_port_that_somebody_has_is_named_before_anything_starts() {
    if !is_installed() {
        return;
    }
    let somebody = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = somebody.local_addr().expect("an address").port().to_string();
    let output = olio().args(["--port", &port]).output().expect("the program starts");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains(&format!("port {port} is taken: ")) && error.contains("--port 0"), "{error}");
}
