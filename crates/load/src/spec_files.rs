//! The files that a load reads: a certificate, and a password. They are paths of the machine on which the spec was made, so a
//! client on another one needs them there.

use std::path::{Path, PathBuf};

use crate::drivers::password::PasswordSource;
use crate::spec::{LoadSpec, PemSource, Trust};

impl LoadSpec {
    /// Replaces the path of each file that the load reads.
    pub fn replace_files<E>(
        &mut self,
        mut replace: impl FnMut(&Path) -> Result<PathBuf, E>,
    ) -> Result<(), E> {
        if let Some(tls) = &mut self.tls
            && let Trust::File(path) = &mut tls.trust
        {
            *path = replace(Path::new(path))?.to_string_lossy().into_owned();
        }
        let identity = self.tls.iter_mut().filter_map(|tls| tls.identity.as_mut());
        for source in identity.flat_map(|identity| [&mut identity.certificate, &mut identity.key]) {
            if let PemSource::File(path) = source {
                *path = replace(Path::new(path))?.to_string_lossy().into_owned();
            }
        }
        if let Some(PasswordSource::File(path)) = self.protocol.password() {
            *path = replace(path)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::example;
    use crate::spec::{KeyProof, TlsSpec};

    #[test]
    fn every_file_gets_its_new_path() {
        let redis = serde_json::json!({
            "protocol": "redis", "auth": {"password": {"file": "/over/there/password"}},
            "keyspace": {"mix": [["get", 1.0]], "keys": 9, "value_size": "100"},
        });
        let tls = TlsSpec {
            server_name: "n".to_owned(),
            resumption: false,
            trust: Trust::File("/over/there/certificate".to_owned()),
            proof: KeyProof::Once,
            identity: None,
        };
        let spec = example::outcome().spec.with_tls(Some(tls));
        let mut spec = spec.with_protocol(serde_json::from_value(redis).expect("a spec"));
        let mut seen = Vec::new();
        let replaced = spec.replace_files(|path| {
            seen.push(path.to_owned());
            Ok::<_, Infallible>(Path::new("/here").join(path.file_name().unwrap_or_default()))
        });
        assert!(replaced.is_ok());
        assert_eq!(seen, [Path::new("/over/there/certificate"), Path::new("/over/there/password")]);
        let text = serde_json::to_string(&spec).expect("plain data");
        assert!(text.contains("/here/password") && text.contains("/here/certificate"), "{text}");
        assert!(!text.contains("/over/there"), "{text}");
    }
}
