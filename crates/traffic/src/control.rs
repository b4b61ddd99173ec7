//! A run from outside: how it stands, and its end, by anybody who may. Who may is who can write to the socket of the run, or to its journal
//! where the run is dead. An abort works also if the run hangs: the balancer is then asked directly.

use std::fs::{self, File, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::net::sockopt::socket_peercred;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::journal::{self, AddedServer, JournalError, JournalState, ShiftJournal};
use crate::lease::protocol::{LeaseRecord, RECORD_NAME};
use crate::name::Name;
use crate::observation::{Alarm, Window};
use crate::recovery::{self, REMOVE_LIMIT, Recovered};

/// The socket of a run, and the folder for it in the directory of the run. The group may write to the socket, and a journal is not trusted
/// if others may write to anything beside it.
const CONTROL_FOLDER: &str = "control";
const CONTROL_NAME: &str = "control.sock";

/// The last window of a run, in its directory.
const WINDOW_NAME: &str = "window.json";

/// The largest of these files that is read.
const MOST_BYTES: u64 = 16 << 20;

/// What is sent to the socket to end a run. The answer is the same word, and another one when the servers of the run get nothing more.
const ABORT: &[u8] = b"abort\n";
const OUT: &[u8] = b"out\n";

/// What is sent to the socket to learn how the run stands. The answer is a [`Status`] as JSON.
const STATUS: &[u8] = b"status\n";

/// The longest word that is read.
const MOST_WORD_BYTES: u64 = 16;

/// How long somebody who connects may take, and how often the thread looks whether it shall end.
const TALK_LIMIT: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long a run that was asked to end may take until its servers are out. Then the balancer is asked directly.
const ABORT_LIMIT: Duration = Duration::from_secs(5);

/// The socket by which a run is shown and ended. It ends when this is dropped.
#[derive(Debug)]
pub struct Control {
    requests: Receiver<String>,
    path: PathBuf,
    is_over: Arc<AtomicBool>,
    is_out: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The path of a socket may have 107 bytes, that of a directory more: the kernel finds it by the open directory.
fn socket_below(directory: &Path) -> io::Result<(File, PathBuf)> {
    let open = File::open(directory.join(CONTROL_FOLDER))?;
    let path = Path::new("/proc/self/fd").join(open.as_raw_fd().to_string()).join(CONTROL_NAME);
    Ok((open, path))
}

impl Control {
    /// Listens in the directory of a run. Its journal is locked by then, so that a socket there is of a dead run.
    pub fn serve(directory: &Path) -> io::Result<Self> {
        let folder = directory.join(CONTROL_FOLDER);
        fs::create_dir_all(&folder)?;
        // Whatever the umask is: the group reaches the socket, and cannot replace it.
        fs::set_permissions(&folder, Permissions::from_mode(0o755))?;
        let path = folder.join(CONTROL_NAME);
        let _ = fs::remove_file(&path);
        let (_open, short) = socket_below(directory)?;
        let listener = UnixListener::bind(&short)?;
        fs::set_permissions(&path, Permissions::from_mode(0o660))?;
        listener.set_nonblocking(true)?;
        let (sender, requests) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let is_out = Arc::new(AtomicBool::new(false));
        let (ends, out) = (Arc::clone(&is_over), Arc::clone(&is_out));
        let directory = directory.to_owned();
        let thread = thread::Builder::new().name("sd-control".to_owned()).spawn(move || {
            let mut waiting = Vec::new();
            while !ends.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => waiting.extend(answer(stream, &sender, &directory).ok().flatten()),
                    Err(_) => thread::sleep(POLL_INTERVAL),
                }
                if out.load(Ordering::Relaxed) {
                    for mut stream in waiting.drain(..) {
                        let _ = stream.write_all(OUT);
                    }
                }
            }
        })?;
        Ok(Self { requests, path, is_over, is_out, thread: Some(thread) })
    }

    /// Who wants the run to end, if anybody has asked since the last call.
    pub fn abort_request(&self) -> Option<String> {
        self.requests.try_recv().ok()
    }

    /// The servers of the run have weight 0, as read back, and will not get another one: whoever has asked for the end hears it.
    pub fn say_out(&self) {
        self.is_out.store(true, Ordering::Relaxed);
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = fs::remove_file(&self.path);
    }
}

