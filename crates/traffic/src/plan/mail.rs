//! The logs of mail servers in a plan: both servers of a canary need one, each a file of its own.

use std::path::{Path, PathBuf};

use super::values::{BadValue, bad};
use crate::mail::logs::{MailLog, MailSettings};
use crate::name::Name;

/// The keys of a plan that name logs, as they were read.
#[derive(Debug)]
pub(super) struct PlannedLogs {
    /// `old.mail_logs`.
    pub(super) old: Vec<PathBuf>,
    /// `candidate.name` and `candidate.mail_log`.
    pub(super) candidate: (String, Option<PathBuf>),
    /// `control.name` and `control.mail_log`, if there is a control.
    pub(super) control: Option<(String, Option<PathBuf>)>,
}

impl PlannedLogs {
    /// The logs of a run with these servers. None if the plan is of no mail.
    pub(super) fn settings(self, overdue_s: u64) -> Result<Option<MailSettings>, BadValue> {
        let (candidate, log) = self.candidate;
        let (control, control_log) = self.control.unzip();
        let control_log = control_log.flatten();
        let Some(log) = log else {
            return match (self.old.is_empty(), control_log) {
                (true, None) => Ok(None),
                _ => Err(bad(
                    "[candidate] mail_log",
                    "the log of the candidate is needed first: name its file",
                )),
            };
        };
        let mut logs = vec![of_server(candidate, log)];
        match (control, control_log) {
            (Some(control), Some(log)) => logs.push(of_server(control, log)),
            (Some(_), None) => {
                return Err(bad(
                    "[control] mail_log",
                    "both servers are compared: name the file of this one, too",
                ));
            }
            (None, _) => {}
        }
        logs.extend(self.old.into_iter().map(|file| MailLog { server: None, file }));
        check_files(&logs)?;
        Ok(Some(MailSettings { logs, overdue_s }))
    }
}

fn of_server(name: String, file: PathBuf) -> MailLog {
    // A name that is none is refused where the servers are read.
    MailLog { server: Name::try_from(name).ok(), file }
}

/// A server is known by its file.
fn check_files(logs: &[MailLog]) -> Result<(), BadValue> {
    let mut files: Vec<&Path> = Vec::new();
    for MailLog { server, file } in logs {
        if files.contains(&file.as_path()) {
            let reason = format!(
                "{} is named twice: give each server a log of its own (Postfix: `maillog_file`)",
                file.display()
            );
            let key = if server.is_some() { "[control] mail_log" } else { "[old] mail_logs" };
            return Err(bad(key, reason));
        }
        files.push(file);
    }
    Ok(())
}
