//! Redis, Valkey and other servers of RESP2: get, set and delete over a key space, after `AUTH` where there is a
//! password. [`password`](super::password) has where the password is.

use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use wire::resp::{Event, ReplyDecoder, request};

use super::error::OperationError;
use super::keyspace::{self, KeyAnswer, KeyCommand, KeyExchange, Keyspace, KeyspaceSpec};
use super::options::{DriverOption, GivenOptions, OptionError};
use super::password::{ALLOW_CLEARTEXT, PasswordSource};
use super::protocol::{DriverUse, Protocol, ServerAccess, UrlPath, UrlScheme, WorkerShare};
use crate::driver::{Driver, Fault, OperationId, Step, Turn};

/// A mix of commands, and the login.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisSpec {
    /// The login of each connection; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<RedisAuth>,
    /// Commands, keys and values.
    pub keyspace: KeyspaceSpec,
}

/// `AUTH [user] password` (redis.io/docs/latest/commands/auth).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisAuth {
    /// The server's default user by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Where the user's password is.
    pub password: PasswordSource,
    /// Whether `AUTH`, which is not encrypted, may go to a server that is not on loopback.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_cleartext: bool,
}

/// Drives RESP2 for one worker. It contains a password, so it is not `Debug`.
pub struct RedisDriver {
    spec: RedisSpec,
    keyspace: Keyspace,
    /// The rendered `AUTH`, if there is a password.
    greeting: Option<Vec<u8>>,
}

/// The state of one connection.
#[derive(Debug)]
pub struct RedisDialogue {
    decoder: ReplyDecoder,
    reply: RedisReply,
}

/// A reply in progress.
#[derive(Debug, Default)]
struct RedisReply {
    exchange: KeyExchange,
    /// None during the greeting.
    awaited: Option<KeyCommand>,
    answer: Option<KeyAnswer>,
    /// The unexpected part of the reply.
    other: Option<Box<str>>,
}

impl RedisDriver {
    /// A driver for one worker. Reads the password.
    pub fn new(spec: &RedisSpec, share: WorkerShare) -> Result<Self, OperationError> {
        let greeting = spec.auth.as_ref().map(|auth| {
            if !share.is_local && !auth.allow_cleartext {
                let what = "AUTH would send the password unencrypted to a server that is not on loopback: unset \
                            $REDISCLI_AUTH, connect through a tunnel, or pass --allow-cleartext-password";
                return Err(OperationError(what.to_owned()));
            }
            let password = auth.password.read()?;
            let user = auth.user.iter().map(String::as_bytes);
            let arguments: Vec<&[u8]> = user.chain([password.as_slice()]).collect();
            let mut greeting = Vec::new();
            request::command(&mut greeting, "AUTH", &arguments);
            Ok(greeting)
        });
        Ok(Self {
            keyspace: Keyspace::new(&spec.keyspace, share.worker, share.workers)?,
            greeting: greeting.transpose()?,
            spec: spec.clone(),
        })
    }
}

impl RedisReply {
    /// Takes the top level of a reply, or the inner part of an unexpected reply.
    fn take(&mut self, keyspace: &Keyspace, event: Event<'_>) {
        match (self.awaited, event) {
            (Some(KeyCommand::Get), Event::Bulk { length, .. }) => {
                keyspace.check_length(&mut self.exchange, length);
                self.answer = Some(KeyAnswer::Hit);
            }
            (Some(KeyCommand::Get), Event::Data(data)) => keyspace.check_data(&mut self.exchange, data),
            (Some(KeyCommand::Get), Event::Null) | (Some(KeyCommand::Delete), Event::Integer(0)) => {
                self.answer = Some(KeyAnswer::Miss);
            }
            (Some(KeyCommand::Delete), Event::Integer(1)) => self.answer = Some(KeyAnswer::Hit),
            (Some(KeyCommand::Set) | None, Event::Simple(b"OK")) => self.answer = Some(KeyAnswer::Stored),
            (_, other) => {
                self.other.get_or_insert_with(|| match other {
                    Event::Error(text) => String::from_utf8_lossy(text).into(),
                    other => format!("{other:?}").into(),
                });
            }
        }
    }

