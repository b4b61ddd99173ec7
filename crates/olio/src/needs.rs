//! What an implementation needs of this machine: the programs and files that its server in `workload.toml` names, with their packages.
//! `showdown` installs them with consent; this program names them before it starts anything.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use host::packages::{Dependency, DependencyKind, PackageName, is_installed};
use serde::Deserialize;

/// The part of `workload.toml` that is read here.
#[derive(Deserialize)]
struct Definition {
    server: BTreeMap<String, Process>,
}

/// A server or a companion.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Process {
    start: Vec<String>,
    packages: BTreeMap<String, PackageName>,
    needs: Vec<Need>,
    companion: Vec<Process>,
}

#[derive(Deserialize)]
struct Need {
    program: Option<String>,
    path: Option<String>,
    #[serde(default)]
    packages: BTreeMap<String, PackageName>,
}

/// An error names all that is missing, and the command that installs it.
pub fn check(workload: &Path, server: &str) -> Result<()> {
    let file = workload.join("workload.toml");
    let definition =
        fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))?;
    let needed = needed(&definition, server).with_context(|| format!("{} cannot be read", file.display()))?;
    let missing: Vec<&Dependency> = needed.iter().filter(|dependency| !is_installed(dependency)).collect();
    ensure!(missing.is_empty(), "{}", remedy(&missing));
    Ok(())
}

/// The programs and files of a server's processes. This program itself is there.
fn needed(definition: &str, server: &str) -> Result<Vec<Dependency>> {
    let mut definition: Definition = toml::from_str(definition)?;
    let server = definition.server.remove(server).unwrap_or_default();
    let mut needed = vec![Dependency::program("setpriv", debian("util-linux")?)];
    for process in server.companion.iter().chain([&server]) {
        // `olio` has no package, and starts Java, whose programs are among its needs.
        if let Some(program) = process.start.first().filter(|program| *program != "olio") {
            needed.push(Dependency::program(program, process.packages.clone()));
        }
        for Need { program, path, packages } in &process.needs {
            let (kind, name) = match (program, path) {
                (Some(program), _) => (DependencyKind::Program, program),
                (None, Some(path)) => (DependencyKind::Path, path),
                (None, None) => continue,
            };
            if !packages.is_empty() {
                needed.push(Dependency {
                    kind,
                    name: name.clone(),
                    packages: packages.clone(),
                    remedy: None,
                });
            }
        }
    }
    Ok(needed)
}

fn debian(package: &str) -> Result<BTreeMap<String, PackageName>> {
    Ok(BTreeMap::from([("debian".to_owned(), package.parse()?)]))
}

fn remedy(missing: &[&Dependency]) -> String {
    let names: Vec<&str> = missing.iter().map(|dependency| dependency.name.as_str()).collect();
    let mut packages: Vec<&str> =
        missing.iter().flat_map(|dependency| dependency.packages.values()).map(PackageName::as_str).collect();
    packages.dedup();
    let hint = if packages.contains(&"php8.2-fpm") { "; Debian 13 has another PHP" } else { "" };
    format!("not installed: {}: apt install {}{hint}", names.join(", "), packages.join(" "))
}

/// A program of the system, also one of the `sbin` directories, which are not in the `PATH` of ordinary users.
pub fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(name);
    if let Some(path) = host::process::base_environment().remove("PATH") {
        command.env("PATH", path);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(server: &str) -> Vec<String> {
        let definition = include_str!("../../../workloads/olio/workload.toml");
        let needed = needed(definition, server).expect("the workload's file");
        needed.into_iter().map(|dependency| dependency.name).collect()
    }

    #[test]
    fn an_implementation_needs_what_its_server_in_the_workload_needs() {
        assert_eq!(names("olio-rust"), ["setpriv", "mariadbd", "memcached", "nginx"]);
        let (php, rails, java) = (names("olio-php"), names("olio-rails"), names("olio-java"));
        assert!(php.contains(&"php-fpm8.2".to_owned()) && php.iter().any(|name| name.ends_with("/gd.so")));
        assert!(rails.contains(&"puma".to_owned()) && rails.contains(&"vipsthumbnail".to_owned()));
        assert!(java.contains(&"mvn".to_owned()) && java.contains(&"javac".to_owned()));
    }

    #[test]
    fn what_is_missing_is_an_error_with_the_command_that_installs_it() {
        let (php, gd) = (debian("php8.2-fpm").expect("a name"), debian("php8.2-gd").expect("a name"));
        let (php, gd) = (Dependency::program("php-fpm8.2", php), Dependency::program("gd.so", gd));
        assert_eq!(
            remedy(&[&php, &gd]),
            "not installed: php-fpm8.2, gd.so: apt install php8.2-fpm php8.2-gd; Debian 13 has another PHP"
        );
    }
}
