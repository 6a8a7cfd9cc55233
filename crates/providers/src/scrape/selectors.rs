//! CSS selectors that a column gives: what to read of a page, and what to leave out.

use scraper::{Html, Selector};

use super::boilerplate::Keep;
use super::frames::Wanted;
use super::kept_nodes::{KeptNodes, leaves};
use crate::failure::{Failure, FailureKind};

/// Fails if one of the selectors cannot be read.
pub(super) fn check(wanted: &Wanted) -> Result<(), Failure> {
    let named = |name: &'static str, selectors: &[String]| -> Option<String> {
        let wrong = selectors.iter().position(|text| Selector::parse(text).is_err())?;
        let shown: String = selectors.get(wrong)?.chars().take(100).collect();
        Some(format!(
            "`selectors.{name}[{wrong}]` is not a CSS selector: `{shown}`. Correct it in the column settings."
        ))
    };
    match named("include", &wanted.include).or_else(|| named("exclude", &wanted.exclude)) {
        Some(words) => Err(Failure::new(FailureKind::InvalidInput, words)),
        None => Ok(()),
    }
}

/// Removes what the selectors match.
pub(super) fn exclude(document: &mut Html, selectors: &[String]) {
    for selector in parsed(selectors) {
        let matched: Vec<_> = document.select(&selector).map(|element| element.id()).collect();
        for id in matched {
            if let Some(mut node) = document.tree.get_mut(id) {
                node.detach();
            }
        }
    }
}

/// All there is to read in what the selectors match.
pub(super) fn include(document: &Html, selectors: &[String]) -> KeptNodes {
    let mut found = Vec::new();
    for selector in parsed(selectors) {
        for element in document.select(&selector) {
            found.extend(leaves(*element, Keep::Everything));
        }
    }
    KeptNodes::with(document, found)
}

fn parsed(selectors: &[String]) -> impl Iterator<Item = Selector> {
    selectors.iter().filter_map(|text| Selector::parse(text).ok())
}
