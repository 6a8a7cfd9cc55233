//! `cargo xtask supply-chain`: the packages of both lock files against `deny.toml`, and the notices against the packages.

use cargo_metadata::{Metadata, Package};

use super::component::Component;
use super::rules::{FILE, Judged, Policy};
use super::{crates, notices, npm, rules};
use crate::process::AnyResult;

pub(crate) fn check() -> AnyResult {
    let mut offences = against_rules()?;
    offences.extend(notices::check()?);
    for offence in &offences {
        println!("{offence}");
    }
    match offences.len() {
        0 => Ok(()),
        count => Err(format!("{count} offences against the rules of the supply chain").into()),
    }
}

/// One line for each offence.
fn against_rules() -> AnyResult<Vec<String>> {
    let policy = Policy::load()?;
    let crates = judged(&crates::metadata(&policy)?);
    let pages = npm::shipped()?;
    let mut offences = rules::sources(&crates);
    offences.extend(policy.licences(&crates));
    offences.extend(policy.licences(&pages.iter().map(of_page).collect::<Vec<_>>()));
    offences.extend(policy.unused_exceptions(&crates));
    offences.extend(policy.banned(&crates));
    offences.extend(policy.duplicates(&crates));
    println!("{} crates and {} npm packages checked against {FILE}", crates.len(), pages.len());
    Ok(offences)
}

fn judged(metadata: &Metadata) -> Vec<Judged> {
    let judged = |package: &Package| Judged {
        name: package.name.to_string(),
        version: package.version.to_string(),
        licence: crates::expression(package),
        has_good_source: package.source.as_ref().is_none_or(cargo_metadata::Source::is_crates_io),
    };
    metadata.packages.iter().map(judged).collect()
}

fn of_page(component: &Component) -> Judged {
    let Component { name, version, licence, .. } = component;
    Judged { name: name.clone(), version: version.clone(), licence: licence.clone(), has_good_source: true }
}
