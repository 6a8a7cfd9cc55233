//! Code blocks: their lines as the page shows them, and their language.

use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use scraper::Node;
use scraper::node::Element;

use super::text::longest_run;

/// How far up a code block's language is looked for.
const ANCESTORS_MAX: usize = 3;
const LANGUAGE_CHARS_MAX: usize = 20;

/// A fenced code block; `None` if there is nothing in it.
pub(super) fn fenced(block: NodeRef<'_, Node>) -> Option<String> {
    let text = lines(block);
    let text = text.trim_end().trim_start_matches(['\n', '\r']);
    if text.trim().is_empty() {
        return None;
    }
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    Some([&fence, &language(block).unwrap_or_default(), "\n", text, "\n", &fence].concat())
}

/// The text of a code block, without the numbers and buttons beside it.
pub(super) fn lines(block: NodeRef<'_, Node>) -> String {
    let mut text = String::new();
    let mut skipped = None;
    for edge in block.traverse() {
        match (edge, skipped) {
            (Edge::Close(node), Some(skipping)) if node.id() == skipping => skipped = None,
            (_, Some(_)) => {}
            (Edge::Open(node), None) => match node.value() {
                Node::Text(words) => text.extend(words.chars().filter(|letter| *letter != '\r').map(plain)),
                Node::Element(element) if is_aside(element) => skipped = Some(node.id()),
                Node::Element(element) if element.name() == "br" => text.push('\n'),
                Node::Element(element) if is_line(element) => end_line(&mut text),
                _ => {}
            },
            (Edge::Close(node), None) => {
                if node.value().as_element().is_some_and(is_line) {
                    end_line(&mut text);
                }
            }
        }
    }
    text
}

/// Blanks that do not break are blanks in code.
fn plain(letter: char) -> char {
    if letter == '\u{a0}' { ' ' } else { letter }
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

fn is_line(element: &Element) -> bool {
    matches!(element.name(), "div" | "p" | "li" | "tr" | "ol" | "ul" | "pre")
}

/// Whether an element stands beside the code: the numbers of its lines, a button to copy it.
fn is_aside(element: &Element) -> bool {
    const NAMES: [&str; 12] = [
        "gutter",
        "lineno",
        "linenos",
        "linenumber",
        "line-number",
        "line-numbers",
        "line-numbers-rows",
        "ln",
        "rouge-gutter",
        "blob-num",
        "copy",
        "copy-button",
    ];
    let is_named = |name: &str| NAMES.contains(&name);
    matches!(element.name(), "button" | "script" | "style" | "svg")
        || element.classes().any(is_named)
        || element.attr("aria-hidden") == Some("true")
}

/// Whether a cell or a block holds nothing but the numbers of lines.
pub(super) fn is_line_numbers(block: NodeRef<'_, Node>) -> bool {
    if block.value().as_element().is_some_and(is_aside) {
        return true;
    }
    let texts = block.descendants().filter_map(|node| node.value().as_text());
    let mut letters = texts.flat_map(|text| text.chars()).filter(|letter| !letter.is_whitespace()).peekable();
    letters.peek().is_some() && letters.all(|letter| letter.is_ascii_digit())
}

/// What the block, the code in it or the box around it says about its language.
fn language(block: NodeRef<'_, Node>) -> Option<String> {
    let inner =
        block.children().filter(|child| child.value().as_element().is_some_and(|it| it.name() == "code"));
    let around = block.ancestors().take(ANCESTORS_MAX);
    inner.chain([block]).chain(around).find_map(|node| named(node.value().as_element()?))
}

fn named(element: &Element) -> Option<String> {
    let attributes = ["data-lang", "data-language", "data-code-lang", "data-code-language"];
    let told = attributes.iter().find_map(|name| language_word(element.attr(name)?));
    let classes = element.attr("class").unwrap_or_default();
    let brush = || {
        classes
            .split_once("brush:")
            .and_then(|(_, rest)| language_word(rest.trim().split([';', ' ']).next()?))
    };
    told.or_else(brush).or_else(|| classes.split_whitespace().find_map(of_class)).or_else(|| {
        // Pandoc and highlight.js write the bare name beside a word of their own.
        let mut words = classes.split_whitespace();
        let is_marked = words.clone().any(|word| matches!(word, "sourceCode" | "hljs" | "src"));
        is_marked.then(|| words.find(|word| LANGUAGES.contains(word)).and_then(language_word))?
    })
}

fn of_class(class: &str) -> Option<String> {
    ["language-", "lang-", "highlight-source-", "highlight-text-", "highlight-", "src-", "brush-"]
        .iter()
        .find_map(|start| language_word(class.strip_prefix(start)?))
}

/// Names that stand alone in a class.
const LANGUAGES: [&str; 36] = [
    "bash",
    "c",
    "cpp",
    "csharp",
    "css",
    "diff",
    "dockerfile",
    "elixir",
    "go",
    "graphql",
    "haskell",
    "html",
    "http",
    "ini",
    "java",
    "javascript",
    "js",
    "json",
    "jsx",
    "kotlin",
    "lua",
    "php",
    "python",
    "r",
    "ruby",
    "rust",
    "scala",
    "sh",
    "shell",
    "sql",
    "swift",
    "toml",
    "ts",
    "typescript",
    "xml",
    "yaml",
];

fn language_word(word: &str) -> Option<String> {
    let word = word.trim().to_ascii_lowercase();
    let is_name = (1..=LANGUAGE_CHARS_MAX).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+#-_.".contains(&byte));
    let says_nothing =
        matches!(word.as_str(), "none" | "default" | "plain" | "plaintext" | "text" | "notranslate" | "auto");
    (is_name && !says_nothing).then_some(word)
}
