//! The built-in workloads are compiled in: a new or changed file among them asks for another build.

fn main() {
    println!("cargo::rerun-if-changed=../../workloads");
}
