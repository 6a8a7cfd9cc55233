//! Packages are named, never addressed: where they come from is the machine's own setting.

use super::offence::Offence;
use super::tree::{File, Tree};

/// Hosts in two halves, so that this file is not an offence itself.
const HOSTS: &[(&str, &str)] = &[
    ("registry.npm", "js.org"),
    ("registry.yarn", "pkg.com"),
    ("npm.pkg.", "github.com"),
    ("pypi", ".org"),
    ("python", "hosted.org"),
    ("index.crates", ".io"),
    ("static.crates", ".io"),
];

/// Cargo's own name for its default registry, in every lock file.
const CARGO_DEFAULT: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(super) fn no_addresses(tree: &Tree) -> Vec<Offence> {
    let hosts: Vec<String> = HOSTS.iter().map(|(left, right)| format!("{left}{right}")).collect();
    let mut offences = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            if let Some(host) = hosts.iter().find(|host| line.contains(host.as_str())) {
                offences.push(Offence::new(&file.path, number, "registry", format!("{host} is an address")));
            } else if is_locked_to_an_address(file, line) {
                let words = "the lock file holds a registry's address";
                offences.push(Offence::new(&file.path, number, "registry", words));
            }
        }
    }
    offences
}

/// A mirror's host has no known name, but its place in a lock file is known.
fn is_locked_to_an_address(file: &File, line: &str) -> bool {
    match file.name() {
        "Cargo.lock" => line.starts_with("source = ") && !line.contains(CARGO_DEFAULT),
        "package-lock.json" => line.trim_start().starts_with("\"resolved\": \"http"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::offence::check;

    #[test]
    fn addresses_are_found() {
        let host = format!("see https://{}{}/simple\n", "pypi", ".org");
        let mirror = "source = \"sparse+https://mirror.example/index/\"\n";
        let cargo = format!("source = \"{CARGO_DEFAULT}\"\n{mirror}");
        let npm =
            "{\n  \"resolved\": \"https://mirror.example/a.tgz\",\n  \"url\": \"https://example.org\"\n}\n";
        let tree = Tree::of_files(&[
            ("README.md", &host),
            ("Cargo.lock", &cargo),
            ("web/package-lock.json", npm),
            ("notes.md", mirror),
        ]);
        check(no_addresses, &tree, &["README.md:1", "Cargo.lock:2", "web/package-lock.json:2"]);
    }
}
