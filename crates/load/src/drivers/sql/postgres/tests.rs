//! Logins to servers that want more than they should get, or that prove nothing.

use super::*;

const PASSWORD: &str = "open sesame";

/// Credentials of a load to another machine.
fn credentials() -> DatabaseCredentials {
    DatabaseCredentials {
        user: "me".to_owned(),
        database: "db".to_owned(),
        password: PASSWORD.into(),
        may_send_cleartext: false,
        may_send_md5: false,
    }
}

fn message(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len() + 4).expect("a short message");
    [&[kind], length.to_be_bytes().as_slice(), payload].concat()
}

fn authentication(code: u32, payload: &[u8]) -> Vec<u8> {
    message(b'R', &[code.to_be_bytes().as_slice(), payload].concat())
}

const READY: &[u8] = b"Z\0\0\0\x05I";

/// A client, and all that it has sent.
struct Login {
    session: PostgresSession,
    credentials: DatabaseCredentials,
    sent: Vec<u8>,
}

impl Login {
    fn new(credentials: DatabaseCredentials) -> Self {
        let (mut session, mut sent) = (PostgresSession::new(), Vec::new());
        session.greet(&credentials, &mut sent);
        Self { session, credentials, sent }
    }

    fn receive(&mut self, reply: &[u8]) -> Result<Progress, String> {
        let mut input = reply;
        let progress = self.session.receive(&self.credentials, &mut input, &mut self.sent);
        progress.map_err(|fault| fault.detail.into_owned())
    }

    fn has_sent(&self, text: &str) -> bool {
        self.sent.windows(text.len()).any(|bytes| bytes == text.as_bytes())
    }

    /// The login by SCRAM up to the client's proof, with a server that does not know the password.
    fn scram(credentials: DatabaseCredentials) -> Self {
        let mut login = Self::new(credentials);
        let asked = login.receive(&authentication(10, b"SCRAM-SHA-256\0\0"));
        assert_eq!(asked, Ok(Progress::Wait));
        let sent = String::from_utf8_lossy(&login.sent).into_owned();
        // The nonce may contain this text itself.
        let (_, nonce) = sent.split_once("r=").expect("a nonce");
        let challenge = format!("r={nonce}server,s=QSXCR+Q6sek8bf92,i=4096");
        assert_eq!(login.receive(&authentication(11, challenge.as_bytes())), Ok(Progress::Wait));
        login
    }
}

#[test]
fn the_remedy_of_a_refused_login_follows_from_its_reason() {
    let of = |code: &str| {
        let fields = format!("SFATAL\0C{code}\0Mno\0\0");
        Login::new(credentials()).receive(&message(b'E', fields.as_bytes())).expect_err("refused")
    };
    assert!(of("28P01").ends_with("check user, database and password ($PGPASSWORD)"), "{}", of("28P01"));
    assert!(of("53300").contains("(53300): use fewer connections"), "{}", of("53300"));
    assert!(of("57P03").ends_with("wait until the server has started"), "{}", of("57P03"));
}

#[test]
fn a_password_is_not_sent_to_a_server_that_asks_for_it() {
    for asked in [authentication(3, b""), authentication(5, b"salt")] {
        let mut login = Login::new(credentials());
        let before = login.sent.clone();
        let error = login.receive(&asked).expect_err("refused");
        assert!(error.contains("scram-sha-256") && error.contains("--allow-cleartext-password"), "{error}");
        assert_eq!(login.sent, before, "nothing is sent");
    }
}

#[test]
fn md5_is_for_loopback_and_cleartext_for_who_allows_it() {
    let local = || DatabaseCredentials { may_send_md5: true, ..credentials() };
    let accepted = [authentication(0, b""), READY.to_vec()].concat();
    let mut login = Login::new(local());
    assert_eq!(login.receive(&authentication(5, b"salt")), Ok(Progress::Wait));
    assert!(login.has_sent("md5") && !login.has_sent(PASSWORD));
    assert_eq!(login.receive(&accepted), Ok(Progress::Replied));
    assert!(Login::new(local()).receive(&authentication(3, b"")).is_err(), "not unencrypted");

    let mut login = Login::new(DatabaseCredentials { may_send_cleartext: true, ..local() });
    assert_eq!(login.receive(&authentication(3, b"")), Ok(Progress::Wait));
    assert!(login.has_sent(PASSWORD));
    assert_eq!(login.receive(&accepted), Ok(Progress::Replied));
}

#[test]
fn a_login_without_the_server_s_proof_is_refused() {
    let accepted = [authentication(0, b""), READY.to_vec()].concat();
    for reply in [accepted.clone(), READY.to_vec()] {
        let error = Login::new(credentials()).receive(&reply).expect_err("at once");
        assert!(error.contains("without proof"), "{error}");
        let error = Login::scram(credentials()).receive(&reply).expect_err("before the last message");
        assert!(error.contains("without proof"), "{error}");
    }
    let final_message = authentication(12, b"v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    let error = Login::scram(credentials()).receive(&[final_message, accepted.clone()].concat());
    assert!(error.expect_err("a wrong proof").contains("SCRAM-SHA-256 is wrong"));
    // The server turns to another method once the client has begun.
    assert!(Login::scram(credentials()).receive(&authentication(3, b"")).is_err());

    let without = DatabaseCredentials { password: Vec::new(), ..credentials() };
    assert_eq!(Login::new(without).receive(&accepted), Ok(Progress::Replied), "there is nothing to prove");
}
