//! A library that is loaded into a second server (`LD_PRELOAD`), and makes calls of the C library take longer: flushes, sleeps and
//! name lookups by a share of their time, and locks with waiters by a time. How much longer is in a file that the server maps, and
//! so is what was done. Who writes that file, and what follows from it, is left to `src/delays.rs`.
//!
//! It is built by `build.rs` and needs nothing but the C library of the program that it is loaded into. So it works with any of
//! them, and has no standard library.
#![no_std]
#![allow(unsafe_code, reason = "a library that stands for functions of the C library has their interface")]

use core::ffi::{c_char, c_int, c_long, c_void};
use core::mem::transmute;
use core::panic::PanicInfo;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Kinds of calls, by their place in the file.
const FLUSH: usize = 0;
const SLEEP: usize = 1;
const LOOKUP: usize = 2;
const LOCK: usize = 3;
const KINDS: usize = 4;

/// Words for each kind: how much longer, the time of the calls, and the time that was added.
const SETTING: usize = 0;
const CALLED: usize = KINDS;
const ADDED: usize = 2 * KINDS;
const BYTES: usize = 3 * KINDS * 8;

/// A setting of this is a whole more.
const WHOLE: u64 = 1024;

/// A shorter time is counted down and not slept: the kernel's timers are late by as much.
const SHORT_NS: u64 = 60_000;

const O_RDWR: c_int = 2;
const O_CLOEXEC: c_int = 0o2_000_000;
const PROT_READ_WRITE: c_int = 3;
const MAP_SHARED: c_int = 1;
const CLOCK_MONOTONIC: c_int = 1;
const NEXT: *mut c_void = -1_isize as *mut c_void;

#[repr(C)]
struct TimeSpec {
    seconds: c_long,
    nanoseconds: c_long,
}

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn getenv(name: *const c_char) -> *const c_char;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn close(descriptor: c_int) -> c_int;
    fn mmap(at: *mut c_void, size: usize, access: c_int, flags: c_int, of: c_int, from: c_long) -> *mut c_void;
    fn clock_gettime(clock: c_int, time: *mut TimeSpec) -> c_int;
    fn ppoll(files: *mut c_void, count: usize, time: *const TimeSpec, signals: *const c_void) -> c_int;
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// The mapped words; null where there is no file.
static WORDS: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());

/// Called by the loader before the program.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    // SAFETY: the names are C strings; the mapping has the size of the words, is never removed, and words are atomic.
    unsafe {
        let path = getenv(c"SHOWDOWN_DELAYS".as_ptr());
        if path.is_null() {
            return;
        }
        let file = open(path, O_RDWR | O_CLOEXEC);
        if file < 0 {
            return;
        }
        let words = mmap(null_mut(), BYTES, PROT_READ_WRITE, MAP_SHARED, file, 0);
        close(file);
        if words as isize != -1 {
            WORDS.store(words.cast(), Ordering::Release);
        }
    }
}

fn word(index: usize) -> Option<&'static AtomicU64> {
    let words = WORDS.load(Ordering::Acquire);
    // SAFETY: a mapping of 3 * KINDS words that stays; the index is below that.
    (!words.is_null()).then(|| unsafe { &*words.add(index) })
}

/// How much longer calls of a kind take; 0 for no longer.
fn setting(kind: usize) -> u64 {
    word(SETTING + kind).map_or(0, |word| word.load(Ordering::Relaxed))
}

fn add(index: usize, ns: u64) {
    if let Some(word) = word(index) {
        word.fetch_add(ns, Ordering::Relaxed);
    }
}

fn now() -> u64 {
    let mut time = TimeSpec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the time is ours.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &raw mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

/// Takes a time, and counts it.
fn pass(kind: usize, ns: u64) {
    let begin = now();
    if ns >= SHORT_NS {
        let time = TimeSpec { seconds: (ns / 1_000_000_000) as c_long, nanoseconds: (ns % 1_000_000_000) as c_long };
        // SAFETY: no files; the time is ours.
        unsafe { ppoll(null_mut(), 0, &raw const time, core::ptr::null()) };
    } else {
        while now() - begin < ns {
            core::hint::spin_loop();
        }
    }
    add(ADDED + kind, now() - begin);
}

/// A call that takes longer by a share of its time.
fn longer<R>(kind: usize, call: impl FnOnce() -> R) -> R {
    let share = setting(kind);
    let begin = now();
    let result = call();
    let took = now() - begin;
    add(CALLED + kind, took);
    if share > 0 {
        pass(kind, took * share / WHOLE);
    }
    result
}

/// The next function of this name, which this one stands for.
fn next(cache: &AtomicUsize, name: &core::ffi::CStr) -> usize {
    match cache.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: a C string.
            let found = unsafe { dlsym(NEXT, name.as_ptr()) } as usize;
            cache.store(found, Ordering::Relaxed);
            found
        }
        found => found,
    }
}

/// A function of the C library that takes longer.
macro_rules! stand_for {
    ($kind:ident, $name:ident, $text:literal, ($($argument:ident: $type:ty),*)) => {
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) -> c_int {
            static CACHE: AtomicUsize = AtomicUsize::new(0);
            // SAFETY: the next function of this name has the same interface.
            let call: extern "C" fn($($type),*) -> c_int = unsafe { transmute(next(&CACHE, $text)) };
            longer($kind, || call($($argument),*))
        }
    };
}

stand_for!(FLUSH, fsync, c"fsync", (file: c_int));
stand_for!(FLUSH, fdatasync, c"fdatasync", (file: c_int));
stand_for!(SLEEP, nanosleep, c"nanosleep", (time: *const TimeSpec, left: *mut TimeSpec));
stand_for!(SLEEP, usleep, c"usleep", (microseconds: u32));
stand_for!(
    SLEEP,
    clock_nanosleep,
    c"clock_nanosleep",
    (clock: c_int, flags: c_int, time: *const TimeSpec, left: *mut TimeSpec)
);
stand_for!(
    LOOKUP,
    getaddrinfo,
    c"getaddrinfo",
    (node: *const c_char, service: *const c_char, hints: *const c_void, found: *mut *mut c_void)
);
stand_for!(
    LOOKUP,
    getnameinfo,
    c"getnameinfo",
    (address: *const c_void, length: u32, host: *mut c_char, host_length: u32, service: *mut c_char, service_length: u32, flags: c_int)
);

/// Whether threads wait for a lock: glibc's futex is then 2, or has the bit of a robust or inheriting one.
fn has_waiters(lock: *mut c_void) -> bool {
    // SAFETY: a lock that this thread holds; its futex is its first word.
    let futex = unsafe { lock.cast::<u32>().read_volatile() };
    futex == 2 || futex & 0x8000_0000 != 0
}

#[unsafe(no_mangle)]
extern "C" fn pthread_mutex_unlock(lock: *mut c_void) -> c_int {
    static CACHE: AtomicUsize = AtomicUsize::new(0);
    let ns = setting(LOCK);
    if ns > 0 && has_waiters(lock) {
        add(CALLED + LOCK, 1);
        pass(LOCK, ns);
    }
    // SAFETY: the next function of this name has the same interface.
    let call: extern "C" fn(*mut c_void) -> c_int = unsafe { transmute(next(&CACHE, c"pthread_mutex_unlock")) };
    call(lock)
}
