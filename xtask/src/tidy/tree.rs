//! What the rules look at: the repository's files and the workspace's crates.

use std::collections::BTreeSet;
use std::fs;

use cargo_metadata::MetadataCommand;
use cargo_metadata::camino::Utf8Path;

use super::source::Source;
use crate::process::{AnyResult, output, program, root};

#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) files: Vec<File>,
    pub(super) members: Vec<Member>,
}

#[derive(Debug)]
pub(super) struct File {
    /// From the root, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    /// Of `.rs` files only.
    pub(super) source: Option<Source>,
}

/// A crate of the workspace.
#[derive(Debug, Default)]
pub(super) struct Member {
    /// From the root: `crates/model`.
    pub(super) folder: String,
    pub(super) package: String,
    /// Package names, of every kind: a test's dependency is a dependency.
    pub(super) dependencies: BTreeSet<String>,
    /// The files the compiler starts from.
    pub(super) roots: Vec<String>,
}

impl Tree {
    /// The files that are committed or would be, so neither build output nor data.
    pub(super) fn load() -> AnyResult<Self> {
        let root = root();
        let listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let paths = output(program("git").args(listed))?;
        let paths: BTreeSet<&str> = paths.split_terminator('\0').collect();
        // A file that is not text, or that is deleted but not yet committed so, has nothing to judge.
        let file = |path: &&str| fs::read_to_string(root.join(path)).ok().map(|text| File::new(path, text));
        Ok(Self { files: paths.iter().filter_map(file).collect(), members: members()? })
    }

    pub(super) fn with_extension(&self, extensions: &[&str]) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| extensions.contains(&file.extension()))
    }

    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The Rust files, with their text taken apart.
    pub(super) fn sources(&self) -> impl Iterator<Item = (&File, &Source)> {
        self.files.iter().filter_map(|file| Some((file, file.source.as_ref()?)))
    }
}

impl File {
    pub(super) fn new(path: &str, text: impl Into<String>) -> Self {
        let mut file = Self { path: path.to_owned(), text: text.into(), source: None };
        file.source = (file.extension() == "rs").then(|| Source::new(&file.text));
        file
    }

    pub(super) fn extension(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Numbered from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

impl Member {
    pub(super) fn manifest(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }

    /// `model` of `crates/model`; None for what lies outside `crates/`.
    pub(super) fn room(&self) -> Option<&str> {
        self.folder.strip_prefix("crates/")
    }
}

fn members() -> AnyResult<Vec<Member>> {
    let metadata = MetadataCommand::new().current_dir(root()).no_deps().exec()?;
    let relative = |path: &Utf8Path| path.strip_prefix(&metadata.workspace_root).unwrap_or(path).to_string();
    let member = |package: &cargo_metadata::Package| Member {
        folder: package.manifest_path.parent().map(relative).unwrap_or_default(),
        package: package.name.to_string(),
        dependencies: package.dependencies.iter().map(|dependency| dependency.name.clone()).collect(),
        roots: package.targets.iter().map(|target| relative(&target.src_path)).collect(),
    };
    Ok(metadata.workspace_packages().into_iter().map(member).collect())
}

#[cfg(test)]
impl Tree {
    pub(super) fn of_files(files: &[(&str, &str)]) -> Self {
        Self { files: files.iter().map(|(path, text)| File::new(path, *text)).collect(), members: Vec::new() }
    }

    /// A crate, its folder named like its package.
    pub(super) fn with_member(mut self, folder: &str, dependencies: &[&str], roots: &[&str]) -> Self {
        self.members.push(Member {
            folder: folder.to_owned(),
            package: format!("rowmill-{}", folder.rsplit('/').next().unwrap_or_default()),
            dependencies: dependencies.iter().map(ToString::to_string).collect(),
            roots: roots.iter().map(ToString::to_string).collect(),
        });
        self
    }
}
