//! Lints and versions stand in one place, the workspace's manifest.

use super::offence::Offence;
use super::tree::{File, Tree};

pub(super) fn workspace_lints(tree: &Tree) -> Vec<Offence> {
    let bare = manifests(tree).filter(|file| {
        let mut lines = entries(file).filter(|entry| entry.section == "lints");
        !lines.any(|entry| entry.line == "workspace = true")
    });
    bare.map(|file| Offence::new(&file.path, 1, "lints", "`[lints]` must say `workspace = true`")).collect()
}

pub(super) fn workspace_dependencies(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for file in manifests(tree) {
        for Entry { section, line, number } in entries(file) {
            let own_table = section.contains("dependencies.");
            let inherits = line.contains("workspace = true");
            let offends = if own_table {
                ["version", "path", "git"].iter().any(|key| line.starts_with(key))
            } else {
                section.ends_with("dependencies") && !inherits
            };
            if offends {
                let words = "versions and paths stand in the workspace's manifest: say `workspace = true`";
                offences.push(Offence::new(&file.path, number, "dependencies", words));
            }
        }
    }
    offences
}

fn manifests(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.members.iter().filter_map(|member| tree.file(&member.manifest()))
}

/// The first line of a key and its value, with the section it stands in.
struct Entry<'a> {
    section: &'a str,
    line: &'a str,
    number: usize,
}

fn entries(file: &File) -> impl Iterator<Item = Entry<'_>> {
    let mut section = "";
    // Brackets that are still open: the lines up to the last one belong to the key above.
    let mut open = 0_usize;
    file.lines().filter_map(move |(number, line)| {
        let line = line.trim();
        let continues = open > 0;
        if !continues && let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            return None;
        }
        open += line.matches(['[', '{']).count();
        open = open.saturating_sub(line.matches([']', '}']).count());
        (!continues && !line.is_empty() && !line.starts_with('#')).then_some(Entry { section, line, number })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::offence::check;

    fn tree(manifest: &str) -> Tree {
        Tree::of_files(&[("crates/app/Cargo.toml", manifest)]).with_member("crates/app", &[], &[])
    }

    #[test]
    fn lints_are_the_workspaces() {
        check(workspace_lints, &tree("[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n"), &[]);
        check(workspace_lints, &tree("[package]\nname = \"a\"\n"), &["crates/app/Cargo.toml:1"]);
        check(workspace_lints, &tree("[lints.clippy]\nall = \"warn\"\n"), &["crates/app/Cargo.toml:1"]);
    }

    #[test]
    fn versions_are_the_workspaces() {
        let good = "\
[package]
version = \"1\"
[dependencies]
# why
a.workspace = true
b = { workspace = true, features = [
  \"c\",
] }
[dev-dependencies.d]
workspace = true
features = [\"e\"]
[target.'cfg(unix)'.dependencies]
f = { workspace = true }
";
        check(workspace_dependencies, &tree(good), &[]);
        let bad = "\
[dependencies]
a = \"1\"
b = { version = \"1\", features = [
  \"c\",
] }
[build-dependencies]
d = { path = \"../d\" }
[dev-dependencies.e]
version = \"1\"
";
        let expected = [2, 3, 7, 9].map(|line| format!("crates/app/Cargo.toml:{line}"));
        check(workspace_dependencies, &tree(bad), &expected.each_ref().map(String::as_str));
    }
}
