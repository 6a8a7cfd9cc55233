//! The rules of `deny.toml`, which are cargo-deny's: licences, bans, duplicates and sources. cargo-deny takes minutes to build;
//! this takes seconds. `advisories` reads the advisories that are accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use cargo_metadata::semver::{Version, VersionReq};
use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

use crate::process::{AnyResult, root};

pub(super) const FILE: &str = "deny.toml";

#[derive(Debug, Deserialize)]
pub(super) struct Policy {
    graph: Graph,
    #[serde(default)]
    advisories: Advisories,
    licenses: Licenses,
    bans: Bans,
}

#[derive(Debug, Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Advisories {
    #[serde(default)]
    ignore: Vec<Accepted>,
}

#[derive(Debug, Deserialize)]
struct Accepted {
    id: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
struct Licenses {
    allow: Vec<String>,
    exceptions: Vec<Exception>,
}

#[derive(Debug, Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Bans {
    deny: Vec<Named>,
    skip: Vec<Named>,
}

/// `name`, or `name:version` with as much of the version as matters.
#[derive(Debug, Deserialize)]
struct Named {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

/// What a rule needs to know of a package.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) licence: String,
    /// Of our own, or from the registry that everybody uses.
    pub(super) has_good_source: bool,
}

/// All of ours come from the registry that everybody uses.
pub(super) fn sources(packages: &[Judged]) -> Vec<String> {
    let strange = packages.iter().filter(|package| !package.has_good_source);
    strange.map(|Judged { name, version, .. }| format!("{name} {version}: not from crates.io")).collect()
}

