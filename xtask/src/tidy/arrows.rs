//! Which crate may know which, and who may know the outside.

use super::offence::Offence;
use super::tree::{Member, Tree};

/// Every crate under `crates/` and the crates it may depend on. Arrows run down only, and only the
/// binary names a backend. What lies outside `crates/` may know all of them and is known by none.
const ARROWS: &[(&str, &[&str])] = &[
    (
        "cli",
        &[
            "api",
            "client",
            "engine",
            "app",
            "providers",
            "moving",
            "query",
            "store-sqlite",
            "store-postgres",
            "store",
            "model",
            "fairness",
            "telemetry",
            "clock",
            "test-postgres",
        ],
    ),
    ("api", &["mcp", "app", "model", "json-schema", "fairness", "telemetry", "web", "clock"]),
    ("client", &["model", "clock"]),
    ("mcp", &["app", "model", "fairness", "telemetry", "clock"]),
    ("engine", &["providers", "store", "model", "fairness", "telemetry", "clock"]),
    ("app", &["query", "store", "model", "fairness", "clock"]),
    ("query", &["store", "model", "fairness", "clock"]),
    ("moving", &["store", "model", "clock"]),
    ("store-sqlite", &["store", "model", "fairness", "telemetry", "clock"]),
    ("store-postgres", &["store", "model", "fairness", "telemetry", "test-postgres", "clock"]),
    ("store", &["model", "fairness", "telemetry", "clock"]),
    ("providers", &["model", "fairness", "telemetry", "clock"]),
    ("model", &["json-schema"]),
    ("json-schema", &[]),
    ("fairness", &[]),
    ("telemetry", &["clock"]),
    ("clock", &[]),
    ("web", &[]),
    ("test-postgres", &[]),
];

/// Libraries that belong in certain rooms: databases behind the store's seam, the HTTP server in front.
const GUARDED: &[(&[&str], &[&str])] = &[
    (
        &["rusqlite", "libsqlite3-sys", "tokio-postgres", "deadpool-postgres", "postgres", "sqlx", "diesel"],
        &["crates/store-sqlite", "crates/store-postgres", "crates/test-postgres", "bench"],
    ),
    (
        &["axum", "axum-core", "axum-extra", "hyper", "hyper-util", "tower-http"],
        &["crates/api", "crates/cli", "bench"],
    ),
];

pub(super) fn between_crates(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for member in &tree.members {
        let Some(room) = member.room() else { continue };
        let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == room) else {
            let words = format!("{room} has no place in the table in xtask/src/tidy/arrows.rs");
            offences.push(Offence::new(&member.manifest(), 1, "arrows", words));
            continue;
        };
        for other in &tree.members {
            let known = other.room().is_some_and(|room| allowed.contains(&room));
            if member.dependencies.contains(&other.package) && !known {
                let words = format!("{room} must not know {}", other.folder);
                offences.push(at_dependency(tree, member, &other.package, "arrows", words));
            }
        }
    }
    offences
}

pub(super) fn to_the_outside(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (libraries, folders) in GUARDED {
        for member in tree.members.iter().filter(|member| !folders.contains(&member.folder.as_str())) {
            for library in libraries.iter().filter(|library| member.dependencies.contains(**library)) {
                let words = format!("{library} belongs in {} only", folders.join(", "));
                offences.push(at_dependency(tree, member, library, "outside", words));
            }
        }
    }
    offences
}

fn at_dependency(tree: &Tree, member: &Member, package: &str, rule: &'static str, words: String) -> Offence {
    let names = |line: &str| {
        let rest = line.trim_start().strip_prefix(package)?;
        rest.starts_with([' ', '.', '=']).then_some(())
    };
    let manifest = member.manifest();
    let line = tree
        .file(&manifest)
        .and_then(|file| file.lines().find(|(_, line)| names(line).is_some()))
        .map_or(1, |(number, _)| number);
    Offence::new(&manifest, line, rule, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::offence::check;

    #[test]
    fn arrows_run_down_only() {
        let tree =
            Tree::of_files(&[("crates/store/Cargo.toml", "[dependencies]\nrowmill-app.workspace = true\n")])
                .with_member("crates/model", &["serde"], &[])
                .with_member("crates/store", &["rowmill-model", "rowmill-app"], &[])
                .with_member("crates/app", &["rowmill-model", "rowmill-bench"], &[])
                .with_member("crates/shed", &[], &[])
                .with_member("bench", &["rowmill-app"], &[]);
        check(
            between_crates,
            &tree,
            &["crates/store/Cargo.toml:2", "crates/app/Cargo.toml:1", "crates/shed/Cargo.toml:1"],
        );
    }

    #[test]
    fn the_table_has_no_way_up_and_no_unknown_name() {
        for (place, (from, allowed)) in ARROWS.iter().enumerate() {
            for to in *allowed {
                let below = ARROWS.iter().skip(place + 1).any(|(name, _)| name == to);
                assert!(below, "{from} -> {to}");
            }
        }
    }

    #[test]
    fn libraries_stay_in_their_rooms() {
        let tree = Tree::of_files(&[])
            .with_member("crates/store-sqlite", &["rusqlite"], &[])
            .with_member("crates/api", &["axum", "rusqlite"], &[])
            .with_member("crates/app", &["hyper"], &[])
            .with_member("bench", &["axum", "rusqlite"], &[]);
        check(to_the_outside, &tree, &["crates/api/Cargo.toml:1", "crates/app/Cargo.toml:1"]);
    }
}
