//! SMTP: messages sent in sessions, as one mail server sends them to another.
//!
//! An operation is a message: sender, recipients, text, and the server's confirmation. A session is a connection:
//! greeting and `EHLO`, TLS where it is used, messages, and `QUIT` after the last of them. The response time of the
//! first message of a session counts from its intended start, so it includes the beginning of the session; that of
//! the last message includes the end of the session.
//!
//! | file | what it holds |
//! |---|---|
//! | [`spec`](SmtpSpec) | sessions and messages as plain data |
//! | `message` | renders messages |
//! | `refusal` | counts refusals by code |
//! | [`dialogue`](SmtpDialogue) | the state of a session |
//! | [`driver`](SmtpDriver) | the order of a session |
//! | [`registration`](Smtp) | the protocol's registration |

mod dialogue;
mod driver;
mod message;
mod refusal;
mod registration;
mod spec;

pub use dialogue::SmtpDialogue;
pub use driver::SmtpDriver;
pub use registration::Smtp;
pub use spec::{MailOperation, SmtpSessions, SmtpSpec, StartTls};
