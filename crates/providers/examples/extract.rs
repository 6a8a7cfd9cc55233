//! The main content of pages in a folder, as the article benchmark's `evaluate.py` wants it.
//!
//! `cargo run --release -p rowmill-providers --example extract -- HTML_FOLDER text|markdown > output/rowmill.json`
//! reads every `<id>.html` or `<id>.html.gz` in the folder. `text` is the text of the content; `markdown` is
//! what a cell gets, less the targets of links and images, which are no words of the article. `raw` is what a
//! cell gets, as `bench/scrape.py` wants it.

#![expect(clippy::print_stdout, reason = "this is what it is for")]

use std::error::Error;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use rowmill_providers::scrape::page;
use scraper::{Html, Node};
use serde_json::{Map, json};
use url::Url;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (folder, wanted) = args.next().zip(args.next()).ok_or("usage: extract FOLDER text|markdown|raw")?;
    let base = Url::parse("https://example.com/")?;
    let mut output = Map::new();
    let mut files: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    for file in files {
        let name = file.file_name().to_string_lossy().into_owned();
        let Some((id, _)) = name.split_once(".html") else { continue };
        let content = page::content(&read(&file.path())?, &base);
        let body = match wanted.as_str() {
            "raw" => content.markdown,
            "markdown" => without_targets(&content.markdown),
            _ => text(&content.html),
        };
        output.insert(id.to_owned(), json!({ "articleBody": body }));
    }
    println!("{}", serde_json::to_string(&output)?);
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let bytes = fs::read(path)?;
    if path.extension().is_none_or(|extension| extension != "gz") {
        return Ok(bytes);
    }
    let mut page = Vec::new();
    flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut page)?;
    Ok(page)
}

/// The text with a line for each block.
fn text(html: &str) -> String {
    const INLINE: [&str; 16] = [
        "a", "abbr", "b", "code", "del", "em", "i", "ins", "mark", "q", "s", "small", "span", "strong",
        "sub", "sup",
    ];
    let mut text = String::new();
    let document = Html::parse_fragment(html);
    for edge in document.tree.root().traverse() {
        let (ego_tree::iter::Edge::Open(node) | ego_tree::iter::Edge::Close(node)) = edge;
        match node.value() {
            Node::Text(words) if matches!(edge, ego_tree::iter::Edge::Open(_)) => text.push_str(words),
            Node::Element(element) if !INLINE.contains(&element.name()) => text.push('\n'),
            _ => {}
        }
    }
    text
}

/// `[words](address)` as `words`, and images not at all.
fn without_targets(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    text + rest
}
