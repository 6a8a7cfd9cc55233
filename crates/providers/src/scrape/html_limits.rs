//! Limits on HTML: a page is cut to a bounded depth, width and length before a parser sees it.
//!
//! Every HTML parser and walker there is takes quadratic time, or its thread's whole stack, when elements
//! are nested thousands deep or one of them has thousands of attributes. So the page passes a scanner
//! first that builds no tree and takes linear time. It drops tags beyond the limits and keeps their text,
//! as browsers do, and leaves out what holds no content: comments, scripts, styles.

use super::open_elements::OpenElements;

const ATTRIBUTES_MAX: usize = 64;
/// A longer attribute is an image in disguise.
const ATTRIBUTE_BYTES_MAX: usize = 8 * 1024;
const NAME_BYTES_MAX: usize = 64;

/// The page within the limits.
pub(super) fn limit_html(html: &str) -> String {
    let mut limiter =
        HtmlLimiter { html, place: 0, out: String::with_capacity(html.len()), tree: OpenElements::default() };
    while limiter.step() {}
    limiter.out
}

struct HtmlLimiter<'a> {
    html: &'a str,
    place: usize,
    out: String,
    tree: OpenElements,
}

/// Elements whose content is text up to their end tag, whatever it looks like.
const RAW: [&str; 8] = ["script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes"];

impl<'a> HtmlLimiter<'a> {
    /// Takes text up to the next tag, and the tag; false at the end.
    fn step(&mut self) -> bool {
        let rest = self.rest();
        let Some(start) = memchr::memchr(b'<', rest.as_bytes()) else {
            self.out.push_str(rest);
            return false;
        };
        self.out.push_str(rest.get(..start).unwrap_or_default());
        self.place += start;
        let mut after = self.rest().chars().skip(1);
        match (after.next(), after.next()) {
            (Some('!' | '?'), _) => self.declaration(),
            (Some('/'), Some(letter)) if letter.is_ascii_alphabetic() => self.end_tag(),
            (Some('/'), Some(_)) => self.skip_past(">"),
            (Some(letter), _) if letter.is_ascii_alphabetic() => self.start_tag(),
            _ => {
                // A lone `<` is text; written so, no dropped neighbour can make a tag of it.
                self.out.push_str("&lt;");
                self.place += 1;
            }
        }
        true
    }

    fn rest(&self) -> &'a str {
        self.html.get(self.place..).unwrap_or_default()
    }

    fn skip_past(&mut self, mark: &str) {
        let found = memchr::memmem::find(self.rest().as_bytes(), mark.as_bytes());
        self.place = found.map_or(self.html.len(), |start| self.place + start + mark.len());
    }

    /// A comment falls away. A doctype stays: without one, parsers nest some elements differently.
    fn declaration(&mut self) {
        let start = self.place;
        if !self.rest().starts_with("<!--") {
            self.skip_past(">");
            let declared = self.html.get(start..self.place).unwrap_or_default();
            let is_doctype = declared.get(..9).is_some_and(|word| word.eq_ignore_ascii_case("<!doctype"));
            if is_doctype && declared.len() <= ATTRIBUTE_BYTES_MAX {
                self.out.push_str(declared);
            }
            return;
        }
        self.place += 4;
        let is_empty = ["->", ">"].iter().any(|mark| self.rest().starts_with(mark));
        self.skip_past(if is_empty { ">" } else { "-->" });
    }

    fn end_tag(&mut self) {
        let tag = Tag::read(self.rest(), 2);
        self.place += tag.length;
        if self.tree.close(&tag.name) {
            self.out.push_str("</");
            self.out.push_str(&tag.name);
            self.out.push('>');
        }
    }

    fn start_tag(&mut self) {
        let tag = Tag::read(self.rest(), 1);
        self.place += tag.length;
        if !tag.is_whole {
            return;
        }
        if RAW.contains(&tag.name.as_str()) {
            return self.raw_element(&tag);
        }
        if self.tree.open(&tag.name) {
            tag.write(&mut self.out);
        }
    }

    /// Of elements that hold raw text only the title counts, and structured data about the page.
    fn raw_element(&mut self, tag: &Tag<'a>) {
        let text = raw_text(self.rest(), &tag.name);
        self.place += text.len();
        let is_data = tag.name == "script"
            && tag.attributes.iter().any(|attribute| attribute.to_ascii_lowercase().contains("ld+json"));
        if (is_data || tag.name == "title") && self.tree.count() {
            tag.write(&mut self.out);
            self.out.push_str(text);
            self.out.push_str(&["</", &tag.name, ">"].concat());
        }
        if self.rest().starts_with("</") {
            self.place += Tag::read(self.rest(), 2).length;
        }
    }
}

