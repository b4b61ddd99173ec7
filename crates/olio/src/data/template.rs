//! A database directory with the schema and all rows: made by a server that reads statements from its standard input and listens
//! nowhere, then copied for each start.

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};

use super::rows::{self, Scale};
use crate::needs::program;

/// Makes the directory `database`. The program that made it has ended cleanly, so that a copy needs no recovery.
pub fn make(database: &Path, schema: &Path, scale: Scale, seed: u64) -> Result<()> {
    let schema =
        std::fs::read_to_string(schema).with_context(|| format!("{} cannot be read", schema.display()))?;
    // They take as much room as the tables: where these are, there is some.
    let beside = database.parent().unwrap_or(database);
    let files = tempfile::Builder::new().prefix("rows-").tempdir_in(beside)?;
    std::thread::scope(|scope| -> Result<()> {
        let rows = scope.spawn(|| rows::write(files.path(), scale, seed));
        install(database, files.path())?;
        rows.join().map_err(|_| anyhow!("the thread that writes the rows has panicked"))?
    })?;
    let statements = files.path().join("statements.sql");
    std::fs::write(&statements, script(&schema, files.path()))?;
    run(program("mariadbd")
        .args([
            "--no-defaults",
            "--bootstrap",
            "--skip-networking",
            "--character-set-server=utf8mb4",
            "--collation-server=utf8mb4_bin",
            "--innodb-buffer-pool-size=1G",
            "--innodb-log-file-size=96M",
            "--innodb-flush-log-at-trx-commit=0",
            // All that a copy needs is in its files.
            "--innodb-fast-shutdown=0",
        ])
        .arg(datadir(database))
        .arg(tmpdir(files.path()))
        .args(user())
        .stdin(std::fs::File::open(statements)?))?;
    // There is no secret in it: accounts get their password at each start. Other users make copies of it.
    run(Command::new("chmod").args(["--recursive", "a+rX"]).arg(database))
}

/// Makes a database directory without tables of the site.
fn install(database: &Path, temporary: &Path) -> Result<()> {
    run(program("mariadb-install-db")
        .args([
            "--no-defaults",
            "--skip-test-db",
            "--skip-name-resolve",
            "--auth-root-authentication-method=socket",
        ])
        .arg(datadir(database))
        .arg(tmpdir(temporary))
        .args(user())
        .stdin(Stdio::null()))
}

/// Copies a directory: without copying its blocks where the file system can share them.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        bail!("{} exists already: give a directory that does not", to.display());
    }
    run(Command::new("cp").args(["--recursive", "--reflink=auto"]).arg(from).arg(to))
}

fn datadir(database: &Path) -> String {
    format!("--datadir={}", database.display())
}

/// A directory of its own for temporary tables: a MariaDB that starts removes those of all others in the same one, also of a
/// `mariadb-install-db` that goes on.
fn tmpdir(temporary: &Path) -> String {
    format!("--tmpdir={}", temporary.display())
}

/// MariaDB refuses to run as root unless it is told so.
fn user() -> Option<&'static str> {
    if this_user() == 0 { Some("--user=root") } else { None }
}

fn script(schema: &str, files: &Path) -> String {
    let mut script =
        String::from("CREATE DATABASE olio CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;\nUSE olio;\n");
    for line in schema.lines() {
        let statement = line.split("--").next().unwrap_or_default().trim_end();
        if !statement.is_empty() {
            script.push_str(statement);
            script.push('\n');
        }
    }
    // With both, InnoDB sorts the rows of an empty table and writes each index once.
    script.push_str("SET SESSION unique_checks = 0, foreign_key_checks = 0;\n");
    for table in rows::TABLES {
        let file = files.join(table);
        let _ = writeln!(script, "LOAD DATA INFILE '{}' INTO TABLE {table};", file.display());
    }
    script
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("{program} is missing: install mariadb-server")
        }
        other => other.with_context(|| format!("{program} does not start"))?,
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = said.lines().rev().take(5).collect();
        bail!("{program} ended with {}: {}", output.status, last.join(" / "));
    }
    Ok(())
}

/// The number of the user of this process.
pub fn this_user() -> u32 {
    std::fs::metadata("/proc/self").map_or(u32::MAX, |process| process.uid())
}
