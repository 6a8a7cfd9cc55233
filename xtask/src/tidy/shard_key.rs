//! Statements of the PostgreSQL store name the project whose data they touch: it leads every key, and would be the shard key of
//! a distributed database. They name columns, too, so that nodes of two versions can run side by side.

use std::collections::BTreeSet;

use super::offence::Offence;
use super::source::{line_at, tokens};
use super::tree::{File, Tree};

const STORE: &str = "crates/store-postgres/src/";
const MIGRATIONS: &str = "crates/store-postgres/src/migrations/";
/// Tables that say which projects there are.
const DIRECTORIES: &[&str] = &["projects", "graves", "trashed_projects"];
/// In these a project is also named by its `id`.
const BY_ID: &[&str] = &["projects", "counters"];
const VERBS: &[&str] = &["SELECT", "INSERT", "UPDATE", "DELETE", "COPY"];

/// A statement that is meant for many projects.
struct Exception {
    file: &'static str,
    /// What the statement begins with.
    begins: &'static str,
    #[expect(dead_code, reason = "it is for whoever reads this list")]
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        file: "change_bus.rs",
        begins: "SELECT id, change_seq FROM rowmill.counters",
        reason: "a node that lost its connection asks once what has changed, in all projects",
    },
    Exception {
        file: "leases.rs",
        begins: "SELECT h.token, c.id, h.slot, h.block, h.places",
        reason: "what a worker has claimed: few cells, in projects that only this table knows",
    },
    Exception {
        file: "leases.rs",
        begins: "SELECT id FROM rowmill.workers WHERE expires_at",
        reason: "workers that are lost, twice in a lease",
    },
    Exception {
        file: "leases.rs",
        begins: "SELECT DISTINCT c.id FROM rowmill.claims",
        reason: "the projects in which lost workers have claimed cells",
    },
    Exception {
        file: "leases.rs",
        begins: "DELETE FROM rowmill.workers w",
        reason: "a worker is forgotten once it has claimed nothing",
    },
    Exception {
        file: "observe.rs",
        begins: "WITH RECURSIVE",
        reason: "metrics of the whole queue, at most every five seconds; it jumps from project to project",
    },
    Exception {
        file: "project_state.rs",
        begins: "SELECT project, id, version, row_count",
        reason: "its condition is put in: each names the project",
    },
    Exception {
        file: "projects.rs",
        begins: "SELECT coalesce(sum(row_count + trashed_count), 0)",
        reason: "a team's quota of rows, over the team's projects",
    },
    Exception {
        file: "trash.rs",
        begins: "SELECT c.id FROM rowmill.trash t",
        reason: "the project whose trash is the oldest, once in a while",
    },
    Exception {
        file: "work.rs",
        begins: "WITH RECURSIVE lane",
        reason: "where there is work: it jumps from project to project",
    },
    Exception {
        file: "work.rs",
        begins: "SELECT {columns} FROM unnest($1::uuid[]",
        reason: "it names the projects, in a list",
    },
    Exception {
        file: "value_bytes.rs",
        begins: "SELECT c.id, c.value_bytes + c.value_bytes_before",
        reason: "a team's quota of bytes, over the team's projects",
    },
    Exception {
        file: "warm_up.rs",
        begins: "SELECT id, columns FROM rowmill.asked_columns",
        reason: "which projects were asked about last, once after a start",
    },
    Exception {
        file: "warm_up.rs",
        begins: "SELECT p.id FROM rowmill.projects p",
        reason: "which large projects have views, once after a start",
    },
];

