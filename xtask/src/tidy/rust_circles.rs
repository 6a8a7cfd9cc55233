//! No circles between the Rust files of a crate: whoever reads one of two files that name each other has to read both.
//!
//! An arrow is a path that begins with `crate`, `self`, `super` or a submodule's name. Tests may name what they like:
//! nothing of theirs is named by the code they test.

use std::collections::BTreeMap;

use super::circles::offences;
use super::graph::{Graph, Place};
use super::offence::Offence;
use super::source::{Source, line_at, tokens};
use super::tree::Tree;

pub(super) fn between_files(tree: &Tree) -> Vec<Offence> {
    tree.members
        .iter()
        .flat_map(|member| offences("circle", "files", &arrows(tree, &member.folder)))
        .collect()
}

/// A module's path within its crate, as `use` would name it after `crate::`.
type ModulePath = Vec<String>;

fn arrows(tree: &Tree, member: &str) -> Graph {
    let src = format!("{member}/src/");
    let modules: BTreeMap<ModulePath, &str> = tree
        .sources()
        .filter_map(|(file, _)| Some((module_path(file.path.strip_prefix(&src)?)?, file.path.as_str())))
        .collect();
    let mut graph = Graph::default();
    for (here, path) in &modules {
        let Some(source) = tree.file(path).and_then(|file| file.source.as_ref()) else { continue };
        for (offset, named) in Paths::of(source, here, &modules) {
            let target = (0..=named.len()).rev().find_map(|length| modules.get(named.get(..length)?));
            if let Some(target) = target {
                let line = line_at(&source.code, offset);
                graph.add(path, target, Place { path: (*path).to_owned(), line });
            }
        }
    }
    graph
}

/// None for the files of tests.
fn module_path(file: &str) -> Option<ModulePath> {
    let file = file.strip_suffix(".rs")?;
    let mut parts: Vec<&str> = file.split('/').collect();
    if parts.contains(&"tests") {
        return None;
    }
    let is_root = matches!(parts.as_slice(), ["lib" | "main"]);
    if is_root || parts.last() == Some(&"mod") {
        parts.pop();
    }
    Some(parts.into_iter().map(str::to_owned).collect())
}

/// Reads the paths of one file, those in the trees of `use` included.
struct Paths<'a> {
    tokens: Vec<(usize, &'a str)>,
    here: &'a ModulePath,
    modules: &'a BTreeMap<ModulePath, &'a str>,
    found: Vec<(usize, ModulePath)>,
}

impl<'a> Paths<'a> {
    fn of(
        source: &'a Source,
        here: &'a ModulePath,
        modules: &'a BTreeMap<ModulePath, &'a str>,
    ) -> Vec<(usize, ModulePath)> {
        let mut paths = Self { tokens: without_tests(source), here, modules, found: Vec::new() };
        let mut place = 0;
        while place < paths.tokens.len() {
            place = paths.step(place);
        }
        paths.found
    }

    fn token(&self, place: usize) -> &'a str {
        self.tokens.get(place).map_or("", |(_, token)| token)
    }

    fn is_separator(&self, place: usize) -> bool {
        self.token(place) == ":" && self.token(place + 1) == ":"
    }

    /// Reads a path if one begins here, and says where to go on.
    fn step(&mut self, place: usize) -> usize {
        let follows_another = place >= 2 && self.is_separator(place - 2);
        if follows_another || !self.is_separator(place + 1) {
            return place + 1;
        }
        match self.base(self.token(place)) {
            Some(base) => self.tree(place + 3, &base),
            None => place + 1,
        }
    }

    /// The module that the first word of a path stands for, if it is one of this crate.
    fn base(&self, word: &str) -> Option<ModulePath> {
        match word {
            "crate" => Some(Vec::new()),
            "self" => Some(self.here.clone()),
            "super" => Some(self.here.split_last()?.1.to_vec()),
            child => {
                let path = [self.here.as_slice(), &[child.to_owned()]].concat();
                self.modules.contains_key(&path).then_some(path)
            }
        }
    }

    /// Reads what comes after `base::`: a name, more names, or several in braces. Returns the place behind it.
    fn tree(&mut self, place: usize, base: &ModulePath) -> usize {
        if self.token(place) == "{" {
            let mut place = place + 1;
            while !matches!(self.token(place), "}" | "") {
                place = if self.token(place) == "," { place + 1 } else { self.tree(place, base) };
                if self.token(place) == "as" {
                    place += 2;
                }
            }
            return place + 1;
        }
        let mut path = base.clone();
        match self.token(place) {
            "super" => _ = path.pop(),
            "self" => {}
            name => path.push(name.to_owned()),
        }
        if self.is_separator(place + 1) {
            return self.tree(place + 3, &path);
        }
        let offset = self.tokens.get(place).map_or(0, |(offset, _)| *offset);
        self.found.push((offset, path));
        place + 1
    }
}