    /// Checks a complete reply.
    fn check(&self, counters: &mut [u64]) -> Step {
        match (self.awaited, self.answer, self.other.as_deref()) {
            (Some(_), Some(answer), None) => keyspace::conclude(&self.exchange, answer, counters),
            (None, Some(_), None) => Step::Done { reuse: true },
            (Some(command), _, other) => {
                let text = other.unwrap_or("something else");
                let command = format!("{command:?}").to_uppercase();
                Step::Failed(Fault::unexpected(format!("the server answers {command} with {text}"), true))
            }
            (None, _, other) => {
                let text = other.unwrap_or("something else");
                Step::Failed(Fault::unexpected(format!("the server answers AUTH with {text}"), false))
            }
        }
    }
}

impl Driver for RedisDriver {
    type Dialogue = RedisDialogue;

    fn operations(&self) -> Vec<String> {
        self.spec.keyspace.operations()
    }

    fn counters(&self) -> &'static [&'static str] {
        keyspace::COUNTERS
    }

    fn dialogue(&mut self, _slot: u32) -> RedisDialogue {
        RedisDialogue { decoder: ReplyDecoder::new(), reply: RedisReply::default() }
    }

    fn greet(&mut self, dialogue: &mut RedisDialogue, turn: Turn<'_>) -> Step {
        let Some(greeting) = &self.greeting else { return Step::Done { reuse: true } };
        turn.out.extend_from_slice(greeting);
        dialogue.decoder.expect();
        Step::Wait
    }

    #[inline]
    fn choose(&mut self, rng: &mut Pcg64Mcg) -> OperationId {
        self.keyspace.choose(rng)
    }

    fn begin(&mut self, dialogue: &mut RedisDialogue, operation: OperationId, turn: Turn<'_>) {
        let exchange = self.keyspace.begin(operation, turn.rng);
        let (command, key) = (self.keyspace.command(&exchange), self.keyspace.key());
        match command {
            KeyCommand::Get => request::get(turn.out, key),
            KeyCommand::Set => request::set(turn.out, key, self.keyspace.value(&exchange)),
            KeyCommand::Delete => request::delete(turn.out, key),
        }
        dialogue.decoder.expect();
        dialogue.reply = RedisReply { exchange, awaited: Some(command), answer: None, other: None };
    }

    fn receive(&mut self, dialogue: &mut RedisDialogue, mut input: &[u8], turn: Turn<'_>) -> Step {
        loop {
            match dialogue.decoder.decode(&mut input) {
                Ok(Some(Event::End { push: true })) => {
                    return Step::Failed(Fault::protocol("a push message, which RESP2 does not have"));
                }
                Ok(Some(Event::End { push: false })) if input.is_empty() => {
                    return dialogue.reply.check(turn.counters);
                }
                Ok(Some(Event::End { push: false })) => {
                    return Step::Failed(Fault::protocol("bytes after the end of the reply"));
                }
                Ok(Some(event)) => dialogue.reply.take(&self.keyspace, event),
                Ok(None) => return Step::Wait,
                Err(error) => return Step::Failed(Fault::protocol(error.to_string())),
            }
        }
    }

    fn closed(&mut self, dialogue: &mut RedisDialogue, _turn: Turn<'_>) -> Step {
        Step::Failed(Fault::closed(dialogue.decoder.eof().to_string()))
    }
}

/// The protocol of Redis and its forks.
#[derive(Debug)]
pub struct Redis;

impl Protocol for Redis {
    type Spec = RedisSpec;
    type Mix = KeyspaceSpec;