pub(super) fn is_named(tree: &Tree) -> Vec<Offence> {
    let tables = tables_by_project(tree);
    let mut offences = Vec::new();
    let mut used = BTreeSet::new();
    for (file, line, text) in statements(tree) {
        let words = words(&text);
        let touches = tables.iter().any(|table| names_table(&words, table));
        if !touches || !words.iter().any(|word| VERBS.contains(word)) || names_project(&words) {
            continue;
        }
        let own = file.path.strip_prefix(STORE).unwrap_or_default();
        let known = EXCEPTIONS.iter().position(|known| known.file == own && text.starts_with(known.begins));
        match known {
            Some(index) => drop(used.insert(index)),
            None => {
                offences.push(Offence::new(&file.path, line, "shard-key", "the statement names no project"));
            }
        }
    }
    for (index, known) in EXCEPTIONS.iter().enumerate() {
        if tree.file(&format!("{STORE}{}", known.file)).is_some() && !used.contains(&index) {
            let words = format!("no exception is needed for `{}`: remove it", known.begins);
            offences.push(Offence::new(&format!("{STORE}{}", known.file), 1, "shard-key", words));
        }
    }
    offences
}

/// A column that a newer version adds changes no statement of this one.
pub(super) fn columns_are_named(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (file, line, text) in statements(tree) {
        let words = words(&text);
        let is_all = |window: &[&str]| matches!(window, ["SELECT", "*", "FROM", "rowmill"]);
        let is_rest = |window: &[&str]| matches!(window, ["RETURNING" | ".", "*"]);
        let is_listless = |window: &[&str]| matches!(window, ["INTO", "rowmill", ".", _, next] if *next != "(" && *next != "AS");
        if words.windows(4).any(is_all) || words.windows(2).any(is_rest) || words.windows(5).any(is_listless)
        {
            let words = "the statement takes whatever columns there are: name them";
            offences.push(Offence::new(&file.path, line, "named-columns", words));
        }
    }
    offences
}

/// Strings outside tests that name a table of ours, with blanks for line breaks.
fn statements(tree: &Tree) -> impl Iterator<Item = (&File, usize, String)> {
    let sources = tree.sources().filter(|(file, _)| file.path.starts_with(STORE));
    sources.flat_map(|(file, source)| {
        let end = source.code.find("#[cfg(test)]").unwrap_or(usize::MAX);
        let own = source.strings.iter().filter(move |literal| literal.offset < end);
        own.filter(|literal| literal.text.contains("rowmill.")).map(move |literal| {
            let words: Vec<&str> =
                literal.text.split(['\\', '\n', ' ']).filter(|word| !word.is_empty()).collect();
            (file, line_at(&file.text, literal.offset), words.join(" "))
        })
    })
}

fn words(text: &str) -> Vec<&str> {
    tokens(text).map(|(_, word)| word).collect()
}

fn names_table(words: &[&str], table: &str) -> bool {
    words.windows(3).any(|window| window == ["rowmill", ".", table])
}

/// Compared with something that is given, or first in an inserted row. That two tables have the same one names none.
fn names_project(words: &[&str]) -> bool {
    let has_ids = BY_ID.iter().any(|table| names_table(words, table));
    words.iter().enumerate().any(|(index, word)| {
        let rest = words.get(index + 1..).unwrap_or_default();
        let is_given = matches!(rest, ["IN", ..] | ["=", "$" | "ANY" | "(" | "{" | "-", ..]);
        match *word {
            "project" => is_given || words.get(..index).is_some_and(begins_row),
            "id" => has_ids && is_given,
            _ => false,
        }
    })
}

/// `rowmill.rows (`, or `rowmill.rows AS r (`.
fn begins_row(before: &[&str]) -> bool {
    let before = before.strip_suffix(&["("]).unwrap_or_default();
    let before = if let [rest @ .., "AS", _] = before { rest } else { before };
    matches!(before, [.., "rowmill", ".", _])
}

