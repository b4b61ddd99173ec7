//! docs/WORKLOAD.md documents exactly the keys that the parser accepts.
//!
//! The accepted keys come from the parser itself. For each table of an example file, an unknown key is added, and the
//! error lists the known ones. A key has a table of its own if an unknown key inside it is reported in the same way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use toml::{Table, Value};
use workload::scaffold::{self, ScaffoldProtocol};
use workload::{DEFINITION, Folder, Workload};

const PAGE: &str = include_str!("../../../docs/WORKLOAD.md");

/// A key that no table has.
const UNKNOWN: &str = "?";

/// The example workload of a protocol, which a test changes.
struct Example {
    protocol: ScaffoldProtocol,
    _directory: TempDir,
    folder: PathBuf,
    table: Table,
}

impl Example {
    fn of(protocol: ScaffoldProtocol) -> Self {
        let directory = tempfile::tempdir().expect("the directory is created");
        let file = scaffold::create(directory.path(), "example", protocol).expect("the example is created");
        let folder = file.parent().expect("the file is in a folder").to_owned();
        let text = fs::read_to_string(&file).expect("the example is readable");
        let table = text.parse().expect("the example is TOML");
        Self { protocol, _directory: directory, folder, table }
    }

    /// The error of the parser for a changed file; empty if it accepts the file.
    fn error(&self, table: &Table) -> String {
        fs::write(self.folder.join(DEFINITION), table.to_string()).expect("the file is written");
        let read = Workload::read(&Folder::Disk(self.folder.clone()), DEFINITION);
        read.err().map_or(String::new(), |error| error.message)
    }

    /// The error if the value at a path is another one.
    fn error_with(&self, path: &[Step], value: Value) -> String {
        let mut table = self.table.clone();
        set(&mut table, path, value);
        self.error(&table)
    }

    /// The keys of the table at a path, if it is a table that refuses unknown keys.
    fn known_keys(&self, table: &[Step]) -> Option<Vec<String>> {
        let unknown = [table, &[Step::Key(UNKNOWN.to_owned())]].concat();
        let mut keys = available(&self.error_with(&unknown, Value::Boolean(true)), "unknown key \"?\"")?;
        // The tables beside the operations come from the protocols: the error about an unknown table lists them.
        let error = self.error_with(&unknown, Value::Table(Table::new()));
        keys.extend(available(&error, "load: there is no table \"?\"").unwrap_or_default());
        Some(keys)
    }

    /// The words that the key at a path accepts, if it accepts only certain words.
    fn known_words(&self, key: &[Step]) -> Option<Vec<String>> {
        available(&self.error_with(key, Value::String(UNKNOWN.to_owned())), "unknown value \"?\"")
    }

    /// All tables at and below a path, with their keys.
    fn tables(&self, path: &[Step], found: &mut BTreeMap<String, Section>) {
        let keys = self.known_keys(path).unwrap_or_else(|| panic!("{path:?} refuses unknown keys"));
        for key in &keys {
            let path = [path, &[Step::Key(key.clone())]].concat();
            for shape in [[].as_slice(), &[Step::First], &[Step::Named]] {
                let nested = [path.as_slice(), shape].concat();
                if self.known_keys(&nested).is_some() {
                    self.tables(&nested, found);
                }
            }
        }
        let section = found.entry(self.heading(path)).or_default();
        section.keys.extend(keys);
    }

    /// The path as the headings of the page have it: `server.*.knobs.*`, `load.op of http`.
    fn heading(&self, path: &[Step]) -> String {
        let steps = path.iter().filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Named => Some("*"),
            Step::First => None,
        });
        let path = steps.collect::<Vec<_>>().join(".");
        match (path.as_str(), self.protocol) {
            ("load.op", ScaffoldProtocol::Memcached) => "load.op of memcache".to_owned(),
            ("load.op", protocol) => format!("load.op of {protocol}"),
            _ => path,
        }
    }
}

/// The names that an error lists, if it begins with `beginning`.
fn available(error: &str, beginning: &str) -> Option<Vec<String>> {
    let (_, names) = error.strip_prefix(beginning)?.split_once("available: ")?;
    Some(names.trim_end_matches(')').split(", ").map(str::to_owned).collect())
}

/// A step on the way to a value.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// A key of a table.
    Key(String),
    /// The first element of a list.
    First,
    /// The first value of a table whose keys are names.
    Named,
}

/// Sets a value. Tables and lists on the way to it are created where they are missing.
fn set(table: &mut Table, path: &[Step], value: Value) {
    let Some((Step::Key(key), rest)) = path.split_first() else { panic!("{path:?} begins with a key") };
    match rest {
        [] => {
            table.insert(key.clone(), value);
        }
        [Step::First, rest @ ..] => {
            let list = table.entry(key).or_insert_with(|| Value::Array(Vec::new()));
            if !list.get(0).is_some_and(Value::is_table) {
                *list = Value::Array(vec![Value::Table(Table::new())]);
            }
            set(list[0].as_table_mut().expect("the list has tables"), rest, value);
        }
        [Step::Named, rest @ ..] => {
            let named = inner_table(table, key);
            let first = named.keys().next().cloned().unwrap_or_else(|| "name".to_owned());
            set(inner_table(named, &first), rest, value);
        }
        rest => set(inner_table(table, key), rest, value),
    }
}

