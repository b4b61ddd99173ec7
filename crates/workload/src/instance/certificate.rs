//! A server's certificate and key: made for one start by openssl(1), on disk only for as long as the server runs, and
//! in a directory of which nothing goes into the record. The client trusts this certificate and no other.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use host::Host;
use host::packages::Program;
use host::process::ProcessExit;
use load::spec::{TlsSpec, Trust};

use super::error::InstanceError;
use super::{stage, tool};

/// The program that makes keys.
const OPENSSL: &str = "openssl";

/// The name that the client asks for.
const NAME: &str = "localhost";

/// A certificate and its key, which are removed when this is dropped.
pub struct Certificate {
    /// The certificate, PEM.
    pub certificate: PathBuf,
    /// Its key, PEM, which only we and root may read.
    pub key: PathBuf,
}

/// The program that certificates are made with.
pub fn program() -> Program {
    let package = OPENSSL.parse().expect("it is the plain name of a package");
    Program { name: OPENSSL.to_owned(), packages: BTreeMap::from([("debian".to_owned(), package)]) }
}

impl Certificate {
    /// Makes one with a key of this kind, `rsa` or `ecdsa`.
    pub fn make(host: &Host, directory: &Path, kind: &str) -> Result<Self, InstanceError> {
        let (certificate, key) = (directory.join("certificate.pem"), directory.join("key.pem"));
        // Private before there is anything in it.
        stage::write_private(&key, "")?;
        let made = Self { certificate, key };
        let mut argv: Vec<String> =
            [OPENSSL, "req", "-x509", "-nodes", "-days", "7", "-newkey"].map(str::to_owned).into();
        argv.extend(match kind {
            "ecdsa" => ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"].map(str::to_owned).to_vec(),
            _ => vec!["rsa:2048".to_owned()],
        });
        let names = format!("subjectAltName=DNS:{NAME},IP:127.0.0.1");
        argv.extend(["-subj", &format!("/CN={NAME}"), "-addext", &names].map(str::to_owned));
        for (option, path) in [("-keyout", &made.key), ("-out", &made.certificate)] {
            argv.extend([option.to_owned(), path.to_string_lossy().into_owned()]);
        }
        let output = tool::run(host, &argv, directory, &directory.join("openssl.log"))?;
        if output.ending == ProcessExit::Code(0) {
            return Ok(made);
        }
        let said = output.text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
        let (program, ending) = (OPENSSL.to_owned(), output.ending.to_string());
        Err(InstanceError::Prepare { server: "its certificate".to_owned(), program, ending, said })
    }

    /// How the client secures its connections. It always offers to resume a session: whether that is taken up is the
    /// server's to say.
    pub fn client(&self) -> TlsSpec {
        TlsSpec {
            server_name: NAME.to_owned(),
            resumption: true,
            trust: Trust::File(self.certificate.to_string_lossy().into_owned()),
        }
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.certificate.to_string_lossy())
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        // If they stay, they are those of a server that is gone.
        let _ = fs::remove_file(&self.key);
        let _ = fs::remove_file(&self.certificate);
    }
}
