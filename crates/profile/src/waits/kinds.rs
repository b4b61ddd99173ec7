//! What a thread waits for, from the functions on its stack, and whether it waits for work.

use crate::stacks::{Frame, FrameKind, called_name};
use crate::threads::WaitKind;

/// Functions of the kernel by what they wait for. The innermost function of a stack that is here decides.
const KERNEL: &[(WaitKind, &[&str])] = &[
    (
        WaitKind::Futex,
        &[
            "futex_do_wait",
            "futex_wait_queue",
            "futex_wait_queue_me",
            "futex_wait",
            "__futex_wait",
            "futex_lock_pi",
            "do_futex",
        ],
    ),
    (
        WaitKind::Accept,
        &["inet_csk_wait_for_connect", "inet_csk_accept", "unix_accept", "do_accept", "__sys_accept4"],
    ),
    (
        WaitKind::Events,
        &[
            "ep_poll",
            "do_epoll_wait",
            "do_poll",
            "do_sys_poll",
            "do_select",
            "core_sys_select",
            "io_cqring_wait",
            "read_events",
            "eventfd_read",
        ],
    ),
    (
        WaitKind::Pipe,
        &[
            "pipe_read",
            "pipe_write",
            "anon_pipe_read",
            "anon_pipe_write",
            "pipe_wait_readable",
            "pipe_wait_writable",
            "wait_for_partner",
        ],
    ),
    (
        WaitKind::Socket,
        &[
            "sk_wait_data",
            "sk_stream_wait_memory",
            "sock_recvmsg",
            "sock_sendmsg",
            "__sock_sendmsg",
            "sock_read_iter",
            "sock_write_iter",
            "unix_stream_data_wait",
            "inet_wait_for_connect",
            "__inet_stream_connect",
            "__sys_recvfrom",
            "__sys_sendto",
            "__sys_connect",
        ],
    ),
    (
        WaitKind::Flush,
        &[
            "ext4_sync_file",
            "xfs_file_fsync",
            "btrfs_sync_file",
            "vfs_fsync_range",
            "do_fsync",
            "__do_sys_fdatasync",
            "__x64_sys_fdatasync",
            "__x64_sys_fsync",
            "__arm64_sys_fdatasync",
            "__arm64_sys_fsync",
            "ksys_sync",
            "ksys_sync_file_range",
            "__do_sys_msync",
            "__x64_sys_msync",
        ],
    ),
    (WaitKind::Sleep, &["do_nanosleep", "hrtimer_nanosleep", "common_nsleep"]),
    (WaitKind::Child, &["do_wait", "kernel_wait4", "kernel_waitid"]),
    (WaitKind::Signal, &["sigsuspend", "do_sigtimedwait", "__x64_sys_pause", "__do_sys_pause"]),
    (
        WaitKind::FileLock,
        &[
            "flock_lock_inode_wait",
            "posix_lock_inode_wait",
            "do_lock_file_wait",
            "locks_lock_inode_wait",
            "fcntl_setlk",
            "do_semtimedop",
            "__do_semtimedop",
        ],
    ),
    (
        WaitKind::Memory,
        &[
            "exc_page_fault",
            "do_user_addr_fault",
            "handle_mm_fault",
            "vm_mmap_pgoff",
            "__vm_munmap",
            "do_mprotect_pkey",
            "do_madvise",
            "__do_sys_brk",
        ],
    ),
    (
        WaitKind::FileRead,
        &[
            "filemap_read",
            "vfs_read",
            "vfs_readv",
            "vfs_iter_read",
            "do_sendfile",
            "splice_direct_to_actor",
            "do_sys_openat2",
            "vfs_statx",
            "iterate_dir",
        ],
    ),
    (
        WaitKind::FileWrite,
        &[
            "vfs_write",
            "vfs_writev",
            "generic_perform_write",
            "vfs_fallocate",
            "do_ftruncate",
            "do_sys_ftruncate",
            "do_renameat2",
            "do_unlinkat",
        ],
    ),
];

