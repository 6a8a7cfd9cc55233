//! Feeds (RSS, Atom, JSON Feed): what a site published, as a list.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::head::line;
use super::links::target;

/// Nobody reads more of a feed, and a cell's value has a limit.
const ITEMS_MAX: usize = 500;
const TEXT_CHARS_MAX: usize = 500;
const SUMMARY_CHARS_MAX: usize = 2_000;
/// What is gathered for one field before it is cut.
const FIELD_BYTES_MAX: usize = 64 * 1024;
/// Elements inside each other.
const DEPTH_MAX: usize = 64;

/// What a feed says of itself, and what it lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Feed {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) language: Option<String>,
    pub(super) items: Vec<Item>,
}

/// One entry of a feed. What it does not say is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Item {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// As the feed writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Plain text, the beginning of a long one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// Reads a text as a feed, if it is one that lists something.
pub(super) fn read(text: &str, base: &Url) -> Option<Feed> {
    let start = text.trim_start();
    let feed = match start.chars().next()? {
        '<' => of_xml(start, base)?,
        '{' if start.contains("jsonfeed.org/version/") => of_json(&serde_json::from_str(start).ok()?, base),
        _ => return None,
    };
    (!feed.items.is_empty()).then_some(feed)
}

/// The feed as a page: a list of links with what they say.
pub(super) fn html(feed: &Feed) -> String {
    let mut out = String::new();
    for (tag, text) in [("h1", &feed.title), ("p", &feed.description)] {
        if let Some(text) = text {
            out.push_str(&["<", tag, ">", &escaped(text), "</", tag, ">"].concat());
        }
    }
    out.push_str("<ul>");
    for Item { title, url, published_at, author, summary } in &feed.items {
        let title = title.as_ref().or(url.as_ref()).map(|title| escaped(title)).unwrap_or_default();
        out.push_str("<li>");
        match url {
            Some(url) => out.push_str(&["<a href=\"", &escaped(url), "\">", &title, "</a>"].concat()),
            None => out.push_str(&title),
        }
        for text in [published_at, author].into_iter().flatten() {
            out.push_str(&[", ", &escaped(text)].concat());
        }
        if let Some(summary) = summary {
            out.push_str(&["<p>", &escaped(summary), "</p>"].concat());
        }
        out.push_str("</li>");
    }
    out + "</ul>"
}

/// The elements that count, by their names in RSS and in Atom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Title,
    Link,
    Date,
    /// Counts where no better date is there.
    Changed,
    Author,
    Summary,
    /// Counts where there is no summary.
    Content,
    Language,
}

fn field(name: &str) -> Option<Field> {
    Some(match name {
        "title" => Field::Title,
        "link" => Field::Link,
        "pubDate" | "published" | "date" => Field::Date,
        "updated" => Field::Changed,
        "author" | "creator" => Field::Author,
        "description" | "summary" | "subtitle" => Field::Summary,
        "content" | "encoded" => Field::Content,
        "language" => Field::Language,
        _ => return None,
    })
}

/// What was gathered of the feed itself, or of one of its items.
#[derive(Debug, Default)]
struct Gathered(Vec<(Field, String)>);

impl Gathered {
    /// The first text of the first of these fields that says something.
    fn text(&self, fields: &[Field], chars_max: usize) -> Option<String> {
        let of = |field: &Field| {
            self.0.iter().filter(|(found, _)| found == field).find_map(|(_, text)| plain(text, chars_max))
        };
        fields.iter().find_map(of)
    }

    fn item(&self, base: &Url) -> Option<Item> {
        let links = self.0.iter().filter(|(field, _)| *field == Field::Link);
        let item = Item {
            title: self.text(&[Field::Title], TEXT_CHARS_MAX),
            url: links.filter(|(_, link)| !link.trim().is_empty()).find_map(|(_, link)| target(link, base)),
            published_at: self.text(&[Field::Date, Field::Changed], TEXT_CHARS_MAX),
            author: self.text(&[Field::Author], TEXT_CHARS_MAX),
            summary: self.text(&[Field::Summary, Field::Content], SUMMARY_CHARS_MAX),
        };
        (item.title.is_some() || item.url.is_some() || item.summary.is_some()).then_some(item)
    }
}