    const NAME: &'static str = "redis";
    const CODEC: Option<&'static str> = Some("resp");
    const SCHEMES: &'static [UrlScheme] = &[UrlScheme { names: &["redis"], port: 6_379, is_tls: false }];
    const URL_PATH: UrlPath = UrlPath::Unused("keys have no paths");
    const PASSWORD_VARIABLE: Option<&'static str> = Some("REDISCLI_AUTH");
    const TAKES_USER: bool = true;
    const OPTIONS: &'static [DriverOption] = &[ALLOW_CLEARTEXT];

    fn password(spec: &mut RedisSpec) -> Option<&mut PasswordSource> {
        spec.auth.as_mut().map(|auth| &mut auth.password)
    }

    fn spec(mix: KeyspaceSpec, access: &ServerAccess) -> RedisSpec {
        let auth = access.password.clone().map(|password| RedisAuth {
            user: Some(access.user.clone()).filter(|user| !user.is_empty()),
            password,
            allow_cleartext: access.may_send_cleartext,
        });
        RedisSpec { auth, keyspace: KeyspaceSpec { seed: access.seed, ..mix } }
    }

    fn apply_options(spec: &mut RedisSpec, given: &GivenOptions) -> Result<(), OptionError> {
        if let Some(auth) = &mut spec.auth {
            auth.allow_cleartext = given.has(&ALLOW_CLEARTEXT);
        }
        Ok(())
    }

    fn drive<U: DriverUse>(
        spec: &RedisSpec,
        share: WorkerShare,
        user: U,
    ) -> Result<U::Output, OperationError> {
        Ok(user.driver(RedisDriver::new(spec, share)?))
    }

