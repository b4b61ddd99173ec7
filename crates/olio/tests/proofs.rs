//! Each implementation equals the reference, and one that cheats does not. The small form: rows of 25 users, fewer changes.

use std::path::Path;
use std::process::Command;

/// What the program prints; it must succeed.
fn olio(arguments: &[&str]) -> String {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("olio-data");
    let output = Command::new(env!("CARGO_BIN_EXE_olio"))
        .args(arguments)
        .arg("--rows=25")
        .arg("--changes=64")
        .arg("--cache")
        .arg(cache)
        .output()
        .expect("the program starts");
    let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{error}");
    said.into_owned()
}

/// Proves an implementation where its program is installed.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn prove(name: &str, program: &str, sessions: &str) {
    if !Path::new(program).exists() {
        println!("SKIPPED: {name} is compared with the reference only where there is a {program}");
        return;
    }
    let said = olio(&["prove", name, "--sessions", sessions]);
    assert!(said.contains("does what the reference does"), "{said}");
}

#[test]
fn php_does_what_the_reference_does() {
    prove("php", "/usr/sbin/php-fpm8.2", "memcached");
}

#[test]
fn php_does_so_with_sessions_in_files() {
    prove("php", "/usr/sbin/php-fpm8.2", "native");
}

#[test]
fn rails_does_what_the_reference_does() {
    prove("rails", "/usr/bin/puma", "memcached");
}

#[test]
fn rails_does_so_with_sessions_in_cookies() {
    prove("rails", "/usr/bin/puma", "native");
}

#[test]
fn the_reference_equals_itself_with_sessions_in_memory() {
    prove("rust", "/usr/sbin/mariadbd", "native");
}

#[test]
fn java_does_what_the_reference_does() {
    prove("java", "/usr/bin/mvn", "memcached");
}

#[test]
fn cheats_are_found() {
    let said = olio(&["prove", "rust", "--cheats"]);
    assert!(said.contains("all 14 cheats are found"), "{said}");
}
