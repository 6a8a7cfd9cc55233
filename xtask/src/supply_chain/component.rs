//! A package of somebody else, as a lock file names it.

use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Component {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) version: String,
    /// An SPDX expression.
    pub(super) licence: String,
    pub(super) authors: Vec<String>,
    pub(super) repository: Option<String>,
    /// Where it is unpacked. Of an npm package: where it would be.
    pub(super) folder: PathBuf,
    /// Of the archive, as the lock file has it: `sha256` of a crate, `sha512` of an npm package, in hexadecimal.
    pub(super) hash: Option<String>,
    /// The identities of the packages it needs.
    pub(super) needs: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Crate,
    Npm,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Crate => "crate",
            Self::Npm => "npm",
        }
    }
}

impl Component {
    /// One line that changes whenever the notices must.
    pub(super) fn title(&self) -> String {
        format!("{} {} {}: {}", self.kind.word(), self.name, self.version, self.licence)
    }

    pub(super) fn purl(&self) -> String {
        purl(self.kind, &self.name, &self.version)
    }
}

/// The package URL, by which a bill of materials names a package.
pub(super) fn purl(kind: Kind, name: &str, version: &str) -> String {
    let registry = match kind {
        Kind::Crate => "cargo",
        Kind::Npm => "npm",
    };
    format!("pkg:{registry}/{}@{}", name.replace('@', "%40"), version.replace('+', "%2B"))
}
