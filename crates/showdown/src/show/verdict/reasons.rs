//! Why trials do not count: each kind of reason once, with its trials. A server that ended comes first, because it explains the others.

use archive::TrialRecord;
use archive::model::TrialStatus;

/// A kind of reason.
pub(super) struct Kind {
    /// The text of its first trial, without what only that trial has: the process id.
    pub(super) text: String,
    /// What is the same in all its texts.
    key: String,
    /// The numbers of its trials.
    pub(super) trials: Vec<u32>,
    /// Whether the server ended, or never was ready.
    pub(super) is_of_server: bool,
}

/// The kinds: reasons of the server first, then by the number of trials.
pub(super) fn kinds(trials: &[TrialRecord]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for trial in trials.iter().map(|record| &record.trial) {
        if trial.status == TrialStatus::Valid {
            continue;
        }
        for reason in &trial.reasons {
            let text = without_process(reason);
            let key = without_values(&text);
            match kinds.iter_mut().find(|kind| kind.key == key) {
                Some(kind) => kind.trials.push(trial.number),
                None => kinds.push(Kind {
                    is_of_server: is_of_server(&text),
                    text,
                    key,
                    trials: vec![trial.number],
                }),
            }
        }
    }
    kinds.sort_by_key(|kind| (!kind.is_of_server, usize::MAX - kind.trials.len()));
    kinds
}

/// Without the id of a process, and without the name of the gate that found its end.
fn without_process(reason: &str) -> String {
    let mut text = reason.strip_prefix("restarts: ").unwrap_or(reason).to_owned();
    while let Some(from) = text.find(" (pid ") {
        let Some(length) = text[from..].find(')') else { break };
        text.replace_range(from..=from + length, "");
    }
    text
}

/// Without numbers and what is in brackets: these differ from trial to trial.
fn without_values(text: &str) -> String {
    let mut key = String::new();
    let mut depth = 0_u32;
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth > 0 || letter.is_ascii_digit() || matches!(letter, '.' | ',') => {}
            _ => key.push(letter),
        }
    }
    key
}

fn is_of_server(text: &str) -> bool {
    ["exited with", "was killed by", "was not ready within"].iter().any(|end| text.contains(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(percent: &str, pid: u32) -> String {
        without_process(&format!(
            "others: other programs used {percent} of the CPUs (rustc (pid {pid}) 5 s): stop them"
        ))
    }

    #[test]
    fn reasons_that_differ_in_values_only_are_one_kind() {
        assert_eq!(without_values(&text("15 %", 31)), without_values(&text("47.5 %", 4_711)));
        assert_eq!(
            without_process("restarts: dies (pid 8484) exited with status 7; its log ends: panic"),
            "dies exited with status 7; its log ends: panic"
        );
        assert!(is_of_server("dies exited with status 7") && !is_of_server("client: it waited for a CPU"));
    }
}
