//! Which workloads there are, and which one a name, a path or a server belongs to.

use std::path::{Path, PathBuf};

use crate::definition::{DefinitionError, Workload, suggestion};
use crate::folder::{DEFINITION, Folder};
use crate::variant::{ServerVariant, VariantError, VariantText};

/// Where a user's own workloads are looked for, below the current directory.
pub const DIRECTORY: &str = "workloads";

/// Why no workload is found for what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// The workload's file is wrong.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// A variant is none of the workload.
    #[error(transparent)]
    ServerVariant(#[from] VariantError),
    /// No workload of that name, and no such path.
    #[error("there is no workload {name:?}{suggestion}: give one of these, or the path of a workload.toml")]
    NoWorkload {
        /// As asked.
        name: String,
        /// Which there are.
        suggestion: String,
    },
    /// No workload has that server.
    #[error("no workload has a server {name:?}{suggestion}")]
    NoServer {
        /// As asked.
        name: String,
        /// Which there are.
        suggestion: String,
    },
    /// The servers do different work.
    #[error("{0}: compare servers of one workload")]
    Apart(String),
    /// Several workloads have these servers.
    #[error("the workloads {0} all have these servers: say which one with --workload")]
    Ambiguous(String),
}

/// The workloads that can be named here: the built-in ones, and the user's own in a directory. One of the
/// user's own takes the place of a built-in one with the same name.
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
    /// The catalogue with the user's own workloads in this directory, which need not exist.
    pub fn with(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// All workloads, by name: each as it is, or why it is refused.
    pub fn all(&self) -> Vec<(String, Result<Workload, DefinitionError>)> {
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
        // A plain name is never a file: there may be one called "cache" here for other reasons.
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
            let names: Vec<String> = self.all().into_iter().map(|(name, _)| name).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let suggestion = suggestion(reference, &names);
            return Err(LookupError::NoWorkload { name: reference.to_owned(), suggestion });
        };
        Ok(Workload::read(&folder, DEFINITION)?)
    }

    /// The workload of these variants: the one that is named, or else the only one that has their servers.
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
                workload.variant(&text.server, settings)
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
                // Servers stand for the workload that has them; one that borrows them is asked for by its name.
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
            // It may be in the one that cannot be read.
            if let Some(error) = broken {
                return Err(error.into());
            }
            let names: Vec<&str> = workloads
                .iter()
                .flat_map(|workload| &workload.servers)
                .map(|server| server.name.as_str())
                .collect();
            return Err(LookupError::NoServer {
                name: server.clone(),
                suggestion: suggestion(server, &names),
            });
        }
        let all_of_it = |workload: &Workload| variants.iter().all(|text| has(workload, &text.server));
        let (mut fitting, others): (Vec<_>, Vec<_>) = workloads.into_iter().partition(all_of_it);
        match (fitting.pop(), fitting.is_empty()) {
            (Some(workload), true) => Ok(workload),
            (Some(last), false) => {
                let names: Vec<&str> = fitting.iter().chain([&last]).map(|fit| fit.name.as_str()).collect();
                Err(LookupError::Ambiguous(names.join(" and ")))
            }
            (None, _) => {
                let where_is = |text: &VariantText| {
                    let homes = others.iter().filter(|workload| has(workload, &text.server));
                    let homes: Vec<&str> = homes.map(|workload| workload.name.as_str()).collect();
                    format!("{} is of {}", text.server, homes.join(" and "))
                };
                let said: Vec<String> = variants.iter().map(where_is).collect();
                Err(LookupError::Apart(said.join(", ")))
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
    fn servers_name_their_workload() {
        assert_eq!(resolve(None, &["nginx", "apache"]), Ok(("static-web".into(), 2)));
        assert_eq!(
            resolve(None, &["memcached:threads=1", "memcached:threads=2", "redis"]),
            Ok(("cache".into(), 3))
        );
        assert_eq!(resolve(Some("cache"), &["redis"]), Ok(("cache".into(), 1)));
    }

    #[test]
    fn what_cannot_be_found_is_refused_with_what_there_is() {
        let refused = |reference, variants: &[&str]| resolve(reference, variants).expect_err("refused");
        assert_eq!(
            refused(None, &["nginx", "redis"]),
            "nginx is of static-web, redis is of cache: compare servers of one workload"
        );
        assert!(refused(None, &["mencached"]).contains("did you mean \"memcached\"? there are "));
        assert!(refused(Some("cahce"), &[]).contains("did you mean \"cache\"? there are block-io, build, "));
        assert!(refused(Some("static-web"), &["redis"]).contains("has no server \"redis\""));
    }

    #[test]
    fn a_folder_of_the_user_s_comes_first_and_shares_its_servers() -> Result<(), Box<dyn std::error::Error>> {
        let own = tempfile::tempdir()?;
        let folder = own.path().join("mine");
        std::fs::create_dir(&folder)?;
        let text = "title = \"Mine\"\n[server.nginx]\nstart = [\"nginx\"]\n[load]\nprotocol = \"http\"\n\
                    slo = \"p99<5ms\"\n[[load.op]]\npath = \"/\"\n";
        std::fs::write(folder.join(DEFINITION), text)?;
        let catalogue = Catalogue::with(own.path());
        let error = catalogue.resolve(None, &["nginx"]).expect_err("two have it").to_string();
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
            "a broken one is no hindrance"
        );
        let error = catalogue.resolve(None, &["my-server"]).expect_err("it may be there").to_string();
        assert!(error.contains("workload.toml:1"), "{error}");
        Ok(())
    }
}
