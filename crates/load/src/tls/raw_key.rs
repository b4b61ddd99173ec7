//! The signature of a handshake, checked with the key of a certificate that is accepted as it is: one of X.509 version 1, or
//! with parts that the library does not read. Such a certificate was not verified, or was given byte for byte; that the server
//! has its key can be checked all the same.

use rustls::DigitallySignedStruct;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::{CertificateError, Error};

const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;
/// The version of a certificate, which version 1 leaves out.
const VERSION: u8 = 0xa0;

/// The algorithm and the bits of a certificate's public key.
#[derive(Debug, PartialEq, Eq)]
struct PublicKey<'c> {
    algorithm: &'c [u8],
    bits: &'c [u8],
}

/// What the library found, or, where it does not read the accepted certificate, what its key alone shows.
pub(super) fn or_by_key(
    checked: Result<HandshakeSignatureValid, Error>,
    message: &[u8],
    certificate: &[u8],
    signed: &DigitallySignedStruct,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    match checked {
        Err(Error::InvalidCertificate(reason)) if reason != CertificateError::BadSignature => {
            verify(message, certificate, signed, algorithms)
        }
        checked => checked,
    }
}

/// Checks a signature with the certificate's key alone.
fn verify(
    message: &[u8],
    certificate: &[u8],
    signed: &DigitallySignedStruct,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    let key = public_key(certificate).ok_or(Error::InvalidCertificate(CertificateError::BadEncoding))?;
    let of_scheme = algorithms.mapping.iter().filter(|(scheme, _)| *scheme == signed.scheme);
    let mut fitting =
        of_scheme.flat_map(|(_, all)| *all).filter(|one| one.public_key_alg_id().as_ref() == key.algorithm);
    if fitting.any(|one| one.verify_signature(key.bits, message, signed.signature()).is_ok()) {
        Ok(HandshakeSignatureValid::assertion())
    } else {
        Err(Error::InvalidCertificate(CertificateError::BadSignature))
    }
}

/// Reads the public key of a certificate (RFC 5280, section 4.1); none where it has none in that place.
fn public_key(certificate: &[u8]) -> Option<PublicKey<'_>> {
    let (certificate, _) = take(certificate, SEQUENCE)?;
    let (mut fields, _) = take(certificate, SEQUENCE)?;
    if let Some((_, rest)) = take(fields, VERSION) {
        fields = rest;
    }
    // Serial number, signature, issuer, validity, subject.
    for _ in 0..5 {
        fields = skip(fields)?;
    }
    let (key, _) = take(fields, SEQUENCE)?;
    let (algorithm, rest) = take(key, SEQUENCE)?;
    let (bits, _) = take(rest, BIT_STRING)?;
    // A key has whole bytes.
    let (0, bits) = bits.split_first().map(|(unused, bits)| (*unused, bits))? else { return None };
    Some(PublicKey { algorithm, bits })
}

/// The content of the element at the front, if it has this tag, and what follows it (X.690, section 8.1).
fn take(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, content, rest) = element(bytes)?;
    (found == tag).then_some((content, rest))
}

fn skip(bytes: &[u8]) -> Option<&[u8]> {
    element(bytes).map(|(_, _, rest)| rest)
}

fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;

    use super::*;

    /// `openssl x509 -req` without a file of extensions writes version 1.
    const VERSION_1: &str = include_str!("raw_key/version1.pem");

    #[test]
    fn the_key_of_a_certificate_of_version_1_is_read() {
        let certificate = CertificateDer::from_pem_slice(VERSION_1.as_bytes()).expect("a certificate");
        let key = public_key(&certificate).expect("a key");
        let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
        let is_known = |one: &&dyn rustls::pki_types::SignatureVerificationAlgorithm| {
            one.public_key_alg_id().as_ref() == key.algorithm
        };
        assert!(algorithms.all.iter().any(is_known));
        assert_eq!((key.bits.len(), key.bits[0]), (65, 4), "an uncompressed point of P-256");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in any::<prop::sample::Index>()) {
            let _ = public_key(&bytes);
            let whole = CertificateDer::from_pem_slice(VERSION_1.as_bytes()).expect("a certificate");
            let _ = public_key(&whole[..cut.index(whole.len())]);
        }
    }
}
