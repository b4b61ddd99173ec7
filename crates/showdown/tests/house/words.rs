//! Words of an older vocabulary, from boxing, stay out of identifiers, comments and texts.

use std::fs;

use super::sources;

const OUT_OF_USE: &[&str] = &["ring", "arena", "fighter", "bout", "fought", "contender"];

/// Files where a ring is the thing of that name: of `io_uring`, and the cryptography library of rustls. This file lists
/// the words.
const EXCEPTIONS: &[&str] = &[
    "crates/workload/src/definition/knobs/allocator.rs",
    "crates/workload/src/instance/starting/allocator.rs",
    "crates/runners/src/block/",
    "crates/load/src/tls/",
    "crates/power/src/network/tls.rs",
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
