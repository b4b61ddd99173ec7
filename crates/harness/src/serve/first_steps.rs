//! What the person who has started a server may do next: commands that can be copied into another terminal as they are.

use std::path::Path;

use queue::arguments::DatabaseArgs;

/// The directory of runs that a command has without an option.
const USUAL_RUNS: &str = "runs";

/// How runs are queued and watched.
pub fn first_steps(kept: &DatabaseArgs, here: &Path) -> String {
    let runs = if kept.runs == Path::new(USUAL_RUNS) {
        String::new()
    } else {
        format!(" --runs {}", shell_words::quote(&kept.runs.to_string_lossy()))
    };
    let here = shell_words::quote(&here.to_string_lossy()).into_owned();
    format!(
        "To queue a run and watch it, in another terminal:\n\n  \
         cd {here}\n  \
         showdown submit compare nginx apache --quick{runs}   # prints the number of its entry\n  \
         showdown queue{runs}\n  \
         showdown watch 1{runs}\n\n\
         Ctrl-C stops the server, and interrupts a run in progress."
    )
}

/// How the first account is added to the database of this server, from any directory.
pub fn first_account(kept: &DatabaseArgs, here: &Path) -> String {
    let runs = here.join(&kept.runs);
    let runs = runs.to_string_lossy();
    let mut words = vec!["showdown", "account", "add", "NAME", "--role", "admin", "--runs", &runs];
    if let Some(database) = &kept.database {
        words.extend(["--database", database.as_str()]);
    }
    format!("Add an account, on this machine:\n\n  {}", shell_words::join(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(runs: &str, database: Option<&str>) -> DatabaseArgs {
        DatabaseArgs { runs: runs.into(), database: database.map(str::to_owned) }
    }

    #[test]
    fn the_commands_work_in_another_terminal() {
        let usual = first_steps(&kept("runs", None), Path::new("/home/ada/my lab"));
        assert!(usual.contains("\n  cd '/home/ada/my lab'\n"), "{usual}");
        assert!(usual.contains("\n  showdown queue\n"), "{usual}");
        let other = first_steps(&kept("/srv/all runs", None), Path::new("/home/ada"));
        assert!(other.contains("\n  showdown watch 1 --runs '/srv/all runs'\n"), "{other}");
    }

    #[test]
    fn the_first_account_is_added_to_the_database_of_the_server() {
        let account = first_account(&kept("runs", Some("postgres://showdown@db/lab")), Path::new("/srv"));
        assert!(
            account.ends_with(
                "showdown account add NAME --role admin --runs /srv/runs --database postgres://showdown@db/lab"
            ),
            "{account}"
        );
        let account = first_account(&kept("runs", None), Path::new("/srv"));
        assert!(account.ends_with("--role admin --runs /srv/runs"), "{account}");
    }
}
