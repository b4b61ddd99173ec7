//! Creates a workload for a user's own service: a commented example of one protocol that runs unchanged.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use load::drivers::RegisteredProtocol;

use crate::folder::DEFINITION;
use crate::names::available;

/// The name of the workload and of its server in the examples.
const PLACEHOLDER: &str = "my-service";

/// The protocol of an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScaffoldProtocol {
    /// An HTTP service, with an example server in Python.
    #[default]
    Http,
    /// Redis.
    Redis,
    /// memcached.
    Memcached,
    /// MariaDB.
    Mysql,
    /// PostgreSQL.
    Postgres,
    /// Exim, which needs root.
    Smtp,
    /// A program that generates its own load, with an example in Python.
    Runner,
}

/// An example: the files in its folder, and two variants to compare.
struct Example {
    /// The name of the protocol on the command line.
    name: &'static str,
    /// Names and texts of the files.
    files: &'static [(&'static str, &'static str)],
    /// A knob, and two values of it.
    knob: (&'static str, [&'static str; 2]),
}

macro_rules! files {
    ($folder:literal: $($file:literal),+) => {
        &[$(($file, include_str!(concat!("scaffold/", $folder, "/", $file)))),+]
    };
}

const HTTP: Example = Example {
    name: "http",
    files: files!("http": "workload.toml", "server.py"),
    knob: ("cache", ["off", "on"]),
};

const REDIS: Example = Example {
    name: "redis",
    files: files!("redis": "workload.toml", "redis.conf"),
    knob: ("appendonly", ["off", "on"]),
};

const MEMCACHED: Example =
    Example { name: "memcached", files: files!("memcached": "workload.toml"), knob: ("threads", ["1", "2"]) };

const MYSQL: Example = Example {
    name: "mysql",
    files: files!("mysql": "workload.toml", "server.cnf", "account.sql"),
    knob: ("flush_at_commit", ["1", "2"]),
};

const POSTGRES: Example = Example {
    name: "postgres",
    files: files!("postgres": "workload.toml", "postgresql.conf"),
    knob: ("synchronous_commit", ["on", "off"]),
};

const SMTP: Example = Example {
    name: "smtp",
    files: files!("smtp": "workload.toml", "exim.conf"),
    knob: ("queue_only", ["off", "on"]),
};

const RUNNER: Example = Example {
    name: "runner",
    files: files!("runner": "workload.toml", "runner.py"),
    knob: ("algorithm", ["sha256", "blake2b"]),
};

/// Users who log in to a shop, with an example server in Python.
const SCENARIO: Example = Example {
    name: "scenario",
    files: files!("scenario": "workload.toml", "server.py"),
    knob: ("rounds", ["1", "5000"]),
};

/// A service of several processes: nginx, an application in Python, memcached.
const COMPANIONS: Example = Example {
    name: "companions",
    files: files!("companions": "workload.toml", "nginx.conf", "application.py"),
    knob: ("caching", ["off", "on"]),
};

impl ScaffoldProtocol {
    /// All protocols that have an example.
    pub const ALL: [Self; 7] =
        [Self::Http, Self::Redis, Self::Memcached, Self::Mysql, Self::Postgres, Self::Smtp, Self::Runner];

    fn example(self) -> &'static Example {
        match self {
            Self::Http => &HTTP,
            Self::Redis => &REDIS,
            Self::Memcached => &MEMCACHED,
            Self::Mysql => &MYSQL,
            Self::Postgres => &POSTGRES,
            Self::Smtp => &SMTP,
            Self::Runner => &RUNNER,
        }
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.example().name
    }

    /// Two variants of a workload created with this protocol, for a first comparison.
    pub fn example_variants(self, workload: &str) -> [String; 2] {
        self.example().variants(workload)
    }
}

impl Example {
    fn variants(&self, workload: &str) -> [String; 2] {
        let (knob, values) = self.knob;
        values.map(|value| format!("{workload}:{knob}={value}"))
    }
}

impl fmt::Display for ScaffoldProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ScaffoldProtocol {
    type Err = ScaffoldError;

    fn from_str(text: &str) -> Result<Self, ScaffoldError> {
        let by_url = RegisteredProtocol::by_name(text);
        let is_meant = |protocol: &Self| {
            protocol.name() == text
                || (by_url.is_some() && RegisteredProtocol::by_name(protocol.name()) == by_url)
        };
        let found = Self::ALL.into_iter().find(is_meant);
        found.ok_or_else(|| ScaffoldError::Protocol {
            name: text.to_owned(),
            available: available(text, &Self::ALL.map(Self::name)),
        })
    }
}

/// Why a workload was not created.
#[derive(Debug, thiserror::Error)]
pub enum ScaffoldError {
    /// The name cannot be the name of a folder and of a server.
    #[error(
        "{0:?} cannot be the name of a workload: use letters, digits, - and _, with a letter or digit first"
    )]
    Name(String),
    /// There is no example for the protocol.
    #[error("there is no example for the protocol {name:?}{available}")]
    Protocol {
        /// The protocol.
        name: String,
        /// The protocols that have an example.
        available: String,
    },
    /// The folder exists.
    #[error("{0} exists: choose another name, or remove it")]
    Exists(PathBuf),
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Writes the example of a protocol to a new folder `name` in `directory`, and returns the path of its `workload.toml`.
/// It never overwrites a file.
pub fn create(directory: &Path, name: &str, protocol: ScaffoldProtocol) -> Result<PathBuf, ScaffoldError> {
    write(directory, name, protocol.example())
}

