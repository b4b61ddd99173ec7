//! Sessions with a server whose replies the test writes.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::super::spec::{MailOperation, SmtpSessions};
use super::*;
use crate::drivers::protocol::ALONE;
use crate::inputs::sizes::SizeDistribution;
use crate::record::ErrorKind;

const HELLO: &str = "250-mx.example\r\n250-PIPELINING\r\n250-STARTTLS\r\n250 SIZE 1000000\r\n";
const DONE: Step = Step::Done { reuse: true };

/// Sessions of two messages to two recipients each, without TLS.
fn spec() -> SmtpSpec {
    SmtpSpec {
        sessions: SmtpSessions {
            sender: "a@client.example".to_owned(),
            recipient: "b@mx.example".to_owned(),
            messages_per_session: 2,
            starttls: StartTls::Never,
            ..SmtpSessions::default()
        },
        mix: vec![MailOperation {
            name: "message".to_owned(),
            weight: 1.0,
            size: SizeDistribution::fixed(300),
            recipients: SizeDistribution::fixed(2),
            pipelining: true,
        }],
    }
}

/// A driver with one connection.
struct SmtpTestClient {
    driver: SmtpDriver,
    dialogue: SmtpDialogue,
    rng: Pcg64Mcg,
    counters: Vec<u64>,
}

impl SmtpTestClient {
    fn new(spec: &SmtpSpec) -> Self {
        let mut driver = SmtpDriver::new(spec, ALONE).expect("a driver");
        let dialogue = driver.dialogue(0);
        let (rng, counters) = (Pcg64Mcg::seed_from_u64(1), vec![0; COUNTERS.len()]);
        let mut client = Self { driver, dialogue, rng, counters };
        let step = client.turn(Driver::greet);
        assert_eq!(step, (Step::Wait, String::new()));
        client
    }

    /// A client whose greeting is over.
    fn greeted(spec: &SmtpSpec) -> Self {
        let mut client = Self::new(spec);
        assert_eq!(client.receive("220 mx.example\r\n"), (Step::Wait, "EHLO [127.0.0.1]\r\n".to_owned()));
        assert_eq!(client.receive(HELLO), (DONE, String::new()));
        client
    }

