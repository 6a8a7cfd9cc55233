//! Texts for people among the values of a program's data.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value};

use super::html_limits::limit_html;

/// All texts together.
const BYTES_MAX: usize = 1024 * 1024;
const VALUES_MAX: usize = 500_000;
const TITLE_CHARS_MAX: usize = 200;
/// A text of unknown meaning has so many characters and words, or it is a label.
const TEXT_CHARS_MIN: usize = 40;
const TEXT_WORDS_MIN: usize = 5;
/// One that is named as a text may be shorter.
const NAMED_CHARS_MIN: usize = 15;
const NAMED_WORDS_MIN: usize = 3;
/// Of the characters that are not blank, so many are letters; code has less.
const LETTERS_PERCENT_MIN: usize = 75;

const TITLES: [&str; 5] = ["headline", "title", "heading", "name", "question"];
const TEXTS: [&str; 14] = [
    "articlebody",
    "answer",
    "abstract",
    "body",
    "caption",
    "content",
    "copy",
    "description",
    "excerpt",
    "html",
    "intro",
    "summary",
    "text",
    "reviewbody",
];
/// What is the same on every page, or not for people.
const SKIPPED: [&str; 28] = [
    "_nexti18next",
    "classname",
    "config",
    "consent",
    "cookies",
    "css",
    "dictionary",
    "env",
    "footer",
    "graphql",
    "header",
    "i18n",
    "i18nresources",
    "labels",
    "locales",
    "menu",
    "messages",
    "nav",
    "navigation",
    "query",
    "runtimeconfig",
    "script",
    "scripts",
    "settings",
    "style",
    "styles",
    "svg",
    "translations",
];

/// Texts as HTML, each once, in the order of the data.
#[derive(Debug, Default)]
pub(super) struct Prose {
    html: String,
    /// The texts' characters, without blanks and titles.
    chars: usize,
    values: usize,
    seen: HashSet<u64>,
}

impl Prose {
    pub(super) fn chars(&self) -> usize {
        self.chars
    }

    pub(super) fn into_html(self) -> String {
        self.html
    }

    /// Takes the texts of a value. Parsed JSON is never deeper than a stack.
    pub(super) fn take(&mut self, value: &Value) {
        self.take_named("", value);
    }

