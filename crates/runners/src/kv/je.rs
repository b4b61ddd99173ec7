//! Berkeley DB Java Edition: compiles the runner in Java (`workloads/kv/je`) with Maven on its first use, and replaces
//! this process with it (exec).

pub(crate) mod error;
mod version;

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::ValueEnum;

pub use self::error::JeError;
pub use self::version::JeVersion;
use super::engine::{Durability, StoreOptions};

/// The sources of the runner: path in its directory, and contents.
const SOURCES: [(&str, &str); 6] = [
    ("pom.xml", include_str!("../../../../workloads/kv/je/pom.xml")),
    (
        "src/main/java/showdown/kv/ClosedLoops.java",
        include_str!("../../../../workloads/kv/je/src/main/java/showdown/kv/ClosedLoops.java"),
    ),
    (
        "src/main/java/showdown/kv/CompletedOperations.java",
        include_str!("../../../../workloads/kv/je/src/main/java/showdown/kv/CompletedOperations.java"),
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
];

/// Debian's package with `java` and `javac`.
const JDK: &str = "default-jdk-headless";

/// The garbage collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Collector {
    /// Incremental and mostly concurrent: Java's default on a server
    G1,
    /// By all CPUs, while the program is stopped
    Parallel,
    /// By one thread, while the program is stopped
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

/// The options of the store and of its Java virtual machine.
#[derive(clap::Args, Debug)]
pub struct JeOptions {
    /// The records and the threads
    #[command(flatten)]
    pub store: StoreOptions,
    /// The version of Berkeley DB Java Edition
    #[arg(long, value_enum, default_value = "18.3.12")]
    pub version: JeVersion,
    /// Share the latches of inner nodes among readers (je.env.sharedLatches)
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true)]
    pub shared_latches: bool,
    /// The size of Java's heap in MB. The cache of the store takes 60 % (je.maxMemoryPercent)
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(16..))]
    pub heap_mb: u32,
    /// The garbage collector
    #[arg(long, value_enum, default_value = "g1")]
    pub collector: Collector,
    /// Keep the compiled runner in this directory
    #[arg(long)]
    pub cache: PathBuf,
}

/// The versions of Berkeley DB Java Edition and of Java.
pub fn version(version: JeVersion) -> Result<String, JeError> {
    // Java prints its version to standard error.
    let output =
        Command::new("java").arg("-version").output().map_err(|e| JeError::of_program("java", JDK, e))?;
    let java = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned();
    Ok(format!("Berkeley DB Java Edition {}, {java}", version.name()))
}

/// Replaces this process with the runner in Java. Returns only if that fails.
pub fn become_runner(options: &JeOptions) -> JeError {
    let JeOptions { store, version, .. } = options;
    if *version == JeVersion::Last && !options.shared_latches {
        return JeError::LatchesAlwaysShared;
    }
    let directory = match compiled(&options.cache, *version) {
        Ok(directory) => directory,
        Err(error) => return error,
    };
    let durability = match store.durability {
        Durability::Commit => "commit",
        Durability::System => "system",
    };
    let error = Command::new("java")
        .args([format!("-Xms{}m", options.heap_mb), format!("-Xmx{}m", options.heap_mb)])
        .arg(options.collector.flag())
        // A thread waits for the code that is compiled for it. In the background, the compiler gets a CPU now and then beside more
        // threads than CPUs: a trial was steady at a fifth of the throughput that others reached after some seconds.
        .arg("-Xbatch")
        // Java's statistics are in a mapped file. With them, a garbage collection pause can wait for its disk.
        .arg("-XX:-UsePerfData")
        .arg("-cp")
        .arg(format!("{0}/target/classes:{0}/target/lib/*", directory.display()))
        .arg("showdown.kv.Main")
        .arg(format!("--directory={}", store.directory.display()))
        .arg(format!("--threads={}", store.threads))
        .arg(format!("--records={}", store.records))
        .arg(format!("--value-bytes={}", store.value_bytes))
        .arg(format!("--hot={}", store.hot))
        .arg(format!("--durability={durability}"))
        .arg(format!("--shared-latches={}", options.shared_latches))
        .exec();
    JeError::of_program("java", JDK, error)
}

/// The directory of the compiled runner. Compiles it if needed, in one process at a time.
fn compiled(cache: &Path, version: JeVersion) -> Result<PathBuf, JeError> {
    // Another Rust compiler may compute another hash. Then the runner is compiled again.
    let mut hasher = DefaultHasher::new();
    SOURCES.hash(&mut hasher);
    let runners = cache.join("runners");
    let directory = runners.join(format!("je-{}-{:016x}", version.name(), hasher.finish()));
    let failed = |source| JeError::Cache { path: runners.clone(), source };
    fs::create_dir_all(&runners).map_err(failed)?;
    let lock = File::create(runners.join("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    if directory.is_dir() {
        return Ok(directory);
    }
    let unfinished = runners.join("unfinished");
    match fs::remove_dir_all(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    for (path, text) in SOURCES {
        let path = unfinished.join(path);
        fs::create_dir_all(path.parent().expect("a source file has a parent")).map_err(failed)?;
        fs::write(path, text).map_err(failed)?;
    }
    compile(&unfinished, version)?;
    fs::rename(&unfinished, &directory).map_err(failed)?;
    Ok(directory)
}

fn compile(directory: &Path, version: JeVersion) -> Result<(), JeError> {
    // Maven's own message about a missing compiler does not name a package.
    let javac = Command::new("javac").arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    javac.map_err(|e| JeError::of_program("javac", JDK, e))?;
    let output = Command::new("mvn")
        .args(["--quiet", "--batch-mode", &format!("-Dje.version={}", version.name())])
        .args(["compile", "dependency:copy-dependencies", "-DincludeScope=runtime"])
        .arg("-DoutputDirectory=target/lib")
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| JeError::of_program("mvn", "maven", e))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let message = text.lines().find(|line| line.starts_with("[ERROR]")).unwrap_or(text.trim()).to_owned();
    Err(JeError::Build { directory: directory.to_owned(), message })
}