/// Those whose key begins with the project.
fn tables_by_project(tree: &Tree) -> BTreeSet<String> {
    let mut tables = BTreeSet::new();
    for file in tree.with_extension(&["sql"]).filter(|file| file.path.starts_with(MIGRATIONS)) {
        let lines = file.text.lines().map(|line| line.split_once("--").map_or(line, |(own, _)| own));
        let text: String = lines.collect::<Vec<_>>().join("\n");
        for definition in text.split(';').filter(|part| part.contains("CREATE TABLE")) {
            let words = words(definition);
            let Some(name) = words.windows(4).find_map(|window| match window {
                ["TABLE", "rowmill", ".", name] => Some(*name),
                _ => None,
            }) else {
                continue;
            };
            let is_first = |window: &[&str]| window == ["KEY", "(", "project"];
            let is_whole = definition.lines().any(|line| {
                let line = line.trim();
                line.starts_with("project ") && line.contains("PRIMARY KEY")
            });
            if (words.windows(3).any(is_first) || is_whole) && !DIRECTORIES.contains(&name) {
                tables.insert(name.to_owned());
            }
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::offence::check;

    const TABLES: &str = "\
-- project is not meant here
CREATE TABLE rowmill.rows (project int8, n int8, PRIMARY KEY (project, n));
CREATE TABLE rowmill.counters (
    project int8 PRIMARY KEY,
    id uuid
);
CREATE TABLE rowmill.workers (id uuid PRIMARY KEY, project int8);
";

    fn tree(code: &str) -> Tree {
        Tree::of_files(&[
            ("crates/store-postgres/src/migrations/0001.sql", TABLES),
            ("crates/store-postgres/src/a.rs", code),
        ])
    }

    #[test]
    fn statements_that_name_no_project() {
        let code = r#"
f("SELECT n FROM rowmill.rows WHERE project = $1");
f("SELECT project, n FROM rowmill.rows WHERE n = $1");
f("INSERT INTO rowmill.rows (project, n) VALUES ($1, $2)");
f("UPDATE rowmill.rows SET n = 1");
f("SELECT c.n FROM rowmill.rows JOIN rowmill.counters c USING (project) WHERE c.id = $1");
f("SELECT h.n FROM rowmill.rows h JOIN rowmill.workers w ON w.id = h.worker");
f("INSERT INTO rowmill.rows AS r (project, n) SELECT $1, 2");
f("SELECT id FROM rowmill.workers");
f("ANALYZE rowmill.rows");
f("SELECT c.id FROM rowmill.rows r JOIN rowmill.counters c ON c.project = r.project");
f("WITH lane (project, n) AS (SELECT project, n FROM rowmill.rows) SELECT n FROM lane");
#[cfg(test)]
f("SELECT n FROM rowmill.rows");
"#;
        let at = |line: u32| format!("crates/store-postgres/src/a.rs:{line}");
        check(is_named, &tree(code), &[&at(3), &at(5), &at(7), &at(11), &at(12)]);
    }

    #[test]
    fn an_exception_that_nothing_needs() {
        let path = "crates/store-postgres/src/change_bus.rs";
        let files = |code: &'static str| {
            Tree::of_files(&[("crates/store-postgres/src/migrations/0001.sql", TABLES), (path, code)])
        };
        check(is_named, &files("f(\"SELECT id, change_seq FROM rowmill.counters\")"), &[]);
        check(is_named, &files(""), &[&format!("{path}:1")]);
    }

    #[test]
    fn statements_that_name_no_columns() {
        let code = r#"
f("SELECT count(*) FROM rowmill.rows");
f("SELECT * FROM rowmill.rows WHERE project = $1");
f("SELECT r.* FROM rowmill.rows r WHERE project = $1");
f("INSERT INTO rowmill.rows VALUES ($1, $2)");
f("INSERT INTO rowmill.rows (project) VALUES ($1) RETURNING *");
f("INSERT INTO rowmill.rows AS r (project) VALUES ($1)");
"#;
        let at = |line: u32| format!("crates/store-postgres/src/a.rs:{line}");
        check(columns_are_named, &tree(code), &[&at(3), &at(4), &at(5), &at(6)]);
    }
}