impl Policy {
    pub(super) fn load() -> AnyResult<Self> {
        let text = fs::read_to_string(root().join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
        toml::from_str(&text).map_err(|error| format!("{FILE}: {error}").into())
    }

    /// The platforms we ship for.
    pub(super) fn targets(&self) -> &[String] {
        &self.graph.targets
    }

    /// Why we live with an advisory, if we do.
    pub(super) fn accepted_advisory(&self, id: &str) -> Option<&str> {
        let accepted = self.advisories.ignore.iter().find(|accepted| accepted.id == id);
        accepted.map(|accepted| accepted.reason.as_str())
    }

    pub(super) fn licences(&self, packages: &[Judged]) -> Vec<String> {
        packages.iter().filter_map(|package| self.licence(package)).collect()
    }

    fn licence(&self, package: &Judged) -> Option<String> {
        let Judged { name, version, licence, .. } = package;
        let exceptions = self.licenses.exceptions.iter().filter(|exception| exception.name == *name);
        let allowed: Vec<Licensee> = exceptions
            .flat_map(|exception| &exception.allow)
            .chain(&self.licenses.allow)
            .filter_map(|allowed| Licensee::parse(allowed).ok())
            .collect();
        let is_allowed = |wanted: &spdx::LicenseReq| allowed.iter().any(|allowed| allowed.satisfies(wanted));
        match Expression::parse_mode(licence, ParseMode::LAX) {
            Ok(expression) if expression.evaluate(is_allowed) => None,
            Ok(_) => Some(format!("{name} {version}: {FILE} does not allow {licence}")),
            Err(error) => Some(format!("{name} {version}: {licence:?} is no licence: {}", error.reason)),
        }
    }

    pub(super) fn unused_exceptions(&self, packages: &[Judged]) -> Vec<String> {
        let is_used = |exception: &&Exception| packages.iter().any(|package| package.name == exception.name);
        let unused = self.licenses.exceptions.iter().filter(|exception| !is_used(exception));
        unused.map(|exception| format!("{}: {FILE} has an exception for nothing", exception.name)).collect()
    }

    pub(super) fn banned(&self, packages: &[Judged]) -> Vec<String> {
        let mut offences = Vec::new();
        for Judged { name, version, .. } in packages {
            for ban in self.bans.deny.iter().filter(|ban| ban.matches(name, version)) {
                offences.push(format!("{name} {version}: banned: {}", ban.reason));
            }
        }
        offences
    }

    /// One version of each, besides those that are skipped. A skip that skips nothing is an offence, too.
    pub(super) fn duplicates(&self, packages: &[Judged]) -> Vec<String> {
        let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for package in packages {
            versions.entry(&package.name).or_default().insert(&package.version);
        }
        let mut offences = Vec::new();
        for (name, versions) in &versions {
            let is_skipped = |version: &&&str| self.bans.skip.iter().any(|skip| skip.matches(name, version));
            let kept: Vec<&str> = versions.iter().filter(|version| !is_skipped(version)).copied().collect();
            if kept.len() > 1 {
                offences.push(format!("{name}: {} versions: {}", kept.len(), kept.join(", ")));
            }
        }
        for skip in &self.bans.skip {
            let doubled = versions.iter().filter(|(_, versions)| versions.len() > 1);
            let mut doubled =
                doubled.flat_map(|(name, versions)| versions.iter().map(move |version| (name, version)));
            if !doubled.any(|(name, version)| skip.matches(name, version)) {
                offences.push(format!("{}: {FILE} skips what is there no more, or once only", skip.name));
            }
        }
        offences
    }
}

impl Named {
    fn matches(&self, name: &str, version: &str) -> bool {
        let (own, wanted) = self.name.split_once(':').unwrap_or((&self.name, "*"));
        let wanted = VersionReq::parse(wanted);
        let is_wanted = |version: &Version| wanted.is_ok_and(|wanted| wanted.matches(version));
        own == name && Version::parse(version).as_ref().is_ok_and(is_wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
        [graph]
        targets = []
        [licenses]
        allow = ["MIT", "Apache-2.0"]
        exceptions = [{ crate = "soft", allow = ["MPL-2.0"] }]
        [bans]
        deny = [{ crate = "openssl-sys", reason = "rustls" }]
        skip = [{ crate = "syn:2", reason = "old" }]
    "#;

    fn package(name: &str, version: &str, licence: &str) -> Judged {
        Judged { name: name.into(), version: version.into(), licence: licence.into(), has_good_source: true }
    }

    fn rules() -> Policy {
        toml::from_str(RULES).unwrap()
    }

    #[test]
    fn licences() {
        for (name, licence, is_allowed) in [
            ("a", "MIT", true),
            ("a", "MIT OR GPL-3.0-only", true),
            ("a", "MIT AND GPL-3.0-only", false),
            ("a", "(MIT OR MPL-2.0) AND Apache-2.0", true),
            ("a", "Apache-2.0 WITH LLVM-exception", false),
            ("a", "MPL-2.0", false),
            ("soft", "MPL-2.0", true),
            ("a", "", false),
            ("a", "Anything goes", false),
        ] {
            let offence = rules().licence(&package(name, "1.0.0", licence));
            assert_eq!(offence.is_none(), is_allowed, "{name} {licence}: {offence:?}");
        }
    }

    #[test]
    fn exceptions_and_skips_must_be_needed() {
        let packages =
            [package("soft", "1.0.0", "MIT"), package("syn", "2.0.1", "MIT"), package("syn", "3.0.0", "MIT")];
        assert_eq!(rules().unused_exceptions(&packages), [""; 0]);
        assert_eq!(rules().duplicates(&packages), [""; 0]);
        let alone = [package("syn", "2.0.1", "MIT")];
        assert_eq!(rules().unused_exceptions(&alone).len(), 1);
        assert_eq!(rules().duplicates(&alone).len(), 1);
    }

    #[test]
    fn duplicates_bans_and_sources() {
        let packages = [
            package("syn", "2.0.1", "MIT"),
            package("syn", "20.0.0", "MIT"),
            package("syn", "3.0.0", "MIT"),
            package("openssl-sys", "0.9.0", "MIT"),
            Judged { has_good_source: false, ..package("fork", "1.0.0", "MIT") },
        ];
        let found = rules().duplicates(&packages);
        assert_eq!(found, ["syn: 2 versions: 20.0.0, 3.0.0"]);
        assert_eq!(rules().banned(&packages), ["openssl-sys 0.9.0: banned: rustls"]);
        assert_eq!(sources(&packages), ["fork 1.0.0: not from crates.io"]);
    }
}
