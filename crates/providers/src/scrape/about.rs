//! What else a page says about itself: whose it is, who wrote it and when, what things cost.
//!
//! Sources, in this order: structured data (JSON-LD), Microdata, Open Graph and other meta elements.

use std::collections::BTreeMap;

use scraper::{ElementRef, Html};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use super::contacts::{Contacts, Profile};
use super::head::{elements, line, meta};
use super::json_ld::{is_a, texts, things};
use super::links::{feeds, target};

const TEXT_CHARS_MAX: usize = 500;
const PRICES_MAX: usize = 50;
const META_MAX: usize = 100;
const META_BYTES_MAX: usize = 16 * 1024;

/// Everything is left out that the page does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct About {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub company: Option<Company>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logo: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub favicon: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// As the page writes it, usually ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_at: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<Price>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub emails: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phones: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<Profile>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub feeds: Vec<String>,
    /// All meta elements that have a name, the first of each.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub meta: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Company {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub address: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// As the page writes it.
    pub amount: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub currency: Option<String>,
}

pub(super) fn find(document: &Html, base: &Url, data: &[Value], contacts: &Contacts) -> About {
    let things = things(data);
    let property = |types: &[&str], name: &str| {
        let mut found =
            things.iter().filter(|thing| is_a(thing, types)).flat_map(|thing| texts(thing.get(name)));
        found.find_map(|text| line(&text, TEXT_CHARS_MAX))
    };
    let said = |names: &[&str]| meta(document, names, TEXT_CHARS_MAX);
    let item = |name: &str| item(document, name);
    let link = |wanted: &str| {
        let mut links = elements(document, "link").filter(|link| {
            let relations = link.value().attr("rel").unwrap_or_default();
            relations.split_whitespace().any(|relation| relation.eq_ignore_ascii_case(wanted))
        });
        links.find_map(|link| target(link.value().attr("href")?, base))
    };
    let whole = |address: String| target(&address, base);
    About {
        canonical_url: link("canonical").or_else(|| said(&["og:url"]).and_then(whole)),
        site_name: said(&["og:site_name", "application-name"]).or_else(|| property(&["WebSite"], "name")),
        company: company(document, &things),
        logo: property(ORGANIZATIONS, "logo")
            .and_then(whole)
            .or_else(|| item("logo").and_then(whole))
            .or_else(|| said(&["og:logo"]).and_then(whole)),
        favicon: link("icon").or_else(|| link("apple-touch-icon")),
        author: property(WORKS, "author")
            .or_else(|| said(&["author", "article:author", "dc.creator"]))
            .or_else(|| item("author")),
        published_at: property(WORKS, "datePublished")
            .or_else(|| said(&["article:published_time", "datePublished", "date", "dc.date", "pubdate"]))
            .or_else(|| item("datePublished")),
        modified_at: property(WORKS, "dateModified")
            .or_else(|| said(&["article:modified_time", "og:updated_time", "dateModified", "last-modified"]))
            .or_else(|| item("dateModified")),
        prices: prices(document, &things),
        emails: contacts.emails.clone(),
        phones: contacts.phones.clone(),
        profiles: contacts.profiles.clone(),
        feeds: feeds(document, base),
        meta: all_meta(document),
    }
}

const ORGANIZATIONS: &[&str] = &[
    "Organization",
    "Business",
    "Corporation",
    "Store",
    "Restaurant",
    "Hotel",
    "Company",
    "Agency",
    "Service",
];
const WORKS: &[&str] =
    &["Article", "Posting", "Page", "WebSite", "CreativeWork", "Recipe", "Book", "Course", "Video"];

type Things<'a> = [&'a Map<String, Value>];

fn company(document: &Html, things: &Things<'_>) -> Option<Company> {
    let named = |thing: &&&Map<String, Value>| is_a(thing, ORGANIZATIONS) && thing.get("name").is_some();
    let candidates: Vec<_> = things.iter().filter(named).collect();
    // One that says where it is is the page's own, not a publisher or a brand that it names.
    let told = candidates.iter().find(|thing| thing.get("address").is_some()).or(candidates.first());
    if let Some(thing) = told {
        let name = texts(thing.get("name")).into_iter().find_map(|name| line(&name, TEXT_CHARS_MAX))?;
        return Some(Company { name, address: thing.get("address").and_then(postal_address) });
    }
    let scope = elements_with(document, "itemtype", |kind| {
        let kind = kind.trim().rsplit('/').next().unwrap_or_default().to_owned();
        ORGANIZATIONS.iter().any(|known| kind.ends_with(known))
    });
    let mut scopes = scope.filter_map(|scope| {
        let name = property_of(scope, "name")?;
        Some(Company { name, address: property_of(scope, "address") })
    });
    scopes.next()
}

/// An address in one line, from its parts.
fn postal_address(value: &Value) -> Option<String> {
    let parts = match value {
        Value::Array(items) => return items.first().and_then(postal_address),
        Value::Object(map) => {
            ["streetAddress", "postalCode", "addressLocality", "addressRegion", "addressCountry"]
                .iter()
                .flat_map(|name| texts(map.get(*name)))
                .collect()
        }
        other => texts(Some(other)),
    };
    line(&parts.join(", "), TEXT_CHARS_MAX)
}

