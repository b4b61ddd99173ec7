//! Servers that run as an unprivileged user, and replace every file in their directory by a link to a file that only root
//! may read and write, or by a pipe. Root must neither follow the link nor wait for the pipe.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use libtest_mimic::Failed;
use workload::{Instance, ServerVariant, TypedValue, Workload};

use crate::test_directory::{TestDirectory, one_file};

/// What only root may read.
const SECRET: &str = "root's own secret";

/// An HTTP server that sets its traps when it is asked to.
const SERVER: &str = r#"
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

trap, directory, secret, port = sys.argv[1:5]
NAMES = ["server.log", "tool.log", "tool-0.log", "operations.log", "password", "own.conf", "stdin", "stdout"]


def set_traps():
    for name in {*os.listdir(directory), *NAMES}:
        path = os.path.join(directory, name)
        if os.path.lexists(path):
            os.unlink(path)
        if trap == "link":
            os.symlink(secret, path)
        else:
            os.mkfifo(path)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/trap":
            set_traps()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        print("GET", self.path, "as", os.getuid(), file=sys.stderr, flush=True)


HTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
"#;

struct Trap {
    directory: TestDirectory,
    workload: Workload,
    secret: PathBuf,
}

impl Trap {
    fn new() -> Result<Self, Failed> {
        let directory = TestDirectory::new()?;
        let secret = directory.path().join("secret");
        fs::write(&secret, SECRET)?;
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600))?;
        fs::write(directory.path().join("server.py"), SERVER)?;
        fs::write(directory.path().join("own.conf"), "password = {{ password }}\n")?;
        let server = format!(
            r#"
start = ["python3", "{{{{ here }}}}/server.py", "{{{{ trap }}}}", "{{{{ dir }}}}", "{}", "{{{{ port }}}}"]
unprivileged = true
password = true
config = ["own.conf"]
ready = {{ command = ["python3", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:{{{{ port }}}}/trap')"] }}
version = ["id", "-u"]
statistics = {{ log = "{{{{ dir }}}}/operations.log", counters = ["GET"] }}
[server.test.knobs.trap]
about = "what replaces the files"
default = "link"
choices = ["link", "pipe"]
"#,
            secret.display()
        );
        let workload = one_file(&directory, &server, "[[load.op]]\npath = \"/\"\n")?;
        Ok(Self { directory, workload, secret })
    }

    fn start(&self, trap: &str) -> Result<Instance, Failed> {
        let knobs = BTreeMap::from([("trap".to_owned(), TypedValue::Text(trap.to_owned()))]);
        let variant = ServerVariant { server: "test".to_owned(), knobs, kernel: BTreeMap::new() };
        Ok(Instance::start(&self.workload, &variant, &self.directory.options()?)?)
    }
}

pub fn traps() -> Result<(), Failed> {
    let trap = Trap::new()?;
    for (kind, why) in [("link", "it is a link, which is not followed"), ("pipe", "it is not a regular file")]
    {
        let mut server = trap.start(kind)?;
        let traps = fs::read_dir(server.directory())?.count();
        assert!(traps >= 8, "{kind}: {traps} traps are set");

        // Tools run as the server's user, and their output is not where the server writes.
        let version = server.facts().version;
        assert!(version.parse::<u32>().is_ok_and(|user| user != 0), "{kind}: {version:?}");
        let error = server.count().expect_err("the log of operations is a trap").to_string();
        assert!(error.contains(why), "{kind}: {error}");
        let log = server.log()?.text;
        assert!(log.contains(&format!("GET /trap as {version}\n")) && !log.contains(SECRET), "{kind}: {log}");
        assert!(server.log_tail().lines().iter().any(|line| line.contains("GET /trap")));

        let directory = server.directory().to_owned();
        server.stop()?;
        drop(server);
        assert_eq!(fs::read_to_string(&trap.secret)?, SECRET, "{kind}");
        for name in ["own.conf", "password"] {
            assert!(fs::symlink_metadata(directory.join(name)).is_err(), "{kind}: {name} is left");
        }
    }
    Ok(())
}