    /// The result of a turn, and the bytes that it sends.
    fn turn<T>(
        &mut self,
        turn: impl FnOnce(&mut SmtpDriver, &mut SmtpDialogue, Turn<'_>) -> T,
    ) -> (T, String) {
        let mut out = Vec::new();
        let context = Turn { out: &mut out, rng: &mut self.rng, counters: &mut self.counters };
        let step = turn(&mut self.driver, &mut self.dialogue, context);
        (step, String::from_utf8(out).expect("ASCII"))
    }

    fn begin(&mut self) -> String {
        let operation = self.driver.choose(&mut self.rng);
        self.turn(|driver, dialogue, turn| driver.begin(dialogue, operation, turn)).1
    }

    fn receive(&mut self, reply: &str) -> (Step, String) {
        self.turn(|driver, dialogue, turn| driver.receive(dialogue, reply.as_bytes(), turn))
    }

    /// Counters above 0.
    fn counted(&self) -> Vec<(&'static str, u64)> {
        COUNTERS.iter().copied().zip(self.counters.iter().copied()).filter(|(_, count)| *count > 0).collect()
    }
}

fn failure(step: Step) -> (String, bool) {
    match step {
        Step::Failed(fault) => (format!("{:?}: {}", fault.kind, fault.detail), fault.reuse),
        other => panic!("{other:?} where a failure is expected"),
    }
}

#[test]
fn commands_are_sent_together_and_the_last_message_ends_the_session() {
    let mut client = SmtpTestClient::greeted(&spec());
    let envelope = "MAIL FROM:<a@client.example> SIZE=300\r\nRCPT TO:<b@mx.example>\r\nRCPT TO:<b@mx.example>\r\nDATA\r\n";
    assert_eq!(client.begin(), envelope);
    let (step, sent) = client.receive("250 Ok\r\n250 Ok\r\n251 Ok\r\n354 Go\r\n");
    assert_eq!((step, sent.len()), (Step::Wait, 300 + 3));
    assert_eq!(client.receive("250 2.0.0 queued\r\n"), (DONE, String::new()));
    client.begin();
    // The pieces in which replies arrive do not matter.
    assert_eq!(client.receive("250 Ok\r\n250"), (Step::Wait, String::new()));
    let (_, sent) = client.receive(" Ok\r\n250 Ok\r\n354 Go\r\n");
    assert!(sent.ends_with("\r\n.\r\nQUIT\r\n"), "{sent}");
    assert_eq!(client.receive("250 Ok\r\n221 Bye\r\n"), (Step::Done { reuse: false }, String::new()));
    assert_eq!(client.counted(), [("messages", 2), ("recipients", 4), ("sessions", 1)]);
}

#[test]
fn the_client_need_not_wait_for_the_answer_to_quit() {
    let mut hasty = spec();
    (hasty.sessions.messages_per_session, hasty.sessions.awaits_quit) = (1, false);
    let mut client = SmtpTestClient::greeted(&hasty);
    client.begin();
    assert!(client.receive("250 Ok\r\n250 Ok\r\n250 Ok\r\n354 Go\r\n").1.ends_with("\r\n.\r\n"));
    assert_eq!(client.receive("250 Ok\r\n"), (Step::Done { reuse: false }, "QUIT\r\n".to_owned()));
    assert_eq!(client.counted(), [("messages", 1), ("recipients", 2), ("sessions", 1)]);
}

#[test]
fn commands_are_sent_one_by_one_without_pipelining() {
    let mut stepwise = spec();
    stepwise.mix[0].pipelining = false;
    stepwise.sessions.messages_per_session = 1;
    let mut client = SmtpTestClient::greeted(&stepwise);
    assert_eq!(client.begin(), "MAIL FROM:<a@client.example> SIZE=300\r\n");
    for command in ["RCPT TO:<b@mx.example>\r\n", "RCPT TO:<b@mx.example>\r\n", "DATA\r\n"] {
        assert_eq!(client.receive("250 Ok\r\n"), (Step::Wait, command.to_owned()));
    }
    assert_eq!(client.receive("354 Go\r\n").1.len(), 300 + 3);
    assert_eq!(client.receive("250 Ok\r\n"), (Step::Wait, "QUIT\r\n".to_owned()));
    assert_eq!(client.receive("221 Bye\r\n"), (Step::Done { reuse: false }, String::new()));

    let mut plain = SmtpTestClient::new(&spec());
    plain.receive("220 mx.example\r\n");
    assert_eq!(plain.receive("250 mx.example\r\n").0, DONE);
    assert_eq!(plain.begin(), "MAIL FROM:<a@client.example>\r\n");
}

#[test]
fn refusals_are_counted_by_code_and_the_session_continues() {
    let mut client = SmtpTestClient::greeted(&spec());
    client.begin();
    let replies = "250 Ok\r\n550 5.1.1 no such user\r\n450 later\r\n554 5.5.1 no valid recipients\r\n";
    assert_eq!(client.receive(replies), (Step::Wait, "RSET\r\n".to_owned()));
    let (step, _) = client.receive("250 Ok\r\n");
    let refusal = "UnexpectedReply: the server answers RCPT with 550 5.1.1 no such user";
    assert_eq!(failure(step), (refusal.to_owned(), true));
    assert_eq!(client.counted(), [("refused 450", 1), ("refused 550", 1), ("refused 554", 1)]);

    // The accepted recipient gets the message; the operation has failed.
    client.begin();
    let (step, sent) = client.receive("250 Ok\r\n250 Ok\r\n452 4.5.3 too many\r\n354 Go\r\n");
    assert!(step == Step::Wait && sent.ends_with(".\r\nQUIT\r\n"), "{sent}");
    let (step, _) = client.receive("250 Ok\r\n221 Bye\r\n");
    assert!(failure(step).0.ends_with("RCPT with 452 4.5.3 too many"));
    assert_eq!(client.counters[..3], [1, 1, 1]);
}

#[test]
fn a_421_closes_the_connection() {
    let mut client = SmtpTestClient::greeted(&spec());
    client.begin();
    let (step, sent) = client.receive("421 4.3.2 shutting down\r\n");
    let failure = failure(step);
    assert_eq!(failure.0, "UnexpectedReply: the server answers MAIL with 421 4.3.2 shutting down");
    assert!(!failure.1 && sent.is_empty());

    let (step, _) = SmtpTestClient::new(&spec()).receive("554 5.7.1 no\r\n");
    assert!(matches!(step, Step::Failed(Fault { kind: ErrorKind::UnexpectedReply, reuse: false, .. })));
}

#[test]
fn after_starttls_the_session_begins_again() {
    let mut secure = spec();
    secure.sessions.starttls = StartTls::Offered;
    let mut client = SmtpTestClient::new(&secure);
    client.receive("220 mx.example\r\n");
    assert_eq!(client.receive(HELLO), (Step::Wait, "STARTTLS\r\n".to_owned()));
    assert_eq!(client.receive("220 Go\r\n").0, Step::Secure);
    let (step, sent) = client.turn(Driver::secured);
    assert_eq!((step, sent), (Step::Wait, "EHLO [127.0.0.1]\r\n".to_owned()));
    assert_eq!(client.receive("250 mx.example\r\n").0, DONE);
    // The extensions that were offered without TLS are forgotten.
    assert_eq!(client.begin(), "MAIL FROM:<a@client.example>\r\n");

    let mut injected = SmtpTestClient::new(&secure);
    injected.receive("220 mx.example\r\n");
    injected.receive(HELLO);
    let (step, _) = injected.receive("220 Go\r\n250 Ok\r\n");
    assert_eq!(failure(step), ("Protocol: bytes after the end of the reply".to_owned(), false));

    secure.sessions.starttls = StartTls::Required;
    let mut refusing = SmtpTestClient::new(&secure);
    refusing.receive("220 mx.example\r\n");
    assert!(failure(refusing.receive("250 mx.example\r\n").0).0.contains("does not offer STARTTLS"));
}

#[test]
fn an_invalid_spec_is_refused() {
    let refused = |change: fn(&mut SmtpSpec)| {
        let mut spec = spec();
        change(&mut spec);
        SmtpDriver::new(&spec, ALONE).expect_err("refused").to_string()
    };
    let sizes = |text: &str| text.parse::<SizeDistribution>().expect("sizes");
    assert!(refused(|spec| spec.sessions.client = "a b".to_owned()).starts_with("client: "));
    assert!(refused(|spec| spec.sessions.sender = "a>b".to_owned()).starts_with("sender: "));
    assert!(
        refused(|spec| spec.sessions.recipient = "{{ unifrom(1, 2) }}".to_owned()).starts_with("recipient: ")
    );
    assert!(refused(|spec| spec.sessions.recipient = "a b@c".to_owned()).contains("no mail address"));
    assert!(refused(|spec| spec.mix.clear()).contains("the mix is empty"));
    let mut many = spec();
    many.mix[0].recipients = sizes("0..5");
    assert!(SmtpDriver::new(&many, ALONE).expect_err("none").to_string().contains("recipients: from 1 to"));
    many.mix[0] = MailOperation { recipients: sizes("1"), size: sizes("100m"), ..many.mix[0].clone() };
    assert!(SmtpDriver::new(&many, ALONE).expect_err("large").to_string().contains("size: at most 64 MiB"));
}
