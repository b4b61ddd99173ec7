//! No files of a crate import each other in a circle, and no folders.
//!
//! A simple reader of `use` declarations and of paths that begin with `crate`, `super`, `self` or a child module. A
//! re-export (`pub use`) is followed to the file that defines the item, and is no import by itself. Unit tests are left
//! out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::{MAY_USE, files_below, project};

/// The path of a module in its crate; the root's is empty.
type ModulePath = Vec<String>;

/// Modules with those that they use.
type ModuleGraph = BTreeMap<ModulePath, BTreeSet<ModulePath>>;

/// What a file imports.
#[derive(Debug, Default)]
struct Imports {
    /// Paths of `use` declarations, and paths in the code.
    used: Vec<Vec<String>>,
    /// Names that the file has from elsewhere, which its children see, too: the name and the path behind it; `*` is a glob.
    names: Vec<(String, Vec<String>)>,
    /// Its children that are compiled for tests alone.
    tests: Vec<String>,
    /// The text without comments and unit tests.
    code: String,
}

fn module_of(file: &Path, sources: &Path) -> ModulePath {
    let relative = file.strip_prefix(sources).expect("a file of the crate").with_extension("");
    let mut path: ModulePath = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        path.pop();
    }
    path
}

/// Where the unit tests at the end of a file begin.
const UNIT_TESTS: [&str; 2] = ["#[cfg(test)]\nmod tests {", "#[cfg(test)]\npub mod tests {"];

fn code_of(text: &str) -> String {
    let code = UNIT_TESTS.iter().fold(text, |code, tests| code.split(tests).next().unwrap_or(code));
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The paths of a use tree: `a::{b, c::d as e}` has `a::b` and `a::c::d`, each with the name that it introduces.
fn expand(prefix: &[String], tree: &str, paths: &mut Vec<(String, Vec<String>)>) {
    let tree = tree.trim();
    if let Some((head, rest)) = tree.split_once('{') {
        let head = head.trim().trim_end_matches("::");
        let segments = head.split("::").filter(|part| !part.is_empty()).map(str::to_owned);
        let prefix: Vec<String> = prefix.iter().cloned().chain(segments).collect();
        let inner = rest.strip_suffix('}').unwrap_or(rest);
        for part in split_at_commas(inner) {
            expand(&prefix, part, paths);
        }
    } else if !tree.is_empty() {
        let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias)));
        let segments = path.split("::").map(|part| part.trim().to_owned());
        let mut path: Vec<String> = prefix.iter().cloned().chain(segments).collect();
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name =
            alias.map_or_else(|| path.last().cloned().unwrap_or_default(), |alias| alias.trim().to_owned());
        paths.push((name, path));
    }
}

/// The parts of a list whose commas are not inside braces.
fn split_at_commas(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_u32, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The paths in code that begin with one of these names: `crate::a::B`.
fn paths_in(code: &str, first: impl Fn(&str) -> bool) -> Vec<Vec<String>> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let candidates = code.split(|c: char| !is_path(c)).filter(|text| text.contains("::"));
    let paths = candidates.map(|text| text.split("::").map(str::to_owned).collect::<Vec<_>>());
    paths.filter(|path| first(&path[0])).collect()
}

fn read(code: String, children: &[String]) -> Imports {
    let mut imports = Imports::default();
    let mut rest = String::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        let (is_public, tree) = match trimmed.split_once("use ") {
            Some(("", tree)) => (false, tree),
            Some((visibility, tree)) if visibility.starts_with("pub") && visibility.ends_with(' ') => {
                (true, tree)
            }
            _ => {
                rest.push_str(line);
                rest.push('\n');
                continue;
            }
        };
        let mut tree = tree.to_owned();
        while !tree.contains(';') {
            let Some(next) = lines.next() else { break };
            tree.push_str(next.trim());
        }
        let mut paths = Vec::new();
        expand(&[], tree.split(';').next().unwrap_or_default(), &mut paths);
        if !is_public {
            imports.used.extend(paths.iter().map(|(_, path)| path.clone()));
        }
        imports.names.extend(paths);
    }
    let is_own =
        |name: &str| ["crate", "super", "self"].contains(&name) || children.iter().any(|c| c == name);
    imports.used.extend(paths_in(&rest, is_own));
    imports.tests = test_modules(&code);
    imports.code = code;
    imports
}

/// The modules of a file that are compiled for tests alone: `#[cfg(test)] mod simulation;`.
fn test_modules(code: &str) -> Vec<String> {
    let mut modules = Vec::new();
    let mut is_for_tests = false;
    for line in code.lines() {
        let line = line.trim();
        if is_for_tests
            && let Some((_, name)) = line.split_once("mod ")
            && let Some(name) = name.strip_suffix(';')
        {
            modules.push(name.to_owned());
        }
        is_for_tests = line == "#[cfg(test)]";
    }
    modules
}

/// The files of a crate, by their modules.
struct Crate(BTreeMap<ModulePath, Imports>);

