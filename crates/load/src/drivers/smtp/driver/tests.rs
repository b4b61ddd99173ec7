//! Sessions with a server that says what the test lets it say.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::super::spec::{self, MailOperation};
use super::*;
use crate::inputs::sizes::SizeDistribution;
use crate::record::ErrorKind;

const HELLO: &str = "250-mx.example\r\n250-PIPELINING\r\n250-STARTTLS\r\n250 SIZE 1000000\r\n";
const DONE: Step = Step::Done { reuse: true };

/// Sessions of two messages to two recipients each, in the clear.
fn spec() -> SmtpSpec {
    SmtpSpec {
        client: spec::default_client(),
        sender: "a@client.example".to_owned(),
        recipient: "b@mx.example".to_owned(),
        messages_per_session: 2,
        awaits_quit: true,
        starttls: StartTls::Never,
        mix: vec![MailOperation {
            name: "message".to_owned(),
            weight: 1.0,
            size: SizeDistribution::fixed(300),
            recipients: SizeDistribution::fixed(2),
            pipelining: true,
        }],
    }
}

struct Session {
    driver: SmtpDriver,
    dialogue: SmtpDialogue,
    rng: Pcg64Mcg,
    counters: Vec<u64>,
}

impl Session {
    fn new(spec: &SmtpSpec) -> Self {
        let mut driver = SmtpDriver::new(spec).expect("a driver");
        let dialogue = driver.dialogue();
        let (rng, counters) = (Pcg64Mcg::seed_from_u64(1), vec![0; COUNTERS.len()]);
        let mut session = Self { driver, dialogue, rng, counters };
        let step = session.turn(Driver::greet);
        assert_eq!(step, (Step::Wait, String::new()));
        session
    }

    /// One that the server has greeted.
    fn greeted(spec: &SmtpSpec) -> Self {
        let mut session = Self::new(spec);
        assert_eq!(session.hear("220 mx.example\r\n"), (Step::Wait, "EHLO [127.0.0.1]\r\n".to_owned()));
        assert_eq!(session.hear(HELLO), (DONE, String::new()));
        session
    }