/// What stands before the element's end tag; everything if it has none.
pub(super) fn raw_text<'a>(rest: &'a str, name: &str) -> &'a str {
    let mut from = 0;
    while let Some(found) = rest.get(from..).and_then(|tail| memchr::memmem::find(tail.as_bytes(), b"</")) {
        let start = from + found;
        let after = rest.get(start + 2..).unwrap_or_default();
        let is_name = after.get(..name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name));
        let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
        if is_name && after.as_bytes().get(name.len()).is_none_or(ends) {
            return rest.get(..start).unwrap_or_default();
        }
        from = start + 2;
    }
    rest
}

pub(super) struct Tag<'a> {
    /// In lower case.
    name: String,
    pub(super) attributes: Vec<&'a str>,
    is_self_closing: bool,
    /// Whether its `>` is there; a tag cut off by the end of the page is none.
    is_whole: bool,
    pub(super) length: usize,
}

impl<'a> Tag<'a> {
    /// Reads the tag at the beginning of the text, whose name starts at `from`.
    pub(super) fn read(text: &'a str, from: usize) -> Self {
        let bytes = text.as_bytes();
        let is_blank = |byte: u8| byte.is_ascii_whitespace() || byte == b'/';
        let at = |place: usize| bytes.get(place).copied();
        let until = |start: usize, stop: &dyn Fn(u8) -> bool| {
            let tail = bytes.get(start..).unwrap_or_default();
            tail.iter().position(|byte| stop(*byte)).map_or(bytes.len(), |found| start + found)
        };
        let name_end = until(from, &|byte| is_blank(byte) || byte == b'>');
        let name = text.get(from..name_end).unwrap_or_default();
        let name = if name.len() > NAME_BYTES_MAX { "span" } else { name };
        let mut tag = Self {
            name: name.to_ascii_lowercase(),
            attributes: Vec::new(),
            is_self_closing: false,
            is_whole: false,
            length: bytes.len(),
        };
        let mut place = name_end;
        loop {
            let start = until(place, &|byte| !is_blank(byte));
            let Some(first) = at(start) else { return tag };
            if first == b'>' {
                tag.is_self_closing = start > place && at(start - 1) == Some(b'/');
                tag.is_whole = true;
                tag.length = start + 1;
                return tag;
            }
            // A name may begin with `=`, and with nothing else that ends one.
            let key_end = until(start + 1, &|byte| is_blank(byte) || matches!(byte, b'>' | b'='));
            place = key_end;
            let equals = until(key_end, &|byte| !byte.is_ascii_whitespace());
            if at(equals) == Some(b'=') {
                let value = until(equals + 1, &|byte| !byte.is_ascii_whitespace());
                place = match at(value) {
                    Some(quote @ (b'"' | b'\'')) => until(value + 1, &|byte| byte == quote) + 1,
                    _ => until(value, &|byte| byte.is_ascii_whitespace() || byte == b'>'),
                };
            }
            tag.keep(text.get(start..place).unwrap_or_default());
        }
    }

    fn keep(&mut self, attribute: &'a str) {
        let is_handler = attribute.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("on"));
        let fits = attribute.len() <= ATTRIBUTE_BYTES_MAX && self.attributes.len() < ATTRIBUTES_MAX;
        if fits && !is_handler {
            self.attributes.push(attribute);
        }
    }

    fn write(&self, out: &mut String) {
        out.push('<');
        out.push_str(&self.name);
        for attribute in &self.attributes {
            out.push(' ');
            out.push_str(attribute);
        }
        // With a blank, or an attribute's last slash would be part of its value.
        out.push_str(if self.is_self_closing { " />" } else { ">" });
    }
}

