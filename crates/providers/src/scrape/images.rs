//! The images of a page and their alternative texts.

use std::collections::HashSet;

use scraper::Html;
use serde::{Deserialize, Serialize};
use url::Url;

use super::head::{elements, line};
use super::links::target;

const IMAGES_MAX: usize = 500;
const URL_BYTES_MAX: usize = 2_000;
const ALT_CHARS_MAX: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alt: Option<String>,
}

/// The images of a page, each once, in its order. Images inside an address (`data:`) are not listed.
pub(super) fn of(document: &Html, base: &Url) -> Vec<Image> {
    let mut seen = HashSet::new();
    let images = elements(document, "img").filter_map(|element| {
        let element = element.value();
        let url =
            ["src", "data-src", "data-lazy-src"].iter().find_map(|name| target(element.attr(name)?, base))?;
        let alt = element.attr("alt").and_then(|alt| line(alt, ALT_CHARS_MAX));
        (url.len() <= URL_BYTES_MAX && url.starts_with("http")).then_some(Image { url, alt })
    });
    images.filter(|image| seen.insert(image.url.clone())).take(IMAGES_MAX).collect()
}
