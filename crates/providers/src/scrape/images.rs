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
/// All images together: a cell's value has a limit of its own.
const BYTES_MAX: usize = 128 * 1024;

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
    let mut bytes_left = BYTES_MAX;
    images
        .filter(|image| seen.insert(image.url.clone()))
        .take(IMAGES_MAX)
        .map_while(|image| {
            let bytes = image.url.len() + image.alt.as_ref().map_or(0, String::len);
            bytes_left = bytes_left.checked_sub(bytes)?;
            Some(image)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(html: &str) -> Vec<Image> {
        of(&Html::parse_document(html), &Url::parse("https://example.com/").unwrap())
    }

    #[test]
    fn images_are_listed_once_with_their_texts() {
        let images = found(
            "<img src=a.png alt=' A  b '><img src=a.png><img src=data:x data-src=/c.png><img alt=d>
             <img src=data:x><img src='ftp://e.example/f.png'>",
        );
        let images: Vec<_> = images.iter().map(|image| (image.url.as_str(), image.alt.as_deref())).collect();
        assert_eq!(images, [("https://example.com/a.png", Some("A b")), ("https://example.com/c.png", None)]);
    }

    #[test]
    fn images_are_bounded() {
        let many: Vec<String> = (0..2_000).map(|number| format!("<img src={number}.png>")).collect();
        assert_eq!(found(&many.concat()).len(), IMAGES_MAX);
        let long: Vec<String> =
            (0..400).map(|number| format!("<img src={number}{}>", "x".repeat(1_500))).collect();
        let bytes: usize = found(&long.concat()).iter().map(|image| image.url.len()).sum();
        assert!(bytes > BYTES_MAX / 2 && bytes <= BYTES_MAX, "{bytes}");
    }
}
