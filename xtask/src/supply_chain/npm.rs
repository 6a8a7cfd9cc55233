//! The npm packages that the web app may contain: all that `web/package-lock.json` does not mark as needed by
//! development only. That is more than the bundler takes, and never less.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use serde_json::{Map, Value};

use super::component::{Component, Kind, purl};
use crate::process::{AnyResult, root};

const LOCK: &str = "web/package-lock.json";
const FOLDER: &str = "node_modules/";

pub(super) fn shipped() -> AnyResult<Vec<Component>> {
    let lock = fs::read_to_string(root().join(LOCK)).map_err(|error| format!("{LOCK}: {error}"))?;
    read(&lock, &root().join("web"))
}

fn read(lock: &str, web: &Path) -> AnyResult<Vec<Component>> {
    let lock: Value = serde_json::from_str(lock)?;
    let packages = lock.get("packages").and_then(Value::as_object).ok_or("the lock file has no packages")?;
    let mut components: BTreeMap<(String, String), Component> = BTreeMap::new();
    for (place, package) in packages.iter().filter(|(place, package)| is_shipped(place, package)) {
        let name = name(place);
        let version = text(package, "version").ok_or_else(|| format!("{place} has no version"))?;
        let component = Component {
            kind: Kind::Npm,
            name: name.to_owned(),
            version: version.clone(),
            licence: text(package, "license").unwrap_or_default(),
            authors: Vec::new(),
            repository: None,
            folder: web.join(place),
            hash: text(package, "integrity").and_then(|integrity| sha512(&integrity)),
            needs: needs(packages, place, package),
        };
        components.insert((name.to_owned(), version), component);
    }
    Ok(components.into_values().collect())
}

fn is_shipped(place: &str, package: &Value) -> bool {
    let marked = |key: &str| package.get(key).and_then(Value::as_bool).unwrap_or_default();
    !place.is_empty() && !marked("dev") && !marked("devOptional") && !marked("optional")
}

/// `@a/b` of `node_modules/c/node_modules/@a/b`.
fn name(place: &str) -> &str {
    place.rsplit_once(FOLDER).map_or(place, |(_, name)| name)
}

fn text(package: &Value, key: &str) -> Option<String> {
    package.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// What a package needs, found as Node.js finds it: in its own folder first, then in those around it.
fn needs(packages: &Map<String, Value>, place: &str, package: &Value) -> Vec<String> {
    let named = ["dependencies", "peerDependencies"].iter().filter_map(|key| package.get(*key)?.as_object());
    let mut needs = Vec::new();
    for needed in named.flat_map(Map::keys) {
        let mut found = around(place).map(|folder| format!("{folder}{FOLDER}{needed}"));
        let found = found.find_map(|place| Some((packages.get(&place)?, place)));
        if let Some((package, place)) = found
            && is_shipped(&place, package)
            && let Some(version) = text(package, "version")
        {
            needs.push(purl(Kind::Npm, needed, &version));
        }
    }
    needs.sort();
    needs.dedup();
    needs
}

/// `a/node_modules/b` → `a/node_modules/b/`, `a/`, and the empty text for the root.
fn around(place: &str) -> impl Iterator<Item = String> {
    let parents = std::iter::successors(Some(place.to_owned()), |place| {
        let parent = place.rsplit_once(FOLDER).map(|(parent, _)| parent.trim_end_matches('/').to_owned());
        parent.filter(|_| !place.is_empty())
    });
    parents.map(|place| if place.is_empty() { place } else { format!("{place}/") })
}

/// From npm's base64 into hexadecimal.
fn sha512(integrity: &str) -> Option<String> {
    let encoded = integrity.strip_prefix("sha512-")?;
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).ok()?;
    let mut digits = String::new();
    for byte in bytes {
        write!(digits, "{byte:02x}").ok()?;
    }
    Some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"{"packages": {
        "": {"name": "page"},
        "node_modules/a": {"version": "1.0.0", "license": "MIT", "integrity": "sha512-AP8=",
            "dependencies": {"@s/b": "2", "c": "1"}},
        "node_modules/a/node_modules/@s/b": {"version": "2.0.0", "license": "ISC"},
        "node_modules/@s/b": {"version": "1.0.0", "license": "ISC"},
        "node_modules/c": {"version": "1.0.0", "license": "MIT", "dev": true},
        "node_modules/d": {"version": "1.0.0", "license": "MIT", "dependencies": {"@s/b": "1"}}
    }}"#;

    #[test]
    fn what_development_alone_needs_is_left_out_and_the_nearest_version_is_meant() {
        let read = read(SAMPLE, Path::new("/web")).unwrap();
        let titles: Vec<String> = read.iter().map(Component::title).collect();
        let expected = ["npm @s/b 1.0.0: ISC", "npm @s/b 2.0.0: ISC", "npm a 1.0.0: MIT", "npm d 1.0.0: MIT"];
        assert_eq!(titles, expected);
        let needs: Vec<&[String]> = read.iter().map(|component| component.needs.as_slice()).collect();
        assert_eq!(needs[2], ["pkg:npm/%40s/b@2.0.0"]);
        assert_eq!(needs[3], ["pkg:npm/%40s/b@1.0.0"]);
        assert_eq!(read[2].hash.as_deref(), Some("00ff"));
        assert_eq!(read[1].folder, Path::new("/web/node_modules/a/node_modules/@s/b"));
    }
}
