//! The software bill of materials: everything in the binary, as `CycloneDX` 1.6.

use serde_json::{Value, json};
use spdx::{Expression, ParseMode};

use super::component::{Component, Kind};
use super::shipped::shipped;
use crate::process::AnyResult;

const SPECIFICATION: &str = "1.6";
/// How the document itself names the product.
const PRODUCT: &str = "rowmill";

/// The document, for a version of the product. It has no serial number and no time, so that two builds give the same.
pub(crate) fn bill_of_materials(version: &str) -> AnyResult<String> {
    let document = document(version, &shipped()?);
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// `cargo xtask sbom`: for the version of this workspace.
pub(crate) fn print() -> AnyResult {
    print!("{}", bill_of_materials(env!("CARGO_PKG_VERSION"))?);
    Ok(())
}

fn document(version: &str, components: &[Component]) -> Value {
    let all: Vec<String> = components.iter().map(Component::purl).collect();
    // Which packages the product names itself is known to the lock files; that all of them are in it is what counts.
    let product = json!({ "ref": PRODUCT, "dependsOn": all });
    let others =
        components.iter().map(|component| json!({ "ref": component.purl(), "dependsOn": component.needs }));
    json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": PRODUCT,
                "name": PRODUCT,
                "version": version,
                "licenses": [{ "license": { "id": "Apache-2.0" } }],
            },
            "tools": { "components": [{ "type": "application", "name": "cargo xtask dist", "version": version }] },
        },
        "components": components.iter().map(entry).collect::<Vec<_>>(),
        "dependencies": std::iter::once(product).chain(others).collect::<Vec<_>>(),
    })
}

fn entry(component: &Component) -> Value {
    let algorithm = match component.kind {
        Kind::Crate => "SHA-256",
        Kind::Npm => "SHA-512",
    };
    let hashes: Vec<Value> =
        component.hash.iter().map(|hash| json!({ "alg": algorithm, "content": hash })).collect();
    let references: Vec<Value> =
        component.repository.iter().map(|url| json!({ "type": "vcs", "url": url })).collect();
    json!({
        "type": "library",
        "bom-ref": component.purl(),
        "name": component.name,
        "version": component.version,
        "scope": "required",
        "hashes": hashes,
        "licenses": licences(&component.licence),
        "purl": component.purl(),
        "externalReferences": references,
    })
}

/// One licence by its id, several as an expression; what is neither, by its name.
fn licences(licence: &str) -> Value {
    let is_expression = Expression::parse_mode(licence, ParseMode::LAX).is_ok();
    if spdx::license_id(licence).is_some() {
        json!([{ "license": { "id": licence } }])
    } else if is_expression {
        json!([{ "expression": licence }])
    } else {
        json!([{ "license": { "name": licence } }])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn text<'a>(value: &'a Value, key: &str) -> &'a str {
        value[key].as_str().unwrap_or_else(|| panic!("{key} of {value}"))
    }

    /// What the specification requires, for all that is really shipped.
    #[test]
    fn the_document_has_what_the_specification_requires() {
        let document: Value = serde_json::from_str(&bill_of_materials("1.2.3").unwrap()).unwrap();
        assert_eq!((text(&document, "bomFormat"), text(&document, "specVersion")), ("CycloneDX", "1.6"));
        assert_eq!(document["version"], 1);
        assert_eq!(text(&document["metadata"]["component"], "version"), "1.2.3");
        let components = document["components"].as_array().unwrap();
        let mut references = BTreeSet::from([PRODUCT]);
        for component in components {
            assert_eq!(text(component, "type"), "library");
            assert!(!text(component, "name").is_empty() && !text(component, "version").is_empty());
            assert!(text(component, "purl").starts_with("pkg:"), "{component}");
            assert!(references.insert(text(component, "bom-ref")), "twice: {component}");
            let (algorithm, content) =
                (&component["hashes"][0]["alg"], text(&component["hashes"][0], "content"));
            let digits = if algorithm == "SHA-256" { 64 } else { 128 };
            assert!(
                content.len() == digits && content.bytes().all(|digit| digit.is_ascii_hexdigit()),
                "{component}"
            );
            let licence = &component["licenses"][0];
            assert!(licence["license"]["id"].is_string() || licence["expression"].is_string(), "{component}");
        }
        let dependencies = document["dependencies"].as_array().unwrap();
        assert_eq!(dependencies.len(), components.len() + 1);
        for dependency in dependencies {
            assert!(references.contains(text(dependency, "ref")), "{dependency}");
            let needs = dependency["dependsOn"].as_array().unwrap();
            let distinct: BTreeSet<&str> = needs.iter().filter_map(Value::as_str).collect();
            assert_eq!(distinct.len(), needs.len(), "{dependency}");
            assert!(distinct.is_subset(&references), "{dependency}");
        }
        for wanted in
            ["pkg:cargo/tokio@", "pkg:cargo/libsqlite3-sys@", "pkg:npm/react@", "pkg:npm/%40mantine/core@"]
        {
            assert!(references.iter().any(|reference| reference.starts_with(wanted)), "{wanted}");
        }
        assert!(
            !references.iter().any(|reference| reference.contains("insta@") || reference.contains("vitest"))
        );
    }

    #[test]
    fn licences_in_each_form() {
        assert_eq!(licences("MIT"), json!([{ "license": { "id": "MIT" } }]));
        assert_eq!(licences("MIT OR ISC"), json!([{ "expression": "MIT OR ISC" }]));
        assert_eq!(licences("what I like"), json!([{ "license": { "name": "what I like" } }]));
    }
}
