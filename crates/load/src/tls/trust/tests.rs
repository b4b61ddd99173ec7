//! Handshakes with a server that has the certificate, but loses its key after the first.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConnection, ServerConfig, ServerConnection, SupportedProtocolVersion};

use super::super::context::context;
use super::*;
use crate::tls::TlsSpec;

/// Has a certificate with its key, and another key.
#[derive(Debug)]
struct Thief {
    own: Arc<CertifiedKey>,
    stolen: Arc<CertifiedKey>,
    has_lost_key: AtomicBool,
}

impl ResolvesServerCert for Thief {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let pair = if self.has_lost_key.swap(true, Ordering::Relaxed) { &self.stolen } else { &self.own };
        Some(pair.clone())
    }
}

/// Generates a certificate and two keys, the first of which is the certificate's.
fn generate(directory: &std::path::Path) -> (CertificateDer<'static>, [PrivateKeyDer<'static>; 2]) {
    let mut keys = ["other.pem", "cert.pem"].map(|certificate| {
        let key = directory.join("key.pem");
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
            .args([
                "-days",
                "2",
                "-subj",
                "/CN=localhost",
                "-addext",
                "subjectAltName=DNS:localhost",
                "-keyout",
            ])
            .args([&key, std::path::Path::new("-out"), &directory.join(certificate)])
            .output()
            .expect("openssl is needed");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        PrivateKeyDer::from_pem_file(key).expect("a key")
    });
    keys.reverse();
    (CertificateDer::from_pem_file(directory.join("cert.pem")).expect("a certificate"), keys)
}

/// Does a handshake in memory.
fn handshake(client: &mut ClientConnection, server: &mut ServerConnection) -> Result<(), Error> {
    while client.is_handshaking() || server.is_handshaking() {
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        client.write_tls(&mut to_server).expect("memory");
        server.read_tls(&mut to_server.as_slice()).expect("memory");
        server.process_new_packets().expect("the client is correct");
        while server.wants_write() {
            server.write_tls(&mut to_client).expect("memory");
        }
        client.read_tls(&mut to_client.as_slice()).expect("memory");
        client.process_new_packets()?;
    }
    Ok(())
}

/// Whether two handshakes succeed, the second with a server that has not the certificate's key.
fn handshakes(trust: Trust, proof: KeyProof, version: &'static SupportedProtocolVersion) -> [bool; 2] {
    let directory = tempfile::tempdir().expect("a directory");
    let (certificate, keys) = generate(directory.path());
    let trust = match trust {
        Trust::File(_) => Trust::File(directory.path().join("cert.pem").display().to_string()),
        other => other,
    };
    let [own, stolen] = keys.map(|key| {
        let key = ring::sign::any_supported_type(&key).expect("a key for signatures");
        Arc::new(CertifiedKey::new(vec![certificate.clone()], key))
    });
    let thief = Arc::new(Thief { own, stolen, has_lost_key: AtomicBool::new(false) });
    let server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .expect("the versions of the client")
        .with_no_client_auth()
        .with_cert_resolver(thief);
    let server = Arc::new(server);
    let spec =
        TlsSpec { server_name: "localhost".to_owned(), resumption: false, trust, proof, identity: None };
    let context = context(&spec, None).expect("the certificate is readable");
    [(); 2].map(|()| {
        let mut client =
            ClientConnection::new(context.config.clone(), context.name.clone()).expect("a connection");
        let mut server = ServerConnection::new(server.clone()).expect("a connection");
        handshake(&mut client, &mut server).is_ok()
    })
}

#[test]
fn a_server_that_is_checked_proves_its_key_in_every_full_handshake() {
    for version in [&TLS12, &TLS13] {
        let file = || Trust::File(String::new());
        assert_eq!(handshakes(file(), KeyProof::Always, version), [true, false], "{version:?}");
        assert_eq!(handshakes(file(), KeyProof::Once, version), [true, true], "{version:?}");
        assert_eq!(handshakes(Trust::Anyone, KeyProof::Always, version), [true, false], "{version:?}");
    }
}

#[test]
fn a_proven_key_is_not_checked_again_and_another_certificate_is() {
    let provider = Arc::new(ring::default_provider());
    let verifier = verifier(&Trust::Anyone, KeyProof::Once, &provider).expect("Trust::Anyone reads no file");
    let [first, other] = [b"first", b"other"].map(|der| CertificateDer::from(der.to_vec()));
    let refused = |certificate| verifier.prove(certificate, |_| Err(Error::DecryptError)).is_err();
    assert!(refused(&first), "a failed check proves nothing");
    verifier.prove(&first, |_| Ok(HandshakeSignatureValid::assertion())).expect("proven");
    assert!(!refused(&first) && refused(&other));
}