    fn take_named(&mut self, name: &str, value: &Value) {
        self.values += 1;
        if self.values > VALUES_MAX {
            return;
        }
        match value {
            Value::String(text) => self.take_text(name, text),
            Value::Array(items) => items.iter().for_each(|item| self.take_named(name, item)),
            Value::Object(fields) => self.take_fields(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The title of a thing stands before its texts, and not without them.
    fn take_fields(&mut self, fields: &Map<String, Value>) {
        let before = (self.html.len(), self.chars);
        let title = TITLES.iter().find_map(|name| fields.get(*name)?.as_str()).map(str::trim);
        let title = title.filter(|title| is_title(title));
        if let Some(title) = title {
            self.write("h2", title);
        }
        for (name, value) in fields {
            let name = name.to_ascii_lowercase();
            if !SKIPPED.contains(&name.as_str())
                && value.as_str().is_none_or(|text| Some(text.trim()) != title)
            {
                self.take_named(&name, value);
            }
        }
        if self.chars == before.1 {
            self.html.truncate(before.0);
        }
    }

    /// Takes a text, if it is one for people.
    pub(super) fn take_text(&mut self, name: &str, text: &str) {
        let text = text.trim();
        if text.len() + self.html.len() > BYTES_MAX {
            return;
        }
        let is_html = text.contains("</") && text.contains('>');
        let words = if is_html { without_tags(text) } else { text.to_owned() };
        let mut hasher = DefaultHasher::new();
        words.hash(&mut hasher);
        if !is_text(name, &words) || !self.seen.insert(hasher.finish()) {
            return;
        }
        self.chars += words.chars().filter(|letter| !letter.is_whitespace()).count();
        if is_html {
            self.html.push_str("<div>");
            self.html.push_str(&limit_html(text));
            self.html.push_str("</div>");
        } else {
            text.lines().filter(|line| !line.trim().is_empty()).for_each(|line| self.write("p", line.trim()));
        }
    }

    fn write(&mut self, tag: &str, words: &str) {
        self.html.push_str(&["<", tag, ">"].concat());
        for letter in words.chars() {
            match letter {
                '&' => self.html.push_str("&amp;"),
                '<' => self.html.push_str("&lt;"),
                '>' => self.html.push_str("&gt;"),
                '"' => self.html.push_str("&quot;"),
                _ => self.html.push(letter),
            }
        }
        self.html.push_str(&["</", tag, ">"].concat());
    }
}

fn is_title(text: &str) -> bool {
    let chars = text.chars().count();
    (2..=TITLE_CHARS_MAX).contains(&chars) && text.chars().any(char::is_alphabetic) && !is_address(text)
}

/// Whether a value is written for people: sentences, and no address, code or key.
fn is_text(name: &str, text: &str) -> bool {
    let (chars_min, words_min) = if TEXTS.contains(&name) {
        (NAMED_CHARS_MIN, NAMED_WORDS_MIN)
    } else {
        (TEXT_CHARS_MIN, TEXT_WORDS_MIN)
    };
    let words = text.split_whitespace().take(words_min).count();
    // Some languages put no blanks between words.
    let dense = text.chars().filter(|letter| u32::from(*letter) >= 0x2e80).take(chars_min).count();
    let is_long =
        (words >= words_min && text.chars().take(chars_min).count() >= chars_min) || dense >= chars_min;
    if !is_long || is_address(text) || text.starts_with(['{', '[', '.', '#', '@', '$']) {
        return false;
    }
    let letters = text.chars().filter(|letter| letter.is_alphabetic()).count();
    let others = text.chars().filter(|letter| !letter.is_alphabetic() && !letter.is_whitespace()).count();
    letters * 100 >= (letters + others) * LETTERS_PERCENT_MIN
        && !text.contains("{\n")
        && !text.contains("=> ")
}

fn is_address(text: &str) -> bool {
    ["http://", "https://", "data:", "//", "/"].iter().any(|start| text.starts_with(start))
}

/// The words of an HTML text, roughly: for judging them.
fn without_tags(html: &str) -> String {
    let parts = html.split('<').enumerate().map(|(number, part)| match part.split_once('>') {
        Some((_, words)) if number > 0 => words,
        _ => part,
    });
    parts.collect::<Vec<&str>>().join(" ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(value: &Value, expected: &str) {
        let mut prose = Prose::default();
        prose.take(value);
        assert_eq!(prose.into_html(), expected, "{value}");
    }

    #[test]
    fn texts_for_people_are_taken() {
        let long = "The mill stands by the river and grinds the grain.";
        check(&json!({"a": [{"b": long}, {"b": long}]}), &format!("<p>{long}</p>"));
        check(
            &json!({"name": "A < B", "id": 7, "description": "Grinds rye and wheat.\n\nOn Sundays"}),
            "<h2>A &lt; B</h2><p>Grinds rye and wheat.</p><p>On Sundays</p>",
        );
        check(
            &json!({"body": "<p onclick=x()>Grinds <b>rye</b> and wheat</p>"}),
            "<div><p>Grinds <b>rye</b> and wheat</p></div>",
        );
        check(
            &json!({"text": "水車は川のそばに立っていて、今も回り続けています"}),
            "<p>水車は川のそばに立っていて、今も回り続けています</p>",
        );
    }

    #[test]
    fn other_values_are_not() {
        for value in [
            json!({"title": "Home", "items": [{"name": "About us"}]}),
            json!({"description": "https://example.com/a page of many words and letters"}),
            json!({"x": ".a { color: red; } .b { color: blue; } .c { margin: 0 auto }"}),
            json!({"x": "M 10 10 L 20 20 L 30 30 L 40 40 L 50 50 L 60 60 L 70 70 Z"}),
            json!({"x": "query Page($id: ID!) { page(id: $id) { title body author { name } } }"}),
            json!({"translations": {"a": "This sentence is the same on every page of the site."}}),
            json!([1, true, null, "short"]),
        ] {
            check(&value, "");
        }
    }

    #[test]
    fn much_is_cut() {
        let texts: Vec<Value> = (0..20_000)
            .map(|number| json!(format!("{}, number {number}", "many words to read ".repeat(10))))
            .collect();
        let mut prose = Prose::default();
        prose.take(&json!(texts));
        assert!(prose.html.len() <= BYTES_MAX + 1_000 && prose.html.len() > BYTES_MAX / 2);
    }
}
