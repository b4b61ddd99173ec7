//! Servers that listen on a Unix socket and on no port: loads, probes and statistics go there, and a server leads its client to no
//! other socket.

use std::collections::BTreeMap;
use std::os::unix::net::UnixListener;

use libtest_mimic::Failed;
use load::engine::{self, RunContext};
use workload::{Instance, Instances, ServerVariant, StartOptions, TypedValue, Workload};

use crate::cycles::full_cycle;
use crate::test_directory::{TestDirectory, one_file, resolve};

/// How a built-in server listens on a socket instead of its port: the file or `start`, what is replaced in it, and by what.
type Change = (&'static str, &'static str, &'static str);

const CHANGES: &[(&str, &str, &[Change])] = &[
    (
        "nginx",
        "{{ dir }}/app.sock",
        &[("nginx.conf", "listen {{ address }}", "listen unix:{{ dir }}/app.sock")],
    ),
    (
        "redis",
        "{{ dir }}/app.sock",
        &[("redis.conf", "port {{ port }}", "port 0\nunixsocket {{ dir }}/app.sock")],
    ),
    (
        "memcached",
        "{{ dir }}/app.sock",
        &[("start", "--port={{ port }}", "--unix-socket={{ dir }}/app.sock")],
    ),
    (
        "mariadb",
        "{{ dir }}/socket/mariadb.sock",
        &[
            ("mariadb.cnf", "bind-address = {{ host }}", "skip-networking"),
            ("account.sql", "{{ \"%\" if remote else host }}", "localhost"),
        ],
    ),
    (
        "postgres",
        "{{ dir }}/.s.PGSQL.{{ port }}",
        &[
            ("postgresql.conf", "listen_addresses = '{{ host }}'", "listen_addresses = ''"),
            ("postgresql.conf", "unix_socket_directories = ''", "unix_socket_directories = '{{ dir }}'"),
            ("pg_hba.conf", "host all all all", "local all all"),
        ],
    ),
];

/// The servers of which [`full`] knows how they listen on a socket.
pub fn servers() -> impl Iterator<Item = &'static str> {
    CHANGES.iter().map(|(server, ..)| *server)
}

fn on_a_socket(name: &str) -> Result<(Workload, ServerVariant), Failed> {
    let (_, socket, changes) = CHANGES.iter().find(|(server, ..)| *server == name).ok_or("a known server")?;
    let (mut workload, variant) = resolve(name)?;
    let server = workload.servers.iter_mut().find(|server| server.name == name).ok_or("it is defined")?;
    server.socket = Some((*socket).to_owned());
    // It binds its socket after it has changed its user.
    server.is_unprivileged |= name == "memcached";
    for (file, old, new) in *changes {
        let config = server.config.iter_mut().find(|template| template.name == *file);
        let text = match config {
            Some(template) => &mut template.text,
            None => server.start.iter_mut().find(|word| word.contains(old)).ok_or("the word")?,
        };
        let all = text.matches(old).count();
        assert!(all > 0, "{name}: {file} has {old:?}");
        *text = text.replace(old, new);
    }
    Ok((workload, variant))
}

/// Data, checks, load and counts of a server that has no port.
pub fn full(name: &'static str) -> Result<(), Failed> {
    let (workload, variant) = on_a_socket(name)?;
    full_cycle(&TestDirectory::new()?, &workload, &variant)
}

/// Copies have a socket each, and share the connections of the load.
pub fn copies() -> Result<(), Failed> {
    let (workload, mut variant) = on_a_socket("redis")?;
    variant.knobs.insert("instances".to_owned(), TypedValue::Integer(2));
    let directory = TestDirectory::new()?;
    let mut instances = Instances::start(&workload, &variant, &directory.options()?)?;
    instances.populate(&RunContext::default())?;
    let each: Vec<_> = instances.iter().map(Instance::address).collect();
    assert_eq!(instances.started().sockets.len(), each.len());
    let counts =
        |instances: &mut Instances| instances.count().map(|count| count.map_or(0, |count| count.count));
    let before = counts(&mut instances)?;
    let spec = instances.load_spec(None)?.with_connections(8).with_requests(400);
    let alone: Vec<_> = spec.of_each_address().map(|one| one.sockets).collect();
    assert!(alone.len() == 2 && alone[0] != alone[1] && alone.iter().all(|sockets| sockets.len() == 1));
    let outcome = engine::run(&spec, &RunContext::default(), &mut |_| {})?;
    assert_eq!((outcome.total.succeeded(), outcome.total.errors().total()), (400, 0));
    assert_eq!(counts(&mut instances)? - before, 400);
    Ok(instances.stop()?)
}

