//! SMTP: messages sent in sessions, as one mail server sends them to another.
//!
//! An operation is a message: sender, recipients, text, and the server's word that it has it. A session is a
//! connection: greeting and `EHLO`, TLS where it is to be, messages, and `QUIT` with the last of them. So the time of
//! the first message of a session, counted from when it was due, includes the session's beginning, and that of the
//! last its end.
//!
//! [`SmtpSpec`] says what is sent, `message` renders it, `refusal` counts what servers refuse, [`SmtpDialogue`] is
//! the state of a session, and [`SmtpDriver`] has its order.

mod dialogue;
mod driver;
mod message;
mod refusal;
mod spec;

pub use dialogue::SmtpDialogue;
pub use driver::SmtpDriver;
pub use spec::{
    MailOperation, SmtpSpec, StartTls, default_client, default_messages, default_recipient, default_sender,
};
