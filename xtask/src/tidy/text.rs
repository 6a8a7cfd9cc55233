//! Files as text: whole, clean, introduced and short.

use super::offence::Offence;
use super::tree::Tree;

const CLEAN: &[&str] = &["rs", "md", "toml"];
const LINES_MAX: usize = 450;
const TEST_LINES_MAX: usize = 700;

pub(super) fn no_empty_files(tree: &Tree) -> Vec<Offence> {
    let empty = tree.files.iter().filter(|file| file.text.trim().is_empty());
    empty.map(|file| Offence::new(&file.path, 1, "empty-file", "a file that says nothing")).collect()
}

pub(super) fn final_newline(tree: &Tree) -> Vec<Offence> {
    let cut = tree.files.iter().filter(|file| !file.text.is_empty() && !file.text.ends_with('\n'));
    cut.map(|file| {
        let last = file.text.lines().count();
        Offence::new(&file.path, last, "final-newline", "the last line does not end")
    })
    .collect()
}

pub(super) fn no_tabs_or_trailing_blanks(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for file in tree.with_extension(CLEAN) {
        for (number, line) in file.lines() {
            if line.contains('\t') {
                offences.push(Offence::new(&file.path, number, "blanks", "a tab"));
            }
            if line.ends_with(char::is_whitespace) {
                offences.push(Offence::new(&file.path, number, "blanks", "blanks at the end"));
            }
        }
    }
    offences
}

pub(super) fn doc_comment_first(tree: &Tree) -> Vec<Offence> {
    let bare = tree.sources().filter(|(file, _)| !file.text.starts_with("//!"));
    bare.map(|(file, _)| {
        Offence::new(&file.path, 1, "doc-comment", "say first, after `//!`, what this file is")
    })
    .collect()
}

pub(super) fn short_files(tree: &Tree) -> Vec<Offence> {
    let measured = tree.sources().map(|(file, _)| (file, file.text.lines().count(), lines_max(&file.path)));
    let long = measured.filter(|(_, lines, lines_max)| lines > lines_max);
    long.map(|(file, lines, lines_max)| {
        let words = format!("{lines} lines, more than {lines_max}: a file is one thought");
        Offence::new(&file.path, lines_max + 1, "long-file", words)
    })
    .collect()
}

fn lines_max(path: &str) -> usize {
    let is_test = path.split('/').any(|part| matches!(part, "tests" | "tests.rs"));
    if is_test { TEST_LINES_MAX } else { LINES_MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::offence::check;

    #[test]
    fn empty_files_and_cut_lines() {
        let tree = Tree::of_files(&[("a", ""), ("b", " \n\n"), ("c", "one\ntwo"), ("d", "one\n")]);
        check(no_empty_files, &tree, &["a:1", "b:1"]);
        check(final_newline, &tree, &["c:2"]);
    }

    #[test]
    fn tabs_and_trailing_blanks() {
        let text = "clean\na\ttab\nblank \n";
        let tree = Tree::of_files(&[("a.rs", text), ("b.md", text), ("c.toml", text), ("d.json", text)]);
        check(
            no_tabs_or_trailing_blanks,
            &tree,
            &["a.rs:2", "a.rs:3", "b.md:2", "b.md:3", "c.toml:2", "c.toml:3"],
        );
    }

    #[test]
    fn a_file_says_first_what_it_is() {
        let tree = Tree::of_files(&[
            ("a.rs", "//! A.\n"),
            ("b.rs", "// B.\n"),
            ("c.rs", "\n//! C.\n"),
            ("d.md", "D\n"),
        ]);
        check(doc_comment_first, &tree, &["b.rs:1", "c.rs:1"]);
    }

    #[test]
    fn long_files() {
        let lines = |count: usize| "x\n".repeat(count);
        let tree = Tree::of_files(&[
            ("a.rs", &lines(450)),
            ("b.rs", &lines(451)),
            ("c.md", &lines(701)),
            ("tests/d.rs", &lines(700)),
            ("e/tests.rs", &lines(701)),
        ]);
        check(short_files, &tree, &["b.rs:451", "e/tests.rs:701"]);
    }
}