/// Answers who connects. One who has asked for the end waits for the second word.
fn answer(
    mut stream: UnixStream,
    requests: &Sender<String>,
    directory: &Path,
) -> io::Result<Option<UnixStream>> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(TALK_LIMIT))?;
    stream.set_write_timeout(Some(TALK_LIMIT))?;
    let mut word = Vec::new();
    BufReader::new(&stream).take(MOST_WORD_BYTES).read_until(b'\n', &mut word)?;
    if word == STATUS {
        let status = read_status(directory).map_err(io::Error::other)?;
        stream.write_all(&serde_json::to_vec(&status)?)?;
        return Ok(None);
    }
    if word != ABORT {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let who = socket_peercred(&stream)?;
    let who = format!("pid {} of user ID {}", who.pid.as_raw_pid(), who.uid.as_raw());
    let _ = requests.send(who);
    stream.write_all(ABORT)?;
    Ok(Some(stream))
}

/// Asks the run in this directory for something.
fn ask(directory: &Path, word: &[u8]) -> io::Result<UnixStream> {
    let (_open, path) = socket_below(directory)?;
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(TALK_LIMIT))?;
    stream.set_write_timeout(Some(TALK_LIMIT))?;
    stream.write_all(word)?;
    Ok(stream)
}

/// Asks the run in this directory to end, and waits until its servers get nothing more. False if it has heard that and does not do it in
/// time.
fn ask_to_abort(directory: &Path) -> io::Result<bool> {
    let mut stream = ask(directory, ABORT)?;
    let mut word = [0; ABORT.len()];
    stream.read_exact(&mut word)?;
    stream.set_read_timeout(Some(ABORT_LIMIT))?;
    let mut word = [0; OUT.len()];
    Ok(stream.read_exact(&mut word).is_ok())
}

/// A server in the last second of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct LastOfServer {
    pub server: String,
    pub weight: Option<u32>,
    pub requests: u64,
    pub failed: u64,
    pub in_progress: u64,
}

/// The last second that a run has seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct LastSecond {
    pub second: u64,
    pub alarms: Vec<String>,
    pub servers: Vec<LastOfServer>,
}

impl LastSecond {
    fn of(window: &Window) -> Self {
        let mut servers = Vec::new();
        for server in &window.servers {
            servers.push(LastOfServer {
                server: server.server.clone(),
                weight: server.weight,
                requests: server.requests,
                failed: server.failed.total(),
                in_progress: server.in_progress,
            });
        }
        let alarms = window.alarms.iter().map(Alarm::to_string).collect();
        Self { second: window.second, alarms, servers }
    }
}

/// A server that a run has added and not removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct AddedStatus {
    pub server: Name,
    pub weight: u32,
    pub is_withdrawn: bool,
}

/// A server that was there before, and whose weight a run has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct ChangedStatus {
    pub server: Name,
    pub weight: u32,
    pub weight_before: u32,
}

/// How a run stands.
#[derive(Debug, Serialize, Deserialize)]
pub struct Status {
    /// Whether its process runs.
    pub is_running: bool,
    /// Its process.
    pub pid: Option<u32>,
    /// The balancer's admin socket. None if nothing has to be undone.
    pub socket: Option<PathBuf>,
    /// The backend.
    pub backend: Option<String>,
    /// When it has begun, in seconds since 1970.
    pub since_s: Option<u64>,
    /// Servers that it has added and not removed, as its journal says.
    pub added: Vec<AddedStatus>,
    /// Servers that were there before and have another weight now, as its journal says.
    pub changed: Vec<ChangedStatus>,
    /// The folder of its record. None before the run has one.
    pub record: Option<PathBuf>,
    /// The last second that the run has seen.
    pub last_second: Option<LastSecond>,
    /// What the process of its lease has done, if the lease was lost.
    pub lease: Option<LeaseRecord>,
}

