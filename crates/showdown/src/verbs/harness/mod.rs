//! Verbs of the harness: they ask its server, or start the second program, which has it. That one is beside this one, and is not copied to
//! hosts: so this program stays small.

pub mod client;
pub mod orders;
pub mod submit;
pub mod watch;

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::exit::CommandStatus;

/// The second program.
const PROGRAM: &str = "showdown-harness";

/// Becomes the second program, with the same arguments, which were checked; returns only if that is not possible.
pub fn become_program(verb: &str) -> anyhow::Result<CommandStatus> {
    let path = std::env::current_exe()?.with_file_name(PROGRAM);
    anyhow::ensure!(path.is_file(), missing(&path, verb));
    Err(anyhow::Error::from(Command::new(&path).args(std::env::args_os().skip(1)).exec())
        .context(format!("cannot start {}", path.display())))
}

/// What is said if the second program is not there: whoever has built this one has the sources, others have a package with both.
fn missing(path: &Path, verb: &str) -> String {
    let folder = path.parent();
    // Cargo marks the folder of what it builds.
    let is_built_here =
        folder.and_then(Path::parent).is_some_and(|target| target.join("CACHEDIR.TAG").is_file());
    let remedy = if is_built_here {
        "cargo build -p harness"
    } else {
        "copy it there from the package of `showdown`, or install the package again (docs/COMMANDS.md, Install)"
    };
    format!("{} is missing, which `showdown {verb}` starts: {remedy}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_no_sources_is_told_where_the_second_program_is() {
        let packaged = missing(Path::new("/usr/bin/showdown-harness"), "serve");
        assert_eq!(
            packaged,
            "/usr/bin/showdown-harness is missing, which `showdown serve` starts: copy it there from the package of `showdown`, \
             or install the package again (docs/COMMANDS.md, Install)"
        );
        let target = tempfile::tempdir().expect("a folder");
        std::fs::write(target.path().join("CACHEDIR.TAG"), "").expect("a mark");
        let built = missing(&target.path().join("debug").join(PROGRAM), "serve");
        assert!(built.ends_with("which `showdown serve` starts: cargo build -p harness"), "{built}");
    }
}
