//! Finds workloads by name, by path, or by the servers that they have.

use std::path::{Path, PathBuf};

use crate::definition::{FileError, Workload};
use crate::folder::{DEFINITION, Folder};
use crate::names::available;
use crate::variant::{ServerVariant, VariantError, VariantText};

/// The folder, in the current directory, with a user's own workloads.
pub const DIRECTORY: &str = "workloads";

/// Why no workload was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// The workload's file has an error.
    #[error(transparent)]
    Definition(#[from] FileError),
    /// The workload does not have this variant.
    #[error(transparent)]
    ServerVariant(#[from] VariantError),
    /// No workload of that name, and no such path.
    #[error("there is no workload {name:?}{available}: give one of these, or the path of a workload.toml")]
    NoWorkload {
        /// The name as given.
        name: String,
        /// The available names.
        available: String,
    },
    /// A folder without the file of a workload.
    #[error("{folder} has no {DEFINITION}: name the folder of one, or the file itself")]
    NoDefinition {
        /// The folder as given.
        folder: String,
    },
    /// No workload has that server.
    #[error("no workload has a server {name:?}{available}")]
    NoServer {
        /// The name as given.
        name: String,
        /// The available names.
        available: String,
    },
    /// The servers belong to different workloads.
    #[error("{0}: compare servers of one workload")]
    DifferentWorkloads(String),
    /// Several workloads have these servers.
    #[error("the workloads {0} all have these servers: choose one with --workload")]
    Ambiguous(String),
}

/// The built-in workloads, and the user's own in a directory. A workload of the user's replaces a built-in one with
/// the same name.
#[derive(Clone, Debug)]
pub struct Catalogue {
    directory: PathBuf,
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::with(DIRECTORY)
    }
}

