//! Whether a file or folder is under the control of root and the invoking user alone. What it contains is then their own
//! decision. Anything else may have been put there by another user of the machine.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::{Uid, geteuid};

/// Write permission of the group and of others.
const GROUP_AND_OTHERS: u32 = 0o022;
/// Write permission of others.
const OTHERS: u32 = 0o002;
/// In a directory with this bit, users rename and remove only what is theirs, as in `/tmp`.
const STICKY: u32 = 0o1000;

/// Why a path is not under the control of root and the invoking user alone.
#[derive(Debug, thiserror::Error)]
pub enum OwnershipError {
    /// It belongs to another user.
    #[error("{} belongs to user {owner}, not to you or root: copy it to a place of your own, or change its owner", path.display())]
    Owner {
        /// The file or folder.
        path: PathBuf,
        /// The owner's ID.
        owner: u32,
    },
    /// Others may write to it.
    #[error("other users may write to {}: run `chmod go-w` on it", path.display())]
    Writable {
        /// The file or folder.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Checks a file or folder, what a folder directly contains, and the directories above it: root or the invoking user
/// owns each, and nobody else may replace any.
pub fn check(path: &Path) -> Result<(), OwnershipError> {
    Trusted::of_this_process().check(path)
}

/// Who may control a file.
struct Trusted {
    /// Root and this user; under sudo(8) also the user who called it.
    users: Vec<u32>,
    /// Groups with one of these users as the only member. Where the umask is 002, a user's files are writable by such a
    /// group.
    private_groups: Vec<u32>,
}

impl Trusted {
    fn of_this_process() -> Self {
        let this = geteuid();
        let caller =
            std::env::var("SUDO_UID").ok().filter(|_| this.is_root()).and_then(|uid| uid.parse().ok());
        let users = [Uid::ROOT.as_raw(), this.as_raw()].into_iter().chain(caller).collect();
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self::new(users, &read("/etc/passwd"), &read("/etc/group"))
    }

    /// These users, with their private groups according to passwd(5) and group(5).
    fn new(users: Vec<u32>, passwd: &str, group: &str) -> Self {
        let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
        let passwd: Vec<Vec<String>> = passwd.lines().map(fields).filter(|line| line.len() > 3).collect();
        let is_private = |entry: &[String]| {
            let [name, _, gid, members] = entry else { return false };
            let mut primary = passwd.iter().filter(|user| user[3] == *gid);
            let only = primary.next().filter(|_| primary.next().is_none());
            only.is_some_and(|user| {
                user[0] == *name
                    && user[2].parse().is_ok_and(|uid| users.contains(&uid))
                    && members.split(',').all(|member| member.is_empty() || member == name)
            })
        };
        let groups = group.lines().map(fields).filter(|entry| is_private(entry));
        let private_groups = groups.filter_map(|entry| entry[2].parse().ok()).collect();
        Self { users, private_groups }
    }

    fn check(&self, path: &Path) -> Result<(), OwnershipError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| OwnershipError::Io { path, source }
        };
        let metadata = fs::metadata(path).map_err(failed(path))?;
        if !metadata.is_file() && !metadata.is_dir() {
            // A pipe has no directory.
            return self.check_one(path, &metadata, GROUP_AND_OTHERS);
        }
        // What a link leads to counts, and who may replace it there.
        let real = fs::canonicalize(path).map_err(failed(path))?;
        self.check_one(&real, &metadata, GROUP_AND_OTHERS)?;
        if metadata.is_dir() {
            for entry in fs::read_dir(&real).map_err(failed(&real))?.flatten() {
                // A link that leads nowhere can be read by nobody.
                if let Ok(metadata) = fs::metadata(entry.path()) {
                    self.check_one(&entry.path(), &metadata, GROUP_AND_OTHERS)?;
                }
            }
        }
        for above in real.ancestors().skip(1) {
            let metadata = fs::metadata(above).map_err(failed(above))?;
            // A sticky directory lets others add files, but not replace this one.
            if metadata.mode() & STICKY == 0 {
                self.check_one(above, &metadata, OTHERS)?;
            }
        }
        Ok(())
    }

