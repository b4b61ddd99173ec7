//! Builds the library of delays (`delays/library.rs`), which is loaded into a second server and so is no part of this program.

use std::env;
use std::path::Path;
use std::process::Command;

const SOURCE: &str = "delays/library.rs";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let library = Path::new(&variable("OUT_DIR")).join("delays.so");
    let mut command = Command::new(variable("RUSTC"));
    command.args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "delays", SOURCE]);
    command.args([
        "--target",
        &variable("TARGET"),
        "-C",
        "opt-level=2",
        "-C",
        "panic=abort",
        "-C",
        "link-arg=-nostdlib",
    ]);
    // A target whose programs are static has no shared libraries, unless they are asked for. This one is for the servers' programs, which
    // are not static. Cargo does not say which targets these are: CARGO_CFG_TARGET_FEATURE lacks musl's `crt-static`.
    command.args(["-C", "target-feature=-crt-static"]);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        command.args(["-C", &format!("linker={linker}")]);
    }
    let status = command.arg("-o").arg(&library).status();
    // For a target without shared libraries, rustc warns, builds nothing and succeeds.
    assert!(status.is_ok_and(|status| status.success()) && library.exists(), "rustc cannot build {SOURCE}");
}