impl Catalogue {
    /// A catalogue that looks for the user's own workloads in this directory, which need not exist.
    pub fn with(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// All workloads, sorted by name: each with its definition, or with the error in its file.
    pub fn all(&self) -> Vec<(String, Result<Workload, FileError>)> {
        let own = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let own = own.map(|entry| entry.path()).filter(|path| path.join(DEFINITION).is_file());
        let mut folders: Vec<Folder> = own.map(Folder::Disk).collect();
        for folder in Folder::all_built_in() {
            if folders.iter().all(|own| own.name() != folder.name()) {
                folders.push(folder);
            }
        }
        folders.sort_by_key(Folder::name);
        folders.iter().map(|folder| (folder.name(), Workload::read(folder, DEFINITION))).collect()
    }

    /// A workload by name, or by the path of its folder or file.
    pub fn find(&self, reference: &str) -> Result<Workload, LookupError> {
        let path = Path::new(reference);
        let own = self.directory.join(reference);
        // A plain name is never a path: a file called "cache" may exist here for other reasons.
        let is_path =
            reference.contains('/') || path.extension().is_some_and(|extension| extension == "toml");
        let folder = if is_path && path.is_file() {
            let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let file = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            let folder = Folder::Disk(directory.unwrap_or(Path::new(".")).to_owned());
            return Ok(Workload::read(&folder, &file)?);
        } else if own.join(DEFINITION).is_file() {
            Some(Folder::Disk(own))
        } else {
            let directory = || path.join(DEFINITION).is_file().then(|| Folder::Disk(path.to_owned()));
            Folder::built_in(reference).or_else(directory)
        };
        let Some(folder) = folder else {
            if is_path && path.is_dir() {
                return Err(LookupError::NoDefinition { folder: reference.to_owned() });
            }
            let names: Vec<String> = self.all().into_iter().map(|(name, _)| name).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let available = available(reference, &names);
            return Err(LookupError::NoWorkload { name: reference.to_owned(), available });
        };
        Ok(Workload::read(&folder, DEFINITION)?)
    }

    /// The workload of these variants: the named one, or else the only one that has their servers.
    pub fn resolve<S: AsRef<str>>(
        &self,
        reference: Option<&str>,
        variants: &[S],
    ) -> Result<(Workload, Vec<ServerVariant>), LookupError> {
        let written: Result<Vec<VariantText>, VariantError> =
            variants.iter().map(|text| text.as_ref().parse()).collect();
        let written = written?;
        let workload = match reference {
            Some(reference) => self.find(reference)?,
            None => self.with_servers(&written)?,
        };
        let variants: Result<Vec<ServerVariant>, VariantError> = written
            .iter()
            .map(|text| {
                let settings = text.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                match text.host {
                    None => workload.variant(&text.server, settings),
                    Some(_) => workload.variant_elsewhere(&text.server, settings),
                }
            })
            .collect();
        let variants = variants?;
        Ok((workload, variants))
    }

    fn with_servers(&self, variants: &[VariantText]) -> Result<Workload, LookupError> {
        let mut workloads = Vec::new();
        let mut broken = None;
        for (_, workload) in self.all() {
            match workload {
                // A server name selects the workload that defines the server. One with `servers_of` is selected by its name.
                Ok(workload) if workload.uses_servers_of_another() => {}
                Ok(workload) => workloads.push(workload),
                Err(error) => broken = broken.or(Some(error)),
            }
        }
        let has =
            |workload: &Workload, server: &str| workload.servers.iter().any(|known| known.name == server);
        let unknown =
            variants.iter().find(|text| !workloads.iter().any(|workload| has(workload, &text.server)));
        if let Some(VariantText { server, .. }) = unknown {
            // The server may be in the file with the error.
            if let Some(error) = broken {
                return Err(error.into());
            }
            let names: Vec<&str> = workloads
                .iter()
                .flat_map(|workload| &workload.servers)
                .map(|server| server.name.as_str())
                .collect();
            return Err(LookupError::NoServer { name: server.clone(), available: available(server, &names) });
        }
        let has_all = |workload: &Workload| variants.iter().all(|text| has(workload, &text.server));
        let (mut fitting, others): (Vec<_>, Vec<_>) = workloads.into_iter().partition(has_all);
        match (fitting.pop(), fitting.is_empty()) {
            (Some(workload), true) => Ok(workload),
            (Some(last), false) => {
                let names: Vec<&str> = fitting.iter().chain([&last]).map(|fit| fit.name.as_str()).collect();
                Err(LookupError::Ambiguous(names.join(" and ")))
            }
            (None, _) => {
                let workload_of = |text: &VariantText| {
                    let homes = others.iter().filter(|workload| has(workload, &text.server));
                    let homes: Vec<&str> = homes.map(|workload| workload.name.as_str()).collect();
                    format!("{} belongs to {}", text.server, homes.join(" and "))
                };
                let owners: Vec<String> = variants.iter().map(workload_of).collect();
                Err(LookupError::DifferentWorkloads(owners.join(", ")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(reference: Option<&str>, variants: &[&str]) -> Result<(String, usize), String> {
        let found = Catalogue::with("/nowhere").resolve(reference, variants);
        found.map(|(workload, variants)| (workload.name, variants.len())).map_err(|e| e.to_string())
    }

    #[test]
    fn server_names_select_their_workload() {
        assert_eq!(resolve(None, &["nginx", "apache"]), Ok(("static-web".into(), 2)));
        assert_eq!(
            resolve(None, &["memcached:threads=1", "memcached:threads=2", "redis"]),
            Ok(("cache".into(), 3))
        );
        assert_eq!(resolve(Some("cache"), &["redis"]), Ok(("cache".into(), 1)));
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_available_names() {
        let refused = |reference, variants: &[&str]| resolve(reference, variants).expect_err("refused");
        assert_eq!(
            refused(None, &["nginx", "redis"]),
            "nginx belongs to static-web, redis belongs to cache: compare servers of one workload"
        );
        assert!(refused(None, &["mencached"]).contains("did you mean \"memcached\"? available: "));
        assert!(refused(Some("cahce"), &[]).contains("did you mean \"cache\"? available: block-io, build, "));
        let empty = tempfile::tempdir().expect("a folder");
        let folder = empty.path().display().to_string();
        let error = refused(Some(&folder), &[]);
        assert_eq!(
            error,
            format!("{folder} has no workload.toml: name the folder of one, or the file itself")
        );
        assert!(refused(Some("static-web"), &["redis"]).contains("has no server \"redis\""));
    }

    #[test]
    fn a_workload_of_the_user_s_comes_first_and_may_have_the_same_servers()
    -> Result<(), Box<dyn std::error::Error>> {
        let own = tempfile::tempdir()?;
        let folder = own.path().join("mine");
        std::fs::create_dir(&folder)?;
        let text = "title = \"Mine\"\n[server.nginx]\nstart = [\"nginx\", \"{{ port }}\"]\n[load]\nprotocol = \"http\"\n\
                    slo = \"p99<5ms\"\n[[load.op]]\npath = \"/\"\n";
        std::fs::write(folder.join(DEFINITION), text)?;
        let catalogue = Catalogue::with(own.path());
        let error = catalogue.resolve(None, &["nginx"]).expect_err("two workloads have an nginx").to_string();
        assert!(error.starts_with("the workloads mine and static-web all have these servers"), "{error}");
        assert_eq!(catalogue.resolve(None, &["nginx", "apache"])?.0.name, "static-web");
        for reference in
            ["mine", &folder.display().to_string(), &folder.join(DEFINITION).display().to_string()]
        {
            assert_eq!(catalogue.find(reference)?.title, "Mine");
        }

        std::fs::write(folder.join(DEFINITION), "title = 1")?;
        assert_eq!(
            catalogue.resolve(None, &["apache"])?.0.name,
            "static-web",
            "an error in another workload does not matter"
        );
        let error = catalogue
            .resolve(None, &["my-server"])
            .expect_err("the server may be in the broken file")
            .to_string();
        assert!(error.contains("workload.toml:1"), "{error}");
        Ok(())
    }
}
