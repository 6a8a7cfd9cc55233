//! The crates: all of the workspace on the platforms we ship for, and those that end up in the binary.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

use super::component::{Component, Kind, purl};
use super::rules::Policy;
use crate::process::{AnyResult, cargo, output, root};

/// Every package of the workspace, also of tests and build scripts.
pub(super) fn metadata(policy: &Policy) -> AnyResult<Metadata> {
    let mut options = vec!["--locked".to_owned()];
    for target in policy.targets() {
        options.extend(["--filter-platform".to_owned(), target.clone()]);
    }
    Ok(MetadataCommand::new().current_dir(root()).other_options(options).exec()?)
}

/// The crates of others that are compiled into the binary.
pub(super) fn shipped() -> AnyResult<Vec<Component>> {
    let policy = Policy::load()?;
    let metadata = metadata(&policy)?;
    let linked = linked(policy.targets())?;
    let checksums = checksums()?;
    let is_linked = |package: &Package| {
        package.source.is_some() && linked.contains(&format!("{} v{}", package.name, package.version))
    };
    let packages: BTreeMap<&PackageId, &Package> = metadata
        .packages
        .iter()
        .filter(|package| is_linked(package))
        .map(|package| (&package.id, package))
        .collect();
    let resolve = metadata.resolve.as_ref().ok_or("cargo metadata resolved nothing")?;
    let mut components = Vec::new();
    for node in &resolve.nodes {
        let Some(package) = packages.get(&node.id) else { continue };
        let normal = node
            .deps
            .iter()
            .filter(|needed| needed.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal));
        let needs = normal
            .filter_map(|needed| packages.get(&needed.pkg))
            .map(|package| purl(Kind::Crate, &package.name, &package.version.to_string()))
            .collect();
        components.push(component(package, needs, &checksums));
    }
    Ok(components)
}

fn component(package: &Package, needs: Vec<String>, checksums: &BTreeMap<String, String>) -> Component {
    let folder =
        package.manifest_path.parent().map(|folder| folder.as_std_path().to_owned()).unwrap_or_default();
    Component {
        kind: Kind::Crate,
        name: package.name.to_string(),
        version: package.version.to_string(),
        licence: expression(package),
        authors: package.authors.clone(),
        repository: package.repository.clone(),
        folder,
        hash: checksums.get(&format!("{} v{}", package.name, package.version)).cloned(),
        needs,
    }
}

/// The licence, with the slash of old manifests as what it meant.
pub(super) fn expression(package: &Package) -> String {
    let declared = package.license.as_deref().unwrap_or_default();
    declared.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ")
}

/// As `name vVERSION`. From `cargo tree`, which knows the features of the binary alone; metadata has those of the whole
/// workspace.
fn linked(targets: &[String]) -> AnyResult<BTreeSet<String>> {
    let mut linked = BTreeSet::new();
    for target in targets {
        let arguments = ["tree", "--locked", "--package", "rowmill", "--edges", "normal", "--prefix", "none"];
        let listed = output(cargo().args(arguments).args(["--format", "{p}", "--target", target]))?;
        // A line may end with a folder, `(proc-macro)` or `(*)`.
        linked.extend(listed.lines().filter_map(|line| Some(line.split(" (").next()?.to_owned())));
    }
    Ok(linked)
}

/// The hashes of the lock file, by `name vVERSION`.
fn checksums() -> AnyResult<BTreeMap<String, String>> {
    let lock: toml::Table = fs::read_to_string(root().join("Cargo.lock"))?.parse()?;
    let packages = lock.get("package").and_then(toml::Value::as_array).ok_or("Cargo.lock has no packages")?;
    let text = |package: &toml::Value, key: &str| Some(package.get(key)?.as_str()?.to_owned());
    let hash = |package: &toml::Value| {
        let name = format!("{} v{}", text(package, "name")?, text(package, "version")?);
        Some((name, text(package, "checksum")?))
    };
    Ok(packages.iter().filter_map(hash).collect())
}
