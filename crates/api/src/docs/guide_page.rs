//! A guide as HTML.

use maud::{Markup, PreEscaped, html as markup};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// The page's text. Headings can be linked to, and links to other guides lead to their pages.
pub(super) fn main(markdown: &str) -> Markup {
    let events: Vec<Event<'_>> = Parser::new_ext(markdown, Options::ENABLE_TABLES).collect();
    let changed = events.iter().enumerate().map(|(index, event)| match event {
        Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
            let id = anchor(&heading(events.get(index..).unwrap_or_default()));
            let (classes, attrs) = (classes.clone(), attrs.clone());
            Event::Start(Tag::Heading { level: *level, id: Some(id.into()), classes, attrs })
        }
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => Event::Start(Tag::Link {
            link_type: *link_type,
            dest_url: page_of(dest_url),
            title: title.clone(),
            id: id.clone(),
        }),
        // Alignment would be a style of its own, which the page's policy forbids.
        Event::Start(Tag::Table(columns)) => {
            Event::Start(Tag::Table(vec![pulldown_cmark::Alignment::None; columns.len()]))
        }
        event => event.clone(),
    });
    let mut text = String::new();
    html::push_html(&mut text, changed);
    markup! { article.guide { (PreEscaped(text)) } }
}

/// Where a heading can be linked to.
pub(super) fn anchor(heading: &str) -> String {
    let kept = |character: &char| character.is_alphanumeric() || matches!(character, ' ' | '-' | '_');
    heading.to_lowercase().chars().filter(kept).collect::<String>().trim().replace(' ', "-")
}

/// The words of the heading that begins here.
fn heading(events: &[Event<'_>]) -> String {
    let inside = events.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let words = inside.filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
        _ => None,
    });
    words.collect()
}

/// `imports.md#limits` becomes `imports#limits`.
fn page_of<'a>(target: &CowStr<'a>) -> CowStr<'a> {
    if target.contains("://") {
        return target.clone();
    }
    let (page, anchor) =
        target.split_once('#').map_or((target.as_ref(), None), |(page, anchor)| (page, Some(anchor)));
    let page = page.strip_suffix(".md").unwrap_or(page);
    match anchor {
        Some(anchor) => format!("{page}#{anchor}").into(),
        None => page.to_owned().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guides_become_pages() {
        let check = |markdown: &str, html: &str| {
            assert_eq!(main(markdown).into_string(), format!("<article class=\"guide\">{html}</article>"));
        };
        check(
            "## In `the` background\n",
            "<h2 id=\"in-the-background\">In <code>the</code> background</h2>\n",
        );
        check("[a](b.md#c) [d](https://e)\n", "<p><a href=\"b#c\">a</a> <a href=\"https://e\">d</a></p>\n");
        assert!(!main("| a |\n|---:|\n| 1 |\n").into_string().contains("style"));
    }
}
