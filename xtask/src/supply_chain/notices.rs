//! The third-party notices that `rowmill licenses` prints. They are committed, so that a build needs nothing of this.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use super::component::Component;
use super::licence_texts::{self, Text};
use super::shipped::shipped;
use crate::process::{AnyResult, root};
use crate::tools;

const NOTICES: &str = "crates/cli/third-party-notices.txt";
/// What is in the binary and in no lock file: the first line says what it is, the rest is its text.
const OTHERS: &str = "xtask/notices";
const INTRODUCTION: &str = "\
Third-party software in Rowmill

Rowmill is licensed under the Apache License 2.0. It contains the software below, each under its own licence. The numbers
refer to the texts after the list. Where a licence offers a choice with OR, Rowmill uses any of the choices. The source code of
each package is published under its name and version in the registry of crates or of npm packages, and at the address given.
";
const RULE: &str = "--------------------------------------------------------------------------------";

pub(crate) fn path() -> PathBuf {
    root().join(NOTICES)
}

/// `cargo xtask notices`: writes the file anew.
pub(crate) fn write() -> AnyResult {
    tools::web(&root().join("web"))?;
    let components = shipped()?;
    let mut texts = Texts::default();
    let mut list = String::new();
    for component in &components {
        let numbers = texts.add(licence_texts::of(component)?);
        let _ = writeln!(list, "{} [{}]", component.title(), numbers.join(", "));
        if let Some(repository) = &component.repository {
            let _ = writeln!(list, "    {repository}");
        }
    }
    for (title, text) in others()? {
        let numbers = texts.add(vec![Text::new(&text)]);
        let _ = writeln!(list, "other {title} [{}]", numbers.join(", "));
    }
    fs::write(path(), format!("{INTRODUCTION}\n{list}{}", texts.shown()))?;
    println!("{NOTICES}: {} packages, {} texts", components.len(), texts.0.len());
    Ok(())
}

/// Whether the committed file names exactly what is shipped: one line for each difference.
pub(super) fn check() -> AnyResult<Vec<String>> {
    let notices = fs::read_to_string(path()).map_err(|error| format!("{NOTICES}: {error}"))?;
    let mut expected: BTreeSet<String> = shipped()?.iter().map(Component::title).collect();
    expected.extend(others()?.into_iter().map(|(title, _)| format!("other {title}")));
    Ok(differences(&notices, &expected))
}

fn differences(notices: &str, expected: &BTreeSet<String>) -> Vec<String> {
    let listed = notices.split(RULE).next().unwrap_or_default();
    let kinds = ["crate ", "npm ", "other "];
    let listed = listed.lines().filter(|line| kinds.iter().any(|kind| line.starts_with(kind)));
    let listed: BTreeSet<String> =
        listed.filter_map(|line| Some(line.rsplit_once(" [")?.0.to_owned())).collect();
    let offence = |word: &str, title: &String| {
        format!("{NOTICES}: {word} {title}: run `cargo xtask notices` and commit the file")
    };
    let missing = expected.difference(&listed).map(|title| offence("lacks", title));
    missing.chain(listed.difference(expected).map(|title| offence("still has", title))).collect()
}

fn others() -> AnyResult<Vec<(String, String)>> {
    let mut others = Vec::new();
    for entry in fs::read_dir(root().join(OTHERS))? {
        let path = entry?.path();
        if path.is_file() {
            let file = fs::read_to_string(&path)?;
            let (title, text) =
                file.split_once('\n').ok_or_else(|| format!("{} has no text", path.display()))?;
            others.push((title.to_owned(), text.to_owned()));
        }
    }
    others.sort();
    Ok(others)
}

/// Every text once, numbered from 1 in the order of their first use.
#[derive(Debug, Default)]
struct Texts(Vec<Text>);

impl Texts {
    fn add(&mut self, texts: Vec<Text>) -> Vec<String> {
        let mut numbers = BTreeSet::new();
        for text in texts {
            let known = self.0.iter().position(|other| other.key == text.key);
            numbers.insert(known.unwrap_or(self.0.len()) + 1);
            if known.is_none() {
                self.0.push(text);
            }
        }
        numbers.iter().map(ToString::to_string).collect()
    }

    fn shown(&self) -> String {
        let mut shown = String::new();
        for (number, text) in (1..).zip(&self.0) {
            let _ = write!(shown, "\n{RULE}\n[{number}]\n\n{}\n", text.shown);
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_shown_once() {
        let mut texts = Texts::default();
        assert_eq!(texts.add(vec![Text::new("One"), Text::new("two")]), ["1", "2"]);
        assert_eq!(texts.add(vec![Text::new("three"), Text::new(" one\n")]), ["1", "3"]);
        assert_eq!(
            texts.shown(),
            format!("\n{RULE}\n[1]\n\nOne\n\n{RULE}\n[2]\n\ntwo\n\n{RULE}\n[3]\n\nthree\n")
        );
    }

    #[test]
    fn a_changed_lock_file_is_noticed() {
        let notices = format!(
            "Words\ncrate a 1.0.0: MIT [1]\n    address\nnpm b 2.0.0: ISC [1, 2]\n\n{RULE}\ncrate c 1: MIT [1]\n"
        );
        let check = |expected: &[&str], words: &[&str]| {
            let expected = expected.iter().map(ToString::to_string).collect();
            let found = differences(&notices, &expected);
            assert_eq!(found.len(), words.len(), "{found:?}");
            assert!(found.iter().zip(words).all(|(found, word)| found.contains(word)), "{found:?}");
        };
        check(&["crate a 1.0.0: MIT", "npm b 2.0.0: ISC"], &[]);
        check(
            &["crate a 1.0.1: MIT", "npm b 2.0.0: ISC"],
            &["lacks crate a 1.0.1", "still has crate a 1.0.0"],
        );
        check(&["crate a 1.0.0: Apache-2.0", "npm b 2.0.0: ISC"], &["lacks crate a", "still has crate a"]);
        check(&["crate a 1.0.0: MIT"], &["still has npm b"]);
    }
}