    /// What comes of a turn, and what is said in it.
    fn turn<T>(
        &mut self,
        turn: impl FnOnce(&mut SmtpDriver, &mut SmtpDialogue, Turn<'_>) -> T,
    ) -> (T, String) {
        let mut out = Vec::new();
        let seat = Turn { out: &mut out, rng: &mut self.rng, counters: &mut self.counters };
        let step = turn(&mut self.driver, &mut self.dialogue, seat);
        (step, String::from_utf8(out).expect("ASCII"))
    }

    fn begin(&mut self) -> String {
        self.turn(Driver::begin).1
    }

    fn hear(&mut self, words: &str) -> (Step, String) {
        self.turn(|driver, dialogue, turn| driver.receive(dialogue, words.as_bytes(), turn))
    }

    /// Counters above 0.
    fn counted(&self) -> Vec<(&'static str, u64)> {
        COUNTERS.iter().copied().zip(self.counters.iter().copied()).filter(|(_, count)| *count > 0).collect()
    }
}

fn complaint(step: Step) -> (String, bool) {
    match step {
        Step::Failed(fault) => (format!("{:?}: {}", fault.kind, fault.detail), fault.reuse),
        other => panic!("{other:?} where a failure is expected"),
    }
}

#[test]
fn commands_are_sent_at_once_and_the_last_message_ends_the_session() {
    let mut session = Session::greeted(&spec());
    let envelope = "MAIL FROM:<a@client.example> SIZE=300\r\nRCPT TO:<b@mx.example>\r\nRCPT TO:<b@mx.example>\r\nDATA\r\n";
    assert_eq!(session.begin(), envelope);
    let (step, said) = session.hear("250 Ok\r\n250 Ok\r\n251 Ok\r\n354 Go\r\n");
    assert_eq!((step, said.len()), (Step::Wait, 300 + 3));
    assert_eq!(session.hear("250 2.0.0 queued\r\n"), (DONE, String::new()));
    session.begin();
    // Nor does it matter how the replies come.
    assert_eq!(session.hear("250 Ok\r\n250"), (Step::Wait, String::new()));
    let (_, said) = session.hear(" Ok\r\n250 Ok\r\n354 Go\r\n");
    assert!(said.ends_with("\r\n.\r\nQUIT\r\n"), "{said}");
    assert_eq!(session.hear("250 Ok\r\n221 Bye\r\n"), (Step::Done { reuse: false }, String::new()));
    assert_eq!(session.counted(), [("messages", 2), ("recipients", 4), ("sessions", 1)]);
}

#[test]
fn the_answer_to_quit_need_not_be_waited_for() {
    let hasty = SmtpSpec { messages_per_session: 1, awaits_quit: false, ..spec() };
    let mut session = Session::greeted(&hasty);
    session.begin();
    assert!(session.hear("250 Ok\r\n250 Ok\r\n250 Ok\r\n354 Go\r\n").1.ends_with("\r\n.\r\n"));
    assert_eq!(session.hear("250 Ok\r\n"), (Step::Done { reuse: false }, "QUIT\r\n".to_owned()));
    assert_eq!(session.counted(), [("messages", 1), ("recipients", 2), ("sessions", 1)]);
}

#[test]
fn commands_are_sent_one_by_one_where_that_is_asked_or_nothing_else_offered() {
    let mut stepwise = spec();
    stepwise.mix[0].pipelining = false;
    stepwise.messages_per_session = 1;
    let mut session = Session::greeted(&stepwise);
    assert_eq!(session.begin(), "MAIL FROM:<a@client.example> SIZE=300\r\n");
    for said in ["RCPT TO:<b@mx.example>\r\n", "RCPT TO:<b@mx.example>\r\n", "DATA\r\n"] {
        assert_eq!(session.hear("250 Ok\r\n"), (Step::Wait, said.to_owned()));
    }
    assert_eq!(session.hear("354 Go\r\n").1.len(), 300 + 3);
    assert_eq!(session.hear("250 Ok\r\n"), (Step::Wait, "QUIT\r\n".to_owned()));
    assert_eq!(session.hear("221 Bye\r\n"), (Step::Done { reuse: false }, String::new()));

    let mut plain = Session::new(&spec());
    plain.hear("220 mx.example\r\n");
    assert_eq!(plain.hear("250 mx.example\r\n").0, DONE);
    assert_eq!(plain.begin(), "MAIL FROM:<a@client.example>\r\n");
}

#[test]
fn refusals_are_counted_by_code_and_leave_the_session_in_order() {
    let mut session = Session::greeted(&spec());
    session.begin();
    let replies = "250 Ok\r\n550 5.1.1 no such user\r\n450 later\r\n554 5.5.1 no valid recipients\r\n";
    assert_eq!(session.hear(replies), (Step::Wait, "RSET\r\n".to_owned()));
    let (step, _) = session.hear("250 Ok\r\n");
    let said = "UnexpectedReply: the server answers RCPT with 550 5.1.1 no such user";
    assert_eq!(complaint(step), (said.to_owned(), true));
    assert_eq!(session.counted(), [("refused 450", 1), ("refused 550", 1), ("refused 554", 1)]);

    // Whom the server takes gets the message all the same; the operation has failed.
    session.begin();
    let (step, said) = session.hear("250 Ok\r\n250 Ok\r\n452 4.5.3 too many\r\n354 Go\r\n");
    assert!(step == Step::Wait && said.ends_with(".\r\nQUIT\r\n"), "{said}");
    let (step, _) = session.hear("250 Ok\r\n221 Bye\r\n");
    assert!(complaint(step).0.ends_with("RCPT with 452 4.5.3 too many"));
    assert_eq!(session.counters[..3], [1, 1, 1]);
}

#[test]
fn a_server_that_wants_to_close_is_left() {
    let mut session = Session::greeted(&spec());
    session.begin();
    let (step, said) = session.hear("421 4.3.2 shutting down\r\n");
    let complaint = complaint(step);
    assert_eq!(complaint.0, "UnexpectedReply: the server answers MAIL with 421 4.3.2 shutting down");
    assert!(!complaint.1 && said.is_empty());

    let (step, _) = Session::new(&spec()).hear("554 5.7.1 no\r\n");
    assert!(matches!(step, Step::Failed(Fault { kind: ErrorKind::UnexpectedReply, reuse: false, .. })));
}

#[test]
fn tls_begins_after_its_reply_and_all_is_said_anew() {
    let secure = SmtpSpec { starttls: StartTls::Offered, ..spec() };
    let mut session = Session::new(&secure);
    session.hear("220 mx.example\r\n");
    assert_eq!(session.hear(HELLO), (Step::Wait, "STARTTLS\r\n".to_owned()));
    assert_eq!(session.hear("220 Go\r\n").0, Step::Secure);
    let (step, said) = session.turn(Driver::secured);
    assert_eq!((step, said), (Step::Wait, "EHLO [127.0.0.1]\r\n".to_owned()));
    assert_eq!(session.hear("250 mx.example\r\n").0, DONE);
    // What was offered in the clear no longer is.
    assert_eq!(session.begin(), "MAIL FROM:<a@client.example>\r\n");

    let mut injected = Session::new(&secure);
    injected.hear("220 mx.example\r\n");
    injected.hear(HELLO);
    let (step, _) = injected.hear("220 Go\r\n250 Ok\r\n");
    assert_eq!(complaint(step), ("Protocol: bytes after the end of the reply".to_owned(), false));

    let mut refusing = Session::new(&SmtpSpec { starttls: StartTls::Required, ..spec() });
    refusing.hear("220 mx.example\r\n");
    assert!(complaint(refusing.hear("250 mx.example\r\n").0).0.contains("does not offer STARTTLS"));
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let refused = |change: fn(&mut SmtpSpec)| {
        let mut spec = spec();
        change(&mut spec);
        SmtpDriver::new(&spec).expect_err("refused").to_string()
    };
    let sizes = |text: &str| text.parse::<SizeDistribution>().expect("sizes");
    assert!(refused(|spec| spec.client = "a b".to_owned()).starts_with("client: "));
    assert!(refused(|spec| spec.sender = "a>b".to_owned()).starts_with("sender: "));
    assert!(refused(|spec| spec.recipient = "{{ unifrom(1, 2) }}".to_owned()).starts_with("recipient: "));
    assert!(refused(|spec| spec.recipient = "a b@c".to_owned()).contains("no mail address"));
    assert!(refused(|spec| spec.mix.clear()).contains("the mix is empty"));
    let mut many = spec();
    many.mix[0].recipients = sizes("0..5");
    assert!(SmtpDriver::new(&many).expect_err("none").to_string().contains("recipients: from 1 to"));
    many.mix[0] = MailOperation { recipients: sizes("1"), size: sizes("100m"), ..many.mix[0].clone() };
    assert!(SmtpDriver::new(&many).expect_err("large").to_string().contains("size: at most 64 MiB"));
}
