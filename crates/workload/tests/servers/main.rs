//! The built-in workloads on their real servers (web servers, memcached, Redis, MariaDB, PostgreSQL, Postfix, Exim), and
//! the examples of `workloads new`: they start, answer, count, stop, and leave nothing behind.
//!
//! It has a main function of its own: a supervisor process, which is this program again, starts the servers.

mod companions;
mod cycles;
mod external;
mod hostile;
mod local_users;
mod mistakes;
mod own_build;
mod test_directory;
mod unix_sockets;
mod zones;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use workload::scaffold::ScaffoldProtocol;

/// The limit of open files with which these tests start.
pub const DESCRIPTORS: u64 = 1_000;

fn main() -> ExitCode {
    // Lower than that of the machine: the engine raises its own.
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(DESCRIPTORS), ..limit }).expect("a lower limit");
    host::supervisor_main(std::env::args_os()).unwrap_or_else(test)
}

fn test() -> ExitCode {
    let mut trials = Vec::new();
    for variant in [
        "nginx",
        "nginx:reuseport=on,open_file_cache=100,access_log=on,sendfile=off",
        "apache:mpm=event",
        "apache:mpm=worker,max_request_workers=10,access_log=on",
        "apache:mpm=prefork,max_request_workers=20",
        "caddy:metrics=on,access_log=on,gogc=200",
        "h2o:access_log=on,num_threads=2,etag=off",
        "memcached:threads=2,hashpower=17",
        "redis",
        "redis:appendonly=on,appendfsync=no,io_threads=2",
        "mariadb",
        "mariadb:binlog=on,sync_binlog=0,flush_at_commit=2,threads=pool-of-threads,transaction_isolation=SERIALIZABLE",
        "postgres",
        "postgres:synchronous_commit=off,full_page_writes=off,fsync=off,transaction_isolation=serializable",
    ] {
        trials.push(Trial::test(format!("full cycle {variant}"), move || cycles::built_in(variant)));
    }
    for variant in [
        "apache:extended_status=off",
        "lighttpd",
        "lighttpd:network_backend=writev,stat_cache=inotify,max_keep_alive_requests=10,access_log=on",
        "lighttpd:max_worker=2,network_backend=write,stat_cache=disable",
        "caddy",
        "h2o",
    ] {
        let name = format!("full cycle without a count {variant}");
        trials.push(Trial::test(name, move || cycles::without_count(variant)));
    }
    // Mail servers need root.
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        for variant in ["postfix", "postfix:delivery=maildir,tls=on", "exim", "exim:delivery=maildir,tls=on"]
        {
            trials.push(Trial::test(format!("full cycle {variant}"), move || cycles::built_in(variant)));
        }
    }
    let mut reached =
        vec!["nginx", "apache", "lighttpd", "caddy", "h2o", "memcached", "redis", "mariadb", "postgres"];
    if is_root {
        reached.extend(["postfix", "exim"]);
        for variant in ["postfix:delivery=maildir", "exim:delivery=maildir"] {
            let name = format!("mail is delivered to its recipients by {variant}");
            trials.push(Trial::test(name, move || local_users::maildirs(variant)));
        }
    }
    for variant in reached {
        let name = format!("another user reaches only the port of {variant}");
        trials.push(Trial::test(name, move || local_users::nothing_else_is_open(variant)));
    }
    for protocol in ScaffoldProtocol::ALL {
        if protocol != ScaffoldProtocol::Smtp || is_root {
            let name = format!("the example for {protocol} runs unchanged");
            trials.push(Trial::test(name, move || cycles::scaffold(protocol)));
        }
    }
    for server in unix_sockets::servers() {
        trials.push(Trial::test(format!("full cycle {server} on a Unix socket"), move || {
            unix_sockets::full(server)
        }));
    }
    if is_root {
        let name = "a server that replaces its files by links or pipes misleads nobody";
        trials.push(Trial::test(name, hostile::traps));
    }
    trials.extend(companions::trials());
    let mut named = |name: &str, test: fn() -> Result<(), Failed>| trials.push(Trial::test(name, test));
    named("the example for a scenario runs unchanged", cycles::scenario);
    named("a command may probe whether a server is ready", cycles::ready_by_command);
    named("tools have the limit of open files that showdown was started with", cycles::tools_have_own_limit);
    named("servers and tools have a temporary directory of their own", cycles::own_temporary_directory);
    named("a server need not count the queries of its statistics", cycles::uncounted_queries);
    named("a password is only in files of the server", cycles::password);
    named("another user cannot log in to mariadb", || local_users::mariadb(false));
    named("another user cannot log in to the example for mysql", || local_users::mariadb(true));
    named("another user cannot log in to postgres", local_users::postgres);
    named("another user cannot log in to redis", local_users::redis);
    named("another user cannot stop memcached or discard its keys", local_users::memcached);
    named("copies of a server have a Unix socket each", unix_sockets::copies);
    named("a knob chooses between a Unix socket and a port", unix_sockets::chosen_by_a_knob);
    named("a server leads its client to no other Unix socket", unix_sockets::leads_nobody_elsewhere);
    named("a Unix socket is not for clients elsewhere", unix_sockets::not_for_other_machines);
    named("a server that another program starts is found by its socket", external::found_by_its_socket);
    named("a command stops a server that another program has started", external::stopped_by_a_command);
    named("the end of a server that another program has started is noticed", external::ended_meanwhile);
    named("a process that is not of the start is not taken for the server", external::not_of_this_start);
    named("copies of a server have CPUs of their own", zones::own_cpus);
    named("a build of one's own is run, and has a hash", own_build::copy_of_memcached);
    named(
        "a refused configuration is reported with the server's own message",
        mistakes::refused_configuration,
    );
    named("a wrong reply is reported with its operation", mistakes::wrong_answer);
    named("a port that another server has is reported with the remedy", mistakes::port_taken);
    named("a missing counter is reported", mistakes::no_such_counter);
    named("a cache with too little memory is reported", mistakes::no_memory);
    named("a server that ends while its data are loaded is reported", mistakes::ends_while_loaded);
    named("a server that never becomes ready is stopped", mistakes::never_ready);
    named("data that workers cannot reach are reported", mistakes::unreachable_data);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