/// Parts of names of functions that take locks, and of those that wait for a condition.
const LOCKS: &[&str] = &["mutex", "rwlock", "rw_lock", "lll_lock", "spin_lock"];
const CONDITIONS: &[&str] = &[
    "cond_wait",
    "cond_timedwait",
    "cond_clockwait",
    "sem_wait",
    "sem_timedwait",
    "sem_clockwait",
    "pthread_join",
    "pthread_clockjoin",
    "pthread_timedjoin",
    "barrier_wait",
    // Of Rust and of the JVM.
    "condvar",
    "::park",
    "Unsafe_Park",
];

/// Functions of the C library that are what a wait within them is for, whatever they wait with: a socket, a lock, a thread.
const LIBRARY: &[(WaitKind, &[&str])] = &[
    (
        WaitKind::Lookup,
        &[
            "getaddrinfo",
            "getnameinfo",
            "gethostbyname",
            "gethostbyname2",
            "gethostbyname_r",
            "gethostbyname2_r",
            "gethostbyaddr",
            "gethostbyaddr_r",
            "res_nquery",
            "res_nsearch",
            "res_query",
            "res_search",
        ],
    ),
    (WaitKind::Flush, &["fsync", "fdatasync", "msync", "syncfs", "sync_file_range"]),
];

/// Functions of the program that are looked at, from the inside: a lock's library may have some around the system call.
const NEAR: usize = 6;

/// What the kernel's functions wait for, innermost first. None if there are none.
pub(super) fn of_kernel<'n>(functions: impl Iterator<Item = &'n str>) -> Option<WaitKind> {
    let mut any = None;
    for name in functions {
        // The compiler's copies: `do_poll.constprop.0`.
        let name = name.split('.').next().unwrap_or(name);
        if let Some((kind, _)) = KERNEL.iter().find(|(_, names)| names.contains(&name)) {
            return Some(*kind);
        }
        any = Some(WaitKind::Other);
    }
    any
}

/// What a stack waits for; its functions are outermost first.
pub(super) fn of_stack(known: Option<WaitKind>, frames: &[Frame], is_preempted: bool) -> WaitKind {
    if is_preempted {
        return WaitKind::Cpu;
    }
    let inside =
        |kind| frames.iter().rev().filter(move |frame| frame.kind == kind).map(|frame| frame.name.as_str());
    if let Some(kind) = of_library(inside(FrameKind::User)) {
        return kind;
    }
    let kind = known.or_else(|| of_kernel(inside(FrameKind::Kernel))).unwrap_or(WaitKind::Unknown);
    if kind == WaitKind::Futex { of_callers(inside(FrameKind::User)) } else { kind }
}

/// What a function of the C library is for, if the stack has one that tells.
fn of_library<'n>(mut functions: impl Iterator<Item = &'n str>) -> Option<WaitKind> {
    functions.find_map(|name| {
        let name = called_name(name);
        LIBRARY.iter().find(|(_, names)| names.contains(&name)).map(|(kind, _)| *kind)
    })
}

/// A lock or a condition, by the nearest function that tells.
fn of_callers<'n>(functions: impl Iterator<Item = &'n str>) -> WaitKind {
    let has = |name: &str, parts: &[&str]| parts.iter().any(|part| name.contains(part));
    for name in functions.take(NEAR) {
        if has(name, CONDITIONS) {
            return WaitKind::Condition;
        }
        if has(name, LOCKS) {
            return WaitKind::Lock;
        }
    }
    WaitKind::Futex
}

/// What is known of a wait beside its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Circumstances {
    /// Whether its threads wait nowhere nearer to their start: in the loop from which they begin their work.
    pub is_outermost: bool,
    /// Whether it ends mostly because another thread of the server ends it, and not the network or a timer. None where nobody
    /// knows.
    pub is_ended_by_server: Option<bool>,
}

/// Whether a thread waits for work, and not within it.
pub(super) fn is_idle(kind: WaitKind, it: Circumstances) -> bool {
    match kind {
        // A server waits for its clients here; but one whose processes wake each other waits for locks here, too.
        WaitKind::Events | WaitKind::Accept | WaitKind::Socket | WaitKind::Child | WaitKind::Signal => {
            it.is_outermost || it.is_ended_by_server != Some(true)
        }
        // A queue of work is a condition, and so is the end of somebody else's flush.
        WaitKind::Condition | WaitKind::Futex | WaitKind::Sleep | WaitKind::Pipe => it.is_outermost,
        _ => false,
    }
}

