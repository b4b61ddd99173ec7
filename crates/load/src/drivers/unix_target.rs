//! Targets that are sockets of the file system, as users write them: `unix:/run/app.sock:/path`, `redis+unix:/run/redis.sock`,
//! `mysql+unix://me@/run/mysqld/mysqld.sock:/test`, or as other programs write them, `http+unix://%2Frun%2Fapp.sock/path`.

use std::path::Path;

/// The parts of a target that is a socket, as they are written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnixTarget<'t> {
    /// The scheme of its protocol.
    pub scheme: &'t str,
    /// User, and perhaps a password.
    pub user: Option<&'t str>,
    /// The path of the socket, perhaps percent-encoded.
    pub path: &'t str,
    /// Path and query of the URL, without the first slash.
    pub url: &'t str,
}

/// Splits a target. None where the text names no socket.
pub(super) fn split(text: &str) -> Option<UnixTarget<'_>> {
    let (scheme, rest) = text.split_once(':')?;
    let scheme = if scheme == "unix" { "http" } else { scheme.strip_suffix("+unix")? };
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (user, rest) = match rest.split_once('@') {
        Some((user, rest)) if !user.contains('/') => (Some(user), rest),
        _ => (None, rest),
    };
    let (path, url) = match rest.strip_prefix('/') {
        // A path of the file system, and after a colon that of the URL.
        Some(_) => rest.split_once(":/").unwrap_or((rest, "")),
        // Percent-encoded, as the host of a URL.
        None => rest.split_once('/').unwrap_or((rest, "")),
    };
    Some(UnixTarget { scheme, user, path, url })
}

/// How a whole path is written with this scheme.
pub(super) fn example(scheme: &str, has_account: bool) -> String {
    let prefix = if scheme == "http" { String::new() } else { format!("{scheme}+") };
    let rest = if has_account { "unix://me@/run/app.sock:/test" } else { "unix:/run/app.sock:/" };
    format!("{prefix}{rest}")
}

/// What to do about a path at which no socket is.
pub(super) fn remedy(path: &Path) -> &'static str {
    match path.metadata() {
        Ok(kind) if kind.is_dir() => {
            "name the socket in this directory, such as .s.PGSQL.5432 of PostgreSQL or mysqld.sock"
        }
        Ok(kind) if kind.is_file() => "it is a file: name the socket on which the server listens",
        _ => "start the server, or check the path",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_written_in_the_ways_of_other_programs() {
        for (text, scheme, user, path, url) in [
            ("unix:/run/app.sock:/a?b", "http", None, "/run/app.sock", "a?b"),
            ("unix:/run/app.sock", "http", None, "/run/app.sock", ""),
            ("unix:///run/app.sock", "http", None, "/run/app.sock", ""),
            ("unix:/run/a@b.sock", "http", None, "/run/a@b.sock", ""),
            ("http+unix://%2Frun%2Fapp.sock/a", "http", None, "%2Frun%2Fapp.sock", "a"),
            ("redis+unix:/run/redis.sock", "redis", None, "/run/redis.sock", ""),
            ("mysql+unix://me@/run/db.sock:/test", "mysql", Some("me"), "/run/db.sock", "test"),
            ("mysql+unix:me@/run/db.sock:/test", "mysql", Some("me"), "/run/db.sock", "test"),
            ("mysql+unix://me@%2Frun%2Fdb.sock/test", "mysql", Some("me"), "%2Frun%2Fdb.sock", "test"),
        ] {
            assert_eq!(split(text), Some(UnixTarget { scheme, user, path, url }), "{text}");
        }
        for text in ["http://localhost/", "localhost:80", "unix", "unixes:/a"] {
            assert_eq!(split(text), None, "{text}");
        }
    }

    #[test]
    fn the_remedy_follows_from_what_is_at_the_path() -> std::io::Result<()> {
        let directory = tempfile::tempdir()?;
        assert!(remedy(directory.path()).starts_with("name the socket in this directory"));
        let file = directory.path().join("file");
        assert!(remedy(&file).starts_with("start the server"));
        std::fs::write(&file, "")?;
        assert!(remedy(&file).starts_with("it is a file"));
        Ok(())
    }
}