/// Reads events of the XML until its end, or until it breaks. Entities that a document declares are not read, so none
/// can grow.
fn of_xml(text: &str, base: &Url) -> Option<Feed> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = false;
    let (mut names, mut feed): (Vec<String>, Feed) = (Vec::new(), Feed::default());
    let (mut of_feed, mut of_item, mut open) =
        (Gathered::default(), None::<Gathered>, None::<(Field, usize, String)>);
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(start) => {
                let name = start.local_name().as_ref().to_owned();
                names.push(name.clone());
                add(&mut open, &names, " ");
                if names.len() == 1 && !matches!(name.as_str(), "rss" | "feed" | "RDF") {
                    return None;
                }
                if names.len() > DEPTH_MAX {
                    break;
                }
                if open.is_none() && matches!(name.as_str(), "item" | "entry") {
                    of_item = Some(Gathered::default());
                } else if open.is_none()
                    && let Some(field) = field(&name).filter(|_| is_own(&names, of_item.is_some()))
                {
                    open = Some((field, names.len(), address(&start).unwrap_or_default()));
                }
            }
            Event::Empty(start) if start.local_name().as_ref() == "link" && open.is_none() => {
                let gathered = of_item.as_mut().unwrap_or(&mut of_feed);
                gathered.0.extend(address(&start).map(|link| (Field::Link, link)));
            }
            Event::End(_) => {
                if let Some((field, _, words)) = open.take_if(|(_, depth, _)| *depth >= names.len()) {
                    of_item.as_mut().unwrap_or(&mut of_feed).0.push((field, words));
                }
                if names.pop().is_some_and(|name| matches!(name.as_str(), "item" | "entry")) && open.is_none()
                {
                    feed.items.extend(of_item.take().and_then(|item| item.item(base)));
                }
                if feed.items.len() == ITEMS_MAX {
                    break;
                }
            }
            Event::Text(text) => add(&mut open, &names, &text),
            Event::CData(text) => add(&mut open, &names, &text),
            Event::GeneralRef(entity) => add(&mut open, &names, &["&", &entity, ";"].concat()),
            Event::Eof => break,
            _ => {}
        }
    }
    feed.title = of_feed.text(&[Field::Title], TEXT_CHARS_MAX);
    feed.description = of_feed.text(&[Field::Summary], SUMMARY_CHARS_MAX);
    feed.language = of_feed.text(&[Field::Language], TEXT_CHARS_MAX);
    Some(feed)
}

/// Whether an element is one of the feed or of its item, and not of a picture or a person in it.
fn is_own(names: &[String], is_in_item: bool) -> bool {
    let parent = names.len().checked_sub(2).and_then(|place| names.get(place)).map(String::as_str);
    match parent {
        Some("item" | "entry") => is_in_item,
        Some("channel" | "feed") => !is_in_item,
        _ => false,
    }
}

/// Where a link of Atom leads, unless it leads to something else than the page.
fn address(start: &BytesStart<'_>) -> Option<String> {
    let attribute = |name: &str| Some(start.try_get_attribute(name).ok()??.value.into_owned());
    let relation = attribute("rel");
    relation.is_none_or(|relation| relation == "alternate").then(|| attribute("href"))?
}

/// Adds words to the field that is open. A person in it is more than a name.
fn add(open: &mut Option<(Field, usize, String)>, names: &[String], words: &str) {
    let Some((field, depth, text)) = open else { return };
    let is_inside = names.len() > *depth && names.last().is_some_and(|name| name != "name");
    if *field == Field::Author && is_inside {
        return;
    }
    let room = FIELD_BYTES_MAX.saturating_sub(text.len());
    text.push_str(words.get(..words.floor_char_boundary(room)).unwrap_or_default());
}

fn of_json(feed: &Value, base: &Url) -> Feed {
    let text = |value: &Value, names: &[&str], chars_max: usize| {
        names.iter().find_map(|name| plain(value.get(*name)?.as_str()?, chars_max))
    };
    let items = feed.get("items").and_then(Value::as_array).into_iter().flatten().take(ITEMS_MAX);
    let item = |item: &Value| Item {
        title: text(item, &["title"], TEXT_CHARS_MAX),
        url: item.get("url").and_then(|url| target(url.as_str()?, base)),
        published_at: text(item, &["date_published", "date_modified"], TEXT_CHARS_MAX),
        author: item
            .pointer("/authors/0")
            .or(item.get("author"))
            .and_then(|who| text(who, &["name"], TEXT_CHARS_MAX)),
        summary: text(item, &["summary", "content_text", "content_html"], SUMMARY_CHARS_MAX),
    };
    Feed {
        title: text(feed, &["title"], TEXT_CHARS_MAX),
        description: text(feed, &["description"], SUMMARY_CHARS_MAX),
        language: text(feed, &["language"], TEXT_CHARS_MAX),
        items: items.map(item).collect(),
    }
}