fn inner_table<'t>(table: &'t mut Table, key: &str) -> &'t mut Table {
    let value = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
    if !value.is_table() {
        *value = Value::Table(Table::new());
    }
    value.as_table_mut().expect("it is a table")
}

/// The keys of a table, by the parser or by the page.
#[derive(Debug, Default)]
struct Section {
    keys: BTreeSet<String>,
    /// The rows of the page: the cells after the key.
    rows: BTreeMap<String, Vec<String>>,
}

/// The tables that the parser accepts in the files of all protocols.
fn accepted() -> BTreeMap<String, Section> {
    let mut found = BTreeMap::new();
    for protocol in ScaffoldProtocol::ALL {
        let example = Example::of(protocol);
        if protocol == ScaffoldProtocol::Http {
            example.tables(&[], &mut found);
        } else {
            example.tables(&[Step::Key("load".to_owned())], &mut found);
        }
    }
    // docs/SCENARIOS.md has the keys of users, and a test of its own in `load`.
    found.retain(|path, _| !path.starts_with("load.users"));
    without_tables_of_companions(found)
}

/// The tables without those below a companion, which are the server's.
fn without_tables_of_companions(mut found: BTreeMap<String, Section>) -> BTreeMap<String, Section> {
    let of_companions: Vec<String> =
        found.keys().filter_map(|path| path.strip_prefix("server.*.companion.")).map(str::to_owned).collect();
    assert!(of_companions.contains(&"ready".to_owned()), "{of_companions:?}");
    for table in of_companions {
        let own = found.remove(&format!("server.*.companion.{table}")).expect("it is listed");
        assert_eq!(own.keys, found[&format!("server.*.{table}")].keys, "{table} of a companion");
    }
    found
}

/// The tables of the page.
fn documented() -> BTreeMap<String, Section> {
    let keys = PAGE.split("\n## ").find(|part| part.starts_with("Keys\n")).expect("the page has its keys");
    let mut sections = BTreeMap::new();
    for part in keys.split("\n### ").skip(1) {
        let heading = part.lines().next().unwrap_or_default();
        let mut section = Section::default();
        let table = part.split("\n| key |").nth(1).expect("each section has a table of keys");
        for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
            let cells: Vec<String> =
                row.split(" | ").map(|cell| cell.trim_matches(['|', ' ']).to_owned()).collect();
            let key = cells[0].trim_matches('`').to_owned();
            assert!(section.keys.insert(key.clone()), "{heading}: {key} is documented twice");
            section.rows.insert(key, cells[1..].to_vec());
        }
        for path in paths(heading) {
            sections.insert(path, Section { keys: section.keys.clone(), rows: section.rows.clone() });
        }
    }
    sections
}

/// The paths of a heading: `[server.NAME.knobs.KNOB]` is `server.*.knobs.*`; one for several protocols is several.
fn paths(heading: &str) -> Vec<String> {
    let quoted: Vec<&str> = heading.split('`').skip(1).step_by(2).collect();
    let Some((path, protocols)) = quoted.split_first() else { return vec![String::new()] };
    let steps = path.trim_matches(['[', ']']).split('.');
    let is_name = |step: &str| step.chars().all(|c| c.is_ascii_uppercase());
    let path = steps.map(|step| if is_name(step) { "*" } else { step }).collect::<Vec<_>>().join(".");
    if protocols.is_empty() {
        return vec![path];
    }
    protocols.iter().map(|protocol| format!("{path} of {protocol}")).collect()
}

#[test]
fn the_page_documents_every_key_that_the_parser_accepts_and_no_other() {
    let (accepted, documented) = (accepted(), documented());
    let names = |sections: &BTreeMap<String, Section>| sections.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&documented), names(&accepted), "tables: the page, and the parser");
    for (table, section) in &accepted {
        assert_eq!(documented[table].keys, section.keys, "keys of [{table}]: the page, and the parser");
    }
}

