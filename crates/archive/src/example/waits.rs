//! Makes up the waits of nginx and apache.

use crate::{
    error::Result,
    model::{WaitKindTime, WaitPlace, WaitProfile, WaitWaker},
    writer::RunWriter,
};

/// Operations in the watched slice of two seconds.
const OPERATIONS: f64 = 160_000.0;

/// Microseconds of nginx by stack. Most of the time it waits for clients.
const NGINX: &str = "\
nginx;<waiting for work>;<events of connections>;main;ngx_worker_process_cycle;ngx_epoll_process_events;epoll_wait;ep_poll_[k] 320000
nginx;<a CPU>;main;ngx_worker_process_cycle;ngx_http_process_request;exit_to_user_mode_loop_[k] 64000
";

/// Of apache: its workers wait for a lock around the log.
const APACHE: &str = "\
httpd;<waiting for work>;<condition>;start_thread;worker_thread;ap_queue_pop_something;pthread_cond_wait;futex_wait_[k] 90000000
httpd;<lock>;start_thread;worker_thread;ap_process_request;ap_run_log_transaction;apr_thread_mutex_lock;pthread_mutex_lock;futex_wait_[k] 4800000
httpd;<flushing a file>;start_thread;worker_thread;ap_process_request;ap_run_log_transaction;fdatasync;ext4_sync_file_[k] 1600000
httpd;<a CPU>;start_thread;worker_thread;ap_process_request;exit_to_user_mode_loop_[k] 640000
";

/// The waits of a server of the example, which are written to the run.
pub(super) fn write(run: &RunWriter, variant: &str) -> Result<WaitProfile> {
    let is_nginx = variant == "nginx";
    let folded = run.waits(variant, if is_nginx { NGINX } else { APACHE })?;
    let cpu = place("a CPU", &["ap_process_request", "worker_thread"], 4.0, 0.02, &[]);
    let holder = ("httpd", &["apr_thread_mutex_unlock", "ap_run_log_transaction"][..], 0.93);
    let places = if is_nginx {
        let functions = ["ngx_http_process_request", "ngx_worker_process_cycle", "main"];
        let events = ["ngx_epoll_process_events", "ngx_worker_process_cycle", "main"];
        vec![
            place("a CPU", &functions, 0.4, 0.01, &[]),
            idle(place("events of connections", &events, 2.0, 0.1, &[("an interrupt", &[], 1.0)])),
        ]
    } else {
        let log = ["apr_thread_mutex_lock", "ap_run_log_transaction", "ap_process_request"];
        let queue = ["ap_queue_pop_something", "worker_thread"];
        let listener = ("httpd", &["ap_queue_push_socket", "listener_thread"][..], 1.0);
        let lock = place("lock", &log, 30.0, 0.4, &[holder, ("an interrupt", &[], 0.07)]);
        vec![
            WaitPlace { is_lock: true, ..lock },
            place("flushing a file", &log[1..], 10.0, 0.02, &[("an interrupt", &[], 1.0)]),
            cpu,
            idle(place("condition", &queue, 562.5, 1.0, &[listener])),
        ]
    };
    let (idle, inside): (Vec<&WaitPlace>, Vec<&WaitPlace>) = places.iter().partition(|place| place.is_idle);
    let kind =
        |place: &&WaitPlace| WaitKindTime { kind: place.kind.clone(), us: place.us, waits: place.waits };
    Ok(WaitProfile {
        folded,
        operations: OPERATIONS,
        length_s: 2.0,
        stopped_after_s: None,
        sampled: 1_930,
        lost: 0,
        level: "every switch, one stack in 61".to_owned(),
        throughput_ratio: Some(0.971),
        kinds: inside.iter().map(kind).collect(),
        idle_us: idle.iter().map(|place| place.us).sum(),
        places,
    })
}

fn place(kind: &str, functions: &[&str], us: f64, waits: f64, wakers: &[(&str, &[&str], f64)]) -> WaitPlace {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let waker = |(who, functions, share): &(&str, &[&str], f64)| WaitWaker {
        who: (*who).to_owned(),
        functions: owned(functions),
        share: *share,
    };
    let thread = if functions.iter().any(|name| name.starts_with("ngx_")) { "nginx" } else { "httpd" };
    WaitPlace {
        kind: kind.to_owned(),
        is_lock: false,
        is_idle: false,
        functions: owned(functions),
        threads: owned(&[thread]),
        us,
        waits: Some(waits),
        wakers: wakers.iter().map(waker).collect(),
    }
}

fn idle(place: WaitPlace) -> WaitPlace {
    WaitPlace { is_idle: true, ..place }
}