#[cfg(test)]
mod tests {
    use super::super::open_elements::{DEPTH_MAX, ELEMENTS_MAX};
    use super::*;

    fn check(html: &str, expected: &str) {
        assert_eq!(limit_html(html), expected, "{html}");
    }

    #[test]
    fn an_ordinary_page_stays_as_it_is() {
        for html in [
            "",
            "plain text",
            "<p>One<p>Two <b>three</b><br>four",
            "<a href=\"/x?a=1&amp;b=2\" title='a > b'>x</a>",
            "<ul><li>1<li>2</ul>",
            "<img src=x alt=y/>",
            "<svg><path d=\"M0\" /></svg>",
            "<title>1 < 2 <b></title>",
            "é<i>ü</i>",
        ] {
            check(html, html);
        }
    }

    #[test]
    fn what_holds_no_content_falls_away() {
        check("a<!-- <b> -->b<!---->c<!-->d<!--->e", "abcde");
        check("<!DOCTYPE html><?php x ?><!ELEMENT x>a", "<!DOCTYPE html>a");
        check("<script>if (a </b> '</div>') {}</SCRIPT >a<style>b{}</style>", "a");
        check("<P ONCLICK=x() Class=a>b</P>", "<p Class=a>b</p>");
        let data = "<script type=\"application/ld+json\">{\"a\": \"<b>\"}</script>";
        check(data, data);
        check(&format!("<img src=\"{}\" alt=a>", "x".repeat(10_000)), "<img alt=a>");
    }

    #[test]
    fn malformed_tags_are_read_as_browsers_do() {
        check("1 < 2 <3", "1 &lt; 2 &lt;3");
        check("a</ b>c</>d", "acd");
        check("a<b", "a");
        check("<p a=\"unclosed>b", "");
        check("<p =a==b c = d>e", "<p =a==b c = d>e");
        check("</p></div>a", "</p>a");
        check("<a/b/>c", "<a b />c");
        check("<script>never ends", "");
        check("<title>never ends", "<title>never ends</title>");
    }

    #[test]
    fn no_page_is_deeper_than_allowed() {
        let deep = format!("{}x{}y", "<div>".repeat(100_000), "</div>".repeat(100_000));
        let limited = limit_html(&deep);
        assert_eq!(limited.matches("<div>").count(), DEPTH_MAX);
        assert_eq!(limited.matches("</div>").count(), DEPTH_MAX);
        assert!(limited.contains('x') && limited.ends_with("</div>y"));
        // End tags that people leave out are no depth.
        for html in ["<p>a", "<li>a", "<dt>a<dd>b", "<tr><td>a<td>b", "<option>a", "<p><font>a", "<li><p>a"] {
            let limited = limit_html(&html.repeat(2_000));
            assert_eq!(limited.matches('a').count(), 2_000);
            assert_eq!(limited, html.repeat(2_000), "{html}");
        }
    }

    #[test]
    fn no_element_has_more_attributes_than_allowed() {
        let attributes: Vec<String> = (0..1_000_000).map(|number| format!("a{number}=1")).collect();
        let limited = limit_html(&format!("<p {}>x</p>", attributes.join(" ")));
        assert_eq!(limited.matches("=1").count(), ATTRIBUTES_MAX);
        assert!(limited.ends_with(">x</p>"));
    }

    #[test]
    fn no_page_has_more_elements_than_allowed() {
        let limited = limit_html(&"<b>x</b>".repeat(ELEMENTS_MAX + 1_000));
        assert_eq!(limited.matches("<b>").count(), ELEMENTS_MAX);
        assert_eq!(limited.matches('x').count(), ELEMENTS_MAX + 1_000);
    }

    proptest::proptest! {
        #[test]
        fn nothing_makes_it_fail(html in "([<>/!'\"= -]|<p|</p>|<!--|<li|[a-zé\u{0}\n]){0,200}") {
            limit_html(&html);
        }
    }
}
