//! SQL lives behind the store's seam.

use super::offence::Offence;
use super::tree::Tree;

/// In capitals these give a statement away wherever they stand in a string, both words of a pair together.
const STATEMENTS: &[(&str, &str)] = &[
    ("SELECT ", ""),
    ("INSERT INTO ", ""),
    ("UPDATE ", " SET "),
    ("DELETE FROM ", ""),
    ("CREATE TABLE ", ""),
    ("CREATE INDEX ", ""),
    ("ALTER TABLE ", ""),
    ("DROP TABLE ", ""),
    ("PRAGMA ", ""),
];

/// In small letters they are English too, so only at a string's beginning and with both words.
const STATEMENTS_SMALL: &[(&str, &str)] =
    &[("select ", " from "), ("insert into ", " values"), ("update ", " set "), ("delete from ", " where ")];

pub(super) fn only_in_stores(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for file in tree.files.iter().filter(|file| !may_speak_sql(&file.path)) {
        if file.extension() == "sql" {
            offences.push(Offence::new(&file.path, 1, "sql", "SQL belongs in crates/store-*"));
        }
        for literal in file.source.iter().flat_map(|source| &source.strings) {
            if let Some(verb) = statement(&literal.text) {
                let words = format!("`{verb}` in a string: SQL belongs in crates/store-*");
                offences.push(Offence::new(&file.path, literal.line, "sql", words));
            }
        }
    }
    offences
}

fn may_speak_sql(path: &str) -> bool {
    ["crates/store-", "bench/", "xtask/"].iter().any(|folder| path.starts_with(folder))
}

fn statement(text: &str) -> Option<&'static str> {
    // Line breaks and continuations are blanks to SQL.
    let text = text.replace(['\n', '\t', '\\'], " ");
    let begin = text.trim_start();
    let shouted = |(verb, partner): &&(&str, &str)| text.contains(verb) && text.contains(partner);
    let murmured = |(verb, partner): &&(&str, &str)| begin.starts_with(verb) && begin.contains(partner);
    let found = STATEMENTS.iter().find(shouted).or_else(|| STATEMENTS_SMALL.iter().find(murmured))?;
    Some(found.0.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::offence::check;

    #[test]
    fn sql_outside_a_store_is_found() {
        let statement = "//! A comment may SELECT what it likes.\nfn f() {\n    g(\"SELECT 1\");\n}\n";
        let tree = Tree::of_files(&[
            ("crates/app/src/rows.rs", statement),
            ("crates/store-sqlite/src/rows.rs", statement),
            ("crates/store/src/rows.rs", "g(\"UPDATE row\n SET a = 1\")"),
            ("crates/cli/tests/rows.rs", "g(\"delete from row where id = 1\")"),
            (
                "crates/api/src/rows.rs",
                "g(\"UPDATE the title\"); g(\"select a column from the list, or Delete from it\")",
            ),
            ("crates/app/src/schema.sql", ""),
            ("bench/src/main.rs", statement),
        ]);
        check(
            only_in_stores,
            &tree,
            &[
                "crates/app/src/rows.rs:3",
                "crates/store/src/rows.rs:1",
                "crates/cli/tests/rows.rs:1",
                "crates/api/src/rows.rs:1",
                "crates/app/src/schema.sql:1",
            ],
        );
    }

    #[test]
    fn english_is_not_sql() {
        for sentence in
            ["UPDATE the title", "Select one from the list", "updated a set of rows", "pick, then select it"]
        {
            assert_eq!(statement(sentence), None, "{sentence}");
        }
    }
}
