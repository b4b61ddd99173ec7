//! Paths and links in documents lead somewhere. Decisions and results are records of their time: only their links are followed.

use std::fs;
use std::path::{Path, PathBuf};

use super::{files_below, project, sources};

/// Folders of the project, with which a whole path begins.
const FOLDERS: &[&str] =
    &["bench/", "crates/", "docs/", "fuzz/", "scripts/", "tunings/", "web/", "workloads/"];
/// Folders of a user, in examples.
const OF_A_USER: &[&str] = &["workloads/hash/", "workloads/my-api/"];

/// The documents, each with the folder that its links begin in.
fn documents() -> Vec<PathBuf> {
    let in_root = fs::read_dir(project("")).expect("the project").flatten().map(|entry| entry.path());
    let mut documents: Vec<PathBuf> = in_root.filter(|path| has_ending(path, &["md"])).collect();
    for folder in ["docs", "bench", "crates", "web", "workloads"] {
        documents.extend(files_below(&project(folder), &["md"]));
    }
    documents
}

/// Whether a file has one of these endings.
fn has_ending(file: impl AsRef<Path>, endings: &[&str]) -> bool {
    file.as_ref().extension().is_some_and(|ending| endings.iter().any(|known| ending == *known))
}

/// Whether a document says how things are now.
fn is_current(document: &Path) -> bool {
    let path = document.to_string_lossy();
    !["/docs/decisions/", "/docs/results/", "/CHANGELOG.md"].iter().any(|record| path.contains(record))
}

/// The words between backquotes, without those that stand for others: `NAME`, `*`, `{a,b}`.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    let stands_for_others = |word: &&str| {
        word.contains(|c: char| c.is_whitespace() || "*{}<>$…=".contains(c))
            || word
                .split(['/', '.'])
                .any(|part| part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase()))
                && !has_ending(word, &["md"])
    };
    text.split('`').skip(1).step_by(2).filter(move |word| !stands_for_others(word))
}

/// The targets of links in Markdown that are files.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    targets
        .filter(|target| {
            !target.contains("://") && !target.starts_with('#') && !target.starts_with("mailto:")
        })
        .filter_map(|target| target.split('#').next())
}

#[test]
fn whole_paths_in_documents_exist() {
    let mut missing = Vec::new();
    for document in documents().iter().filter(|document| is_current(document)) {
        let text = fs::read_to_string(document).expect("a document");
        for word in quoted(&text) {
            let is_whole = FOLDERS.iter().any(|folder| word.starts_with(folder));
            let is_example = OF_A_USER.iter().any(|folder| word.starts_with(folder));
            let path = word.split(':').next().unwrap_or(word);
            if is_whole && !is_example && !project("").join(path).exists() {
                missing.push(format!("{}: {word}", document.display()));
            }
        }
    }
    assert!(missing.is_empty(), "name the file as it is called now:\n{}", missing.join("\n"));
}

#[test]
fn source_files_in_documents_exist() {
    let sources: Vec<String> = sources().iter().map(|file| file.display().to_string()).collect();
    let mut missing = Vec::new();
    for document in documents().iter().filter(|document| is_current(document)) {
        let text = fs::read_to_string(document).expect("a document");
        let files = quoted(&text).filter(|word| has_ending(word, &["rs", "ts"]));
        for word in files {
            let end = format!("/{word}");
            if !sources.iter().any(|source| source.ends_with(&end)) {
                missing.push(format!("{}: {word}", document.display()));
            }
        }
    }
    assert!(missing.is_empty(), "name the file as it is called now:\n{}", missing.join("\n"));
}

#[test]
fn links_in_documents_lead_to_files() {
    let mut missing = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a document");
        let folder = document.parent().expect("a folder");
        for target in links(&text).filter(|target| !folder.join(target).exists()) {
            missing.push(format!("{}: {target}", document.display()));
        }
    }
    assert!(missing.is_empty(), "correct these links:\n{}", missing.join("\n"));
}
