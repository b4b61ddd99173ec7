//! Calls of the C library that take longer in a second server: the file that its library (`delays/library.rs`) maps, what is set
//! in it, and what was done. When a delay is set, and what follows from it, is left to the study.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;
use std::time::Duration;

use host::scratch::ScratchDirectory;
use rustix::process::geteuid;
use tempfile::TempDir;

/// The library.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/delays.so"));

/// The variable that has the path of the file.
pub const VARIABLE: &str = "SHOWDOWN_DELAYS";

/// Words of the file for each of its purposes: settings, the time of calls, and the time that was added.
const KINDS: u64 = 4;
const WORD: u64 = 8;
/// Random letters and digits of a name: 190 bits.
const NAME_LENGTH: usize = 32;
/// A setting of this is a whole more.
const WHOLE: f64 = 1024.0;

/// Calls that can take longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DelayedCall {
    /// `fsync`, `fdatasync`, by a share of their time.
    Flush,
    /// `nanosleep` and others, by a share of their time.
    Sleep,
    /// `getaddrinfo`, by a share of its time.
    Lookup,
    /// `pthread_mutex_unlock` where others wait for the lock, by a time.
    Unlock,
}

/// How much longer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Delay {
    /// Nothing.
    None,
    /// By a share of the time that each call takes, for all but [`DelayedCall::Unlock`].
    Share(f64),
    /// By this time, for [`DelayedCall::Unlock`].
    Time(Duration),
}

/// What was done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delayed {
    /// The time of all calls without what was added, nanoseconds; of unlocks their number.
    called: u64,
    /// The time that was added, nanoseconds.
    added: u64,
}

/// The library with its file, in a directory of their own that is removed with this, or by the next start.
#[derive(Debug)]
pub struct Delays {
    folder: TempDir,
    words: File,
    /// Dropped after the folder, which is in it.
    _scratch: ScratchDirectory,
}

impl DelayedCall {
    fn place(self) -> u64 {
        match self {
            Self::Flush => 0,
            Self::Sleep => 1,
            Self::Lookup => 2,
            Self::Unlock => 3,
        }
    }
}

impl Delays {
    /// Writes the library and its file. A server may have a user of its own, whom only the server's start knows: then the file
    /// may be written by who knows its path. No user but root can list the directory with the folder of a random name, and only
    /// the server's user and root can read the path from the server's environment.
    pub fn create() -> io::Result<Self> {
        let scratch = ScratchDirectory::create()?;
        fs::set_permissions(scratch.path(), Permissions::from_mode(0o711))?;
        let is_root = geteuid().is_root();
        let rights = |of_root, of_user| Permissions::from_mode(if is_root { of_root } else { of_user });
        let folder = tempfile::Builder::new()
            .prefix("")
            .rand_bytes(NAME_LENGTH)
            .permissions(rights(0o711, 0o700))
            .tempdir_in(scratch.path())?;
        let made = Self { words: File::create_new(folder.path().join("words"))?, folder, _scratch: scratch };
        made.words.set_len(3 * KINDS * WORD)?;
        made.words.set_permissions(rights(0o666, 0o600))?;
        fs::write(made.library(), LIBRARY)?;
        fs::set_permissions(made.library(), Permissions::from_mode(0o755))?;
        Ok(made)
    }

    /// The library, for `LD_PRELOAD`.
    pub fn library(&self) -> PathBuf {
        self.folder.path().join("delays.so")
    }

    /// The file, for `SHOWDOWN_DELAYS`.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("words")
    }

    /// Makes calls take longer from now on.
    pub fn set(&self, call: DelayedCall, delay: Delay) -> io::Result<()> {
        let value = match delay {
            Delay::None => 0,
            Delay::Share(share) => (share * WHOLE).round() as u64,
            Delay::Time(time) => time.as_nanos() as u64,
        };
        self.words.write_all_at(&value.to_ne_bytes(), call.place() * WORD)
    }

    /// What was done so far.
    pub fn done(&self, call: DelayedCall) -> io::Result<Delayed> {
        let word = |purpose: u64| {
            let mut bytes = [0; WORD as usize];
            self.words.read_exact_at(&mut bytes, (purpose * KINDS + call.place()) * WORD)?;
            Ok::<_, io::Error>(u64::from_ne_bytes(bytes))
        };
        Ok(Delayed { called: word(1)?, added: word(2)? })
    }
}

