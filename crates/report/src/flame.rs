//! Folded stacks as a tree for the flame graph of the page, bounded in size.
//!
//! A tree has each function of a path once, so it is much smaller than the stacks. Where it is still too large, the functions
//! with the fewest samples are omitted, and the page says so. Drawing is left to `web/`.

use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Maximum functions of a tree: about 150 kB of a page, and more than a screen has pixels for.
const MAX_NODES: usize = 8_000;
/// The least share of the samples that a function needs, where the tree is too large.
const LEAST_SHARE: f64 = 0.0005;
/// Maximum functions of a path; deeper ones count for the last of them.
const MAX_DEPTH: usize = 256;
/// Maximum characters of a function's name.
const MAX_NAME: usize = 240;

/// A tree of functions.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Flame {
    /// Samples of all stacks.
    samples: u64,
    /// Names of functions as in the file: kernel functions end in `_[k]`, labels are in `<>`.
    names: Vec<String>,
    /// Parents before children: the depth from 0, the place in `names`, and the samples with callees.
    nodes: Vec<(usize, usize, u64)>,
    /// Functions with fewer samples than this are omitted; 0 where the tree is complete.
    least_samples: u64,
    /// Lines of the file that are not stacks.
    pub(crate) skipped: usize,
}

/// A function of a path.
#[derive(Debug, Default)]
struct Node {
    samples: u64,
    children: BTreeMap<usize, usize>,
}

/// The tree of `THREAD;FUNCTION;…;FUNCTION SAMPLES` lines.
pub(crate) fn of_folded(text: &str) -> Flame {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut names: Vec<&str> = Vec::new();
    let mut tree = vec![Node::default()];
    let mut skipped = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some((stack, count)) = stack_of(line) else {
            skipped += 1;
            continue;
        };
        let Some(samples) = tree[0].samples.checked_add(count) else {
            skipped += 1;
            continue;
        };
        tree[0].samples = samples;
        let mut at = 0;
        for name in stack.split(';').take(MAX_DEPTH) {
            let place = *places.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() - 1
            });
            let fresh = tree.len();
            at = *tree[at].children.entry(place).or_insert(fresh);
            if at == fresh {
                tree.push(Node::default());
            }
            tree[at].samples += count;
        }
    }
    let least = least_samples(&tree);
    let mut nodes = Vec::new();
    push_children(&tree, 0, 0, least, &mut nodes);
    // Names of omitted functions are omitted too.
    let mut kept: HashMap<usize, usize> = HashMap::new();
    let mut kept_names = Vec::new();
    for (_, name, _) in &mut nodes {
        *name = *kept.entry(*name).or_insert_with(|| {
            kept_names.push(names[*name].chars().take(MAX_NAME).collect());
            kept_names.len() - 1
        });
    }
    Flame { samples: tree[0].samples, names: kept_names, nodes, least_samples: least, skipped }
}

fn stack_of(line: &str) -> Option<(&str, u64)> {
    let (stack, count) = line.trim_end().rsplit_once(' ')?;
    let count = count.parse().ok().filter(|count| *count > 0)?;
    (!stack.is_empty()).then_some((stack, count))
}

/// The samples that a function needs so that the tree has at most [`MAX_NODES`]; 0 where all fit.
fn least_samples(tree: &[Node]) -> u64 {
    if tree.len() <= MAX_NODES + 1 {
        return 0;
    }
    let mut all: Vec<u64> = tree[1..].iter().map(|node| node.samples).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    // One more than the first that does not fit: those with as many samples do not all fit either.
    let fitting = all[MAX_NODES] + 1;
    fitting.max((tree[0].samples as f64 * LEAST_SHARE).ceil() as u64)
}

/// The functions below one, those with the most samples first. A callee has at most the samples of its caller, so that an omitted
/// function has no callee that is kept.
fn push_children(tree: &[Node], of: usize, depth: usize, least: u64, nodes: &mut Vec<(usize, usize, u64)>) {
    let mut children: Vec<_> = tree[of].children.iter().map(|(name, at)| (*name, *at)).collect();
    children.sort_by_key(|(_, at)| std::cmp::Reverse(tree[*at].samples));
    for (name, at) in children {
        let samples = tree[at].samples;
        if samples >= least {
            nodes.push((depth, name, samples));
            push_children(tree, at, depth + 1, least, nodes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_become_a_tree_with_each_function_of_a_path_once() {
        let flame = of_folded("t;main;b 1\nt;main;a 3\nt;main;a;read_[k] 4\nt;main 2\n\n");
        assert_eq!(flame.samples, 10);
        assert_eq!(flame.names, ["t", "main", "a", "read_[k]", "b"]);
        assert_eq!(flame.nodes, [(0, 0, 10), (1, 1, 10), (2, 2, 7), (3, 3, 4), (2, 4, 1)]);
        assert_eq!((flame.least_samples, flame.skipped), (0, 0));
    }

    #[test]
    fn lines_that_are_no_stacks_are_counted_and_the_others_kept() {
        let flame = of_folded("nonsense\nt;a -1\nt;a 1.5\nt;a 0\n 7\nt;a 2\nt;a 18446744073709551615\n");
        assert_eq!((flame.samples, flame.skipped), (2, 6));
        assert_eq!(flame.nodes, [(0, 0, 2), (1, 1, 2)]);
        assert_eq!(of_folded("").nodes, []);
    }

    #[test]
    fn a_tree_that_is_too_large_loses_the_functions_with_the_fewest_samples() {
        use std::fmt::Write;
        let mut text = "t;hot 1000000\n".to_owned();
        for n in 0..20_000 {
            let _ = writeln!(text, "t;cold;f{n} {}", 1 + n % 7);
        }
        let flame = of_folded(&text);
        assert_eq!(flame.names, ["t", "hot", "cold"], "below 0.05 % each");
        assert!(flame.least_samples as f64 >= 0.0005 * flame.samples as f64);
        assert_eq!(flame.nodes[0].2, flame.samples, "their callers have all samples");
        // Where functions with more than 0.05 % are still too many, the limit rises.
        let many: Vec<String> = (0..1_900).map(|n| format!("t{n};a;b;c;d;e 1")).collect();
        let flame = of_folded(&many.join("\n"));
        assert!(flame.nodes.len() <= MAX_NODES, "{}", flame.nodes.len());
    }

    #[test]
    fn paths_and_names_of_any_length_are_cut() {
        let deep = format!("{}end 5\n", "f;".repeat(100_000));
        let flame = of_folded(&deep);
        assert_eq!(flame.nodes.len(), MAX_DEPTH);
        let long = of_folded(&format!("t;{} 1\n", "é".repeat(10_000)));
        assert_eq!(long.names[1].chars().count(), MAX_NAME);
    }
}
