//! Berkeley DB Java Edition: a runner in Java (`workloads/kv/je`), compiled by Maven on its first use, that this
//! process turns into. What it does with the store is written there.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::ValueEnum;

use super::engine::{Durability, Shape};
use crate::RunnerError;

/// Java's runner: paths within its folder, and what is there.
const SOURCES: [(&str, &str); 6] = [
    ("pom.xml", include_str!("../../../../workloads/kv/je/pom.xml")),
    (
        "src/main/java/showdown/kv/Loops.java",
        include_str!("../../../../workloads/kv/je/src/main/java/showdown/kv/Loops.java"),
    ),
    (
        "src/main/java/showdown/kv/Main.java",
        include_str!("../../../../workloads/kv/je/src/main/java/showdown/kv/Main.java"),
    ),
    (
        "src/main/java/showdown/kv/Protocol.java",
        include_str!("../../../../workloads/kv/je/src/main/java/showdown/kv/Protocol.java"),
    ),
    (
        "src/main/java/showdown/kv/Store.java",
        include_str!("../../../../workloads/kv/je/src/main/java/showdown/kv/Store.java"),
    ),
    (
        "src/main/java/showdown/kv/Tally.java",
        include_str!("../../../../workloads/kv/je/src/main/java/showdown/kv/Tally.java"),
    ),
];

/// Debian's package with `java` and `javac`.
const JDK: &str = "default-jdk-headless";

/// Which version, of those in Maven Central.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Version {
    /// The last; it always shares latches
    #[value(name = "18.3.12")]
    Last,
    /// The last that can be told not to share latches
    #[value(name = "5.0.73")]
    WithLatchSetting,
}

impl Version {
    fn name(self) -> &'static str {
        match self {
            Self::Last => "18.3.12",
            Self::WithLatchSetting => "5.0.73",
        }
    }
}

/// The garbage collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Collector {
    /// In parts, mostly beside the program: Java's own choice on a server
    G1,
    /// By all CPUs while the program waits
    Parallel,
    /// By one thread while the program waits
    Serial,
}

impl Collector {
    fn flag(self) -> &'static str {
        match self {
            Self::G1 => "-XX:+UseG1GC",
            Self::Parallel => "-XX:+UseParallelGC",
            Self::Serial => "-XX:+UseSerialGC",
        }
    }
}

/// The store, and the virtual machine that it lives in.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// What is stored, and who works it
    #[command(flatten)]
    pub shape: Shape,
    /// Which version
    #[arg(long, value_enum, default_value = "18.3.12")]
    pub version: Version,
    /// Whether readers share the latches of inner nodes (je.env.sharedLatches)
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true)]
    pub shared_latches: bool,
    /// Java's heap in MB, of which the store's cache takes 60 % (je.maxMemoryPercent)
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(16..))]
    pub heap_mb: u32,
    /// The garbage collector
    #[arg(long, value_enum, default_value = "g1")]
    pub collector: Collector,
    /// Where the compiled runner is kept for the next time
    #[arg(long)]
    pub cache: PathBuf,
}

/// Its version and Java's.
pub fn version(version: Version) -> Result<String, RunnerError> {
    // It says so on standard error.
    let said = Command::new("java").arg("-version").output().map_err(|e| no_program("java", JDK, &e))?;
    let java = String::from_utf8_lossy(&said.stderr).lines().next().unwrap_or_default().to_owned();
    Ok(format!("Berkeley DB Java Edition {}, {java}", version.name()))
}

/// Turns this process into Java's runner; comes back only with the reason why it cannot.
pub fn become_runner(options: &Options) -> RunnerError {
    let Options { shape, version, .. } = options;
    if *version == Version::Last && !options.shared_latches {
        return RunnerError(format!(
            "Berkeley DB Java Edition {} does not look at je.env.sharedLatches, its latches are always shared: \
             take version={}",
            Version::Last.name(),
            Version::WithLatchSetting.name()
        ));
    }
    let home = match compiled(&options.cache, *version) {
        Ok(home) => home,
        Err(error) => return error,
    };
    let durability = match shape.durability {
        Durability::Commit => "commit",
        Durability::System => "system",
    };
    let error = Command::new("java")
        .args([format!("-Xms{}m", options.heap_mb), format!("-Xmx{}m", options.heap_mb)])
        .arg(options.collector.flag())
        // Its statistics are a mapped file, and a pause waits for the disk that this lies on.
        .arg("-XX:-UsePerfData")
        .arg("-cp")
        .arg(format!("{0}/target/classes:{0}/target/lib/*", home.display()))
        .arg("showdown.kv.Main")
        .arg(format!("--directory={}", shape.directory.display()))
        .arg(format!("--threads={}", shape.threads))
        .arg(format!("--records={}", shape.records))
        .arg(format!("--value-bytes={}", shape.value_bytes))
        .arg(format!("--hot={}", shape.hot))
        .arg(format!("--durability={durability}"))
        .arg(format!("--shared-latches={}", options.shared_latches))
        .exec();
    no_program("java", JDK, &error)
}

fn no_program(program: &str, package: &str, error: &io::Error) -> RunnerError {
    let mend = format!("apt install {package}");
    match error.kind() {
        io::ErrorKind::NotFound => RunnerError(format!("there is no program {program}: {mend}")),
        _ => RunnerError(format!("cannot run {program}: {error}: {mend}")),
    }
}

/// The directory of the compiled runner, compiled if it was not yet: by one process while others wait.
fn compiled(cache: &Path, version: Version) -> Result<PathBuf, RunnerError> {
    // Another compiler of ours may hash otherwise; then it is compiled once more.
    let mut hasher = DefaultHasher::new();
    SOURCES.hash(&mut hasher);
    let runners = cache.join("runners");
    let home = runners.join(format!("je-{}-{:016x}", version.name(), hasher.finish()));
    let failed = |e: io::Error| RunnerError::of(&format!("cannot write to {}", runners.display()), e);
    fs::create_dir_all(&runners).map_err(failed)?;
    let lock = File::create(runners.join("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    if home.is_dir() {
        return Ok(home);
    }
    let making = runners.join("making");
    match fs::remove_dir_all(&making) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    for (path, text) in SOURCES {
        let path = making.join(path);
        fs::create_dir_all(path.parent().expect("it lies in a folder")).map_err(failed)?;
        fs::write(path, text).map_err(failed)?;
    }
    compile(&making, version)?;
    fs::rename(&making, &home).map_err(failed)?;
    Ok(home)
}

fn compile(folder: &Path, version: Version) -> Result<(), RunnerError> {
    // Maven's own message about a compiler that is missing names no package.
    let javac = Command::new("javac").arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    javac.map_err(|e| no_program("javac", JDK, &e))?;
    let output = Command::new("mvn")
        .args(["--quiet", "--batch-mode", &format!("-Dje.version={}", version.name())])
        .args(["compile", "dependency:copy-dependencies", "-DincludeScope=runtime"])
        .arg("-DoutputDirectory=target/lib")
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| no_program("mvn", "maven", &e))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let why = said.lines().find(|line| line.starts_with("[ERROR]")).unwrap_or(said.trim());
    let what = format!("mvn cannot build the runner in {} (it needs Maven Central)", folder.display());
    Err(RunnerError::of(&what, why))
}