impl Crate {
    fn read(sources: &Path) -> Self {
        let files = files_below(sources, &["rs"]);
        let modules: Vec<ModulePath> = files.iter().map(|file| module_of(file, sources)).collect();
        let children = |module: &ModulePath| -> Vec<String> {
            let below =
                modules.iter().filter(|other| other.len() == module.len() + 1 && other.starts_with(module));
            below.filter_map(|other| other.last().cloned()).collect()
        };
        let read_file = |(file, module): (&std::path::PathBuf, &ModulePath)| {
            let text = fs::read_to_string(file).expect("a source file");
            (module.clone(), read(code_of(&text), &children(module)))
        };
        Self(files.iter().zip(&modules).map(read_file).collect())
    }

    /// The module whose file defines what a path in `module` names; none for other crates.
    fn resolve(&self, module: &ModulePath, path: &[String], depth: u32) -> Option<ModulePath> {
        let mut at = module.clone();
        let mut rest = path;
        let mut is_first = true;
        while let Some((segment, further)) = rest.split_first() {
            match segment.as_str() {
                "crate" if is_first => at = ModulePath::new(),
                "self" if is_first => {}
                "super" => {
                    at.pop()?;
                }
                name => {
                    let child: ModulePath = at.iter().cloned().chain([name.to_owned()]).collect();
                    if self.0.contains_key(&child) {
                        at = child;
                    } else if is_first {
                        return None;
                    } else {
                        return Some(self.definition(&at, name, depth));
                    }
                }
            }
            is_first = false;
            rest = further;
        }
        Some(at)
    }

    /// The module that defines a name which `module` has, directly or from elsewhere.
    fn definition(&self, module: &ModulePath, name: &str, depth: u32) -> ModulePath {
        let names = &self.0[module].names;
        let target = |path: &Vec<String>| self.resolve(module, path, depth + 1);
        let direct = names.iter().find(|(known, _)| known == name).and_then(|(_, path)| target(path));
        let by_glob = || {
            let globs = names.iter().filter(|(known, _)| known == "*");
            let mut behind = globs.filter_map(|(_, path)| target(&path[..path.len() - 1].to_vec()));
            let defines = |kind: &&str, code: &str| code.contains(&format!("{kind} {name}"));
            let kinds = ["fn", "struct", "enum", "trait", "const", "type"];
            behind.find(|other| kinds.iter().any(|kind| defines(kind, &self.0[other].code)))
        };
        if depth > 8 {
            return module.clone();
        }
        direct.or_else(by_glob).unwrap_or_else(|| module.clone())
    }

    /// Each module with those whose items it uses.
    fn graph(&self) -> ModuleGraph {
        self.0
            .iter()
            .map(|(module, imports)| {
                let used = imports.used.iter().filter_map(|path| self.resolve(module, path, 0));
                (module.clone(), used.filter(|other| other != module).collect())
            })
            .collect()
    }

    /// Whether a module is compiled for tests alone: it or a module above it is declared so.
    fn is_test(&self, module: &ModulePath) -> bool {
        (0..module.len()).any(|above| {
            let parent = self.0.get(&module[..above]);
            parent.is_some_and(|parent| parent.tests.contains(&module[above]))
        })
    }

    /// The folders of the crate: the root, and each module that has others below it.
    fn folders(&self) -> BTreeSet<ModulePath> {
        self.0.keys().flat_map(|module| (0..module.len()).map(|length| module[..length].to_vec())).collect()
    }

    /// Each folder in this folder, or file beside them, with those whose items it uses. The folder's own file only names them, and
    /// tests are left out.
    fn graph_of_folders(&self, folder: &ModulePath) -> ModuleGraph {
        let mut folders = ModuleGraph::new();
        for (module, used) in self.graph().into_iter().filter(|(module, _)| !self.is_test(module)) {
            let Some(from) = entry_of(&module, folder) else { continue };
            let used = used.iter().filter_map(|other| entry_of(other, folder)).filter(|other| *other != from);
            folders.entry(from.clone()).or_default().extend(used);
        }
        folders
    }
}

/// The entry of a folder that a module is, or is below; none for the folder itself and for what is elsewhere.
fn entry_of(module: &ModulePath, folder: &ModulePath) -> Option<ModulePath> {
    let is_below = module.len() > folder.len() && module.starts_with(folder);
    is_below.then(|| module[..=folder.len()].to_vec())
}

/// Groups of modules that import each other, directly or by way of others.
fn circles(graph: &ModuleGraph) -> Vec<Vec<&ModulePath>> {
    let reachable: BTreeMap<&ModulePath, BTreeSet<ModulePath>> =
        graph.keys().map(|module| (module, reachable(module, graph))).collect();
    let mut circles: Vec<Vec<&ModulePath>> = Vec::new();
    for module in graph.keys().filter(|module| reachable[*module].contains(*module)) {
        let meets =
            |other: &&ModulePath| reachable[module].contains(*other) && reachable[*other].contains(module);
        match circles.iter_mut().find(|circle| meets(&circle[0])) {
            Some(circle) => circle.push(module),
            None => circles.push(vec![module]),
        }
    }
    circles
}