/// How the run of this directory stands. None if there was none. Who may not trust the journal, because another user owns it, hears it from
/// the run.
pub fn status(directory: &Path) -> Result<Option<Status>, JournalError> {
    match read_status(directory) {
        Err(error) => match ask(directory, STATUS) {
            Ok(stream) => serde_json::from_reader(stream.take(MOST_BYTES)).map_err(|_| error),
            Err(_) => Err(error),
        },
        read => read,
    }
}

fn read_status(directory: &Path) -> Result<Option<Status>, JournalError> {
    let Some(state) = journal::read(directory)? else { return Ok(None) };
    let opened = state.opened.as_ref();
    Ok(Some(Status {
        is_running: opened.is_some() && state.owner.is_some_and(host::process::ProcessId::is_alive),
        pid: state.owner.map(|owner| owner.pid),
        socket: opened.map(|opened| opened.socket.clone()),
        backend: opened.map(|opened| opened.backend.to_string()),
        since_s: opened.map(|opened| opened.at_s),
        added: state.added.iter().map(added_status).collect(),
        changed: changed_statuses(&state),
        record: state.record.clone(),
        last_second: read_json(&directory.join(WINDOW_NAME)),
        lease: read_json(&directory.join(RECORD_NAME)),
    }))
}

fn added_status(added: &AddedServer) -> AddedStatus {
    AddedStatus { server: added.server.name.clone(), weight: added.weight, is_withdrawn: added.is_withdrawn }
}

fn changed_statuses(state: &JournalState) -> Vec<ChangedStatus> {
    let Some(opened) = &state.opened else { return Vec::new() };
    let mut changed = Vec::new();
    for (server, set) in &state.changed {
        if let Some(before) = opened.weights.get(server.as_str())
            && *before != set.weight
        {
            let weight = set.weight;
            changed.push(ChangedStatus { server: server.clone(), weight, weight_before: *before });
        }
    }
    changed
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_reader(File::open(path).ok()?.take(MOST_BYTES)).ok()
}

/// Writes down the last window, for [`status`]. It is no record: nothing is lost if it cannot be written.
pub fn write_window(directory: &Path, window: &Window) {
    let Ok(mut file) = tempfile::NamedTempFile::new_in(directory) else { return };
    if serde_json::to_writer(&mut file, &LastSecond::of(window)).is_ok() {
        let _ = file.persist(directory.join(WINDOW_NAME));
    }
}

/// Removes what an earlier run in this directory has left for [`status`].
pub fn forget_earlier(directory: &Path) {
    for name in [WINDOW_NAME, RECORD_NAME] {
        let _ = fs::remove_file(directory.join(name));
    }
}