/// Whether a wait of this kind can be one for work.
pub(super) fn may_be_idle(kind: WaitKind) -> bool {
    is_idle(kind, Circumstances { is_outermost: true, is_ended_by_server: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(user: &[&str], kernel: &[&str]) -> Vec<Frame> {
        let frame = |kind| move |name: &&str| Frame { name: (*name).to_owned(), module: String::new(), kind };
        user.iter().map(frame(FrameKind::User)).chain(kernel.iter().map(frame(FrameKind::Kernel))).collect()
    }

    #[test]
    fn the_innermost_function_of_the_kernel_decides() {
        for (kernel, kind) in [
            (
                &["do_syscall_64", "__x64_sys_futex", "do_futex", "futex_wait", "futex_do_wait", "schedule"]
                    [..],
                WaitKind::Lock,
            ),
            (&["__x64_sys_read", "ksys_read", "vfs_read", "anon_pipe_read", "schedule"], WaitKind::Pipe),
            (
                &["__x64_sys_read", "vfs_read", "sock_read_iter", "tcp_recvmsg", "sk_wait_data"],
                WaitKind::Socket,
            ),
            (
                &["__x64_sys_pread64", "vfs_read", "ext4_file_read_iter", "filemap_read", "io_schedule"],
                WaitKind::FileRead,
            ),
            (&["__x64_sys_fdatasync", "do_fsync", "ext4_sync_file", "jbd2_log_wait_commit"], WaitKind::Flush),
            (&["__x64_sys_poll", "do_sys_poll", "do_poll.constprop.0", "schedule_timeout"], WaitKind::Events),
            (
                &["asm_exc_page_fault", "exc_page_fault", "do_user_addr_fault", "io_schedule"],
                WaitKind::Memory,
            ),
            (&["do_syscall_64", "__x64_sys_ioctl", "schedule"], WaitKind::Other),
            (&[], WaitKind::Unknown),
        ] {
            let stack = frames(&["main", "handle", "pthread_mutex_lock", "[libc.so.6+0x90]"], kernel);
            assert_eq!(of_stack(None, &stack, false), kind, "{kernel:?}");
            assert_eq!(of_stack(None, &stack, true), WaitKind::Cpu);
        }
    }

    #[test]
    fn callers_tell_a_lock_from_a_condition() {
        let kind = |user: &[&str]| of_stack(Some(WaitKind::Futex), &frames(user, &[]), false);
        assert_eq!(
            kind(&["pthread_cond_wait", "start", "pthread_mutex_lock", "__lll_lock_wait"]),
            WaitKind::Lock
        );
        assert_eq!(
            kind(&["start", "pthread_cond_timedwait", "__futex_abstimed_wait_common"]),
            WaitKind::Condition
        );
        assert_eq!(kind(&["start", "runtime.futex"]), WaitKind::Futex);
    }

    #[test]
    fn a_wait_within_a_lookup_is_for_its_answer() {
        let lookup = frames(
            &["main", "handle", "__GI_getaddrinfo", "[libc.so.6+0x120]", "__GI___poll"],
            &["__x64_sys_poll", "do_sys_poll"],
        );
        assert_eq!(of_stack(Some(WaitKind::Events), &lookup, false), WaitKind::Lookup);
        assert!(!may_be_idle(WaitKind::Lookup));
        let flush = frames(&["main", "commit", "fdatasync", "nanosleep"], &["do_nanosleep"]);
        assert_eq!(of_stack(None, &flush, false), WaitKind::Flush);
    }

    #[test]
    fn an_operation_can_wait_where_work_is_waited_for() {
        let at = |is_outermost, is_ended_by_server| Circumstances { is_outermost, is_ended_by_server };
        assert!(is_idle(WaitKind::Events, at(false, None)));
        assert!(is_idle(WaitKind::Events, at(true, Some(true))));
        // A process that waits for a lock of another one, deep inside of a statement.
        assert!(!is_idle(WaitKind::Events, at(false, Some(true))));
        assert!(is_idle(WaitKind::Condition, at(true, Some(true))));
        assert!(!is_idle(WaitKind::Condition, at(false, Some(true))));
        for kind in [WaitKind::Lock, WaitKind::Flush, WaitKind::FileRead, WaitKind::Cpu, WaitKind::Memory] {
            assert!(!may_be_idle(kind), "{kind:?}");
        }
    }
}
