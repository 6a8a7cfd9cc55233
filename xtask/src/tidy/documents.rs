//! What a newcomer reads is there, and the map shows every room.

use super::offence::Offence;
use super::tree::Tree;

const DOCUMENTS: &[&str] = &["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md"];
const MAP: &str = "ARCHITECTURE.md";

pub(super) fn present(tree: &Tree) -> Vec<Offence> {
    let missing = DOCUMENTS.iter().filter(|path| tree.file(path).is_none());
    missing.map(|path| Offence::new(path, 1, "documents", "missing")).collect()
}

pub(super) fn architecture_names_every_crate(tree: &Tree) -> Vec<Offence> {
    let map = tree.file(MAP).map_or("", |file| file.text.as_str());
    let rooms = tree.members.iter().map(|member| member.room().unwrap_or(&member.folder));
    let unnamed = rooms.filter(|room| !names(map, room));
    unnamed.map(|room| Offence::new(MAP, 1, "map", format!("does not name {room}/ or `{room}`"))).collect()
}

/// A Rust file that a document names in backticks exists. It may leave out the beginning of the path: the name's last
/// parts must be those of some file.
pub(super) fn named_files_exist(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for file in tree.with_extension(&["md"]) {
        for (line, text) in file.lines() {
            for named in text.split('`').skip(1).step_by(2).filter(|named| is_source(named)) {
                let is_there = tree.files.iter().any(|file| ends_with(&file.path, named));
                if !is_there {
                    offences.push(Offence::new(
                        &file.path,
                        line,
                        "named-file",
                        format!("there is no {named}"),
                    ));
                }
            }
        }
    }
    offences
}

fn is_source(named: &str) -> bool {
    let is_path = |character: char| character.is_ascii_alphanumeric() || "_-./".contains(character);
    named.rsplit_once('.').is_some_and(|(_, ending)| ending == "rs") && named.chars().all(is_path)
}

/// `api/pipeline.rs` is short for `crates/api/src/pipeline.rs`.
fn ends_with(path: &str, named: &str) -> bool {
    let path = path.replace("/src/", "/");
    let named = named.replace("/src/", "/");
    let rest = path.strip_suffix(named.strip_prefix("src/").unwrap_or(&named));
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// As a folder (`store/`) or as code (`` `store` ``): the bare word may be plain English.
fn names(map: &str, room: &str) -> bool {
    let as_folder = map.match_indices(&format!("{room}/")).any(|(offset, _)| {
        let before = map.get(..offset).and_then(|before| before.chars().next_back());
        !before.is_some_and(|character| character.is_alphanumeric() || character == '-')
    });
    as_folder || map.contains(&format!("`{room}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::offence::check;

    #[test]
    fn missing_documents() {
        let tree = Tree::of_files(&[("README.md", "a"), ("LICENSE", "b"), ("CHANGELOG.md", "c")]);
        check(present, &tree, &["ARCHITECTURE.md:1", "CONTRIBUTING.md:1"]);
    }

    #[test]
    fn files_that_are_not_there() {
        let tree = Tree::of_files(&[
            (
                "a.md",
                "See `api/pipeline.rs`, `crates/api/src/pipeline.rs`, `pipeline.rs` and `x::f`.\n`line.rs` no\n",
            ),
            ("b.md", "`api/gone.rs` and `*.rs`\n"),
            ("crates/api/src/pipeline.rs", ""),
        ]);
        check(named_files_exist, &tree, &["a.md:2", "b.md:1"]);
    }

    #[test]
    fn rooms_the_map_does_not_show() {
        let map = "crates/\n  model/   the nouns, kept in a store\n  re-query/\n\nThe `app` and bench/ ...\n";
        let tree = Tree::of_files(&[(MAP, map)])
            .with_member("crates/model", &[], &[])
            .with_member("crates/store", &[], &[])
            .with_member("crates/query", &[], &[])
            .with_member("crates/app", &[], &[])
            .with_member("bench", &[], &[]);
        check(architecture_names_every_crate, &tree, &["ARCHITECTURE.md:1", "ARCHITECTURE.md:1"]);
    }
}
