//! The Linux distribution and its package manager.

use super::dependency::Dependency;
use super::name::PackageName;
use crate::root::Root;

/// A distribution, from os-release(5).
pub(super) struct Distribution {
    pub(super) name: String,
    /// Its ID, then the IDs of related distributions, the closest first.
    ids: Vec<String>,
}

/// The command that installs packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Manager(&'static [&'static str]);

const APT: Manager = Manager(&["apt-get", "install", "-y"]);

const MANAGERS: &[(&str, Manager)] = &[
    ("debian", APT),
    ("ubuntu", APT),
    ("fedora", Manager(&["dnf", "install", "-y"])),
    ("rhel", Manager(&["dnf", "install", "-y"])),
    ("amzn", Manager(&["dnf", "install", "-y"])),
    ("suse", Manager(&["zypper", "install", "-y"])),
    ("opensuse", Manager(&["zypper", "install", "-y"])),
    ("arch", Manager(&["pacman", "-S"])),
    ("alpine", Manager(&["apk", "add"])),
];

impl Distribution {
    pub(super) fn read(root: &Root) -> Self {
        let mut release = root.os_release();
        let id = release.remove("ID").unwrap_or_default();
        let like = release.remove("ID_LIKE").unwrap_or_default();
        let ids = std::iter::once(id.as_str()).chain(like.split(' ')).filter(|id| !id.is_empty());
        Self {
            ids: ids.map(str::to_owned).collect(),
            name: release.remove("PRETTY_NAME").unwrap_or_else(|| "this distribution".into()),
        }
    }

    pub(super) fn package<'a>(&self, dependency: &'a Dependency) -> Option<&'a PackageName> {
        self.ids.iter().find_map(|id| dependency.packages.get(id))
    }

    pub(super) fn manager(&self) -> Option<Manager> {
        let manager = |id: &String| MANAGERS.iter().find(|(name, _)| name == id).map(|(_, manager)| *manager);
        self.ids.iter().find_map(manager)
    }
}

impl Manager {
    pub(super) fn is_apt(self) -> bool {
        self == APT
    }

    /// The command line for the user.
    pub(super) fn command(self, package: &PackageName) -> String {
        format!("sudo {} {package}", self.0.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    fn nginx() -> Dependency {
        let packages = [("debian", "nginx-light"), ("fedora", "nginx-core")];
        let name = |name: &str| name.parse().expect("the name of a package");
        Dependency::program("nginx", packages.map(|(id, n)| (id.to_owned(), name(n))).into())
    }

    fn command(os_release: &str) -> Option<String> {
        let (_dir, root) = fake_root(&[("/etc/os-release", os_release)]);
        let distribution = Distribution::read(&root);
        Some(distribution.manager()?.command(distribution.package(&nginx())?))
    }

    #[test]
    fn each_distribution_has_its_package_and_command() {
        let apt = Some("sudo apt-get install -y nginx-light".to_owned());
        assert_eq!(command("ID=debian\n"), apt);
        assert_eq!(command("ID=ubuntu\nID_LIKE=debian\n"), apt);
        let rocky = "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n";
        assert_eq!(command(rocky).as_deref(), Some("sudo dnf install -y nginx-core"));
        assert_eq!(command("ID=void\n"), None);
    }
}
