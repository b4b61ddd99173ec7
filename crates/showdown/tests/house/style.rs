//! Habits of code that are slow to read in sum. "How this project writes code" in CONTRIBUTING has the rules; this counts, and the
//! counts only go down.

use std::fs;

use super::{files_below, project};

/// A habit that is slow to read.
struct Habit {
    name: &'static str,
    /// How often the sources of the crates may have it. This number only goes down.
    most: usize,
    /// How often a file has it.
    count: fn(&str) -> usize,
    instead: &'static str,
}

const HABITS: &[Habit] = &[
    Habit {
        name: "a closure with a name",
        most: 1514,
        count: closures_with_a_name,
        instead: "a statement, or a function with a name",
    },
    Habit {
        name: "a filter that does not look at its value",
        most: 72,
        count: blind_filters,
        instead: "`if`, or `if … && let Some(…) = …`",
    },
];

/// `let name = |…|`.
fn closures_with_a_name(code: &str) -> usize {
    let lines = code.lines().filter_map(|line| line.trim_start().strip_prefix("let "));
    let values =
        lines.filter_map(|line| line.split_once(" = ")).map(|(_, value)| value.trim_start_matches("move "));
    values.filter(|value| value.starts_with('|')).count()
}

/// `.filter(|_| …)`.
fn blind_filters(code: &str) -> usize {
    code.matches(".filter(|_|").count()
}

#[test]
fn habits_are_counted() {
    let code = "let f = |x| x;\nlet mut g = move || 1;\nlet h = list.filter(|_| is_free);\nlet i = a | b;";
    assert_eq!((closures_with_a_name(code), blind_filters(code)), (2, 1));
}

#[test]
fn no_habit_becomes_more_frequent() {
    let files = files_below(&project("crates"), &["rs"]);
    let sources = files.iter().filter(|file| file.components().any(|part| part.as_os_str() == "src"));
    let sources: Vec<String> = sources.map(|file| fs::read_to_string(file).expect("a source file")).collect();
    for Habit { name, most, count, instead } in HABITS {
        let found: usize = sources.iter().map(|code| count(code)).sum();
        assert!(found <= *most, "{name}: {found} times, {most} at most: write {instead}");
        assert!(found + 20 > *most, "{name}: {found} times: write this number down in place of {most}");
    }
}
