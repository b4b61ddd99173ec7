//! Resource limits, from `/proc/PID/limits`, with the kernel's names for them. (procfs has fields instead of names.)

use std::collections::BTreeMap;

use crate::root::Root;

/// The limits by the kernel's names, as "soft / hard".
pub(super) fn read(root: &Root, path: &str) -> BTreeMap<String, String> {
    root.read(path).map(|text| parse(&text)).unwrap_or_default()
}

/// Parses a table with columns of fixed width: "Limit", "Soft Limit", "Hard Limit", "Units".
fn parse(text: &str) -> BTreeMap<String, String> {
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    let (Some(soft), Some(hard), Some(units)) =
        (header.find("Soft Limit"), header.find("Hard Limit"), header.find("Units"))
    else {
        return BTreeMap::new();
    };
    let column = |line: &str, from: usize, to: usize| {
        line.get(from..to.min(line.len())).map(|text| text.trim().to_owned()).unwrap_or_default()
    };
    lines
        .map(|line| {
            let limits = format!("{} / {}", column(line, soft, hard), column(line, hard, units));
            (column(line, 0, soft), limits)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_a_soft_and_a_hard_value() {
        let limits = read(&Root::new("/"), "/proc/self/limits");
        let files = limits.get("Max open files").expect("all processes have this limit");
        let (soft, hard) = files.split_once(" / ").expect("two values");
        let kernel = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        assert_eq!(soft.parse().ok(), kernel.current);
        assert_eq!(hard.parse().ok(), kernel.maximum);
    }

    #[test]
    fn an_invalid_table_has_no_limits() {
        assert!(parse("").is_empty() && parse("Limit Soft").is_empty());
        assert_eq!(parse("L Soft Limit Hard Limit Units\nx")["x"], " / ");
    }
}
