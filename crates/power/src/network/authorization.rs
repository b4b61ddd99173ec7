//! The header with which a client answers a device that wants a login: HTTP Basic (RFC 7617), or Digest with SHA-256 (RFC 7616),
//! which does not send the password.

use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::secret::{Login, Secret};

/// The header for HTTP Basic.
pub(super) fn basic(login: &Login) -> Secret {
    let pair = format!("{}:{}", login.user, login.password.expose());
    Secret::new(format!("Basic {}", STANDARD.encode(pair)))
}

/// The header for a GET of this path, after the device has sent these challenges (`WWW-Authenticate`). None if it wants something
/// else.
pub(super) fn answer(challenges: &[&str], login: &Login, path: &str) -> Option<Secret> {
    let digest = challenges.iter().find_map(|challenge| DigestChallenge::parse(challenge));
    if let Some(digest) = digest {
        let random = RandomState::new();
        let client_nonce = format!("{:016x}{:016x}", random.hash_one(path), random.hash_one("nonce"));
        return digest.answer(login, path, &client_nonce);
    }
    let is_basic = |challenge: &&str| scheme(challenge).0.eq_ignore_ascii_case("basic");
    challenges.iter().any(is_basic).then(|| basic(login))
}

/// `Digest realm="x"` as `Digest` and the rest.
fn scheme(challenge: &str) -> (&str, &str) {
    challenge.trim().split_once(' ').unwrap_or((challenge.trim(), ""))
}

/// A challenge of RFC 7616 with SHA-256 and the quality of protection `auth`.
struct DigestChallenge<'c> {
    realm: &'c str,
    nonce: &'c str,
    opaque: Option<&'c str>,
}

impl<'c> DigestChallenge<'c> {
    fn parse(challenge: &'c str) -> Option<Self> {
        let (name, mut rest) = scheme(challenge);
        name.eq_ignore_ascii_case("digest").then_some(())?;
        let (mut realm, mut nonce, mut opaque, mut algorithm, mut protections) =
            (None, None, None, None, None);
        while let Some((key, after)) = rest.split_once('=') {
            let (value, following) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"')?,
                None => after.split_once(',').unwrap_or((after, "")),
            };
            rest = following.trim_start_matches([',', ' ']);
            let field = match key.trim().to_ascii_lowercase().as_str() {
                "realm" => &mut realm,
                "nonce" => &mut nonce,
                "opaque" => &mut opaque,
                "algorithm" => &mut algorithm,
                "qop" => &mut protections,
                _ => continue,
            };
            *field = Some(value.trim());
        }
        let is_auth = protections?.split(',').any(|protection| protection.trim() == "auth");
        let is_known = algorithm?.eq_ignore_ascii_case("SHA-256") && is_auth;
        is_known.then_some(Self { realm: realm?, nonce: nonce?, opaque })
    }

    /// The header. None for a user that would need an escape.
    fn answer(&self, login: &Login, path: &str, client_nonce: &str) -> Option<Secret> {
        const COUNT: &str = "00000001";
        let (Login { user, password }, Self { realm, nonce, opaque }) = (login, self);
        if user.contains(['"', '\\']) {
            return None;
        }
        let secret = hash(&format!("{user}:{realm}:{}", password.expose()));
        let request = hash(&format!("GET:{path}"));
        let response = hash(&format!("{secret}:{nonce}:{COUNT}:{client_nonce}:auth:{request}"));
        let opaque = opaque.map(|opaque| format!(", opaque=\"{opaque}\"")).unwrap_or_default();
        Some(Secret::new(format!(
            "Digest username=\"{user}\", realm=\"{realm}\", nonce=\"{nonce}\", uri=\"{path}\", algorithm=SHA-256, qop=auth, \
             nc={COUNT}, cnonce=\"{client_nonce}\", response=\"{response}\"{opaque}"
        )))
    }
}

fn hash(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn login(user: &str, password: &str) -> Login {
        Login { user: user.to_owned(), password: Secret::new(password) }
    }

    /// RFC 7616, 3.9.1: "Example with SHA-256 and MD5".
    #[test]
    fn the_example_of_the_standard() {
        let challenge = "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=SHA-256, \
            nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"";
        let challenge = DigestChallenge::parse(challenge).unwrap();
        let client_nonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";
        let header =
            challenge.answer(&login("Mufasa", "Circle of Life"), "/dir/index.html", client_nonce).unwrap();
        let response = "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1";
        assert!(header.expose().contains(&format!("response=\"{response}\"")), "{}", header.expose());
        assert!(header.expose().ends_with("opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""));
    }

    #[test]
    fn a_device_gets_the_strongest_answer_that_it_understands() {
        let digest = "Digest qop=\"auth\", realm=\"shellyplus-1\", nonce=\"60dc2a3f\", algorithm=SHA-256";
        let answer = |challenges: &[&str]| answer(challenges, &login("admin", "secret"), "/rpc");
        let header = answer(&["Basic realm=\"x\"", digest]).unwrap();
        assert!(header.expose().starts_with("Digest username=\"admin\", realm=\"shellyplus-1\""));
        assert!(!header.expose().contains("secret"));
        assert_eq!(answer(&["basic realm=\"x\""]).unwrap().expose(), "Basic YWRtaW46c2VjcmV0");
        assert!(answer(&["Bearer"]).is_none() && answer(&[]).is_none());
        assert!(answer(&[&digest.replace("SHA-256", "MD5")]).is_none(), "MD5 is not spoken");
        assert!(answer(&["Digest realm=\"x"]).is_none());
    }

    proptest! {
        #[test]
        fn no_challenge_panics(text in "(?i)(digest )?\\PC*") {
            let _ = answer(&[&text], &login("a", "b"), "/");
        }
    }
}
