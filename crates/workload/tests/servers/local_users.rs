//! What another user of the machine can reach while a server runs: nothing but the server's own port on loopback, and
//! there no account without its password.

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use procfs::net::TcpState;
use workload::Instance;

use crate::test_directory::{TestDirectory, resolve};

/// The user nobody.
const NOBODY: u32 = 65_534;

/// Runs a program as another unprivileged user, or as this one unless the tests run as root.
fn as_another_user(program: &str, arguments: &[&str]) -> Result<Output, Failed> {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
    if rustix::process::geteuid().is_root() {
        // Without supplementary groups: std removes them with the user.
        command.uid(NOBODY).gid(NOBODY);
    }
    Ok(command.output().map_err(|error| format!("{program}: {error}"))?)
}

/// Fails unless the program was refused: not found, or not started, is no refusal.
fn assert_refused(what: &str, output: &Output, reasons: &[&str]) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{what} was let in: {}", String::from_utf8_lossy(&output.stdout));
    assert!(reasons.iter().any(|reason| error.contains(reason)), "{what}: {error}");
}

/// All files below a directory.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files_below(&entry.path()));
        }
        found.push(entry.path());
    }
    found
}

/// Whether other users may neither enter one of the directories of a path, nor write to its file.
fn is_closed_to_others(path: &Path) -> bool {
    let mode = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.permissions().mode());
    path.ancestors().skip(1).any(|directory| mode(directory) & 0o001 == 0) || mode(path) & 0o002 == 0
}

/// A server listens on its own port and on no other, and no other user reaches its Unix sockets and its files.
pub fn nothing_else_is_open(variant: &str) -> Result<(), Failed> {
    let (workload, variant) = resolve(variant)?;
    let directory = TestDirectory::new()?;
    let options = directory.options()?;
    let server = Instance::start(&workload, &variant, &options)?;

    // The process of each socket.
    let descriptors = server.tree().processes().into_iter().flat_map(|process| {
        let descriptors = fs::read_dir(format!("/proc/{}/fd", process.pid)).into_iter().flatten().flatten();
        descriptors.filter_map(move |fd| Some((fs::read_link(fd.path()).ok()?, process.pid)))
    });
    let owners: HashMap<PathBuf, u32> = descriptors.collect();
    let owner = |inode: u64| owners.get(Path::new(&format!("socket:[{inode}]"))).copied();
    let is_own = |inode: u64| owner(inode).is_some();
    let tcp: Vec<_> = [procfs::net::tcp()?, procfs::net::tcp6()?].concat();
    let listening = tcp.iter().filter(|socket| socket.state == TcpState::Listen && is_own(socket.inode));
    let listening: Vec<_> = listening.map(|socket| socket.local_address).collect();
    assert!(!listening.is_empty() && listening.iter().all(|&at| at == server.address()), "{listening:?}");
    let udp: Vec<_> = [procfs::net::udp()?, procfs::net::udp6()?].concat();
    assert!(!udp.iter().any(|socket| is_own(socket.inode)), "{variant} has a UDP socket");
    for socket in procfs::net::unix()? {
        let (Some(pid), Some(path)) = (owner(socket.inode), socket.path) else { continue };
        assert!(!path.to_string_lossy().starts_with('@'), "others reach {}", path.display());
        // A relative path begins at the directory of the process.
        let path = fs::read_link(format!("/proc/{pid}/cwd"))?.join(path);
        assert!(is_closed_to_others(&path), "others reach {}", path.display());
    }
    for path in files_below(&options.directory) {
        let meta = fs::symlink_metadata(&path)?;
        let is_link = meta.file_type().is_symlink();
        assert!(is_link || is_closed_to_others(&path), "others write to {}", path.display());
    }
    Ok(())
}

/// MariaDB: nobody logs in over its socket or its port, as any user, without the account's password.
pub fn mariadb(shop: bool) -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let (workload, variants) = if shop {
        crate::cycles::create(&directory, workload::scaffold::ScaffoldProtocol::Mysql)?
    } else {
        let (workload, variant) = resolve("mariadb")?;
        (workload, vec![variant])
    };
    let options = directory.options()?;
    let server = Instance::start(&workload, &variants[0], &options)?;
    let is_socket = |path: &PathBuf| fs::metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    let socket = files_below(server.directory()).into_iter().find(is_socket).ok_or("there is a socket")?;
    let private = socket.parent().ok_or("it is in a directory")?;
    assert_eq!(fs::metadata(private)?.permissions().mode() & 0o777, 0o700, "{}", private.display());

    let (by_socket, by_port) =
        (format!("--socket={}", socket.display()), format!("--port={}", server.address().port()));
    let ways = [["--host=localhost", by_socket.as_str()], ["--host=127.0.0.1", by_port.as_str()]];
    for way in ways {
        for user in ["root", "nobody", "mysql", "www-data", "mariadb.sys", "showdown", "x", ""] {
            let user = format!("--user={user}");
            let arguments = ["--no-defaults", way[0], way[1], &user, "--execute=SELECT 1"];
            let output = as_another_user("mariadb", &arguments)?;
            let reasons = ["Access denied", "(13)", "Account is locked", "this account is locked"];
            assert_refused(&format!("{user} over {way:?}"), &output, &reasons);
        }
    }
    // Also where the directory does not protect the socket: an account takes no password, or nobody's.
    if rustix::process::geteuid().is_root() {
        let query = "--execute=SELECT CONCAT(user, '@', host) FROM mysql.global_priv ORDER BY 1";
        let arguments = ["--no-defaults", "--batch", "--skip-column-names", "--user=root", &by_socket, query];
        let output = Command::new("mariadb").args(arguments).output()?;
        let accounts = String::from_utf8(output.stdout)?;
        assert_eq!(accounts, "mariadb.sys@localhost\nroot@localhost\nshowdown@127.0.0.1\n");
        let query = "--execute=SELECT @@secure_file_priv, @@local_infile";
        let arguments = ["--no-defaults", "--batch", "--skip-column-names", "--user=root", &by_socket, query];
        let values = String::from_utf8(Command::new("mariadb").args(arguments).output()?.stdout)?;
        let Some((files, "0")) = values.trim().split_once('\t') else { return Err(values.into()) };
        assert_eq!(fs::metadata(files)?.permissions().mode() & 0o777, 0o700);
        for path in files_below(server.directory()).into_iter().filter(is_socket) {
            open_to_all(&path, directory.path())?;
        }
        for user in ["root", "nobody", "www-data", ""] {
            let user = format!("--user={user}");
            let arguments = ["--no-defaults", "--protocol=socket", &by_socket, &user, "--execute=SELECT 1"];
            assert_refused(&user, &as_another_user("mariadb", &arguments)?, &["Access denied"]);
        }
    }
    Ok(())
}