    fn check_one(&self, path: &Path, metadata: &Metadata, writable: u32) -> Result<(), OwnershipError> {
        if !self.users.contains(&metadata.uid()) {
            return Err(OwnershipError::Owner { path: path.to_owned(), owner: metadata.uid() });
        }
        let by_whom = if self.private_groups.contains(&metadata.gid()) { OTHERS } else { writable };
        if metadata.mode() & by_whom != 0 {
            return Err(OwnershipError::Writable { path: path.to_owned() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown};

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("it belongs to this user");
    }

    #[test]
    fn what_others_may_change_is_refused() -> io::Result<()> {
        let home = tempfile::tempdir()?;
        let (folder, file) = (home.path().join("mine"), home.path().join("mine/workload.toml"));
        fs::create_dir(&folder)?;
        fs::write(&file, "")?;
        let trusted = Trusted { private_groups: Vec::new(), ..Trusted::of_this_process() };
        let refused = |path: &Path| trusted.check(path).map_err(|error| error.to_string()).err();
        for path in [&folder, &file] {
            set_mode(&folder, 0o755);
            set_mode(&file, 0o644);
            assert_eq!((refused(&folder), refused(&file)), (None, None));
            set_mode(path, fs::metadata(path)?.mode() | 0o020);
            let why = refused(&folder).expect("the group may write");
            assert!(why.contains(&format!("may write to {}", path.display())), "{why}");
            let private_groups = vec![fs::metadata(path)?.gid()];
            assert!(Trusted { private_groups, ..Trusted::of_this_process() }.check(&folder).is_ok());
        }
        set_mode(&folder, 0o755);
        set_mode(&file, 0o644);
        set_mode(home.path(), 0o777);
        assert!(refused(&folder).expect("others may replace it").contains("may write to"));
        set_mode(home.path(), 0o1777);
        assert_eq!(refused(&folder), None, "in a directory such as /tmp they may not");
        assert!(refused(&home.path().join("nothing")).expect("it is not there").contains("No such file"));
        Ok(())
    }

    #[test]
    fn what_belongs_to_another_user_is_refused_also_behind_a_link() -> io::Result<()> {
        let home = tempfile::tempdir()?;
        let (theirs, link) = (home.path().join("theirs"), home.path().join("link"));
        fs::create_dir(&theirs)?;
        std::os::unix::fs::symlink(&theirs, &link)?;
        let owner = fs::metadata(&theirs)?.uid();
        let other = Trusted { users: vec![owner + 1], private_groups: Vec::new() };
        let why = other.check(&link).expect_err("it belongs to this user").to_string();
        assert!(why.contains(&format!("theirs belongs to user {owner}")), "{why}");
        if geteuid().is_root() {
            fs::write(theirs.join("workload.toml"), "")?;
            chown(theirs.join("workload.toml"), Some(4_242), None)?;
            assert!(check(&theirs).is_err_and(|why| why.to_string().contains("belongs to user 4242")));
        }
        Ok(())
    }

    #[test]
    fn a_group_is_private_if_it_has_one_user() {
        let passwd = "root:x:0:0::/:/bin/sh\nann:x:1000:1000::/:/bin/sh\nbob:x:1001:1001::/:/bin/sh\n\
                      eve:x:1002:100::/:/bin/sh\nmat:x:1003:100::/:/bin/sh\n";
        let group = "root:x:0:\nann:x:1000:\nbob:x:1001:eve\nusers:x:100:\n";
        let of = |uid: u32| Trusted::new(vec![uid], passwd, group).private_groups;
        assert_eq!((of(1000), of(0)), (vec![1000], vec![0]));
        assert_eq!((of(1001), of(1002)), (vec![], vec![]), "other users are in the group");
    }
}