fn prices(document: &Html, things: &Things<'_>) -> Vec<Price> {
    let mut prices: Vec<Price> = Vec::new();
    let mut add = |amount: Option<String>, currency: Option<String>| {
        let amount = amount.filter(|amount| amount.contains(|letter: char| letter.is_ascii_digit()));
        let Some(amount) = amount.and_then(|amount| line(&amount, 50)) else { return };
        let price = Price { amount, currency: currency.and_then(|currency| line(&currency, 10)) };
        if prices.len() < PRICES_MAX && !prices.contains(&price) {
            prices.push(price);
        }
    };
    for thing in things {
        let first = |name: &str| texts(thing.get(name)).into_iter().next();
        let currency = first("priceCurrency");
        for name in ["price", "lowPrice", "highPrice"] {
            add(first(name), currency.clone());
        }
    }
    let said = |names: &[&str]| meta(document, names, TEXT_CHARS_MAX);
    add(
        said(&["product:price:amount", "og:price:amount"]),
        said(&["product:price:currency", "og:price:currency"]),
    );
    let currency = item(document, "priceCurrency");
    for element in elements_with(document, "itemprop", |name| name == "price") {
        add(words_of(element), currency.clone());
    }
    prices
}

fn all_meta(document: &Html) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut bytes_left = META_BYTES_MAX;
    for element in elements(document, "meta").map(|element| element.value()) {
        let name = ["name", "property", "itemprop", "http-equiv"]
            .iter()
            .find_map(|key| line(element.attr(key)?, 100));
        let content = element.attr("content").and_then(|content| line(content, 1_000));
        let Some((name, content)) = name.zip(content) else { continue };
        let bytes = name.len() + content.len();
        if found.len() < META_MAX && bytes <= bytes_left && !found.contains_key(&name) {
            bytes_left -= bytes;
            found.insert(name, content);
        }
    }
    found
}

/// The first item of Microdata with this name.
fn item(document: &Html, name: &str) -> Option<String> {
    elements_with(document, "itemprop", |found| found == name).find_map(words_of)
}

fn property_of(scope: ElementRef<'_>, name: &str) -> Option<String> {
    let mut inside = scope.descendants().filter_map(ElementRef::wrap);
    inside.find(|element| element.value().attr("itemprop") == Some(name)).and_then(words_of)
}

/// What an item of Microdata says: in an attribute, else in its words.
fn words_of(element: ElementRef<'_>) -> Option<String> {
    let attributes = ["content", "datetime", "src", "href"];
    let told = attributes.iter().find_map(|name| line(element.value().attr(name)?, TEXT_CHARS_MAX));
    let words = || {
        let words: Vec<&str> = element.text().collect();
        line(&words.join(" "), TEXT_CHARS_MAX)
    };
    told.or_else(words)
}

fn elements_with<'a>(
    document: &'a Html,
    attribute: &'static str,
    is_wanted: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = ElementRef<'a>> {
    let elements = document.tree.nodes().filter_map(ElementRef::wrap);
    elements.filter(move |element| element.value().attr(attribute).is_some_and(&is_wanted))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{contacts, json_ld};
    use super::*;

    fn check(html: &str, expected: &Value) {
        let base = Url::parse("https://acme.example/p/").unwrap();
        let document = Html::parse_document(html);
        let data = json_ld::read(&document);
        let mut found = find(&document, &base, &data, &contacts::find(&document, &base, &data));
        found.meta.clear();
        assert_eq!(serde_json::to_value(found).unwrap(), *expected, "{html}");
    }

    #[test]
    fn a_page_says_whose_it_is() {
        check(
            "<link rel=canonical href=/c><link rel='shortcut icon' href=f.ico><meta property=og:site_name content=Acme>
             <script type='application/ld+json'>[{\"@type\": \"Organization\", \"name\": \"Acme Ltd\", \"logo\":
             {\"@type\": \"ImageObject\", \"url\": \"/logo.svg\"}, \"telephone\": \"+1 555 0100\", \"address\":
             {\"streetAddress\": \"1 Mill Rd\", \"addressLocality\": \"York\", \"addressCountry\": {\"name\": \"UK\"}}},
             {\"@type\": \"Product\", \"offers\": {\"@type\": \"Offer\", \"price\": 9.5, \"priceCurrency\": \"GBP\"}},
             {\"@type\": \"BlogPosting\", \"author\": [{\"@type\": \"Person\", \"name\": \"Ada\"}],
             \"datePublished\": \"2026-01-02\"}]</script>",
            &json!({
                "canonicalUrl": "https://acme.example/c",
                "siteName": "Acme",
                "company": {"name": "Acme Ltd", "address": "1 Mill Rd, York, UK"},
                "logo": "https://acme.example/logo.svg",
                "favicon": "https://acme.example/p/f.ico",
                "author": "Ada",
                "publishedAt": "2026-01-02",
                "prices": [{"amount": "9.5", "currency": "GBP"}],
                "phones": ["+1 555 0100"],
            }),
        );
        check(
            "<div itemscope itemtype='https://schema.org/LocalBusiness'><b itemprop=name>Mill</b>
             <span itemprop=address><i>2 Rd</i> <i>Bath</i></span></div><i itemprop=price content=12>12</i>
             <meta itemprop=priceCurrency content=EUR>",
            &json!({
                "company": {"name": "Mill", "address": "2 Rd Bath"},
                "prices": [{"amount": "12", "currency": "EUR"}],
            }),
        );
        check("<p>Nothing</p>", &json!({}));
    }
}
