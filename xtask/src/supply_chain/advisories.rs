//! `cargo xtask advisories FOLDER`: the crates of the lock file against a copy of the `RustSec` advisory database. The build has
//! no network but the registries, so the copy is the caller's: `git clone` it beside the project, and renew it.

use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::Metadata;
use cargo_metadata::semver::{Version, VersionReq};
use serde::Deserialize;

use super::crates;
use super::rules::{FILE, Policy};
use crate::process::AnyResult;

/// The head of an advisory: the TOML at the top of its Markdown.
#[derive(Debug, Deserialize)]
struct Advisory {
    advisory: About,
    versions: Versions,
}

#[derive(Debug, Deserialize)]
struct About {
    id: String,
    package: String,
    /// `unmaintained`, `unsound` or `notice`; a vulnerability has none.
    informational: Option<String>,
    withdrawn: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Versions {
    patched: Vec<VersionReq>,
    #[serde(default)]
    unaffected: Vec<VersionReq>,
}

/// A crate as an advisory sees it.
struct Used {
    name: String,
    version: Version,
    /// Named by a manifest of ours, so that we can move on from it.
    is_direct: bool,
}

pub(crate) fn check_advisories(database: &Path) -> AnyResult {
    let policy = Policy::load()?;
    let used = used(&crates::metadata(&policy)?);
    let advisories = load(database)?;
    println!("{} crates checked against {} advisories", used.len(), advisories.len());
    let mut offences = 0;
    for package in &used {
        for advisory in advisories.iter().filter(|advisory| advisory.affects(package)) {
            let About { id, informational, .. } = &advisory.advisory;
            let kind = informational.as_deref().unwrap_or("vulnerability");
            let reason = policy.accepted_advisory(id);
            let is_offence = advisory.is_offence(package) && reason.is_none();
            offences += usize::from(is_offence);
            let said = match (is_offence, reason) {
                (true, _) => "must be replaced or updated".to_owned(),
                (false, Some(reason)) => format!("accepted: {reason}"),
                (false, None) => "another crate brings it; to be watched".to_owned(),
            };
            println!("{} {}: {id} ({kind}): {said}", package.name, package.version);
        }
    }
    match offences {
        0 => Ok(()),
        count => Err(format!("{count} advisories that {FILE} does not accept").into()),
    }
}

impl Advisory {
    fn affects(&self, package: &Used) -> bool {
        let is_among =
            |versions: &[VersionReq]| versions.iter().any(|wanted| wanted.matches(&package.version));
        self.advisory.package == package.name
            && self.advisory.withdrawn.is_none()
            && !is_among(&self.versions.patched)
            && !is_among(&self.versions.unaffected)
    }

    /// A vulnerability always is. What is unmaintained or unsound is one if we name the crate ourselves, as in `deny.toml`.
    fn is_offence(&self, package: &Used) -> bool {
        self.advisory.informational.is_none() || package.is_direct
    }
}

fn used(metadata: &Metadata) -> Vec<Used> {
    let ours = metadata.workspace_packages();
    let named: Vec<&str> =
        ours.iter().flat_map(|package| &package.dependencies).map(|needed| needed.name.as_str()).collect();
    let foreign = metadata.packages.iter().filter(|package| package.source.is_some());
    foreign
        .map(|package| Used {
            name: package.name.to_string(),
            version: package.version.clone(),
            is_direct: named.contains(&package.name.as_str()),
        })
        .collect()
}

/// Every advisory on a crate. A folder without any is a mistake of the caller.
fn load(database: &Path) -> AnyResult<Vec<Advisory>> {
    let folder = database.join("crates");
    let mut advisories = Vec::new();
    for package in entries(&folder)? {
        for file in entries(&package)? {
            let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            advisories.push(parse(&text).map_err(|error| format!("{}: {error}", file.display()))?);
        }
    }
    if advisories.is_empty() {
        return Err(format!("{} has no advisories", folder.display()).into());
    }
    Ok(advisories)
}

fn entries(folder: &Path) -> AnyResult<Vec<PathBuf>> {
    let listed = fs::read_dir(folder).map_err(|error| {
        format!("{}: {error}; name a copy of the RustSec advisory database", folder.display())
    })?;
    let paths: Result<Vec<PathBuf>, _> = listed.map(|entry| Ok(entry?.path())).collect();
    paths.map_err(|error: std::io::Error| format!("{}: {error}", folder.display()).into())
}

fn parse(text: &str) -> AnyResult<Advisory> {
    let head = text.trim_start().strip_prefix("```toml").and_then(|rest| rest.split_once("\n```"));
    let (head, _) = head.ok_or("no TOML at the top")?;
    Ok(toml::from_str(head)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADVISORY: &str = r#"```toml
[advisory]
id = "RUSTSEC-2020-0071"
package = "time"
date = "2020-11-18"
KIND

[versions]
patched = [">= 0.2.23"]
unaffected = ["=0.2.0"]
```

# Potential segfault in the time crate
"#;

    fn advisory(kind: &str) -> Advisory {
        parse(&ADVISORY.replace("KIND", kind)).unwrap()
    }

    fn used(name: &str, version: &str, is_direct: bool) -> Used {
        Used { name: name.to_owned(), version: Version::parse(version).unwrap(), is_direct }
    }

    #[test]
    fn versions_between_are_affected() {
        for (name, version, affected) in [
            ("time", "0.2.22", true),
            ("time", "0.1.0", true),
            ("time", "0.2.0", false),
            ("time", "0.2.23", false),
            ("time", "0.3.47", false),
            ("times", "0.2.22", false),
        ] {
            assert_eq!(advisory("").affects(&used(name, version, true)), affected, "{name} {version}");
        }
        assert!(!advisory("withdrawn = \"2021-01-01\"").affects(&used("time", "0.2.22", true)));
    }

    #[test]
    fn what_is_unmaintained_matters_if_we_named_it() {
        for (kind, is_direct, offence) in [
            ("", false, true),
            ("informational = \"unmaintained\"", true, true),
            ("informational = \"unmaintained\"", false, false),
        ] {
            let found = advisory(kind).is_offence(&used("time", "0.2.22", is_direct));
            assert_eq!(found, offence, "{kind} {is_direct}");
        }
    }

    #[test]
    fn a_folder_without_advisories_is_refused() {
        let failure = load(Path::new("/nonexistent")).unwrap_err().to_string();
        assert!(failure.contains("name a copy of the RustSec advisory database"), "{failure}");
        parse("# Only prose").unwrap_err();
    }
}
