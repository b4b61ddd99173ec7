//! Where a PostgreSQL database is, and the password: from the environment or from a file, never from a command line, which every user
//! of the machine can read.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use postgres::Config;
use postgres::config::Host;

/// How long a connection may take, and how long a silent one is trusted.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const SILENCE: Duration = Duration::from_secs(15);

/// Why a database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// Another scheme, or no URL.
    #[error("{0:?} is no database: use postgres://USER@HOST/DATABASE, or none for a file of this machine")]
    Scheme(String),
    /// A part of the URL is wrong.
    #[error("the URL of the database is wrong: {0}")]
    Url(String),
    /// A password is in the URL.
    #[error(
        "a password on a command line can be read by every user of this machine: take it out of the URL, and put it into the variable PGPASSWORD, or into ~/.pgpass or the file that PGPASSFILE names"
    )]
    Password,
    /// The file of passwords cannot be used.
    #[error("{}: {why}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why, with the remedy.
        why: String,
    },
}

/// Where passwords may be.
#[derive(Debug, Default)]
pub struct PasswordSources {
    /// The password itself: `PGPASSWORD`.
    pub password: Option<String>,
    /// The file that was named: `PGPASSFILE`.
    pub file: Option<PathBuf>,
    /// The file that is used if it is there: `~/.pgpass`.
    pub usual_file: Option<PathBuf>,
}

impl PasswordSources {
    /// Those of this process.
    pub fn of_environment() -> Self {
        Self {
            password: std::env::var("PGPASSWORD").ok(),
            file: std::env::var_os("PGPASSFILE").map(PathBuf::from),
            usual_file: std::env::home_dir().map(|home| home.join(".pgpass")),
        }
    }
}

/// The variables with secrets of the database, which no other program gets.
pub const SECRET_VARIABLES: [&str; 4] = ["PGPASSWORD", "PGPASSFILE", "SHOWDOWN_DATABASE", "SHOWDOWN_TOKEN"];

/// Reads a URL, and finds the password.
pub fn read(url: &str, sources: &PasswordSources) -> Result<Config, AddressError> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(AddressError::Scheme(url.to_owned()));
    }
    let mut config: Config = url.parse().map_err(|error: postgres::Error| AddressError::Url(why(&error)))?;
    if config.get_password().is_some() {
        return Err(AddressError::Password);
    }
    if config.get_user().is_none() {
        let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
        config.user(user.as_deref().unwrap_or("showdown"));
    }
    if let Some(password) = password(&config, sources)? {
        config.password(password);
    }
    config.application_name("showdown-harness").connect_timeout(CONNECT_TIMEOUT);
    config.keepalives(true).keepalives_idle(SILENCE).tcp_user_timeout(SILENCE);
    Ok(config)
}

/// What a library says, with its causes.
pub(super) fn why(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

fn password(config: &Config, sources: &PasswordSources) -> Result<Option<String>, AddressError> {
    if let Some(password) = &sources.password {
        return Ok(Some(password.clone()));
    }
    let (path, is_named) = match (&sources.file, &sources.usual_file) {
        (Some(path), _) => (path, true),
        (None, Some(path)) => (path, false),
        (None, None) => return Ok(None),
    };
    if !is_named && !path.is_file() {
        return Ok(None);
    }
    let mode = path.metadata().map_err(|error| unusable(path, &error))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(unusable(path, &"other users can read the passwords in it: chmod 600"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| unusable(path, &error))?;
    Ok(password_in(&text, &wanted(config)))
}

fn unusable(path: &Path, why: &dyn std::fmt::Display) -> AddressError {
    AddressError::File { path: path.to_owned(), why: why.to_string() }
}

/// Host, port, database and user, as a file of passwords writes them.
fn wanted(config: &Config) -> [String; 4] {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(_)) | None => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user().unwrap_or_default().to_owned();
    let database = config.get_dbname().unwrap_or(&user).to_owned();
    [host, port, database, user]
}

/// The password of the first line that fits (`HOST:PORT:DATABASE:USER:PASSWORD`; `*` fits all; `\` before `:` and `\`):
/// <https://www.postgresql.org/docs/current/libpq-pgpass.html>.
fn password_in(text: &str, wanted: &[String; 4]) -> Option<String> {
    for line in text.lines() {
        let fields = fields_of(line);
        if line.starts_with('#') || fields.len() < 5 {
            continue;
        }
        if fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted) {
            return Some(fields[4].clone());
        }
    }
    None
}

/// The five fields of a line: only the first four colons part it.
fn fields_of(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.last_mut().expect("there is one").extend(letters.next()),
            _ => fields.last_mut().expect("there is one").push(letter),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn from_file(path: PathBuf) -> PasswordSources {
        PasswordSources { password: None, file: Some(path), usual_file: None }
    }

    #[test]
    fn a_password_in_a_url_is_refused_and_never_repeated() {
        let error = read("postgres://ada:open-sesame@db/harness", &PasswordSources::default()).unwrap_err();
        assert!(matches!(error, AddressError::Password));
        assert!(!error.to_string().contains("open-sesame"), "{error}");
        assert!(matches!(read("mysql://db/x", &PasswordSources::default()), Err(AddressError::Scheme(_))));
    }

    #[test]
    fn the_password_is_found_in_the_environment_or_in_a_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        let lines =
            "# a comment:x:x:x:x\ndb:5432:other:ada:wrong\ndb:*:harness:ada:open\\:sesame:1\n*:*:*:*:last\n";
        fs::write(&path, lines).unwrap();
        let url = "postgres://ada@db/harness";
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = read(url, &from_file(path.clone())).unwrap_err();
        assert!(error.to_string().contains("chmod 600"), "{error}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let found = read(url, &from_file(path.clone())).unwrap();
        assert_eq!(found.get_password(), Some(&b"open:sesame:1"[..]));
        let socket = read("postgres:///harness?host=/run/db&user=bob", &from_file(path.clone())).unwrap();
        assert_eq!(socket.get_password(), Some(&b"last"[..]));
        let both = PasswordSources { password: Some("first".to_owned()), ..from_file(path) };
        assert_eq!(read(url, &both).unwrap().get_password(), Some(&b"first"[..]));
        assert!(read(url, &from_file(folder.path().join("missing"))).is_err());
        let usual =
            PasswordSources { usual_file: Some(folder.path().join("missing")), ..PasswordSources::default() };
        assert_eq!(read(url, &usual).unwrap().get_password(), None);
    }
}