/// The words of a text that may be HTML, or may be written with entities once or twice.
fn plain(text: &str, chars_max: usize) -> Option<String> {
    let words = |html: &str| {
        let fragment = scraper::Html::parse_fragment(&super::html_limits::limit_html(html));
        fragment.root_element().text().collect::<Vec<_>>().join(" ")
    };
    let once = if text.contains(['<', '&']) { words(text) } else { text.to_owned() };
    let is_html = once.contains("</") || once.contains("/>") || (once.contains('&') && once.contains(';'));
    let twice = if is_html { words(&once) } else { once };
    line(&twice, chars_max)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RSS: &str =
        "<?xml version='1.0'?><rss version='2.0' xmlns:dc='x'><channel><title>Mill &amp; co</title>
        <link>https://example.com/</link><description>News</description><language>en</language>
        <image><title>Logo</title><link>https://example.com/logo</link></image>
        <item><title><![CDATA[Rye <b>bread</b>]]></title><link>/rye</link><pubDate>Mon, 02 Nov 2026</pubDate>
        <dc:creator>Ada</dc:creator><description>&lt;p&gt;Fresh &amp;amp; warm&lt;/p&gt;</description></item>
        <item><title>Wheat</title><link>https://example.com/wheat</link></item><item></item></channel></rss>";
    const ATOM: &str =
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>Mill</title><subtitle>News</subtitle>
        <link rel='self' href='/feed'/><author><name>Nobody</name></author>
        <entry><title type='html'>Rye</title><link rel='edit' href='/edit'/><link href='/rye'/>
        <updated>2026-11-02</updated><author><name>Ada</name><uri>x</uri></author>
        <content type='xhtml'><div><p>Fresh</p><p>warm</p></div></content></entry></feed>";

    fn feed(text: &str) -> Option<Feed> {
        read(text, &Url::parse("https://example.com/news").unwrap())
    }

    #[test]
    fn every_kind_of_feed_is_read() {
        let found = feed(RSS).unwrap();
        assert_eq!((found.title.as_deref(), found.language.as_deref()), (Some("Mill & co"), Some("en")));
        let texts = |item: &Item| {
            let Item { title, url, published_at, author, summary } = item.clone();
            [title, url, published_at, author, summary].map(Option::unwrap_or_default).join("|")
        };
        assert_eq!(
            texts(&found.items[0]),
            "Rye bread|https://example.com/rye|Mon, 02 Nov 2026|Ada|Fresh & warm"
        );
        assert_eq!(found.items.len(), 2);
        let found = feed(ATOM).unwrap();
        assert_eq!(found.description.as_deref(), Some("News"));
        assert!(
            texts(&found.items[0]).starts_with("Rye|https://example.com/rye|2026-11-02|Ada"),
            "{found:?}"
        );
        assert!(found.items[0].summary.as_ref().unwrap().starts_with("Fresh"), "{found:?}");
        let json = "{\"version\": \"https://jsonfeed.org/version/1.1\", \"title\": \"Mill\", \"items\": [{\"id\": \"1\",
            \"url\": \"/rye\", \"content_html\": \"<p>Fresh</p>\", \"authors\": [{\"name\": \"Ada\"}]}]}";
        assert_eq!(texts(&feed(json).unwrap().items[0]), "|https://example.com/rye||Ada|Fresh");
        let rdf = "<rdf:RDF xmlns:rdf='x'><channel><title>M</title></channel><item><title>Rye</title></item></rdf:RDF>";
        assert_eq!(texts(&feed(rdf).unwrap().items[0]), "Rye||||");
        let shown = html(&feed(RSS).unwrap());
        assert!(shown.contains("<li><a href=\"https://example.com/rye\">Rye bread</a>, Mon, 02 Nov 2026, Ada<p>Fresh &amp; warm</p></li>"), "{shown}");
    }

    #[test]
    fn what_is_no_feed_is_none() {
        for text in [
            "",
            "words",
            "{}",
            "<feed/>",
            "<html><title>x</title></html>",
            "<rss><channel/></rss>",
            "<rss",
            "<a><b>",
        ] {
            assert_eq!(feed(text), None, "{text}");
        }
    }

    #[test]
    fn hostile_feeds_are_bounded() {
        let many = format!("<rss><channel>{}", "<item><title>x</title></item>".repeat(10_000));
        assert_eq!(feed(&many).unwrap().items.len(), ITEMS_MAX);
        let long =
            format!("<rss><channel><item><title>x</title><description>{}", "many words ".repeat(100_000));
        assert_eq!(feed(&(long + "</description></item>")).unwrap().items.len(), 1);
        assert_eq!(feed(&format!("<rss>{}", "<channel>".repeat(100_000))), None);
        let entities = "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><rss><channel><item><title>&b;&b;</title></item></channel></rss>";
        let title = feed(entities).unwrap().items.remove(0).title.unwrap();
        assert!(title.len() < 20, "{title}");
    }
}
