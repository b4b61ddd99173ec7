//! Options of `serve`, `controller` and `account`: `showdown` checks them and has their help, and the second program obeys them.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Options of `showdown serve`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown serve
  showdown serve --runs /srv/runs --listen 127.0.0.1:7438
  showdown serve --no-controller
  showdown serve --database postgres://showdown@db/showdown --listen 10.0.0.5:8443 --tls cert.pem,key.pem

It prints a link that works once. Run it again for another one. Without --tls it listens on this machine alone; from elsewhere, reach \
it with `ssh -L 7437:127.0.0.1:7437 HOST`. Ctrl-C stops it, and interrupts a run in progress. See docs/HARNESS.md.")]
pub struct ServeArgs {
    /// Where the queue is kept.
    #[command(flatten)]
    pub kept: DatabaseArgs,
    /// Listen on this address; one that other machines reach needs --tls
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7437")]
    pub listen: SocketAddr,
    /// Show this certificate, with this key: two files in PEM. SIGHUP reads them again
    #[arg(long, value_name = "CERTIFICATE,KEY")]
    pub tls: Option<TlsFiles>,
    /// Start no controller: other programs take the runs
    #[arg(long)]
    pub no_controller: bool,
}

/// Options of `showdown controller`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown controller
  showdown controller --server http://127.0.0.1:7437 --rules controller.toml

It takes runs from a server and starts `showdown` for each. What it accepts is in its own file, which no server can widen: see \
docs/HARNESS.md. `showdown serve` starts one by itself.")]
pub struct ControllerArgs {
    /// Use this directory of runs
    #[arg(long, value_name = "DIR", env = "SHOWDOWN_RUNS", hide_env_values = true, default_value = "runs")]
    pub runs: PathBuf,
    /// Take runs from this server, with the secret in the variable `SHOWDOWN_TOKEN` [default: the one of the directory of runs]
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// Accept what this file allows; with --server it must be given
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
}

/// Options of `showdown account`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown account add ada --role admin
  showdown account role bob closed
  showdown account password ada
  showdown account list

--runs or --database says where the queue is kept, as for `showdown serve`. `showdown account add --help` has the options of `add`.")]
pub struct AccountArgs {
    /// What is done.
    #[command(subcommand)]
    pub verb: AccountVerb,
}

/// Verbs of `showdown account`.
#[derive(clap::Subcommand, Debug)]
pub enum AccountVerb {
    /// Add an account
    #[command(after_help = "\
Examples:
  showdown account add ada --role admin
  showdown account add bob --role submitter --password-file FILE

The password is asked for on the terminal, or read from a file: other users can read a command line.")]
    Add {
        /// Use this name
        name: String,
        /// Choose what the person may do
        #[arg(long, value_enum, default_value = "submitter")]
        role: Role,
        /// Where the password comes from.
        #[command(flatten)]
        password: PasswordArgs,
        /// Where the queue is kept.
        #[command(flatten)]
        kept: DatabaseArgs,
    },
    /// Change the role of an account; `closed` ends its sessions and secrets
    #[command(after_help = "\
Examples:
  showdown account role ada operator
  showdown account role bob closed")]
    Role {
        /// Choose the account
        name: String,
        /// Choose what the person may do
        #[arg(value_enum)]
        role: Role,
        /// Where the queue is kept.
        #[command(flatten)]
        kept: DatabaseArgs,
    },
    /// Set a new password, which ends the sessions and secrets of the account
    #[command(after_help = "\
Examples:
  showdown account password ada")]
    Password {
        /// Choose the account
        name: String,
        /// Where the password comes from.
        #[command(flatten)]
        password: PasswordArgs,
        /// Where the queue is kept.
        #[command(flatten)]
        kept: DatabaseArgs,
    },
    /// List accounts
    #[command(after_help = "\
Examples:
  showdown account list
  showdown account list --database postgres://showdown@db/showdown")]
    List {
        /// Where the queue is kept.
        #[command(flatten)]
        kept: DatabaseArgs,
    },
}

/// Where a password comes from.
#[derive(clap::Args, Debug)]
pub struct PasswordArgs {
    /// Read the password from the first line of this file [default: the terminal asks]
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
}

/// Where the queue is kept.
#[derive(clap::Args, Clone, Debug)]
pub struct DatabaseArgs {
    /// Use this directory of runs
    #[arg(long, value_name = "DIR", env = "SHOWDOWN_RUNS", hide_env_values = true, default_value = "runs")]
    pub runs: PathBuf,
    /// Keep the queue in this PostgreSQL database, which several servers may share; its password is in `~/.pgpass`, the file `PGPASSFILE`
    /// or `PGPASSWORD` [default: a file in the directory of runs]
    #[arg(long, value_name = "URL", env = "SHOWDOWN_DATABASE", hide_env_values = true)]
    pub database: Option<String>,
}

/// Two files in PEM, as `--tls CERTIFICATE,KEY` names them.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, and those of the authorities between.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl FromStr for TlsFiles {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(',') {
            Some((certificate, key)) if !certificate.is_empty() && !key.is_empty() => {
                Ok(Self { certificate: certificate.into(), key: key.into() })
            }
            _ => Err("two files with a comma between: CERTIFICATE,KEY".to_owned()),
        }
    }
}

/// What a person may do: all of the roles before it, too.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Nothing any more: the account is closed.
    Closed,
    /// Read all pages.
    Viewer,
    /// Submit plans; pause, release, kill and resume what they have submitted; write notes and tags.
    Submitter,
    /// The same for entries of others; change the order; free hosts from quarantine.
    Operator,
    /// Accounts, secrets of controllers, the audit; delete runs and put them back.
    Admin,
}

impl Role {
    /// All roles, from the least.
    pub const ALL: [Self; 5] = [Self::Closed, Self::Viewer, Self::Submitter, Self::Operator, Self::Admin];

    /// The name in the database and on pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Viewer => "viewer",
            Self::Submitter => "submitter",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    /// The role of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}
