//! What a thread waits for, from the system call that it is in.

use syscalls::Sysno;

use super::states::WaitKind;

/// A system call that a thread is in, from `/proc/PID/task/TID/syscall`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    /// A system call with its first two arguments.
    System(Sysno, [u64; 2]),
    /// A system call that this program does not know.
    Unknown(usize),
    /// None: the thread was stopped elsewhere, as by a page fault.
    Fault,
}

impl Call {
    /// Reads `NUMBER ARGUMENT…`; numbers are decimal, arguments hexadecimal. None if the thread runs.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let number = words.next()?;
        if number == "-1" {
            return Some(Self::Fault);
        }
        let number: usize = number.parse().ok()?;
        let Some(call) = Sysno::new(number) else { return Some(Self::Unknown(number)) };
        let mut argument = || {
            let word = words.next()?.strip_prefix("0x")?;
            u64::from_str_radix(word, 16).ok()
        };
        Some(Self::System(call, [argument().unwrap_or_default(), argument().unwrap_or_default()]))
    }

    /// Its name.
    pub(crate) fn name(self) -> String {
        match self {
            Self::System(call, _) => call.name().to_owned(),
            Self::Unknown(number) => format!("system call {number}"),
            Self::Fault => "page fault".to_owned(),
        }
    }

    /// What it waits for. `target` finds what a descriptor is, as in `/proc/PID/fd`.
    pub(crate) fn kind(self, is_uninterruptible: bool, target: impl Fn(u64) -> Option<String>) -> WaitKind {
        let (name, arguments) = match self {
            Self::System(call, arguments) => (call.name(), arguments),
            Self::Fault if is_uninterruptible => return WaitKind::Memory,
            Self::Fault | Self::Unknown(_) => return WaitKind::Other,
        };
        let of_descriptor = |file: WaitKind| match target(arguments[0]) {
            Some(target) if target.starts_with("socket:") => WaitKind::Socket,
            Some(target) if target.starts_with("pipe:") => WaitKind::Pipe,
            Some(target) if target.starts_with("anon_inode:") => WaitKind::Events,
            Some(_) => file,
            None => WaitKind::Unknown,
        };
        match name {
            "futex" | "futex_waitv" | "futex_wait" => WaitKind::Futex,
            "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "poll" | "ppoll" | "select" | "pselect6"
            | "io_uring_enter" | "io_getevents" | "io_pgetevents" => WaitKind::Events,
            "accept" | "accept4" => WaitKind::Accept,
            "recvfrom" | "recvmsg" | "recvmmsg" | "sendto" | "sendmsg" | "sendmmsg" | "connect" => {
                WaitKind::Socket
            }
            // From a file to a connection: a wait for the disk cannot be interrupted.
            "sendfile" if is_uninterruptible => WaitKind::FileRead,
            "read" | "readv" => of_descriptor(WaitKind::FileRead),
            "pread64" | "preadv" | "preadv2" | "open" | "openat" | "openat2" | "stat" | "newfstatat"
            | "statx" | "getdents64" => WaitKind::FileRead,
            "write" | "writev" | "sendfile" | "splice" => of_descriptor(WaitKind::FileWrite),
            "pwrite64" | "pwritev" | "pwritev2" | "copy_file_range" | "fallocate" | "ftruncate"
            | "unlink" | "unlinkat" | "rename" | "renameat" | "renameat2" => WaitKind::FileWrite,
            "fsync" | "fdatasync" | "msync" | "sync" | "syncfs" | "sync_file_range" => WaitKind::Flush,
            "flock" | "semop" | "semtimedop" => WaitKind::FileLock,
            "fcntl" if matches!(arguments[1], 7 | 38) => WaitKind::FileLock,
            "nanosleep" | "clock_nanosleep" => WaitKind::Sleep,
            "wait4" | "waitid" => WaitKind::Child,
            "rt_sigsuspend" | "rt_sigtimedwait" | "pause" => WaitKind::Signal,
            "mmap" | "munmap" | "madvise" | "mprotect" | "brk" | "mremap" => WaitKind::Memory,
            _ => WaitKind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &str) -> Call {
        let number = name.parse::<Sysno>().expect("a system call").id();
        Call::parse(&format!("{number} {arguments} 0x0 0x7ffd 0x7f00")).expect("a thread that waits")
    }

    fn kind(call: Call, target: &str) -> WaitKind {
        call.kind(false, |_| Some(target.to_owned()))
    }

    #[test]
    fn a_read_waits_for_what_its_descriptor_is() {
        let read = call("read", "0x7 0x0");
        assert_eq!(kind(read, "socket:[1234]"), WaitKind::Socket);
        assert_eq!(kind(read, "pipe:[1234]"), WaitKind::Pipe);
        assert_eq!(kind(read, "/var/lib/data"), WaitKind::FileRead);
        assert_eq!(read.kind(false, |_| None), WaitKind::Unknown);
        let seen = std::cell::Cell::new(0);
        let _ = read.kind(false, |descriptor| {
            seen.set(descriptor);
            None
        });
        assert_eq!(seen.get(), 7);
    }

    #[test]
    fn calls_have_names_and_kinds() {
        let fdatasync = call("fdatasync", "0x3 0x0");
        assert_eq!((fdatasync.name().as_str(), kind(fdatasync, "")), ("fdatasync", WaitKind::Flush));
        assert_eq!(kind(call("fcntl", "0x3 0x7"), ""), WaitKind::FileLock);
        assert_eq!(kind(call("fcntl", "0x3 0x1"), ""), WaitKind::Other);
        assert_eq!(call("sendfile", "0x3 0x4").kind(true, |_| None), WaitKind::FileRead);
    }

    #[test]
    fn a_fault_and_a_running_thread_are_no_system_calls() {
        assert_eq!(Call::parse("running"), None);
        assert_eq!(Call::parse("-1 0x7ffd 0x7f00"), Some(Call::Fault));
        assert_eq!(Call::Fault.kind(true, |_| None), WaitKind::Memory);
        assert_eq!(Call::parse("99999 0x0"), Some(Call::Unknown(99999)));
        assert_eq!(Call::parse(""), None);
    }
}
