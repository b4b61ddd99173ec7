//! Redis, Valkey and their kin: get, set and delete over a key space, after `AUTH` where a password is set.
//!
//! A password is never part of a spec, which is recorded with the results: the spec says where the password
//! is, and each load process reads it there.

use serde::{Deserialize, Serialize};
use wire::resp::{Event, ReplyDecoder, request};

use super::OperationError;
use super::keyspace::{self, Answer, Command, Exchange, Keyspace, KeyspaceSpec};
use super::password::PasswordSource;
use crate::driver::{Driver, Fault, OperationId, Step, Turn};

/// A mix of commands, and who asks for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisSpec {
    /// What each connection says first; nothing if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// Commands, keys and values.
    pub keyspace: KeyspaceSpec,
}

/// `AUTH [user] password` (redis.io/docs/latest/commands/auth).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// The default user if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Where its password is.
    pub password: PasswordSource,
}

/// Speaks RESP2 for one worker. It holds a password, so it cannot be printed.
pub struct RedisDriver {
    spec: RedisSpec,
    keyspace: Keyspace,
    /// The rendered `AUTH`, if there is to be one.
    greeting: Option<Vec<u8>>,
}

/// One connection.
#[derive(Debug)]
pub struct RedisDialogue {
    decoder: ReplyDecoder,
    reply: Reply,
}

/// The reply so far.
#[derive(Debug, Default)]
struct Reply {
    exchange: Exchange,
    /// None while the connection is greeted.
    awaited: Option<Command>,
    answer: Option<Answer>,
    /// What came that is no answer.
    other: Option<Box<str>>,
}

impl RedisDriver {
    /// A driver for worker `worker` of `workers`. Reads the password.
    pub fn new(spec: &RedisSpec, worker: u32, workers: u32) -> Result<Self, OperationError> {
        let greeting = spec.auth.as_ref().map(|auth| {
            let password = auth.password.read()?;
            let user = auth.user.iter().map(String::as_bytes);
            let arguments: Vec<&[u8]> = user.chain([password.as_slice()]).collect();
            let mut greeting = Vec::new();
            request::command(&mut greeting, "AUTH", &arguments);
            Ok(greeting)
        });
        Ok(Self {
            keyspace: Keyspace::new(&spec.keyspace, worker, workers)?,
            greeting: greeting.transpose()?,
            spec: spec.clone(),
        })
    }
}

impl Reply {
    /// Takes the top of a reply, or what lies below the top of one that is no answer.
    fn take(&mut self, keyspace: &Keyspace, event: Event<'_>) {
        match (self.awaited, event) {
            (Some(Command::Get), Event::Bulk { length, .. }) => {
                keyspace.check_length(&mut self.exchange, length);
                self.answer = Some(Answer::Hit);
            }
            (Some(Command::Get), Event::Data(data)) => keyspace.check_data(&mut self.exchange, data),
            (Some(Command::Get), Event::Null) | (Some(Command::Delete), Event::Integer(0)) => {
                self.answer = Some(Answer::Miss);
            }
            (Some(Command::Delete), Event::Integer(1)) => self.answer = Some(Answer::Hit),
            (Some(Command::Set) | None, Event::Simple(b"OK")) => self.answer = Some(Answer::Stored),
            (_, other) => {
                self.other.get_or_insert_with(|| match other {
                    Event::Error(text) => String::from_utf8_lossy(text).into(),
                    other => format!("{other:?}").into(),
                });
            }
        }
    }

