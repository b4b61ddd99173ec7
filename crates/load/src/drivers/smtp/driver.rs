//! The driver of SMTP: the order of a session (greeting, `EHLO`, TLS, messages, `QUIT`), and what follows a refusal.

use rand_pcg::Pcg64Mcg;
use wire::smtp::{Event, Extensions, ReplyLine, request};

use super::dialogue::{Awaited, MessageProgress, SmtpDialogue};
use super::message::{MessageText, length};
use super::refusal::{COUNTERS, MESSAGES, RECIPIENTS, Refusal};
use super::spec::{SmtpSpec, StartTls};
use crate::driver::{Driver, Fault, OperationId, Step, Turn};
use crate::drivers::choice::WeightedChoice;
use crate::drivers::error::OperationError;
use crate::drivers::protocol::WorkerShare;
use crate::inputs::template::Template;

/// Drives SMTP for one worker.
#[derive(Debug)]
pub struct SmtpDriver {
    spec: SmtpSpec,
    choice: WeightedChoice,
    recipient: Template,
    text: MessageText,
    /// A recipient's address, rendered.
    address: Vec<u8>,
}

/// Why a recipient cannot be named to a server.
#[derive(Debug, thiserror::Error)]
enum RecipientError {
    /// The address is no text.
    #[error(transparent)]
    Text(#[from] std::str::Utf8Error),
    /// SMTP does not allow the address.
    #[error(transparent)]
    Address(#[from] wire::smtp::RequestError),
}

impl SmtpDriver {
    /// A driver for any worker.
    pub fn new(spec: &SmtpSpec, share: WorkerShare) -> Result<Self, OperationError> {
        let choice = spec.check()?;
        let recipient = Template::parse(&spec.sessions.recipient);
        let recipient = recipient.map_err(|e| OperationError::about("recipient", e))?;
        let recipient = recipient.for_worker(share.worker, share.workers);
        let text = MessageText::new(spec);
        let mut driver = Self { spec: spec.clone(), choice, recipient, text, address: Vec::new() };
        // Addresses differ in letters and digits only, so one valid address means that all are valid.
        let mut rng = rand::SeedableRng::seed_from_u64(0);
        driver.rcpt(&mut Vec::new(), &mut rng).map_err(|why| OperationError::about("recipient", why))?;
        Ok(driver)
    }

    fn rcpt(&mut self, out: &mut Vec<u8>, rng: &mut Pcg64Mcg) -> Result<(), RecipientError> {
        self.address.clear();
        self.recipient.render(rng, &mut self.address);
        let address = std::str::from_utf8(&self.address)?;
        Ok(request::rcpt(out, address)?)
    }

    fn hello(&self, dialogue: &mut SmtpDialogue, out: &mut Vec<u8>) -> Step {
        dialogue.offered = Extensions::default();
        // The name was checked in new().
        let _ = request::ehlo(out, &self.spec.sessions.client);
        dialogue.expect(Awaited::Hello)
    }

    /// The server's extensions are known: continues with TLS, or ends the greeting.
    fn greeted(&self, dialogue: &mut SmtpDialogue, out: &mut Vec<u8>) -> Step {
        if dialogue.is_secure || self.spec.sessions.starttls == StartTls::Never {
            return Step::Done { reuse: true };
        }
        match (dialogue.offered.starttls, self.spec.sessions.starttls) {
            (true, _) => {
                request::starttls(out);
                dialogue.expect(Awaited::StartTls)
            }
            (false, StartTls::Required) => Step::Failed(Fault::unexpected(
                "the server does not offer STARTTLS, which is required",
                false,
            )),
            (false, _) => Step::Done { reuse: true },
        }
    }

    fn is_last(&self, dialogue: &SmtpDialogue) -> bool {
        dialogue.messages == self.spec.sessions.messages_per_session
    }

    /// Takes a complete reply.
    #[inline]
    fn take(&mut self, dialogue: &mut SmtpDialogue, line: ReplyLine<'_>, turn: &mut Turn<'_>) -> Step {
        let is = |code: u16| line.code == code;
        match dialogue.awaited {
            Awaited::Greeting if is(220) => self.hello(dialogue, turn.out),
            Awaited::Hello if is(250) => self.greeted(dialogue, turn.out),
            Awaited::StartTls if is(220) => Step::Secure,
            Awaited::Mail if is(250) => self.next_recipient(dialogue, dialogue.message.recipients, turn),
            // 251: the server will forward it (RFC 5321, 3.4).
            Awaited::Recipient { left } if is(250) || is(251) => {
                dialogue.message.accepted += 1;
                self.next_recipient(dialogue, left, turn)
            }
            Awaited::Data if is(354) => self.send_text(dialogue, turn),
            Awaited::Text if is(250) => {
                turn.counters[MESSAGES] += 1;
                turn.counters[RECIPIENTS] += u64::from(dialogue.message.accepted);
                self.end_message(dialogue, false, turn)
            }
            Awaited::Quit if is(221) => dialogue.end_session(turn.counters),
            Awaited::Reset if is(250) => dialogue.end_operation(true),
            awaited => self.refused(dialogue, awaited, line, turn),
        }
    }

    /// Takes a refusal or another unexpected reply.
    #[cold]
    fn refused(
        &mut self,
        dialogue: &mut SmtpDialogue,
        awaited: Awaited,
        line: ReplyLine<'_>,
        turn: &mut Turn<'_>,
    ) -> Step {
        let refusal = Refusal::note(awaited.command(), line, turn.counters);
        let in_greeting = matches!(awaited, Awaited::Greeting | Awaited::Hello | Awaited::StartTls);
        if refusal.is_last || in_greeting || matches!(awaited, Awaited::Quit | Awaited::Reset) {
            return Step::Failed(refusal.fault(false));
        }
        dialogue.message.refusal.get_or_insert_with(|| Box::new(refusal));
        match awaited {
            // The server also answers the commands that were sent with it.
            Awaited::Mail if dialogue.message.pipelined => {
                self.next_recipient(dialogue, dialogue.message.recipients, turn)
            }
            Awaited::Recipient { left }
                if left > 0 || dialogue.message.pipelined || dialogue.message.accepted > 0 =>
            {
                self.next_recipient(dialogue, left, turn)
            }
            Awaited::Text | Awaited::Mail => self.end_message(dialogue, false, turn),
            _ => self.end_message(dialogue, true, turn),
        }
    }

    /// Continues with the next of the recipients that are left, or with the text.
    #[inline]
    fn next_recipient(&mut self, dialogue: &mut SmtpDialogue, left: u16, turn: &mut Turn<'_>) -> Step {
        let pipelined = dialogue.message.pipelined;
        dialogue.awaited = if let Some(left) = left.checked_sub(1) {
            if !pipelined {
                let _ = self.rcpt(turn.out, turn.rng);
            }
            Awaited::Recipient { left }
        } else {
            if !pipelined {
                request::data(turn.out);
            }
            Awaited::Data
        };
        if !pipelined {
            dialogue.decoder.expect();
        }
        Step::Wait
    }

    #[inline]
    fn send_text(&mut self, dialogue: &mut SmtpDialogue, turn: &mut Turn<'_>) -> Step {
        if dialogue.message.accepted == 0 {
            // An empty message: the server has accepted DATA and waits for one (RFC 2920, 3.1).
            request::end_of_data(turn.out);
        } else {
            self.text.render(turn.out, dialogue.message.bytes, turn.rng);
        }
        // QUIT is sent with the text only if its answer is awaited: a server may send both answers together.
        if dialogue.message.pipelined && self.spec.sessions.awaits_quit && self.is_last(dialogue) {
            request::quit(turn.out);
            dialogue.decoder.expect();
        }
        dialogue.expect(Awaited::Text)
    }

    /// Ends a message. With `is_open` the server still waits for its text.
    #[inline]
    fn end_message(&self, dialogue: &mut SmtpDialogue, is_open: bool, turn: &mut Turn<'_>) -> Step {
        if self.is_last(dialogue) {
            let is_quit_sent = dialogue.decoder.due() > 0;
            if !is_quit_sent {
                request::quit(turn.out);
                dialogue.decoder.expect();
            }
            dialogue.awaited = Awaited::Quit;
            return if self.spec.sessions.awaits_quit {
                Step::Wait
            } else {
                dialogue.end_session(turn.counters)
            };
        }
        if is_open {
            request::rset(turn.out);
            return dialogue.expect(Awaited::Reset);
        }
        dialogue.end_operation(true)
    }
}

impl Driver for SmtpDriver {
    type Dialogue = SmtpDialogue;

    fn operations(&self) -> Vec<String> {
        self.spec.mix.iter().map(|operation| operation.name.clone()).collect()
    }

    fn counters(&self) -> &'static [&'static str] {
        COUNTERS
    }

    fn dialogue(&mut self, _slot: u32) -> SmtpDialogue {
        SmtpDialogue::default()
    }

    fn greet(&mut self, dialogue: &mut SmtpDialogue, _turn: Turn<'_>) -> Step {
        dialogue.expect(Awaited::Greeting)
    }

    fn secured(&mut self, dialogue: &mut SmtpDialogue, turn: Turn<'_>) -> Step {
        dialogue.is_secure = true;
        self.hello(dialogue, turn.out)
    }

    fn choose(&mut self, rng: &mut Pcg64Mcg) -> OperationId {
        self.choice.draw(rng)
    }

    fn begin(&mut self, dialogue: &mut SmtpDialogue, operation: OperationId, turn: Turn<'_>) {
        let kind = &self.spec.mix[usize::from(operation)];
        let (bytes, recipients) = (kind.size.sample(turn.rng), kind.recipients.sample(turn.rng));
        let recipients = u16::try_from(recipients).expect("the spec has been checked: at most 1,000");
        let pipelined = kind.pipelining && dialogue.offered.pipelining;
        dialogue.messages += 1;
        dialogue.message =
            MessageProgress { bytes: length(bytes), recipients, accepted: 0, pipelined, refusal: None };
        let _ = request::mail(turn.out, &self.spec.sessions.sender, dialogue.offered.size.then_some(bytes));
        dialogue.expect(Awaited::Mail);
        if pipelined {
            for _ in 0..recipients {
                let _ = self.rcpt(turn.out, turn.rng);
                dialogue.decoder.expect();
            }
            request::data(turn.out);
            dialogue.decoder.expect();
        }
    }

    fn receive(&mut self, dialogue: &mut SmtpDialogue, mut input: &[u8], mut turn: Turn<'_>) -> Step {
        loop {
            let (line, is_whole) = match dialogue.decoder.decode(&mut input) {
                Ok(Some(Event::Line(line))) => (line, false),
                Ok(Some(Event::End(line))) => (line, true),
                Ok(None) => return Step::Wait,
                Err(error) => return Step::Failed(Fault::protocol(error.to_string())),
            };
            if dialogue.awaited == Awaited::Hello {
                dialogue.offered.note(line.text);
            }
            if !is_whole {
                continue;
            }
            // The line borrows from the decoder; only the text of a refusal is needed after it.
            let text = if line.is_positive() { Vec::new() } else { line.text.to_vec() };
            let line = ReplyLine { code: line.code, text: &text };
            match self.take(dialogue, line, &mut turn) {
                Step::Wait => {}
                // Also after the answer to STARTTLS: an attacker may have inserted them (RFC 3207, 6).
                Step::Done { reuse: true } | Step::Secure if !input.is_empty() => {
                    return Step::Failed(Fault::protocol("bytes after the end of the reply"));
                }
                step => return step,
            }
        }
    }

    fn closed(&mut self, dialogue: &mut SmtpDialogue, _turn: Turn<'_>) -> Step {
        Step::Failed(Fault::closed(dialogue.decoder.eof().to_string()))
    }
}

#[cfg(test)]
mod tests;
