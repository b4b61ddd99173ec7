//! Installed programs, missing programs, and a real installation.

use std::path::Path;

use host::packages::{Dependency, DependencyKind, Error};

use crate::common::local;

fn program(name: &str, package: &str) -> Dependency {
    let package = package.parse().expect("a package name");
    Dependency::program(name, [("debian".to_owned(), package)].into())
}

#[test]
fn an_installed_program_is_found_without_an_installation() -> Result<(), Error> {
    let found = local().ensure(&program("sh", "no-such-package"), Path::new("/no/such/log"))?;
    assert!(found.ends_with("sh"));
    let directory = Dependency { kind: DependencyKind::Path, ..program("/proc/self", "no-such-package") };
    assert!(local().has(&directory) && !local().has(&program("/proc/self", "no-such-package")));
    Ok(())
}

#[test]
fn a_library_is_found_where_the_loader_finds_it() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    for directory in ["usr/lib/x86_64-linux-gnu", "opt/rocksdb/lib", "etc/ld.so.conf.d"] {
        std::fs::create_dir_all(dir.path().join(directory))?;
    }
    std::fs::write(dir.path().join("etc/ld.so.conf.d/rocksdb.conf"), "# added\n/opt/rocksdb/lib\n")?;
    let host = host::Host::below(dir.path(), "/bin/true");
    for file in ["usr/lib/x86_64-linux-gnu/libone.so", "opt/rocksdb/lib/libtwo.so", "opt/libthree.so"] {
        std::fs::write(dir.path().join(file), "")?;
    }
    let has = |name| host.has(&Dependency::library(name, [].into()));
    assert_eq!(["libone.so", "libtwo.so", "libthree.so"].map(has), [true, true, false]);
    Ok(())
}

#[test]
fn on_a_distribution_without_apt_the_error_contains_the_command() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    std::fs::create_dir(dir.path().join("etc"))?;
    std::fs::write(dir.path().join("etc/os-release"), "ID=alpine\nPRETTY_NAME=\"Alpine Linux v3.22\"\n")?;
    let host = host::Host::below(dir.path(), "/bin/true");
    let mut nginx = program("nginx", "nginx");
    let error = host.ensure(&nginx, &dir.path().join("log")).expect_err("nginx is missing");
    assert_eq!(
        error.to_string(),
        "nginx is not installed, and its package on Alpine Linux v3.22 is not known: install it in a directory of PATH"
    );
    nginx.packages.insert("alpine".into(), "nginx".parse()?);
    let error = host.ensure(&nginx, &dir.path().join("log")).expect_err("nginx is missing");
    assert_eq!(error.to_string(), "nginx is not installed: run sudo apk add nginx");
    let source = Dependency { kind: DependencyKind::Path, ..program("/usr/src/googletest", "googletest") };
    assert_eq!(
        host.ensure(&source, &dir.path().join("log")).expect_err("no source").to_string(),
        "/usr/src/googletest is not installed, and its package on Alpine Linux v3.22 is not known: install it there"
    );
    Ok(())
}

/// Needs root, apt and a network, and leaves lighttpd installed if it was not.
#[test]
#[ignore = "installs a package"]
fn a_missing_program_is_installed_and_its_service_does_not_start() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let log = dir.path().join("log");
    local().ensure(&program("lighttpd", "lighttpd"), &log)?;
    let printed = std::fs::read_to_string(log)?;
    assert!(printed.contains("policy-rc.d denied execution of start"), "{printed}");
    assert!(!Path::new("/usr/sbin/policy-rc.d").exists());
    assert!(local().package_version(&"lighttpd".parse()?).is_some());

    let log = dir.path().join("log2");
    let error = local().ensure(&program("no-such-program", "no-such-package"), &log);
    let error = error.expect_err("no such package").to_string();
    assert!(error.contains("Unable to locate package no-such-package"), "{error}");
    Ok(())
}