    /// A reply that is whole: is it the one expected?
    fn check(&self, counters: &mut [u64]) -> Step {
        match (self.awaited, self.answer, self.other.as_deref()) {
            (Some(_), Some(answer), None) => keyspace::conclude(&self.exchange, answer, counters),
            (None, Some(_), None) => Step::Done { reuse: true },
            (Some(command), _, other) => {
                let said = other.unwrap_or("something else");
                Step::Failed(Fault::unexpected(format!("the server answers {command:?} with {said}"), true))
            }
            (None, _, other) => {
                let said = other.unwrap_or("something else");
                Step::Failed(Fault::unexpected(format!("the server answers AUTH with {said}"), false))
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

    fn dialogue(&mut self) -> RedisDialogue {
        RedisDialogue { decoder: ReplyDecoder::new(), reply: Reply::default() }
    }

    fn greet(&mut self, dialogue: &mut RedisDialogue, turn: Turn<'_>) -> Step {
        let Some(greeting) = &self.greeting else { return Step::Done { reuse: true } };
        turn.out.extend_from_slice(greeting);
        dialogue.decoder.expect();
        Step::Wait
    }

    fn begin(&mut self, dialogue: &mut RedisDialogue, turn: Turn<'_>) -> OperationId {
        let exchange = self.keyspace.begin(turn.rng);
        let (command, key) = (self.keyspace.command(&exchange), self.keyspace.key());
        match command {
            Command::Get => request::get(turn.out, key),
            Command::Set => request::set(turn.out, key, self.keyspace.value(&exchange)),
            Command::Delete => request::delete(turn.out, key),
        }
        dialogue.decoder.expect();
        dialogue.reply = Reply { exchange, awaited: Some(command), answer: None, other: None };
        dialogue.reply.exchange.operation
    }

    fn receive(&mut self, dialogue: &mut RedisDialogue, mut input: &[u8], turn: Turn<'_>) -> Step {
        loop {
            match dialogue.decoder.decode(&mut input) {
                Ok(Some(Event::End { push: true })) => {
                    return Step::Failed(Fault::protocol("a push, which RESP2 does not have"));
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

    fn closed(&mut self, dialogue: &mut RedisDialogue) -> Step {
        Step::Failed(Fault::closed(dialogue.decoder.eof().to_string()))
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::super::keyspace::tests::sample;
    use super::*;
    use crate::record::ErrorKind;

    struct Conversation {
        driver: RedisDriver,
        dialogue: RedisDialogue,
        rng: Pcg64Mcg,
        sent: Vec<u8>,
        counters: [u64; 2],
    }

    impl Conversation {
        fn new(spec: &RedisSpec) -> Self {
            let mut driver = RedisDriver::new(spec, 0, 1).expect("a driver");
            let dialogue = driver.dialogue();
            Self { driver, dialogue, rng: Pcg64Mcg::seed_from_u64(1), sent: Vec::new(), counters: [0; 2] }
        }

        fn begin(&mut self) {
            let turn = Turn { out: &mut self.sent, rng: &mut self.rng, counters: &mut self.counters };
            self.driver.begin(&mut self.dialogue, turn);
        }

        fn receive(&mut self, input: &str) -> Step {
            let turn = Turn { out: &mut self.sent, rng: &mut self.rng, counters: &mut self.counters };
            self.driver.receive(&mut self.dialogue, input.as_bytes(), turn)
        }
    }

    /// What becomes of one command with this reply, and the counters after it.
    fn answer(command: Command, reply: &str) -> (Step, [u64; 2]) {
        let mut conversation = Conversation::new(&RedisSpec { auth: None, keyspace: sample(command) });
        conversation.begin();
        (conversation.receive(reply), conversation.counters)
    }

    fn complaint(step: Step) -> String {
        match step {
            Step::Failed(fault) => format!("{:?}: {}", fault.kind, fault.detail),
            other => panic!("{other:?} where a failure is expected"),
        }
    }

    const DONE: Step = Step::Done { reuse: true };

    #[test]
    fn hits_and_misses_are_counted() {
        assert_eq!(answer(Command::Get, "$-1\r\n"), (DONE, [0, 1]));
        assert_eq!(answer(Command::Delete, ":1\r\n"), (DONE, [1, 0]));
        assert_eq!(answer(Command::Delete, ":0\r\n"), (DONE, [0, 1]));
        assert_eq!(answer(Command::Set, "+OK\r\n"), (DONE, [0, 0]));
    }

    #[test]
    fn a_hit_is_held_against_what_was_stored() {
        let spec = RedisSpec { auth: None, keyspace: sample(Command::Get) };
        let mut conversation = Conversation::new(&spec);
        conversation.begin();
        assert_eq!(conversation.sent, b"*2\r\n$3\r\nGET\r\n$7\r\nkey-000\r\n");
        let Conversation { driver, dialogue, .. } = &conversation;
        let stored =
            String::from_utf8(driver.keyspace.value(&dialogue.reply.exchange).to_vec()).expect("ASCII");
        assert_eq!(conversation.receive("$5\r\n"), Step::Wait);
        assert_eq!(conversation.receive(&format!("{stored}\r\n")), DONE);
        let (step, counters) = answer(Command::Get, "$5\r\n-----\r\n");
        assert_eq!(complaint(step), "UnexpectedReply: another value than the one stored");
        assert_eq!(counters, [0, 0]);
    }

    #[test]
    fn what_is_no_answer_to_the_command_is_an_error_with_the_server_s_words() {
        for (command, reply, said) in [
            (Command::Set, "-OOM command not allowed\r\n", "answers Set with OOM command not allowed"),
            (Command::Get, "+OK\r\n", "answers Get with Simple"),
            (Command::Set, ":1\r\n", "answers Set with Integer(1)"),
            (Command::Get, "*1\r\n$-1\r\n", "answers Get with Aggregate"),
        ] {
            let complaint = complaint(answer(command, reply).0);
            assert!(complaint.contains(said), "{complaint}");
        }
        let (step, _) = answer(Command::Set, "+OK\r\n+OK\r\n");
        assert!(matches!(step, Step::Failed(Fault { kind: ErrorKind::Protocol, reuse: false, .. })));
    }

    #[test]
    fn a_password_is_said_first_and_never_recorded() -> Result<(), Box<dyn std::error::Error>> {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), "open sesame\n")?;
        let auth =
            Auth { user: Some("ali".to_owned()), password: PasswordSource::File(file.path().to_owned()) };
        let spec = RedisSpec { auth: Some(auth), keyspace: sample(Command::Get) };
        let mut conversation = Conversation::new(&spec);
        let turn = Turn { out: &mut conversation.sent, rng: &mut conversation.rng, counters: &mut [0, 0] };
        assert_eq!(conversation.driver.greet(&mut conversation.dialogue, turn), Step::Wait);
        assert_eq!(conversation.sent, b"*3\r\n$4\r\nAUTH\r\n$3\r\nali\r\n$11\r\nopen sesame\r\n");
        assert_eq!(conversation.receive("+OK\r\n"), DONE);

        let mut refused = Conversation::new(&spec);
        refused.dialogue.decoder.expect();
        let said = complaint(refused.receive("-WRONGPASS invalid\r\n"));
        assert_eq!(said, "UnexpectedReply: the server answers AUTH with WRONGPASS invalid");

        let recorded = serde_json::to_string(&spec)?;
        assert!(!recorded.contains("sesame"), "{recorded}");
        assert_eq!(serde_json::from_str::<RedisSpec>(&recorded)?, spec);
        Ok(())
    }
}
