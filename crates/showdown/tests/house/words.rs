//! Words of an older vocabulary stay out: those from boxing everywhere, those of this house alone out of code and comments.

use std::fs;

use super::sources;

const OUT_OF_USE: &[&str] = &["ring", "arena", "fighter", "bout", "fought", "contender"];

/// Words that nobody else uses for these things: servers are under load, a step is maintained, a server has a supervisor, suspects are
/// listed without experiments, events report progress. Users see some of them in options, keys and names of processes, which stay.
const OF_THIS_HOUSE: &[&str] = &["held", "hold", "keeper", "glance", "telling"];

/// What users see in code that is no text: the options of `concurrency`, the names of processes, a decision.
const SEEN_BY_USERS: &[&str] = &["--hold-last", "--hold", "sd-keeper", "__keeper", "0003-keeper"];

/// Files where a ring is the thing of that name: of `io_uring`, a section of HAProxy, and the cryptography library of rustls. This file lists
/// the words.
const EXCEPTIONS: &[&str] = &[
    "crates/workload/src/definition/knobs/allocator.rs",
    "crates/workload/src/instance/starting/allocator.rs",
    "crates/runners/src/block/",
    "crates/harness/src/tls.rs",
    "crates/load/src/tls/",
    "crates/power/src/network/tls.rs",
    "crates/traffic/src/balancer/haproxy/configuration.rs",
    "crates/showdown/src/verbs/harness/client.rs",
    "crates/showdown/tests/house/words.rs",
];

/// The words of a text: identifiers fall apart at underscores and capitals.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in text.chars() {
        if !c.is_alphabetic() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if c.is_alphabetic() {
            words.last_mut().expect("one at least").extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words
}

fn is_out_of_use(word: &str) -> bool {
    OUT_OF_USE.iter().any(|old| word == *old || word.strip_suffix('s') == Some(old))
}

#[test]
fn identifiers_fall_apart_into_words() {
    assert_eq!(words("TheRing of io_ring2")[..], ["the", "ring", "of", "io", "ring", ""]);
}

#[test]
fn no_word_is_out_of_use() {
    let mut found = Vec::new();
    for file in sources() {
        let path = file.display().to_string();
        if EXCEPTIONS.iter().any(|exception| path.contains(exception)) {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a source file");
        for (number, line) in text.lines().enumerate() {
            // A variable of glibc's, and the knob that sets it.
            let line = line
                .replace("MALLOC_ARENA_MAX", "")
                .replace("MALLOC_ARENAS", "")
                .replace("malloc_arenas", "");
            if words(&line).iter().any(|word| is_out_of_use(word)) {
                found.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "use the words of docs/GLOSSARY.md:\n{}", found.join("\n"));
}

/// Rust without its texts, which users see. Comments stay.
fn without_texts(code: &str) -> String {
    let mut kept = String::new();
    let (mut is_text, mut is_comment) = (false, false);
    let mut chars = code.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => {
                is_comment = false;
                kept.push(c);
            }
            _ if is_comment => kept.push(c),
            '\\' if is_text => {
                // A line that goes on keeps its number.
                kept.extend(chars.next().filter(|escaped| *escaped == '\n'));
            }
            '"' => is_text = !is_text,
            _ if is_text => {}
            // A quotation mark as a character begins no text.
            '\'' if chars.peek() == Some(&'"') => {
                chars.next();
            }
            '/' if chars.peek() == Some(&'/') => {
                is_comment = true;
                kept.push(c);
            }
            _ => kept.push(c),
        }
    }
    kept
}

#[test]
fn texts_are_left_out_and_comments_are_not() {
    let code = "let a = \"held \\\" by\"; // is \"held\"\nlet b = '\"'; let held = 1;";
    assert_eq!(without_texts(code), "let a = ; // is \"held\"\nlet b = '; let held = 1;");
}

#[test]
fn code_has_the_words_of_the_field() {
    let mut found = Vec::new();
    for file in sources().into_iter().filter(|file| file.extension().is_some_and(|ending| ending == "rs")) {
        let path = file.display().to_string();
        if path.contains("crates/showdown/tests/house/words.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a source file");
        for (number, line) in without_texts(&text).lines().enumerate() {
            let line = SEEN_BY_USERS.iter().fold(line.to_owned(), |line, seen| line.replace(seen, ""));
            if words(&line).iter().any(|word| OF_THIS_HOUSE.contains(&word.as_str())) {
                found.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "say what is meant, with the words of docs/GLOSSARY.md:\n{}", found.join("\n"));
}
