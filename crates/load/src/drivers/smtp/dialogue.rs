//! The state of one session: which reply comes next, and what is known of the message under way. What a reply leads
//! to is the driver's.

use wire::smtp::{Extensions, ReplyDecoder};

use super::refusal::{Refusal, SESSIONS};
use crate::driver::Step;

/// One connection.
#[derive(Debug, Default)]
pub struct SmtpDialogue {
    pub(super) decoder: ReplyDecoder,
    pub(super) offered: Extensions,
    pub(super) awaited: Awaited,
    pub(super) is_secure: bool,
    /// Messages that were begun in this session.
    pub(super) messages: u32,
    pub(super) message: Message,
}

/// What the next reply is to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Awaited {
    #[default]
    Greeting,
    Hello,
    StartTls,
    Mail,
    /// So many recipients after this one.
    Recipient {
        left: u16,
    },
    Data,
    Text,
    Quit,
    Reset,
}

/// The message under way.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) bytes: usize,
    pub(super) recipients: u16,
    /// Recipients that the server takes.
    pub(super) taken: u16,
    /// Commands are sent at once.
    pub(super) pipelined: bool,
    pub(super) refusal: Option<Box<Refusal>>,
}

impl SmtpDialogue {
    /// One more reply is due, to this; the next to come is it.
    pub(super) fn expect(&mut self, awaited: Awaited) -> Step {
        self.decoder.expect();
        self.awaited = awaited;
        Step::Wait
    }

    /// The session is over.
    pub(super) fn quit(&mut self, counters: &mut [u64]) -> Step {
        counters[SESSIONS] += 1;
        self.outcome(false)
    }

    /// What became of the operation.
    #[inline]
    pub(super) fn outcome(&mut self, reuse: bool) -> Step {
        match self.message.refusal.take() {
            None => Step::Done { reuse },
            Some(refusal) => Step::Failed(refusal.fault(reuse)),
        }
    }
}

impl Awaited {
    /// What it is an answer to.
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
