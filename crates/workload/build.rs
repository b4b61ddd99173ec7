//! Rebuilds the crate when a file of the built-in workloads is added or changed.

fn main() {
    println!("cargo::rerun-if-changed=../../workloads");
}