/// Lets all users reach a file below `top`.
fn open_to_all(path: &Path, top: &Path) -> std::io::Result<()> {
    for directory in path.ancestors().skip(1).take_while(|directory| directory.starts_with(top)) {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// PostgreSQL: no user logs in without the password.
pub fn postgres() -> Result<(), Failed> {
    let (workload, variant) = resolve("postgres")?;
    let directory = TestDirectory::new()?;
    let server = Instance::start(&workload, &variant, &directory.options()?)?;
    let port = server.address().port().to_string();
    for user in ["showdown", "postgres", "nobody", "root"] {
        let arguments =
            ["--no-password", "--host=127.0.0.1", "--port", &port, "--command=SELECT 1", "template1", user];
        assert_refused(user, &as_another_user("psql", &arguments)?, &["no password supplied"]);
    }
    Ok(())
}

/// Redis: no command without the password.
pub fn redis() -> Result<(), Failed> {
    let (workload, variant) = resolve("redis")?;
    let directory = TestDirectory::new()?;
    let server = Instance::start(&workload, &variant, &directory.options()?)?;
    let mut connection = TcpStream::connect(server.address())?;
    connection.set_read_timeout(Some(Duration::from_secs(10)))?;
    for command in ["CONFIG GET dir", "GET key-0", "SHUTDOWN", "INFO"] {
        connection.write_all(format!("{command}\r\n").as_bytes())?;
        let mut reply = [0; 512];
        let length = connection.read(&mut reply)?;
        let reply = String::from_utf8_lossy(&reply[..length]);
        assert!(reply.starts_with("-NOAUTH"), "{command}: {reply}");
    }
    Ok(())
}

/// memcached has no accounts: the commands that stop it, or discard or list all keys, are off.
pub fn memcached() -> Result<(), Failed> {
    let (workload, variant) = resolve("memcached")?;
    let directory = TestDirectory::new()?;
    let server = Instance::start(&workload, &variant, &directory.options()?)?;
    let mut connection = TcpStream::connect(server.address())?;
    connection.set_read_timeout(Some(Duration::from_secs(10)))?;
    for command in ["shutdown", "flush_all", "lru_crawler metadump all", "watch fetchers"] {
        connection.write_all(format!("{command}\r\n").as_bytes())?;
        let mut reply = [0; 512];
        let length = connection.read(&mut reply)?;
        let reply = String::from_utf8_lossy(&reply[..length]);
        assert!(reply.starts_with("ERROR") || reply.starts_with("CLIENT_ERROR"), "{command}: {reply}");
    }
    Ok(())
}

/// A mail server delivers each message to the directory of its recipient, and to no path that a client writes.
pub fn maildirs(variant: &str) -> Result<(), Failed> {
    let (workload, variant) = resolve(variant)?;
    let directory = TestDirectory::new()?;
    let options = directory.options()?;
    let server = Instance::start(&workload, &variant, &options)?;
    let mut connection = TcpStream::connect(server.address())?;
    connection.set_read_timeout(Some(Duration::from_secs(30)))?;
    let commands = [
        "EHLO client.example",
        "MAIL FROM:<a@client.example>",
        "RCPT TO:<../../stray@mx.example>",
        "DATA",
        "x\r\n.",
    ];
    for command in commands {
        assert!(connection.read(&mut [0; 2048])? > 0, "an answer before {command}");
        connection.write_all(format!("{command}\r\n").as_bytes())?;
    }
    assert!(connection.read(&mut [0; 2048])? > 0);
    drop(connection);
    let outcome = crate::cycles::load_first_operation(&server, &workload)?;
    let is_message = |path: &PathBuf| path.parent().is_some_and(|new| new.ends_with("new"));
    let deadline = Instant::now() + Duration::from_mins(2);
    loop {
        let boxes = files_below(&server.directory().join("mail")).into_iter().filter(is_message).count();
        if boxes as u64 >= outcome.total.succeeded() {
            break;
        }
        assert!(Instant::now() < deadline, "{boxes} of {} messages are delivered", outcome.total.succeeded());
        thread::sleep(Duration::from_millis(50));
    }
    let stray = files_below(directory.path()).into_iter().find(|path| path.ends_with("stray"));
    assert_eq!(stray, None);
    Ok(())
}