/// Writes the example of a scenario: users who log in to a shop. Returns the path of its `workload.toml`, and two variants for a
/// first comparison.
pub fn create_scenario(directory: &Path, name: &str) -> Result<(PathBuf, [String; 2]), ScaffoldError> {
    Ok((write(directory, name, &SCENARIO)?, SCENARIO.variants(name)))
}

/// Writes the example of a service of several processes. Returns the same.
pub fn create_with_companions(directory: &Path, name: &str) -> Result<(PathBuf, [String; 2]), ScaffoldError> {
    Ok((write(directory, name, &COMPANIONS)?, COMPANIONS.variants(name)))
}

fn write(directory: &Path, name: &str, example: &Example) -> Result<PathBuf, ScaffoldError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(is_plain) {
        return Err(ScaffoldError::Name(name.to_owned()));
    }
    let folder = directory.join(name);
    let failed = |path: &Path, source| ScaffoldError::Write { path: path.to_owned(), source };
    fs::create_dir_all(directory).map_err(|e| failed(directory, e))?;
    fs::create_dir(&folder).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => ScaffoldError::Exists(folder.clone()),
        _ => failed(&folder, e),
    })?;
    for (file, text) in example.files {
        let path = folder.join(file);
        let text = text.replace(PLACEHOLDER, name);
        let written = File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|e| failed(&path, e))?;
    }
    Ok(folder.join(DEFINITION))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    #[test]
    fn each_example_is_a_workload_of_its_name_with_two_variants() -> Result<(), Box<dyn std::error::Error>> {
        for protocol in ScaffoldProtocol::ALL {
            let directory = tempfile::tempdir()?;
            let file = create(directory.path(), "shop", protocol)?;
            let catalogue = Catalogue::with(directory.path());
            assert_eq!(catalogue.find(&file.display().to_string())?.name, "shop");
            let texts = protocol.example_variants("shop");
            let (workload, variants) = catalogue.resolve(None, &texts)?;
            assert_eq!(workload.title, "shop");
            let shown: Vec<String> = variants.iter().map(ToString::to_string).collect();
            assert_eq!(shown, texts);
            assert!(!fs::read_to_string(&file)?.contains(PLACEHOLDER), "{protocol}: the name is replaced");
            assert_eq!(protocol.name().parse::<ScaffoldProtocol>()?, protocol);
        }
        Ok(())
    }

    #[test]
    fn the_example_of_a_scenario_has_users() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let (file, variants) = create_scenario(directory.path(), "shop")?;
        let catalogue = Catalogue::with(directory.path());
        let workload = catalogue.find(&file.display().to_string())?;
        assert_eq!(workload.load.connections, 20, "one for each user");
        assert_eq!(workload.load.users.as_ref().map(load::users::UserPlan::operations), Some(5));
        assert_eq!(catalogue.resolve(None, &variants)?.1.len(), 2);
        Ok(())
    }

    #[test]
    fn the_example_of_several_processes_has_companions() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let (file, variants) = create_with_companions(directory.path(), "shop")?;
        let catalogue = Catalogue::with(directory.path());
        let workload = catalogue.find(&file.display().to_string())?;
        assert_eq!(workload.server("shop")?.parts(), ["cache", "application", "web"]);
        assert_eq!(catalogue.resolve(None, &variants)?.1.len(), 2);
        Ok(())
    }

    #[test]
    fn every_registered_protocol_has_an_example() -> Result<(), Box<dyn std::error::Error>> {
        let mut missing: Vec<&str> =
            load::drivers::PROTOCOLS.iter().map(|protocol| protocol.name()).collect();
        for example in ScaffoldProtocol::ALL {
            let directory = tempfile::tempdir()?;
            let file = create(directory.path(), "shop", example)?;
            let workload = Catalogue::with(directory.path()).find(&file.display().to_string())?;
            missing.retain(|name| *name != workload.load.protocol.name());
        }
        assert!(missing.is_empty(), "protocols without an example: {missing:?}");
        Ok(())
    }

    #[test]
    fn an_unknown_protocol_is_refused_with_the_known_ones() {
        let error = "mysq".parse::<ScaffoldProtocol>().expect_err("there is no such protocol").to_string();
        assert!(error.contains("did you mean \"mysql\"? available: http, redis, memcached"), "{error}");
        let names = ["memcache", "memcached"]
            .map(|name| name.parse::<ScaffoldProtocol>().map(ScaffoldProtocol::name).ok());
        assert_eq!(names, [Some("memcached"); 2], "a workload's file has the first name");
    }

    #[test]
    fn an_existing_folder_is_kept() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let create = |name: &str| create(directory.path(), name, ScaffoldProtocol::Http);
        create("shop")?;
        assert!(matches!(create("shop"), Err(ScaffoldError::Exists(_))));
        for name in ["", "../x", "a/b", "-x", "a b"] {
            assert!(matches!(create(name), Err(ScaffoldError::Name(_))), "{name}");
        }
        Ok(())
    }
}
