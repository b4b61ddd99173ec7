//! A run on live traffic on a terminal: what is at stake, each second, how a run stands, and its answer.

use std::fmt::Write;
use std::path::Path;

use archive::model::thousands;
use bakeoff::event::Event;
use traffic::control::Status;
use traffic::name::Name;
use traffic::shift::{AnswerRecord, Question, Second};

use super::progress::line_progress::LineProgress;

/// Nothing runs, and nothing is left.
pub const NO_RUN: &str = "no run at this balancer\n";

/// Share × rate × time of each step.
pub fn stake(question: &Question, rate: f64) -> String {
    let stake = question.stake(rate);
    let participants = question.participants();
    let mut text = format!(
        "At stake: {} behind {} of {rate:.0} requests/s\n",
        participants.candidate,
        participants.old.iter().map(Name::as_str).collect::<Vec<_>>().join(", "),
    );
    for (number, step) in stake.steps.iter().enumerate() {
        let _ = writeln!(
            text,
            "  step {}: {:5.2} % of the traffic, {:.1} requests/s, for {} at least: {} requests",
            number + 1,
            100.0 * step.share,
            step.share * rate,
            minutes(step.seconds),
            thousands(step.requests)
        );
    }
    let all: f64 = stake.steps.iter().map(|step| step.seconds).sum();
    let _ = writeln!(text, "  {} in all, at least", minutes(all));
    if let Some(left_out) = &stake.left_out {
        let _ = writeln!(text, "No larger share: {left_out}");
    }
    if let Some(warning) = &stake.warning {
        let _ = writeln!(text, "This run would end without an answer: {warning}");
    }
    text
}

/// A length of time, in seconds up to two minutes.
fn minutes(seconds: f64) -> String {
    match seconds {
        seconds if !seconds.is_finite() => "ever".to_owned(),
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds => format!("{:.0} min", seconds / 60.0),
    }
}

/// The live view: one line that changes, and one that stays for each step and each alarm.
pub fn follow(progress: &LineProgress, second: &Second<'_>, question: &Question) {
    let window = second.window;
    if second.begins_step {
        progress.observe(&Event::Said { what: format!("{:>5} s  {}", window.second, window.phase) });
    }
    for alarm in &window.alarms {
        progress.observe(&Event::Said { what: alarm.clone() });
    }
    let mut what = window.phase.clone();
    for name in question.participants().added() {
        if let Some(server) = window.servers.iter().find(|server| server.server == *name) {
            let p99 = server.p99_ms.map(|ms| format!(", p99 {ms} ms")).unwrap_or_default();
            let figures = format!(
                "; {name} {}/s, {} late, {} failed{p99}",
                server.requests,
                server.late,
                server.failed()
            );
            what.push_str(&figures);
            if let Some(mail) = &server.mail {
                let figures = format!(", {} deferred, {} in the queue", mail.deferred, mail.queued);
                what.push_str(&figures);
            }
        }
    }
    if let Some(lacks) = &second.lacks {
        let _ = write!(what, "; {lacks}");
    }
    progress.observe(&Event::Doing { what });
}

/// The answer with its steps, and where its report is.
pub fn answer_text(answer: &AnswerRecord, directory: &Path) -> String {
    let mut text = format!("{}\n\n", answer.answer);
    for step in &answer.steps {
        let times = step.times_in_words().map_or_else(String::new, |times| format!(": {times}"));
        let line = format!("{:>6} s  {}{times}\n", step.began_s, step.phase);
        text.push_str(&line);
    }
    for compared in &answer.programs {
        text.extend(["\n", compared.in_words().as_str(), "\n"]);
    }
    if !answer.mail.is_empty() || !answer.before_breach.is_empty() || !answer.sessions_left.is_empty() {
        text.push('\n');
    }
    for server in &answer.mail {
        text.extend([server.in_words().as_str(), "\n"]);
    }
    for server in &answer.before_breach {
        text.extend([server.in_words().as_str(), "\n"]);
    }
    for left in &answer.sessions_left {
        text.extend([left.in_words().as_str(), "\n"]);
    }
    text + &format!("\nreport: {}/report.html\n", directory.display())
}

/// How a run stands, and what it has left.
pub fn status_text(status: &Status) -> String {
    let pid = status.pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string());
    let mut text = if status.is_running {
        format!("a run is in progress (pid {pid})\n")
    } else if status.since_s.is_some() {
        format!(
            "the run of pid {pid} was killed and has left this; `--abort` puts it back, and so does the next run:\n"
        )
    } else {
        NO_RUN.to_owned()
    };
    if let Some(lease) = &status.lease {
        text.extend(["the lease was lost: ", &lease.lost, "\n"]);
        for line in lease.done.iter().chain(&lease.left) {
            text.extend(["  ", line, "\n"]);
        }
    }
    if !status.is_running {
        for added in &status.added {
            let state = if added.is_withdrawn { "out of service" } else { "in service" };
            let line =
                format!("  {:<16} weight {:>3}, added by the run, {state}\n", added.server, added.weight);
            text.push_str(&line);
        }
        for changed in &status.changed {
            let line = format!(
                "  {:<16} weight {:>3}, {} before the run\n",
                changed.server, changed.weight, changed.weight_before
            );
            text.push_str(&line);
        }
    } else if let Some(second) = &status.last_second {
        for server in &second.servers {
            let weight = server.weight.map_or_else(|| "?".to_owned(), |weight| weight.to_string());
            let line = format!(
                "  {:<16} weight {weight:>3}, {} requests/s, {} failed, {} in progress\n",
                server.server, server.requests, server.failed, server.in_progress
            );
            text.push_str(&line);
        }
    }
    if let Some(record) = &status.record {
        let line = format!("record: {}\n", record.display());
        text.push_str(&line);
    }
    text
}