    fn populate(spec: &RedisSpec) -> Vec<(RedisSpec, u64)> {
        let populate = RedisSpec { keyspace: spec.keyspace.populate(), ..spec.clone() };
        vec![(populate, spec.keyspace.keys)]
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::super::keyspace::sample;
    use super::super::protocol::ALONE;
    use super::*;
    use crate::record::ErrorKind;

    struct RedisTestClient {
        driver: RedisDriver,
        dialogue: RedisDialogue,
        rng: Pcg64Mcg,
        sent: Vec<u8>,
        counters: [u64; 2],
    }

    impl RedisTestClient {
        fn new(spec: &RedisSpec) -> Self {
            let mut driver = RedisDriver::new(spec, ALONE).expect("a driver");
            let dialogue = driver.dialogue(0);
            Self { driver, dialogue, rng: Pcg64Mcg::seed_from_u64(1), sent: Vec::new(), counters: [0; 2] }
        }

        fn begin(&mut self) {
            let operation = self.driver.choose(&mut self.rng);
            let turn = Turn { out: &mut self.sent, rng: &mut self.rng, counters: &mut self.counters };
            self.driver.begin(&mut self.dialogue, operation, turn);
        }

        fn receive(&mut self, input: &str) -> Step {
            let turn = Turn { out: &mut self.sent, rng: &mut self.rng, counters: &mut self.counters };
            self.driver.receive(&mut self.dialogue, input.as_bytes(), turn)
        }
    }

    /// The result of one command with this reply, and the counters after it.
    fn answer(command: KeyCommand, reply: &str) -> (Step, [u64; 2]) {
        let mut client = RedisTestClient::new(&RedisSpec { auth: None, keyspace: sample(command) });
        client.begin();
        (client.receive(reply), client.counters)
    }

    fn failure(step: Step) -> String {
        match step {
            Step::Failed(fault) => format!("{:?}: {}", fault.kind, fault.detail),
            other => panic!("{other:?} where a failure is expected"),
        }
    }

    const DONE: Step = Step::Done { reuse: true };

    #[test]
    fn hits_and_misses_are_counted() {
        assert_eq!(answer(KeyCommand::Get, "$-1\r\n"), (DONE, [0, 1]));
        assert_eq!(answer(KeyCommand::Delete, ":1\r\n"), (DONE, [1, 0]));
        assert_eq!(answer(KeyCommand::Delete, ":0\r\n"), (DONE, [0, 1]));
        assert_eq!(answer(KeyCommand::Set, "+OK\r\n"), (DONE, [0, 0]));
    }

    #[test]
    fn a_hit_is_compared_with_the_stored_value() {
        let spec = RedisSpec { auth: None, keyspace: sample(KeyCommand::Get) };
        let mut client = RedisTestClient::new(&spec);
        client.begin();
        assert_eq!(client.sent, b"*2\r\n$3\r\nGET\r\n$7\r\nkey-000\r\n");
        let RedisTestClient { driver, dialogue, .. } = &client;
        let stored =
            String::from_utf8(driver.keyspace.value(&dialogue.reply.exchange).to_vec()).expect("ASCII");
        assert_eq!(client.receive("$5\r\n"), Step::Wait);
        assert_eq!(client.receive(&format!("{stored}\r\n")), DONE);
        let (step, counters) = answer(KeyCommand::Get, "$5\r\n-----\r\n");
        assert_eq!(failure(step), "UnexpectedReply: the value is not the stored one");
        assert_eq!(counters, [0, 0]);
    }

    #[test]
    fn an_unexpected_reply_is_an_error_with_the_server_s_message() {
        for (command, reply, part) in [
            (KeyCommand::Set, "-OOM command not allowed\r\n", "answers SET with OOM command not allowed"),
            (KeyCommand::Get, "+OK\r\n", "answers GET with Simple"),
            (KeyCommand::Set, ":1\r\n", "answers SET with Integer(1)"),
            (KeyCommand::Get, "*1\r\n$-1\r\n", "answers GET with Aggregate"),
        ] {
            let message = failure(answer(command, reply).0);
            assert!(message.contains(part), "{message}");
        }
        let (step, _) = answer(KeyCommand::Set, "+OK\r\n+OK\r\n");
        assert!(matches!(step, Step::Failed(Fault { kind: ErrorKind::Protocol, reuse: false, .. })));
    }

    #[test]
    fn a_password_is_sent_first_and_never_recorded() -> Result<(), Box<dyn std::error::Error>> {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), "open sesame\n")?;
        let auth = RedisAuth {
            user: Some("ali".to_owned()),
            password: PasswordSource::File(file.path().to_owned()),
            allow_cleartext: false,
        };
        let spec = RedisSpec { auth: Some(auth), keyspace: sample(KeyCommand::Get) };
        let mut client = RedisTestClient::new(&spec);
        let turn = Turn { out: &mut client.sent, rng: &mut client.rng, counters: &mut [0, 0] };
        assert_eq!(client.driver.greet(&mut client.dialogue, turn), Step::Wait);
        assert_eq!(client.sent, b"*3\r\n$4\r\nAUTH\r\n$3\r\nali\r\n$11\r\nopen sesame\r\n");
        assert_eq!(client.receive("+OK\r\n"), DONE);

        let mut refused = RedisTestClient::new(&spec);
        refused.dialogue.decoder.expect();
        let message = failure(refused.receive("-WRONGPASS invalid\r\n"));
        assert_eq!(message, "UnexpectedReply: the server answers AUTH with WRONGPASS invalid");

        let elsewhere = WorkerShare { is_local: false, ..ALONE };
        let Err(error) = RedisDriver::new(&spec, elsewhere) else { return Err("it is refused".into()) };
        assert!(error.to_string().contains("--allow-cleartext-password"), "{error}");
        let mut allowed = spec.clone();
        allowed.auth.as_mut().ok_or("a login")?.allow_cleartext = true;
        assert!(RedisDriver::new(&allowed, elsewhere).is_ok());
        let without = RedisSpec { auth: None, ..spec.clone() };
        assert!(RedisDriver::new(&without, elsewhere).is_ok());

        let recorded = serde_json::to_string(&spec)?;
        assert!(!recorded.contains("sesame"), "{recorded}");
        assert_eq!(serde_json::from_str::<RedisSpec>(&recorded)?, spec);
        Ok(())
    }
}
