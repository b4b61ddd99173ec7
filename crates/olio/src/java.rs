//! The implementation in Java: Maven compiles it on its first use, with its pages. What is compiled is kept beside the data.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Error, Result, bail};
use clap::Args;

use crate::data::{WorkloadFolder, hexadecimal, in_cache, readable_by_servers};
use crate::making::Making;
use crate::sources::{digest_of, files_below};

/// Debian's package with `java` and `javac`.
const JDK: &str = "default-jdk-headless";

/// How the implementation in Java is started.
#[derive(Args)]
pub struct JavaRequest {
    /// Unix socket to listen on
    #[arg(long, required_unless_present = "compile")]
    pub socket: Option<PathBuf>,
    /// Compile only, so that the first start need not
    #[arg(long)]
    pub compile: bool,
    /// Threads that answer requests
    #[arg(long, default_value_t = 8)]
    pub workers: u32,
    /// Connections to the database
    #[arg(long, default_value_t = 8)]
    pub pool: u32,
    /// The size of Java's heap in MB
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(64..))]
    pub heap_mb: u32,
    /// Where the compiled application is kept between runs [default: /var/tmp/olio-UID]
    #[arg(long)]
    pub cache: Option<PathBuf>,
    /// The folder of the workload [default: what this program was built with]
    #[arg(long)]
    pub workload: Option<PathBuf>,
}

/// Replaces this process with Java. Returns if that fails, or if the application is compiled only.
pub fn serve(request: &JavaRequest) -> Result<()> {
    let mut command = command(request)?;
    if request.compile {
        return Ok(());
    }
    Err(not_started("java", JDK, command.exec()))
}

/// The command that serves. Compiles the application if needed.
pub fn command(request: &JavaRequest) -> Result<Command> {
    let workload = WorkloadFolder::open(request.workload.as_deref())?;
    let target = compiled(&workload.path.join("java"), request.cache.as_deref())?.join("target");
    let mut command = Command::new("java");
    command
        .args([format!("-Xms{}m", request.heap_mb), format!("-Xmx{}m", request.heap_mb)])
        // Java's statistics are in a mapped file. With them, a garbage collection pause can wait for its disk.
        .arg("-XX:-UsePerfData")
        .args(["-Duser.timezone=UTC", "-Djava.awt.headless=true"])
        .arg("-cp")
        .arg(format!("{0}/classes:{0}/lib/*", target.display()))
        .arg("olio.Main")
        .env("OLIO_WORKERS", request.workers.to_string())
        .env("OLIO_POOL", request.pool.to_string());
    if let Some(socket) = &request.socket {
        command.env("OLIO_SOCKET", socket);
    }
    Ok(command)
}

/// The directory with the compiled application. Its name follows from the sources, and it has its name only when it is complete.
fn compiled(sources: &Path, cache: Option<&Path>) -> Result<PathBuf> {
    let files = files_below(sources, "target")?;
    let kept = in_cache(cache, &format!("java-{}", hexadecimal(&digest_of(sources, &files)?)))?;
    if kept.is_dir() {
        return Ok(kept);
    }
    let cache = kept.parent().expect("it is in the cache");
    // Others wait, and find what the first one has made.
    let lock = File::create(cache.join("java.lock"))?;
    lock.lock()?;
    if kept.is_dir() {
        return Ok(kept);
    }
    let making = Making::begin(cache)?;
    readable_by_servers(making.path())?;
    for file in &files {
        let copy = making.path().join(file);
        fs::create_dir_all(copy.parent().expect("a file is in a directory"))?;
        fs::copy(sources.join(file), copy)?;
    }
    compile(making.path(), cache)?;
    making.keep_as(&kept)?;
    Ok(kept)
}

fn compile(directory: &Path, cache: &Path) -> Result<()> {
    // Maven's own message about a missing compiler does not name a package.
    let javac = Command::new("javac").arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    javac.map_err(|error| not_started("javac", JDK, error))?;
    let output = maven(directory, cache).output().map_err(|error| not_started("mvn", "maven", error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let first = said.lines().find(|line| line.starts_with("[ERROR]")).unwrap_or(said.trim());
    bail!("mvn cannot build {} (it needs Maven Central): {first}", directory.display())
}

/// Maven keeps what it has fetched in the cache: the user of a service has no home directory, and whoever removes the cache leaves nothing.
fn maven(directory: &Path, cache: &Path) -> Command {
    let mut maven = Command::new("mvn");
    maven.args(["--quiet", "--batch-mode", "process-classes"]).current_dir(directory).stdin(Stdio::null());
    maven.arg(format!("-Dmaven.repo.local={}", cache.join("maven").display()));
    maven
}

fn not_started(program: &str, package: &str, error: std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::msg(format!("there is no program {program}: apt install {package}")),
        _ => Error::new(error).context(format!("{program} does not start")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_an_error_with_its_package() {
        let error = not_started("mvn", "maven", ErrorKind::NotFound.into());
        assert_eq!(error.to_string(), "there is no program mvn: apt install maven");
    }

    #[test]
    fn what_maven_fetches_is_in_the_cache_also_where_there_is_a_home() {
        let maven = maven(Path::new("/nowhere"), Path::new("/var/tmp/olio-7"));
        assert!(maven.get_args().any(|argument| argument == "-Dmaven.repo.local=/var/tmp/olio-7/maven"));
    }
}
