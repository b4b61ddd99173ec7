//! A server's certificate and key. openssl(1) generates them for one start, in the private directory; the server gets
//! copies. They are on disk only while the server runs, and never copied to the run directory. The client trusts this
//! certificate and no other.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use host::packages::Dependency;
use host::process::ProcessExit;
use load::tls::TlsSpec;

use super::files::{SecretFiles, write_private};
use crate::instance::error::InstanceError;
use crate::instance::tool;
use crate::instance::tool::Tools;
use crate::started_server::{CERTIFIED_NAME, trusted_by_client};

/// The program that generates keys.
const OPENSSL: &str = "openssl";

/// A certificate and its key. Dropping this removes the files.
pub struct Certificate {
    /// The certificate, PEM.
    pub certificate: PathBuf,
    /// Its key, PEM, readable only by its owner and root.
    pub key: PathBuf,
}

/// The program that generates certificates.
pub fn program() -> Dependency {
    let package = OPENSSL.parse().expect("openssl is a valid package name");
    Dependency::program(OPENSSL, BTreeMap::from([("debian".to_owned(), package)]))
}

impl Certificate {
    /// Generates one with a key of this type, `rsa` or `ecdsa`.
    pub fn generate(tools: &Tools, key_type: &str) -> Result<Self, InstanceError> {
        let (certificate, key) = Self::paths(&tools.private);
        // The file is private before openssl writes the key to it.
        write_private(&key, "")?;
        let pair = Self { certificate, key };
        let mut argv: Vec<String> =
            [OPENSSL, "req", "-x509", "-nodes", "-days", "7", "-newkey"].map(str::to_owned).into();
        argv.extend(match key_type {
            "ecdsa" => ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"].map(str::to_owned).to_vec(),
            _ => vec!["rsa:2048".to_owned()],
        });
        let names = format!("subjectAltName=DNS:{CERTIFIED_NAME},IP:127.0.0.1");
        argv.extend(["-subj", &format!("/CN={CERTIFIED_NAME}"), "-addext", &names].map(str::to_owned));
        for (option, path) in [("-keyout", &pair.key), ("-out", &pair.certificate)] {
            argv.extend([option.to_owned(), path.to_string_lossy().into_owned()]);
        }
        let output = tools.run(&argv, tool::TIMEOUT)?;
        if output.ending == ProcessExit::Code(0) {
            return Ok(pair);
        }
        let last_line =
            output.text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
        let (program, ending) = (OPENSSL.to_owned(), output.ending.to_string());
        Err(InstanceError::Prepare { server: "certificate".to_owned(), program, ending, output: last_line })
    }

    /// The names of certificate and key in a directory.
    fn paths(directory: &Path) -> (PathBuf, PathBuf) {
        (directory.join("certificate.pem"), directory.join("key.pem"))
    }

    /// Copies both to the server's directory, and returns the paths there.
    pub fn copy_to(
        &self,
        directory: &Path,
        files: &mut SecretFiles,
    ) -> Result<(PathBuf, PathBuf), InstanceError> {
        let to = Self::paths(directory);
        for (from, to) in [(&self.certificate, &to.0), (&self.key, &to.1)] {
            let text = fs::read(from).map_err(|source| InstanceError::Write { path: to.clone(), source })?;
            files.write(to.clone(), text)?;
        }
        Ok(to)
    }

    /// The client's side.
    pub fn client(&self) -> TlsSpec {
        trusted_by_client(&self.certificate)
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.certificate.to_string_lossy())
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        // Files that cannot be removed belong to a server that no longer runs.
        let _ = fs::remove_file(&self.key);
        let _ = fs::remove_file(&self.certificate);
    }
}