impl Delayed {
    /// What was left of the speed of these calls since then, 0 to 1: their time over that with what was added.
    pub fn speed_left(self, before: Self) -> f64 {
        let [called, added] = self.since(before);
        if called > 0.0 { called / (called + added) } else { 1.0 }
    }

    /// What was left of the capacity of a lock since then, 0 to 1, if it is the limit: `1/X′ = 1/X + added`. That is for so many
    /// operations, each of which takes the time `1/X` of the lock without delays.
    pub fn lock_left(self, before: Self, operations: u64, operation: Duration) -> f64 {
        let [_, added] = self.since(before);
        let added_ns = added / operations.max(1) as f64;
        let operation_ns = operation.as_nanos() as f64;
        operation_ns / (operation_ns + added_ns).max(1.0)
    }

    fn since(self, before: Self) -> [f64; 2] {
        [self.called.saturating_sub(before.called) as f64, self.added.saturating_sub(before.added) as f64]
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Instant;

    use super::*;

    /// Runs a command with the library; returns what was done.
    fn run(call: DelayedCall, delay: Delay, words: &[&str]) -> (Delayed, Duration) {
        let delays = Delays::create().unwrap();
        delays.set(call, delay).unwrap();
        let begin = Instant::now();
        let status = Command::new(words[0])
            .args(&words[1..])
            .env("LD_PRELOAD", delays.library())
            .env(VARIABLE, delays.file())
            .status()
            .unwrap();
        assert!(status.success());
        (delays.done(call).unwrap(), begin.elapsed())
    }

    /// A user who is neither root nor the server's.
    #[test]
    fn another_user_finds_no_file_to_write_to() {
        let delays = Delays::create().unwrap();
        let scratch = delays.folder.path().parent().unwrap();
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(scratch) & 0o044, 0, "nobody else lists it: {:o}", mode(scratch));
        let name = delays.folder.path().file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(name.len(), NAME_LENGTH, "{name}");
        if !geteuid().is_root() {
            assert_eq!(mode(&delays.file()), 0o600);
            return;
        }
        let as_nobody = |words: &[&str]| {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).args(words);
            command.output().unwrap()
        };
        let listed = as_nobody(&["ls", "-R", &scratch.to_string_lossy()]);
        assert!(!listed.status.success() && listed.stdout.is_empty(), "{listed:?}");
        // Who knows the path is the server: it can use it.
        let file = delays.file().display().to_string();
        assert!(
            as_nobody(&["dd", "if=/dev/zero", &format!("of={file}"), "count=0", "conv=notrunc"])
                .status
                .success()
        );
    }

    const NOTHING: Delayed = Delayed { called: 0, added: 0 };

    #[test]
    fn a_sleep_takes_longer_by_a_share() {
        let (done, took) = run(DelayedCall::Sleep, Delay::Share(1.0), &["sleep", "0.1"]);
        assert!(done.called >= 100_000_000 && done.added >= 100_000_000, "{done:?}");
        assert!(took >= Duration::from_millis(200));
        assert!((done.speed_left(NOTHING) - 0.5).abs() < 0.2, "{done:?}");
    }

    #[test]
    fn without_a_delay_calls_are_counted_and_nothing_is_added() {
        let (done, _) = run(DelayedCall::Flush, Delay::None, &["sync", "--data", "/proc/self/exe"]);
        assert_eq!(done.added, 0);
        assert!((done.speed_left(NOTHING) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_capacity_of_a_lock_follows_the_time_that_was_added() {
        let done = Delayed { called: 1000, added: 50_000_000 };
        // 1,000 operations, each 50 µs longer, at 200 µs each.
        let operation = Duration::from_micros(200);
        assert!((done.lock_left(NOTHING, 1000, operation) - 0.8).abs() < 1e-9);
        assert!((NOTHING.lock_left(NOTHING, 1000, operation) - 1.0).abs() < 1e-9);
    }
}
