//! The state of one session: which reply comes next, and the message in progress. The driver decides what a reply leads
//! to.

use wire::smtp::{Extensions, ReplyDecoder};

use super::refusal::{Refusal, SESSIONS};
use crate::driver::Step;

/// The state of one connection.
#[derive(Debug, Default)]
pub struct SmtpDialogue {
    pub(super) decoder: ReplyDecoder,
    pub(super) offered: Extensions,
    pub(super) awaited: Awaited,
    pub(super) is_secure: bool,
    /// Messages that have begun in this session.
    pub(super) messages: u32,
    pub(super) message: MessageProgress,
}

/// What the next reply answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Awaited {
    #[default]
    Greeting,
    Hello,
    StartTls,
    Mail,
    /// A recipient.
    Recipient {
        /// Recipients after this one.
        left: u16,
    },
    Data,
    Text,
    Quit,
    Reset,
}

/// The message in progress.
#[derive(Debug, Default)]
pub(super) struct MessageProgress {
    pub(super) bytes: usize,
    pub(super) recipients: u16,
    /// Recipients that the server has accepted.
    pub(super) accepted: u16,
    /// Whether its commands are sent together.
    pub(super) pipelined: bool,
    pub(super) refusal: Option<Box<Refusal>>,
}

impl SmtpDialogue {
    /// Expects one more reply, which comes next and answers this.
    pub(super) fn expect(&mut self, awaited: Awaited) -> Step {
        self.decoder.expect();
        self.awaited = awaited;
        Step::Wait
    }

    /// Ends the session and its last operation.
    pub(super) fn end_session(&mut self, counters: &mut [u64]) -> Step {
        counters[SESSIONS] += 1;
        self.end_operation(false)
    }

    /// Ends the operation.
    #[inline]
    pub(super) fn end_operation(&mut self, reuse: bool) -> Step {
        match self.message.refusal.take() {
            None => Step::Done { reuse },
            Some(refusal) => Step::Failed(refusal.fault(reuse)),
        }
    }
}

impl Awaited {
    /// The name of what it answers, for messages.
    pub(super) fn command(self) -> &'static str {
        match self {
            Self::Greeting => "the connection",
            Self::Hello => "EHLO",
            Self::StartTls => "STARTTLS",
            Self::Mail => "MAIL",
            Self::Recipient { .. } => "RCPT",
            Self::Data => "DATA",
            Self::Text => "the message",
            Self::Quit => "QUIT",
            Self::Reset => "RSET",
        }
    }
}
