//! The built-in workloads on their real servers (nginx, Apache httpd, memcached, Redis, MariaDB, PostgreSQL, Postfix,
//! Exim) and the example of `workloads new` on Python: they start, answer, count, stop, and leave nothing.
//!
//! Not libtest's harness: servers are started by a keeper, which is this program again.

mod mistakes;
mod rounds;
mod scene;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    host::keeper_main(std::env::args_os()).unwrap_or_else(test)
}

fn test() -> ExitCode {
    let mut trials = Vec::new();
    for variant in [
        "nginx",
        "nginx:reuseport=on,open_file_cache=100,access_log=on,sendfile=off",
        "apache:mpm=event",
        "apache:mpm=worker,max_request_workers=10,access_log=on",
        "apache:mpm=prefork,max_request_workers=20",
        "memcached:threads=2,hashpower=17",
        "redis",
        "redis:appendonly=on,appendfsync=no,io_threads=2",
        "mariadb",
        "mariadb:binlog=on,sync_binlog=0,flush_at_commit=2,threads=pool-of-threads,isolation=SERIALIZABLE",
        "postgres",
        "postgres:synchronous_commit=off,full_page_writes=off,fsync=off,isolation=serializable",
    ] {
        trials.push(Trial::test(format!("round {variant}"), move || rounds::built_in(variant)));
    }
    // Mail servers need root.
    if rustix::process::geteuid().is_root() {
        for variant in ["postfix", "postfix:delivery=maildir,tls=on", "exim", "exim:delivery=maildir,tls=on"]
        {
            trials.push(Trial::test(format!("round {variant}"), move || rounds::built_in(variant)));
        }
    }
    let mut named = |name: &str, test: fn() -> Result<(), Failed>| trials.push(Trial::test(name, test));
    named("a server may keep no count", rounds::without_count);
    named("a command may say when it is ready", rounds::ready_by_command);
    named("a new workload runs as it stands", rounds::scaffold);
    named("a server need not count the questions for its count", rounds::uncounted_questions);
    named("a password stays with the server", rounds::password);
    named("a port that is taken names its holder", mistakes::port_taken);
    named("a refused configuration is told in the server's words", mistakes::refused_configuration);
    named("a wrong answer is told by operation", mistakes::wrong_answer);
    named("a counter that is not there is told", mistakes::no_such_counter);
    named("a cache without memory is told", mistakes::no_memory);
    named("a server that is never ready is given up", mistakes::never_ready);
    named("data that workers cannot reach is told", mistakes::unreachable_data);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
