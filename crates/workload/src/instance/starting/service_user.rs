//! The user of the servers' workers. A server started by an ordinary user runs as that user. Apache httpd and memcached
//! refuse to run as root, so all servers that root starts get the same unprivileged user.

use std::fs;

use host::process::RunAs;

/// In order of preference: Debian's user for web servers, and the one that every system has.
const CANDIDATES: [&str; 2] = ["www-data", "nobody"];

/// The user of workers, and its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceUser {
    /// The user's name.
    pub user: String,
    /// Its group's name.
    pub group: String,
    /// The ids of both.
    pub run_as: RunAs,
}

impl ServiceUser {
    /// The user for workers; none if this program does not run as root.
    pub fn needed() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self::choose(&read("/etc/passwd"), &read("/etc/group"))
    }

    /// The first candidate that passwd(5) and group(5) contain.
    fn choose(passwd: &str, group: &str) -> Option<Self> {
        let field = |line: &str, at: usize| line.split(':').nth(at).map(str::to_owned);
        CANDIDATES.iter().find_map(|user| {
            let entry = passwd.lines().find(|line| field(line, 0).as_deref() == Some(user))?;
            let (uid, gid) = (field(entry, 2)?, field(entry, 3)?);
            let group = group
                .lines()
                .find(|line| field(line, 2).as_ref() == Some(&gid))
                .and_then(|line| field(line, 0))?;
            let run_as = RunAs { uid: uid.parse().ok()?, gid: gid.parse().ok()? };
            Some(Self { user: (*user).to_owned(), group, run_as })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_the_primary_group_of_the_user() {
        let passwd = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n";
        let group = "root:x:0:\nnogroup:x:65534:\n";
        let who = ServiceUser::choose(passwd, group).expect("passwd has the user nobody");
        assert_eq!((who.user.as_str(), who.group.as_str()), ("nobody", "nogroup"));
        assert_eq!(who.run_as, RunAs { uid: 65_534, gid: 65_534 });
        assert_eq!(ServiceUser::choose("root:x:0:0::/:/bin/sh\n", group), None);
    }
}
