//! The registration of SMTP, and its mix as a workload and the command line describe it.

use super::driver::SmtpDriver;
use super::spec::{MailOperation, SmtpSessions, SmtpSpec, StartTls};
use crate::drivers::error::OperationError;
use crate::drivers::mix::{Mix, MixSection};
use crate::drivers::mix_file;
use crate::drivers::options::{DriverOption, GivenOptions, OptionError, any_text, parses};
use crate::drivers::protocol::{DriverUse, Protocol, ServerAccess, UrlPath, UrlScheme, WorkerShare};
use crate::inputs::sizes::SizeDistribution;

/// About the median of mail between people, without attachments.
const DEFAULT_MESSAGE_BYTES: u64 = 4_096;

/// SMTP.
#[derive(Debug)]
pub struct Smtp;

const HEADING: &str = "SMTP";
const MAIL_FROM: DriverOption = DriverOption::with_value(
    "mail-from",
    "ADDRESS",
    any_text,
    HEADING,
    "Use this address of the sender [default: sender@client.example]",
);
const RCPT_TO: DriverOption = DriverOption::with_value(
    "rcpt-to",
    "ADDRESS",
    any_text,
    HEADING,
    "Use this template for the addresses of recipients [default: user{{ uniform(1, 1000) }}@mx.example]",
);
const MESSAGE_SIZE: DriverOption = DriverOption::with_value(
    "message-size",
    "SIZE",
    parses::<SizeDistribution>,
    HEADING,
    "Send messages of these sizes, in the form of --value-size [default: 4k]",
)
.of_operation();
const RECIPIENTS: DriverOption = DriverOption::with_value(
    "recipients",
    "COUNT",
    parses::<SizeDistribution>,
    HEADING,
    "Send each message to this number of recipients: a number, a range, or weighted classes (1:80,2..5:20) [default: 1]",
)
.of_operation();
const NO_PIPELINING: DriverOption = DriverOption::switch(
    "no-pipelining",
    HEADING,
    "Send commands one by one, even if the server offers PIPELINING",
)
.of_operation();
const STARTTLS: DriverOption = DriverOption::with_value(
    "starttls",
    "WHEN",
    parses::<StartTls>,
    HEADING,
    "Use TLS in sessions: never, offered (if the server offers it) or required [default: offered]",
)
.choices(&["never", "offered", "required"]);

impl Mix for SmtpSpec {
    type Operation = MailOperation;
    type Section = SmtpSessions;
    const SECTION: Option<MixSection> =
        Some(MixSection { name: "mail", missing: "mail needs [load.mail], which may be empty" });
    const OPTIONS: &'static [DriverOption] =
        &[MAIL_FROM, RCPT_TO, MESSAGE_SIZE, RECIPIENTS, NO_PIPELINING, STARTTLS];

    fn of_workload(sessions: SmtpSessions, mix: Vec<MailOperation>) -> Self {
        Self { sessions, mix }
    }

    fn of_options(given: &GivenOptions) -> Result<Self, OptionError> {
        let mix = match &given.mix_file {
            Some(path) => mix_file::read(path, Self::check_operation)?,
            None => vec![MailOperation {
                name: "message".to_owned(),
                weight: 1.0,
                size: given
                    .value(&MESSAGE_SIZE)?
                    .unwrap_or_else(|| SizeDistribution::fixed(DEFAULT_MESSAGE_BYTES)),
                recipients: given.value(&RECIPIENTS)?.unwrap_or_else(|| SizeDistribution::fixed(1)),
                pipelining: !given.has(&NO_PIPELINING),
            }],
        };
        let usual = SmtpSessions::default();
        let sessions = SmtpSessions {
            sender: given.text(&MAIL_FROM).map_or(usual.sender, str::to_owned),
            recipient: given.text(&RCPT_TO).map_or(usual.recipient, str::to_owned),
            messages_per_session: given.requests_per_connection.unwrap_or(usual.messages_per_session),
            starttls: given.value(&STARTTLS)?.unwrap_or_default(),
            ..SmtpSessions::default()
        };
        Ok(Self { sessions, mix })
    }

    fn only(&self, at: usize) -> Self {
        Self { mix: vec![MailOperation { weight: 1.0, ..self.mix[at].clone() }], ..self.clone() }
    }
}

impl Protocol for Smtp {
    type Spec = SmtpSpec;
    type Mix = SmtpSpec;

    const NAME: &'static str = "smtp";
    const CODEC: Option<&'static str> = Some("smtp");
    const SCHEMES: &'static [UrlScheme] = &[UrlScheme { names: &["smtp"], port: 25, is_tls: false }];
    const URL_PATH: UrlPath = UrlPath::Unused("mail has no paths");
    const MAY_START_TLS: bool = true;
    const ENDS_CONNECTIONS: bool = true;
    const HOURLY_COUNTERS: &'static [&'static str] = &["messages", "sessions"];

    fn spec(mix: SmtpSpec, _access: &ServerAccess) -> SmtpSpec {
        mix
    }

    fn drive<U: DriverUse>(
        spec: &SmtpSpec,
        share: WorkerShare,
        user: U,
    ) -> Result<U::Output, OperationError> {
        Ok(user.driver(SmtpDriver::new(spec, share)?))
    }

    fn starts_tls(spec: &SmtpSpec) -> bool {
        spec.sessions.starttls != StartTls::Never
    }
}
