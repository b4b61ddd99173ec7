//! The options of `showdown load` for a mail server.

use load::drivers::smtp::{self, MailOperation, SmtpSpec};
use load::inputs::sizes::SizeDistribution;
use load::mix;

use super::args::LoadArgs;
use crate::exit::usage;

/// About the median size of mail between people, without attachments.
const MESSAGE_BYTES: u64 = 4_096;

/// The sessions and messages that the options ask for.
pub fn spec(args: &LoadArgs) -> anyhow::Result<SmtpSpec> {
    let mix = match &args.ops {
        Some(path) => mix::read_messages(path).map_err(usage)?,
        None => vec![MailOperation {
            name: "message".to_owned(),
            weight: 1.0,
            size: args.message_size.clone().unwrap_or_else(|| SizeDistribution::fixed(MESSAGE_BYTES)),
            recipients: args.recipients.clone().unwrap_or_else(|| SizeDistribution::fixed(1)),
            pipelining: !args.no_pipelining,
        }],
    };
    Ok(SmtpSpec {
        client: smtp::default_client(),
        sender: args.mail_from.clone().unwrap_or_else(smtp::default_sender),
        recipient: args.rcpt_to.clone().unwrap_or_else(smtp::default_recipient),
        messages_per_session: args.requests_per_connection.unwrap_or_else(smtp::default_messages),
        awaits_quit: true,
        starttls: args.starttls.unwrap_or_default(),
        mix,
    })
}
