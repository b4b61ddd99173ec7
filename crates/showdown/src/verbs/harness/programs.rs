//! `serve`, `controller` and `account`: start the second program, which is beside this one. It is not copied to hosts, so this program stays small.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::exit::CommandStatus;

/// The second program.
const PROGRAM: &str = "showdown-harness";

/// Options of `showdown serve`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown serve
  showdown serve --runs /srv/runs --listen 127.0.0.1:7438
  showdown serve --no-controller
  showdown serve --database postgres://showdown@db/showdown --listen 10.0.0.5:8443 --tls cert.pem,key.pem

It prints a link that works once. Run it again for another one. Without --tls it listens on this machine alone; from elsewhere, reach \
it with `ssh -L 7437:127.0.0.1:7437 HOST`. Ctrl-C stops it, and interrupts a run that goes on. `showdown-harness serve --help` \
has all options.")]
pub struct ServeArgs {
    /// Give these options to the second program
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    pub options: Vec<OsString>,
}

/// Options of `showdown controller`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown controller
  showdown controller --server http://127.0.0.1:7437 --rules controller.toml

It takes runs from a server and starts `showdown` for each. What it accepts is in its own file, which no server can widen: see \
docs/HARNESS.md. `showdown serve` starts one by itself. `showdown-harness controller --help` has all options.")]
pub struct ControllerArgs {
    /// Give these options to the second program
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    pub options: Vec<OsString>,
}

/// Options of `showdown account`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown account add ada --role admin
  showdown account add bob --role submitter --password-file FILE
  showdown account role bob closed
  showdown account password ada
  showdown account list

The password is asked for on the terminal, or read from a file: other users can read a command line. --runs or --database says \
where the queue is kept, as for `showdown serve`. `showdown-harness account --help` has all options.")]
pub struct AccountArgs {
    /// Give these options to the second program
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    pub options: Vec<OsString>,
}

/// `showdown serve`.
pub fn serve(args: &ServeArgs) -> anyhow::Result<CommandStatus> {
    become_program("serve", &args.options)
}

/// `showdown controller`.
pub fn controller(args: &ControllerArgs) -> anyhow::Result<CommandStatus> {
    become_program("controller", &args.options)
}

/// `showdown account`.
pub fn account(args: &AccountArgs) -> anyhow::Result<CommandStatus> {
    become_program("account", &args.options)
}

/// Becomes the second program; returns only where that is not possible.
fn become_program(verb: &str, options: &[OsString]) -> anyhow::Result<CommandStatus> {
    let path = std::env::current_exe()?.with_file_name(PROGRAM);
    anyhow::ensure!(path.is_file(), missing(&path, verb));
    Err(anyhow::Error::from(Command::new(&path).arg(verb).args(options).exec())
        .context(format!("cannot start {}", path.display())))
}

/// What is said where the second program is not there: whoever has built this one has the sources, and a package has none.
fn missing(path: &Path, verb: &str) -> String {
    let folder = path.parent();
    // Cargo marks the folder of what it builds.
    let is_built_here =
        folder.and_then(Path::parent).is_some_and(|target| target.join("CACHEDIR.TAG").is_file());
    let path = path.display();
    if is_built_here {
        return format!("{path} is missing, which `showdown {verb}` starts: cargo build -p harness");
    }
    format!(
        "{path} is missing, which `showdown {verb}` starts: this package has no harness: build it from source (docs/HARNESS.md)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_no_sources_is_told_where_the_second_program_is_described() {
        let packaged = missing(Path::new("/usr/bin/showdown-harness"), "serve");
        assert!(
            packaged.ends_with("this package has no harness: build it from source (docs/HARNESS.md)"),
            "{packaged}"
        );
        let target = tempfile::tempdir().expect("a folder");
        std::fs::write(target.path().join("CACHEDIR.TAG"), "").expect("a mark");
        let built = missing(&target.path().join("debug").join(PROGRAM), "serve");
        assert!(built.ends_with("which `showdown serve` starts: cargo build -p harness"), "{built}");
    }
}
