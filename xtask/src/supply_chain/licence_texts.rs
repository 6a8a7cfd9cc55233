//! The licence files of a package. The same text in another layout counts as the same.

use std::fs;
use std::path::{Path, PathBuf};

use super::component::Component;
use crate::process::{AnyResult, root};

/// How the names of such files begin, in lower case.
const BEGINNINGS: &[&str] =
    &["licence", "license", "copying", "copyright", "notice", "unlicense", "patents", "ofl"];
/// What begins so, but is a program or a list.
const NOT_TEXT: &[&str] =
    &["c", "cc", "go", "h", "html", "js", "json", "mjs", "py", "rs", "toml", "ts", "yaml", "yml"];
/// What is never part of the product; the packages in an npm package's own folder are listed themselves.
const FOLDERS_LEFT_OUT: &[&str] =
    &[".github", "benches", "ci", "examples", "fuzz", "node_modules", "target", "test", "tests"];
/// Packages that offer a choice, and the file of the licence not chosen.
const FILES_LEFT_OUT: &[(&str, &str)] = &[("zstd-sys", "zstd/COPYING")];
const APACHE: &str = "Apache-2.0";
const END_OF_TERMS: &str = "end of terms and conditions";
/// More than the appendix that tells how to use the licence.
const APPENDIX_BYTES_MAX: usize = 1_500;

/// A text to be shown, with what makes it the same as another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) key: String,
    pub(super) shown: String,
}

/// The licence texts of a package: its own files, or else the standard text of what it declares.
pub(super) fn of(component: &Component) -> AnyResult<Vec<Text>> {
    let apache = Text::new(&fs::read_to_string(root().join("LICENSE"))?);
    let mut texts: Vec<Text> = Vec::new();
    for file in files(component)? {
        let text = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let text = Text::new(&String::from_utf8_lossy(&text));
        for text in text.folded(&apache) {
            if !text.key.is_empty() && !texts.iter().any(|other| other.key == text.key) {
                texts.push(text);
            }
        }
    }
    if texts.is_empty() {
        texts.push(standard(component, apache)?);
    }
    Ok(texts)
}

impl Text {
    pub(super) fn new(text: &str) -> Self {
        let lines: Vec<String> =
            text.lines().map(|line| line.replace('\t', "    ").trim_end().to_owned()).collect();
        let shown = lines.join("\n");
        let shown = shown.trim_start_matches(['\n', '\u{feff}']).trim_end().to_owned();
        let key = shown.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        Self { key: key.replace("https://", "http://"), shown }
    }

    /// There are dozens of Apache licences that differ in layout or in the appendix only. They become one, and whose
    /// copyright the appendix names stays as a text of its own.
    fn folded(self, apache: &Self) -> Vec<Self> {
        let terms = apache.key.split(END_OF_TERMS).next().unwrap_or_default();
        let Some(rest) = self.key.strip_prefix(terms) else { return vec![self] };
        if rest.len() > APPENDIX_BYTES_MAX {
            return vec![self];
        }
        let is_filled = |line: &&str| line.starts_with("Copyright") && !line.contains(['[', '{']);
        let after = self.shown.to_lowercase().rfind(END_OF_TERMS).and_then(|end| self.shown.get(end..));
        let named = after.unwrap_or_default().lines().map(str::trim).filter(is_filled);
        std::iter::once(apache.clone()).chain(named.map(Self::new)).collect()
    }
}

fn standard(component: &Component, apache: Text) -> AnyResult<Text> {
    let offered: Vec<&str> = component.licence.split([' ', '(', ')']).collect();
    if offered.contains(&APACHE) {
        return Ok(apache);
    }
    for licence in ["MIT", "MPL-2.0", "Unlicense"] {
        if offered.contains(&licence) {
            let text = fs::read_to_string(root().join(format!("xtask/notices/standard/{licence}.txt")))?;
            let authors = match component.authors.as_slice() {
                [] => format!("the authors of {}", component.name),
                authors => authors.join(", "),
            };
            return Ok(Text::new(&text.replace("{authors}", &authors)));
        }
    }
    let Component { name, version, licence, .. } = component;
    Err(format!("{name} {version} has no licence file, and xtask/notices/standard has no {licence}").into())
}

/// The files, in the order of their paths.
fn files(component: &Component) -> AnyResult<Vec<PathBuf>> {
    let mut files = Vec::new();
    collect(&component.folder, &mut files)?;
    let left_out = |file: &PathBuf| {
        let of_it = FILES_LEFT_OUT.iter().filter(|(name, _)| *name == component.name);
        of_it.into_iter().any(|(_, path)| *file == component.folder.join(path))
    };
    files.retain(|file| !left_out(file));
    files.sort();
    Ok(files)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> AnyResult {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if path.is_dir() {
            if !FOLDERS_LEFT_OUT.contains(&name.as_str()) {
                collect(&path, files)?;
            }
        } else if is_licence(&name) {
            files.push(path);
        }
    }
    Ok(())
}

fn is_licence(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) && !NOT_TEXT.contains(&ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_licence_files() {
        for (name, expected) in [
            ("license", true),
            ("license-mit", true),
            ("licence.md", true),
            ("copyright.txt", true),
            ("notice", true),
            ("unlicense", true),
            ("license.rs", false),
            ("copyrights.yml", false),
            ("readme.md", false),
        ] {
            assert_eq!(is_licence(name), expected, "{name}");
        }
    }

    #[test]
    fn layout_does_not_count() {
        let (one, other) = (
            Text::new("\n  A  licence,\r\n\tsee https://a.example  \n\n"),
            Text::new("a licence, see http://a.example"),
        );
        assert_eq!(one.key, other.key);
        assert_eq!(one.shown, "  A  licence,\n    see https://a.example");
    }

    #[test]
    fn apache_licences_become_one_and_keep_whose_they_are() {
        let terms = "Apache License\nTerms.\nEND OF TERMS AND CONDITIONS\n";
        let apache = Text::new(&format!("{terms}APPENDIX\nCopyright [yyyy] [name]\n"));
        let folded = |text: &str| -> Vec<String> {
            Text::new(text).folded(&apache).into_iter().map(|text| text.shown).collect()
        };
        assert_eq!(folded(terms), [apache.shown.as_str()]);
        let filled = format!("{terms}\n  Copyright 2020 Ann\n");
        assert_eq!(folded(&filled), [apache.shown.as_str(), "Copyright 2020 Ann"]);
        let more = format!("{terms}{}", "Another licence. ".repeat(100));
        assert_eq!(folded(&more), [more.trim_end()]);
        assert_eq!(folded("MIT"), ["MIT"]);
    }
}
