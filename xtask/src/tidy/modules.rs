//! No dead files: every Rust file of a crate is compiled into something.

use std::collections::BTreeSet;

use super::offence::Offence;
use super::source::{Source, tokens};
use super::tree::Tree;

pub(super) fn no_dead_files(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for member in &tree.members {
        let mut alive = BTreeSet::new();
        for root in &member.roots {
            visit(tree, root, folder_of(root), &mut alive);
        }
        let inside = format!("{}/", member.folder);
        for (file, _) in tree.sources() {
            if file.path.starts_with(&inside) && !alive.contains(&file.path) {
                offences.push(Offence::new(&file.path, 1, "dead-file", "no `mod` leads here"));
            }
        }
    }
    offences
}

/// Follows the declarations of a file, whose submodules lie in `folder`.
fn visit(tree: &Tree, path: &str, folder: &str, alive: &mut BTreeSet<String>) {
    let Some(source) = tree.file(path).and_then(|file| file.source.as_ref()) else { return };
    if !alive.insert(path.to_owned()) {
        return;
    }
    for Declaration { inside, name, path_attribute } in declarations(source) {
        if let Some(given) = path_attribute {
            let file = normal(&format!("{}/{given}", folder_of(path)));
            visit(tree, &file, folder_of(&file), alive);
            continue;
        }
        let place = [&[folder.to_owned()], inside.as_slice(), &[name]].concat().join("/");
        visit(tree, &format!("{place}.rs"), &place, alive);
        visit(tree, &format!("{place}/mod.rs"), &place, alive);
    }
}

/// `mod name;`, perhaps within `mod inside { … }`.
struct Declaration {
    inside: Vec<String>,
    name: String,
    path_attribute: Option<String>,
}

fn declarations(source: &Source) -> Vec<Declaration> {
    let tokens: Vec<(usize, &str)> = tokens(&source.code).collect();
    let mut found = Vec::new();
    let mut path_attribute = None;
    // Names of the inline modules we are in, each with the depth of its braces.
    let mut inside: Vec<(usize, String)> = Vec::new();
    let mut depth = 0_usize;
    for (place, (offset, token)) in tokens.iter().enumerate() {
        let next = |ahead: usize| tokens.get(place + ahead).map(|(_, token)| *token);
        match (*token, next(1), next(2)) {
            ("path", Some("="), _) => {
                let given = source.strings.iter().find(|literal| literal.offset > *offset);
                path_attribute = given.map(|literal| literal.text.clone());
            }
            ("mod", Some(name), Some(";")) => found.push(Declaration {
                inside: inside.iter().map(|(_, name)| name.clone()).collect(),
                name: name.to_owned(),
                path_attribute: path_attribute.take(),
            }),
            ("mod", Some(name), Some("{")) => {
                path_attribute = None;
                inside.push((depth + 1, name.to_owned()));
            }
            ("{", _, _) => depth += 1,
            ("}", _, _) => {
                inside.pop_if(|(opened, _)| *opened == depth);
                depth = depth.saturating_sub(1);
            }
            // A variable of that name is no attribute.
            (";", _, _) => path_attribute = None,
            _ => {}
        }
    }
    found
}

pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Without `.` and `..`.
pub(super) fn normal(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::offence::check;

    #[test]
    fn a_file_no_mod_leads_to_is_dead() {
        let tree = Tree::of_files(&[
            (
                "crates/app/src/lib.rs",
                "mod rows;\npub mod keys;\n// mod old;\n#[cfg(test)]\nmod tests { mod big; }\n",
            ),
            (
                "crates/app/src/rows.rs",
                "mod insert;\nfn f() { let path = 1; }\n#[path = \"../odd/name.rs\"]\nmod odd;",
            ),
            ("crates/app/src/rows/insert.rs", ""),
            ("crates/app/src/keys/mod.rs", "mod hash;"),
            ("crates/app/src/keys/hash.rs", ""),
            ("crates/app/src/tests/big.rs", ""),
            ("crates/app/odd/name.rs", ""),
            ("crates/app/src/old.rs", ""),
            ("crates/app/src/insert.rs", ""),
            ("crates/app/tests/all/main.rs", "mod common;"),
            ("crates/app/tests/all/common.rs", ""),
            ("crates/app/tests/all/left.rs", ""),
            ("crates/application/src/lib.rs", ""),
        ])
        .with_member("crates/app", &[], &["crates/app/src/lib.rs", "crates/app/tests/all/main.rs"]);
        check(
            no_dead_files,
            &tree,
            &["crates/app/src/old.rs:1", "crates/app/src/insert.rs:1", "crates/app/tests/all/left.rs:1"],
        );
    }
}