/// The steps to a documented table in the example of a protocol that has it.
fn steps(path: &str) -> (ScaffoldProtocol, Vec<Step>) {
    let (path, protocol) = path.split_once(" of ").unwrap_or((path, ""));
    let protocol = match (protocol, path) {
        ("memcache", _) => ScaffoldProtocol::Memcached,
        ("", "load.keyspace" | "metrics" | "metrics.ratios") => ScaffoldProtocol::Redis,
        ("", "load.tables" | "server.*.account") => ScaffoldProtocol::Mysql,
        ("", "load.mail") => ScaffoldProtocol::Smtp,
        ("", _) => ScaffoldProtocol::Http,
        (name, _) => name.parse().expect("there is an example of the protocol"),
    };
    let mut steps = Vec::new();
    for step in path.split('.').filter(|step| !step.is_empty()) {
        steps.push(if step == "*" { Step::Named } else { Step::Key(step.to_owned()) });
        if ["op", "files", "ratios", "observe", "needs", "companion"].contains(&step) {
            steps.push(Step::First);
        }
    }
    (protocol, steps)
}

/// The last cell of a row: a line of TOML.
fn example_of(cells: &[String]) -> &str {
    cells.last().expect("a row has cells").trim_matches('`')
}

fn is_required(cells: &[String]) -> bool {
    cells[1].starts_with("required")
}

/// An example workload with a documented table, and the steps to the table. Where the example lacks the table, it has the
/// keys that the page marks as required.
fn example_with(path: &str, section: &Section) -> (Example, Vec<Step>) {
    let (protocol, steps) = steps(path);
    let mut example = Example::of(protocol);
    for (key, cells) in section.rows.iter().filter(|(_, cells)| is_required(cells)) {
        if get(&mut example.table, &steps).is_none_or(|table| !table.contains_key(key)) {
            let table: Table = example_of(cells).parse().expect("the example is TOML");
            set(
                &mut example.table,
                &[steps.as_slice(), &[Step::Key(key.clone())]].concat(),
                table[key].clone(),
            );
        }
    }
    (example, steps)
}

#[test]
fn every_example_sets_its_key_to_a_value_of_its_type() {
    for (path, section) in documented() {
        let (example, steps) = example_with(&path, &section);
        for (key, cells) in section.rows {
            let line = example_of(&cells);
            let table: Table = line.parse().unwrap_or_else(|error| panic!("[{path}] {line}: {error}"));
            assert_eq!(table.keys().collect::<Vec<_>>(), [&key], "[{path}] {line}");
            let path = [steps.as_slice(), &[Step::Key(key.clone())]].concat();
            let error = example.error_with(&path, table[&key].clone());
            let is_mistyped = ["invalid ", "unknown ", "missing field "].iter().any(|e| error.starts_with(e));
            let lacks_a_key = error.contains("operation ") && error.contains(" needs ");
            assert!(!is_mistyped && !lacks_a_key, "{path:?} {line}: {error}");
        }
    }
}

#[test]
fn every_accepted_word_is_documented() {
    for (path, section) in documented() {
        let (protocol, steps) = steps(&path);
        let example = Example::of(protocol);
        for (key, cells) in section.rows {
            let steps = [steps.as_slice(), &[Step::Key(key.clone())]].concat();
            let words = example.known_words(&steps).unwrap_or_default();
            let text = if key == "transaction" { PAGE.to_owned() } else { cells.join(" ") };
            for word in words {
                assert!(text.contains(&format!("`{word}`")), "[{path}] {key}: {word} is missing on the page");
            }
        }
    }
}

#[test]
fn required_keys_are_marked_as_required() {
    for (path, section) in documented() {
        let (example, steps) = example_with(&path, &section);
        for (key, cells) in &section.rows {
            let mut table = example.table.clone();
            get(&mut table, &steps).map(|table| table.remove(key));
            let error = example.error(&table);
            if is_required(cells) {
                assert!(!error.is_empty(), "[{path}] {key} is not required");
            } else {
                let is_missed = error.contains(&format!("missing field `{key}`"))
                    || error.contains("operation ") && error.ends_with(&format!(" needs {key}"));
                assert!(!is_missed, "[{path}] {key} is required");
            }
        }
    }
}

/// The table at a path, if the example has it.
fn get<'t>(table: &'t mut Table, path: &[Step]) -> Option<&'t mut Table> {
    let Some((step, rest)) = path.split_first() else { return Some(table) };
    let mut value = match step {
        Step::Key(key) => table.get_mut(key)?,
        Step::Named => table.iter_mut().next()?.1,
        Step::First => return None,
    };
    let mut rest = rest;
    if let [Step::First, after @ ..] = rest {
        value = value.as_array_mut()?.first_mut()?;
        rest = after;
    }
    get(value.as_table_mut()?, rest)
}

#[test]
fn whole_files_on_the_page_are_accepted() {
    let blocks = PAGE.split("```toml\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let files: Vec<&str> =
        blocks.map(|(block, _)| block).filter(|block| block.starts_with("title")).collect();
    assert!(!files.is_empty(), "the page has a whole file");
    for file in files {
        let directory = tempfile::tempdir().expect("the directory is created");
        fs::write(directory.path().join(DEFINITION), file).expect("the file is written");
        let read = Workload::read(&Folder::Disk(directory.path().to_owned()), DEFINITION);
        assert!(read.is_ok(), "{read:?}");
    }
}