/// The circles of a crate in words.
fn described(name: &str, graph: &ModuleGraph) -> Vec<String> {
    let in_words = |circle: Vec<&ModulePath>| {
        let modules: Vec<String> =
            circle.iter().map(|module| format!("crate::{}", module.join("::"))).collect();
        format!("{name}: {}", modules.join(", "))
    };
    circles(graph).into_iter().map(in_words).collect()
}

/// All modules that a module imports, directly or by way of others.
fn reachable(module: &ModulePath, graph: &ModuleGraph) -> BTreeSet<ModulePath> {
    let mut reachable = BTreeSet::new();
    let mut next: Vec<&ModulePath> = graph[module].iter().collect();
    while let Some(module) = next.pop() {
        if reachable.insert(module.clone()) {
            next.extend(graph.get(module).into_iter().flatten());
        }
    }
    reachable
}

#[test]
fn use_trees_are_expanded() {
    let mut paths = Vec::new();
    expand(&[], "crate::a::{self, b::{C, D as E}, f::*}", &mut paths);
    let paths: Vec<String> =
        paths.into_iter().map(|(name, path)| format!("{name}={}", path.join("::"))).collect();
    assert_eq!(paths, ["a=crate::a", "C=crate::a::b::C", "E=crate::a::b::D", "*=crate::a::f::*"]);
}

/// A crate of these files: the module and its code.
fn made_up(files: &[(&str, &str)]) -> Crate {
    let path = |module: &str| -> ModulePath {
        module.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let children = |module: &str| -> Vec<String> {
        let below = files.iter().map(|(other, _)| path(other));
        below
            .filter(|other| other.len() == path(module).len() + 1 && other.starts_with(&path(module)))
            .filter_map(|other| other.last().cloned())
            .collect()
    };
    Crate(files.iter().map(|(module, code)| (path(module), read(code_of(code), &children(module)))).collect())
}

#[test]
fn a_circle_is_found_through_re_exports_and_paths_in_the_code() {
    let through_the_root = made_up(&[
        ("", "pub use self::a::A;\npub use b::B;"),
        ("a", "use crate::B;\npub struct A(B);"),
        ("b", "pub struct B;\nfn f() { super::a::A; }"),
    ]);
    assert_eq!(circles(&through_the_root.graph()), [[&["a".to_owned()], &["b".to_owned()]]]);
    let only_down = made_up(&[
        ("", "pub use self::a::A;\npub use b::B;"),
        ("a", "use crate::B;\n#[cfg(test)]\nmod tests {\n use super::*; use crate::A; }"),
        ("b", "// see crate::a::A\npub struct B;"),
    ]);
    assert!(circles(&only_down.graph()).is_empty());
    let parent_and_child =
        made_up(&[("", ""), ("a", "fn f() { b::g(); }\npub struct S;"), ("a::b", "use super::S;")]);
    assert_eq!(circles(&parent_and_child.graph()).len(), 1);
}

#[test]
fn a_circle_of_folders_has_no_circle_of_files() {
    let made = made_up(&[
        ("", ""),
        ("a", ""),
        ("a::b", "pub struct B;"),
        ("a::c", "use crate::d::D;"),
        ("d", "use crate::a::b::B;\npub struct D;"),
    ]);
    assert!(circles(&made.graph()).is_empty());
    assert_eq!(circles(&made.graph_of_folders(&Vec::new())), [[&["a".to_owned()], &["d".to_owned()]]]);
}

#[test]
fn a_circle_deeper_down_is_found_and_tests_have_none() {
    let made = made_up(&[
        ("", ""),
        ("a", "#[cfg(test)]\nmod simulation;"),
        ("a::b", ""),
        ("a::b::c", "use crate::a::d::D;"),
        ("a::b::e", "pub struct E;"),
        ("a::d", "use super::b::e::E;\npub struct D;"),
        ("a::simulation", "use crate::f::F;"),
        ("f", "use crate::a::d::D;\npub struct F;"),
    ]);
    assert!(circles(&made.graph_of_folders(&Vec::new())).is_empty());
    let in_a = made.graph_of_folders(&vec!["a".to_owned()]);
    assert_eq!(circles(&in_a).len(), 1, "{in_a:?}");
}

/// The crates with their names.
fn crates() -> impl Iterator<Item = (&'static str, Crate)> {
    MAY_USE.iter().map(|(name, _)| (*name, Crate::read(&project("crates").join(name).join("src"))))
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let found: Vec<String> = crates().flat_map(|(name, read)| described(name, &read.graph())).collect();
    assert!(found.is_empty(), "move what they share into a file of its own:\n{}", found.join("\n"));
}

#[test]
fn no_folders_import_each_other_in_a_circle() {
    let mut found = Vec::new();
    for (name, read) in crates() {
        for folder in read.folders() {
            found.extend(described(name, &read.graph_of_folders(&folder)));
        }
    }
    assert!(found.is_empty(), "move what they share into a file beside them:\n{}", found.join("\n"));
}
