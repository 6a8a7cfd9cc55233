//! Nothing unfinished and nothing switched off is committed.

use super::offence::Offence;
use super::source::{line_at, tokens};
use super::tree::Tree;

const MACROS: &[&str] = &["todo", "unimplemented", "dbg"];
const NOTES: &[&str] = &["TODO", "FIXME", "XXX"];
/// Beside Rust, whose strings may hold such words as data.
const WRITTEN_BY_HAND: &[&str] =
    &["toml", "yaml", "yml", "sql", "sh", "py", "js", "ts", "tsx", "css", "html"];

pub(super) fn nothing_unfinished(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    let mut offend = |path: &str, line: usize, what: &str| {
        offences.push(Offence::new(path, line, "unfinished", format!("`{what}`: do it, or open an issue")));
    };
    for (file, source) in tree.sources() {
        let words: Vec<(usize, &str)> = tokens(&source.code).collect();
        for pair in words.windows(2) {
            if let [(offset, name), (_, "!")] = pair
                && MACROS.contains(name)
            {
                offend(&file.path, line_at(&source.code, *offset), &format!("{name}!"));
            }
        }
        for (offset, note) in notes(&source.code).chain(notes(&source.comments)) {
            offend(&file.path, line_at(&source.code, offset), note);
        }
    }
    for file in tree.with_extension(WRITTEN_BY_HAND) {
        for (offset, note) in notes(&file.text) {
            offend(&file.path, line_at(&file.text, offset), note);
        }
    }
    offences
}

pub(super) fn no_ignored_tests(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (file, source) in tree.sources() {
        let words: Vec<(usize, &str)> = tokens(&source.code).collect();
        for (place, (offset, _)) in words.iter().enumerate().filter(|(_, (_, word))| *word == "#") {
            let attribute =
                words.iter().skip(place + 1).map(|(_, word)| *word).take_while(|word| *word != "]");
            let attribute: Vec<&str> = attribute.collect();
            let ignores = match attribute.as_slice() {
                ["[", "ignore", ..] => true,
                ["[", "cfg_attr", conditions @ ..] => conditions.contains(&"ignore"),
                _ => false,
            };
            if ignores {
                let words = "a test that does not run is no test";
                offences.push(Offence::new(
                    &file.path,
                    line_at(&source.code, *offset),
                    "ignored-test",
                    words,
                ));
            }
        }
    }
    offences
}

fn notes(text: &str) -> impl Iterator<Item = (usize, &str)> {
    tokens(text).filter(|(_, word)| NOTES.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::offence::check;

    #[test]
    fn unfinished_work_is_found() {
        let tree = Tree::of_files(&[
            ("a.rs", "fn a() {\n    todo!()\n}\nfn b() { unimplemented!(\"b\") }\nfn c() { dbg!(1); }\n"),
            ("b.rs", "// TODO: more\nfn todo() {} /* FIXME */\n"),
            ("c.rs", "let a = \"TODO todo!()\"; // to do, todos, XXXL\n"),
            ("d.toml", "a = 1 # XXX\n"),
            ("e.md", "TODO lists are made with this.\n"),
        ]);
        check(nothing_unfinished, &tree, &["a.rs:2", "a.rs:4", "a.rs:5", "b.rs:1", "b.rs:2", "d.toml:1"]);
    }

    #[test]
    fn ignored_tests_are_found() {
        let tree = Tree::of_files(&[
            ("a.rs", "#[test]\n#[ignore]\nfn a() {}\n#[ignore = \"slow\"]\nfn b() {}\n"),
            ("b.rs", "#[cfg_attr(windows, ignore)]\nfn a() {}\n"),
            ("c.rs", "// #[ignore]\n#[test]\nfn ignore() { f(\"#[ignore]\"); }\n"),
        ]);
        check(no_ignored_tests, &tree, &["a.rs:2", "a.rs:4", "b.rs:1"]);
    }
}