/// Ends the run of a directory: its servers get weight 0 and go out of service. Where the run works, it does this itself; where it is dead,
/// its journal says what has to be done; where it hangs, the balancer is asked past it.
pub fn abort(directory: &Path) -> Result<Recovered, JournalError> {
    // Before the journal is read: its owner and root alone may do that, and everybody who may connect to the socket may end a run.
    let asked = ask_to_abort(directory);
    if matches!(asked, Ok(true)) {
        let done = "the run has taken its servers out".to_owned();
        return Ok(Recovered { done: vec![done], ..Recovered::default() });
    }
    let Some(before) = journal::read(directory)? else { return Ok(Recovered::default()) };
    if before.opened.is_none() {
        return Ok(Recovered::default());
    }
    match ShiftJournal::lock(directory) {
        Ok(mut journal) => recovery::recover(&mut journal, REMOVE_LIMIT),
        Err(JournalError::Busy { .. }) => {
            let mut recovered = recovery::recover_unlocked(&before);
            if asked.is_ok() && recovered.done.is_empty() && recovered.is_complete() {
                // Such as one that waits for the answer of a person.
                recovered
                    .done
                    .push("the run has added no server, and ends before it raises a weight".to_owned());
            }
            Ok(recovered)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, chown};

    use super::*;
    use crate::journal::{JournalLine, Opened};
    use crate::observation::BalancerIdentity;

    #[test]
    fn who_asks_for_the_end_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("x".repeat(120));
        fs::create_dir(&deep).unwrap();
        assert!(ask_to_abort(&deep).is_err());
        let control = Control::serve(&deep).unwrap();
        assert_eq!(control.abort_request(), None);
        control.say_out();
        assert!(ask_to_abort(&deep).unwrap());
        let request = control.abort_request().unwrap();
        assert!(request.contains(&format!("pid {} of user ID", std::process::id())), "{request}");
        drop(control);
        assert!(ask_to_abort(&deep).is_err());
        assert!(!deep.join(CONTROL_FOLDER).join(CONTROL_NAME).exists());
    }

    /// The journal of a run that has raised the old server's weight.
    fn begin(directory: &Path) -> ShiftJournal {
        let (algorithm, version) = ("roundrobin".to_owned(), "HAProxy 2.6".to_owned());
        let identity = BalancerIdentity { pid: 7, started_s: 1, algorithm, version, master: None };
        let (socket, backend) = (directory.join("admin.sock"), "b".parse().unwrap());
        let weights = [("old1".to_owned(), 1)].into();
        let mut journal = ShiftJournal::lock(directory).unwrap();
        journal.begin(Opened { socket, backend, identity, weights, at_s: 5 }).unwrap();
        let line = JournalLine::Setting { server: "old1".parse().unwrap(), weight: 64, at_s: 6 };
        journal.write(line).unwrap();
        journal
    }

    #[test]
    fn a_socket_that_a_shared_group_may_use_does_not_spoil_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        let journal = begin(dir.path());
        let control = Control::serve(dir.path()).unwrap();
        let folder = dir.path().join(CONTROL_FOLDER);
        let socket = folder.join(CONTROL_NAME);
        assert_eq!(fs::metadata(&socket).unwrap().mode() & 0o777, 0o660);
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o755);
        // Not a private group of this user, whatever this machine has: then nothing beside the journal may be writable by it.
        for entry in fs::read_dir(dir.path()).unwrap().flatten() {
            assert_eq!(entry.metadata().unwrap().mode() & 0o022, 0, "{}", entry.path().display());
        }
        // After SIGKILL the socket is still there.
        std::mem::forget(control);
        drop(journal);
        if rustix::process::geteuid().is_root() {
            chown(&socket, None, Some(4_242)).unwrap();
        }
        assert!(ShiftJournal::lock(dir.path()).is_ok());
    }

    #[test]
    fn a_run_tells_its_status_also_to_those_who_may_not_read_its_journal() {
        let dir = tempfile::tempdir().unwrap();
        let _journal = begin(dir.path());
        let control = Control::serve(dir.path()).unwrap();
        let asked: Status = serde_json::from_reader(ask(dir.path(), STATUS).unwrap()).unwrap();
        let read = status(dir.path()).unwrap().unwrap();
        assert_eq!(serde_json::to_value(&asked).unwrap(), serde_json::to_value(&read).unwrap());
        assert_eq!((asked.changed[0].weight, asked.changed[0].weight_before), (64, 1));
        assert_eq!(control.abort_request(), None, "nobody has asked for the end");
    }

    #[test]
    fn an_abort_is_done_when_the_servers_are_out_and_does_not_need_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        let journal = dir.path().join(journal::JOURNAL_NAME);
        fs::write(&journal, "").unwrap();
        // As that of another user: it cannot be trusted, and this process need not read it.
        fs::set_permissions(&journal, Permissions::from_mode(0o666)).unwrap();
        assert!(abort(dir.path()).is_err(), "there is no run to ask");
        let control = Control::serve(dir.path()).unwrap();
        let directory = dir.path().to_owned();
        let asking = thread::spawn(move || abort(&directory));
        while control.abort_request().is_none() {
            thread::sleep(POLL_INTERVAL);
        }
        assert!(!asking.is_finished(), "the candidate still has its weight");
        control.say_out();
        let recovered = asking.join().unwrap().unwrap();
        assert_eq!(recovered.done, ["the run has taken its servers out"]);
    }

    #[test]
    fn where_nothing_was_begun_nothing_is_undone() {
        let dir = tempfile::tempdir().unwrap();
        assert!(status(dir.path()).unwrap().is_none());
        assert!(abort(dir.path()).unwrap().done.is_empty());
    }
}
