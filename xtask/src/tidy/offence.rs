//! What a rule finds.

use std::fmt;

use super::tree::Tree;

/// A rule looks at all files and names every offence against it.
pub(super) type Rule = fn(&Tree) -> Vec<Offence>;

/// Where a rule is broken, which one, and what to do about it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Offence {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) rule: &'static str,
    pub(super) words: String,
}

impl Offence {
    pub(super) fn new(path: &str, line: usize, rule: &'static str, words: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, rule, words: words.into() }
    }
}

impl fmt::Display for Offence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, words } = self;
        write!(formatter, "{path}:{line}: {rule}: {words}")
    }
}

/// The one door of the rules' tests: a rule, files made up for it, and the `path:line` it must name.
#[cfg(test)]
pub(super) fn check(rule: Rule, tree: &Tree, expected: &[&str]) {
    let found: Vec<String> =
        rule(tree).iter().map(|offence| format!("{}:{}", offence.path, offence.line)).collect();
    assert_eq!(found, expected);
}