/// An HTTP server that is where its knob says.
const SERVER: &str = r#"
start = ["python3", "{{ here }}/server.py", "{{ trap }}", "{{ dir }}/app.sock", "{{ address }}"]
socket = "{% if trap != 'port' %}{{ dir }}/app.sock{% endif %}"
ready = { tcp = true, within = "5s" }
[server.test.knobs.trap]
default = "none"
choices = ["none", "port", "link"]
"#;

const PROGRAM: &str = r#"
import os, socket, sys, threading

trap, path, address = sys.argv[1:4]


def serve(connection):
    data = b""
    while True:
        while b"\r\n\r\n" not in data:
            part = connection.recv(4096)
            if not part:
                return connection.close()
            data += part
        data = data.split(b"\r\n\r\n", 1)[1]
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n")


if trap == "port":
    listener = socket.create_server((address.split(":")[0], int(address.split(":")[1])))
else:
    listener = socket.socket(socket.AF_UNIX)
    if trap == "link":
        os.symlink(os.path.join(os.path.dirname(sys.argv[0]), "docker.sock"), path)
        path += ".own"
    listener.bind(path)
    listener.listen(64)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"#;

fn start(directory: &TestDirectory, trap: &str, options: &StartOptions) -> Result<Instance, Failed> {
    std::fs::write(directory.path().join("server.py"), PROGRAM)?;
    let workload = one_file(directory, SERVER, "[[load.op]]\npath = \"/\"\n")?;
    let knobs = BTreeMap::from([("trap".to_owned(), TypedValue::Text(trap.to_owned()))]);
    let variant = ServerVariant { server: "test".to_owned(), knobs, kernel: BTreeMap::new() };
    Ok(Instance::start(&workload, &variant, options)?)
}

/// A knob chooses between socket and port, so that both can be compared.
pub fn chosen_by_a_knob() -> Result<(), Failed> {
    for (trap, sockets) in [("none", 1), ("port", 0)] {
        let directory = TestDirectory::new()?;
        let mut server = start(&directory, trap, &directory.options()?)?;
        let spec = server.load_spec(None)?.with_connections(2).with_requests(20);
        assert_eq!(spec.sockets.len(), sockets, "{trap}");
        let outcome = engine::run(&spec, &RunContext::default(), &mut |_| {})?;
        assert_eq!((outcome.total.succeeded(), outcome.total.errors().total()), (20, 0), "{trap}");
        server.stop()?;
    }
    Ok(())
}

/// The load of a workload would be carried to a service of the machine.
pub fn leads_nobody_elsewhere() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let service = UnixListener::bind(directory.path().join("docker.sock"))?;
    service.set_nonblocking(true)?;
    let error = start(&directory, "link", &directory.options()?).err().ok_or("it is refused")?;
    let error = format!("{error:?}");
    assert!(error.contains("it is a link, which is not followed"), "{error}");
    assert!(service.accept().is_err(), "nobody has connected");
    Ok(())
}

/// A server of which clients are elsewhere has a port.
pub fn not_for_other_machines() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    // Every address of this machine that is not loopback would do; the refusal comes before it is used.
    let options = StartOptions { address: std::net::Ipv4Addr::UNSPECIFIED.into(), ..directory.options()? };
    let error = format!("{:?}", start(&directory, "none", &options).err().ok_or("it is refused")?);
    assert!(error.contains("only clients of its own machine reach a Unix socket"), "{error}");
    Ok(())
}