/// A file's tokens without `#[cfg(test)]` items that have a body.
fn without_tests(source: &Source) -> Vec<(usize, &str)> {
    const TEST_ONLY: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let all: Vec<(usize, &str)> = tokens(&source.code).collect();
    let mut left = Vec::with_capacity(all.len());
    let mut rest = all.as_slice();
    while let Some((first, after)) = rest.split_first() {
        let is_test = rest.iter().map(|(_, token)| *token).take(TEST_ONLY.len()).eq(TEST_ONLY);
        if is_test {
            rest = after_item(rest);
        } else {
            left.push(*first);
            rest = after;
        }
    }
    left
}

/// What follows the item that begins here: behind its closing brace, or its semicolon if it has no body.
fn after_item<'t, 'a>(mut rest: &'t [(usize, &'a str)]) -> &'t [(usize, &'a str)] {
    let mut depth = 0_usize;
    while let Some(((_, token), after)) = rest.split_first() {
        rest = after;
        match *token {
            "{" => depth += 1,
            "}" if depth <= 1 => break,
            "}" => depth -= 1,
            ";" if depth == 0 => break,
            _ => {}
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::offence::check;

    #[track_caller]
    fn judge(files: &[(&str, &str)], expected: &[&str]) {
        let tree = Tree::of_files(files).with_member("crates/app", &[], &["crates/app/src/lib.rs"]);
        check(between_files, &tree, expected);
    }

    #[test]
    fn files_that_name_each_other() {
        judge(
            &[
                ("crates/app/src/lib.rs", "mod rows;\nmod keys;\nmod ids;\nuse rows::Rows;\n"),
                ("crates/app/src/rows.rs", "use crate::{\n    ids,\n    keys::{self, Key as K},\n};\n"),
                ("crates/app/src/keys.rs", "\nfn f() { crate::rows::insert() }\n"),
                ("crates/app/src/ids.rs", "use super::super::nothing;\nuse std::fmt;\n"),
            ],
            &["crates/app/src/keys.rs:2"],
        );
    }

    #[test]
    fn a_child_that_names_its_parent() {
        judge(
            &[
                ("crates/app/src/rows/mod.rs", "mod insert;\nfn f() { insert::one() }\n"),
                ("crates/app/src/rows/insert.rs", "use super::Rows;\n"),
                ("crates/app/src/keys/mod.rs", "mod hash;\nuse self::hash::Hash;\n"),
                ("crates/app/src/keys/hash.rs", "use super::super::rows;\n"),
            ],
            &["crates/app/src/rows/insert.rs:1"],
        );
    }

    #[test]
    fn what_lib_defines_is_named_by_nobody_below() {
        judge(
            &[
                ("crates/app/src/lib.rs", "mod rows;\npub struct App;\nfn f() { rows::insert() }\n"),
                ("crates/app/src/rows.rs", "use crate::App;\n"),
            ],
            &["crates/app/src/lib.rs:3"],
        );
    }

    #[test]
    fn tests_and_comments_do_not_count() {
        judge(
            &[
                ("crates/app/src/rows.rs", "// crate::keys::x\nuse crate::keys;\n#[cfg(test)]\nmod tests;\n"),
                (
                    "crates/app/src/keys.rs",
                    "#[cfg(test)]\nmod tests {\n    use crate::rows;\n}\n#[cfg(test)]\nuse crate::rows::X;\n",
                ),
                ("crates/app/src/rows/tests.rs", "use crate::rows;\nuse super::super::keys;\n"),
            ],
            &[],
        );
    }
}
