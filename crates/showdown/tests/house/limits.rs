//! Documents that promise something of the code: docs/LIMITS.md has constants with their files, docs/SECURITY.md tests with theirs.

use std::fs;

use super::project;

/// The words in backquotes of a line.
fn quoted(line: &str) -> Vec<&str> {
    line.split('`').skip(1).step_by(2).collect()
}

fn page(name: &str) -> String {
    fs::read_to_string(project(&format!("docs/{name}"))).expect("a page")
}

fn code(file: &str) -> String {
    fs::read_to_string(project(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn each_limit_is_a_constant_of_its_file() {
    let mut seen = 0;
    for line in page("LIMITS.md").lines().filter(|line| line.starts_with('|')) {
        let [.., constant, file] = quoted(line)[..] else { continue };
        seen += 1;
        assert!(code(file).contains(&format!("const {constant}: ")), "{file} has no {constant}");
    }
    assert!(seen > 40, "{seen} limits");
}

#[test]
fn each_test_of_what_a_host_can_do_is_there() {
    let page = page("SECURITY.md");
    let (_, table) = page.split_once("### What a host can do to you").expect("the table");
    let mut seen = 0;
    for line in
        table.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'))
    {
        let Some(file) = quoted(line).into_iter().find(|word| word.strip_suffix(".rs").is_some()) else {
            continue;
        };
        let code = code(file);
        let tests = quoted(line).into_iter().filter(|word| word.contains('_') && !word.contains(['.', '/']));
        for test in tests {
            seen += 1;
            assert!(code.contains(&format!("fn {test}()")), "{file} has no {test}");
        }
    }
    assert!(seen > 12, "{seen} tests");
}
