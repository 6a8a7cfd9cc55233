//! How to reach whoever a page belongs to: e-mail addresses, telephone numbers, profiles in networks.
//!
//! The whole page counts, its footer included. What is written for programs (links, structured data) comes
//! first, then what stands in the text.

use std::collections::HashSet;

use percent_encoding::percent_decode_str;
use scraper::{Html, Node};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::boilerplate::Keep;
use super::head::elements;
use super::json_ld::{texts, things};
use super::kept_nodes::leaves;

const FOUND_MAX: usize = 100;
const EMAIL_CHARS_MAX: usize = 254;
const PROFILE_BYTES_MAX: usize = 500;
const NUMBER_CHARS_MAX: usize = 40;
/// The digits of a telephone number.
const DIGITS: std::ops::RangeInclusive<usize> = 7..=15;

/// Each once, in the page's order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contacts {
    pub emails: Vec<String>,
    pub phones: Vec<String>,
    pub profiles: Vec<Profile>,
}

/// A page in a social network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    pub network: String,
    pub url: String,
}

pub(super) fn find(document: &Html, base: &Url, data: &[Value]) -> Contacts {
    let mut found = Finder::default();
    for element in elements(document, "a").map(|element| element.value()) {
        if let Some(href) = element.attr("href") {
            found.link(href.trim(), base);
        }
    }
    for node in document.tree.nodes().filter_map(|node| node.value().as_element()) {
        node.attr("data-cfemail").and_then(unhidden).into_iter().for_each(|email| found.email(&email));
        let content = || node.attr("content").or_else(|| node.attr("href"));
        match node.attr("itemprop") {
            Some("telephone") => content().into_iter().for_each(|number| found.phone(number)),
            Some("email") => content().into_iter().for_each(|email| found.email(email)),
            Some("sameAs") => content().into_iter().for_each(|url| found.profile(url, base)),
            _ => {}
        }
    }
    for thing in things(data) {
        for email in texts(thing.get("email")) {
            found.email(&email);
        }
        for number in texts(thing.get("telephone")) {
            found.phone(&number);
        }
        for url in texts(thing.get("sameAs")) {
            found.profile(&url, base);
        }
    }
    for leaf in leaves(document.tree.root(), Keep::Everything) {
        let Some(node) = document.tree.get(leaf) else { continue };
        if let Node::Text(text) = node.value() {
            found.text(text);
        }
    }
    found.contacts
}

#[derive(Default)]
struct Finder {
    contacts: Contacts,
    seen: HashSet<String>,
}

impl Finder {
    fn link(&mut self, href: &str, base: &Url) {
        let after = |scheme: &str| {
            let start = href.get(..scheme.len()).filter(|start| start.eq_ignore_ascii_case(scheme))?;
            href.get(start.len()..)
        };
        if let Some(addresses) = after("mailto:") {
            let addresses = addresses.split('?').next().unwrap_or_default();
            let addresses = percent_decode_str(addresses).decode_utf8_lossy();
            addresses.split([',', ';']).for_each(|email| self.email(email));
        } else if let Some(number) = after("tel:") {
            let number =
                percent_decode_str(number.split([';', '?']).next().unwrap_or_default()).decode_utf8_lossy();
            self.phone(&number);
        } else if let Some(code) = href.rsplit_once("/cdn-cgi/l/email-protection#").map(|(_, code)| code) {
            if let Some(email) = unhidden(code) {
                self.email(&email);
            }
        } else {
            self.profile(href, base);
        }
    }

    fn email(&mut self, text: &str) {
        let email = text.trim().trim_start_matches("mailto:").trim_matches(['<', '>', '.', '"']);
        let Some((local, domain)) = email.rsplit_once('@') else { return };
        let email = format!("{local}@{}", domain.to_ascii_lowercase());
        let is_new = is_email(&email) && self.contacts.emails.len() < FOUND_MAX;
        if is_new && self.seen.insert(email.to_lowercase()) {
            self.contacts.emails.push(email);
        }
    }

    fn phone(&mut self, text: &str) {
        let number = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let digits: String = number.chars().filter(char::is_ascii_digit).collect();
        let is_number = DIGITS.contains(&digits.len())
            && number.chars().count() <= NUMBER_CHARS_MAX
            && number.chars().all(|letter| letter.is_ascii_digit() || " +-–()./".contains(letter));
        if is_number && self.contacts.phones.len() < FOUND_MAX && self.seen.insert(format!("tel:{digits}")) {
            self.contacts.phones.push(number);
        }
    }

    fn profile(&mut self, href: &str, base: &Url) {
        let Some(mut url) = base.join(href).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
        else {
            return;
        };
        let Some(network) = network(&url) else { return };
        url.set_fragment(None);
        let text = url.as_str().trim_end_matches('/').to_owned();
        let is_new = text.len() <= PROFILE_BYTES_MAX && self.contacts.profiles.len() < FOUND_MAX;
        if is_new && self.seen.insert(text.to_ascii_lowercase()) {
            self.contacts.profiles.push(Profile { network: network.to_owned(), url: url.into() });
        }
    }

    /// Addresses and numbers in a text.
    fn text(&mut self, text: &str) {
        for (place, _) in text.match_indices('@') {
            let (before, after) =
                (text.get(..place).unwrap_or_default(), text.get(place + 1..).unwrap_or_default());
            let is_local = |letter: char| letter.is_ascii_alphanumeric() || "._%+-".contains(letter);
            let local = before.get(before.trim_end_matches(is_local).len()..).unwrap_or_default();
            let is_domain = |letter: char| letter.is_ascii_alphanumeric() || ".-".contains(letter);
            let domain =
                after.get(..after.len() - after.trim_start_matches(is_domain).len()).unwrap_or_default();
            if local.len() <= 64 && domain.len() <= EMAIL_CHARS_MAX {
                self.email(&format!(
                    "{}@{}",
                    local.trim_start_matches('.'),
                    domain.trim_end_matches(['.', '-'])
                ));
            }
        }
        for (place, _) in text.match_indices('+') {
            let rest = text.get(place..).unwrap_or_default();
            let is_number = |letter: char| letter.is_ascii_digit() || " +-–()./\u{a0}".contains(letter);
            let number: String =
                rest.chars().take(NUMBER_CHARS_MAX).take_while(|letter| is_number(*letter)).collect();
            let number = number.trim_end_matches(|letter: char| !letter.is_ascii_digit());
            let starts = number.chars().nth(1).is_some_and(|letter| letter.is_ascii_digit() || letter == '(');
            if starts && number.matches('+').count() == 1 {
                self.phone(number);
            }
        }
    }
}

fn is_email(email: &str) -> bool {
    const FILES: [&str; 10] = ["png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "css", "js", "ico"];
    let Some((local, domain)) = email.rsplit_once('@') else { return false };
    let Some((name, top)) = domain.rsplit_once('.') else { return false };
    let is_top = (2..=24).contains(&top.len()) && top.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_plain = |text: &str| {
        !text.contains(|letter: char| letter.is_whitespace() || "<>()[],;:\\\"/@".contains(letter))
    };
    is_top
        && !top.bytes().all(|byte| byte.is_ascii_digit())
        && !FILES.contains(&top)
        && !local.is_empty()
        && !name.is_empty()
        && !name.starts_with('.')
        && email.chars().count() <= EMAIL_CHARS_MAX
        && is_plain(local)
        && is_plain(domain)
}

/// An address that Cloudflare hides from programs: its letters in hexadecimal, each combined with the first.
fn unhidden(code: &str) -> Option<String> {
    let is_code = code.len() > 4
        && code.len() <= 2 * EMAIL_CHARS_MAX
        && code.bytes().all(|byte| byte.is_ascii_hexdigit());
    let pairs = code.as_bytes().chunks_exact(2).filter_map(|pair| std::str::from_utf8(pair).ok());
    let mut bytes = pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok());
    let key = bytes.next().filter(|_| is_code)?;
    String::from_utf8(bytes.map(|byte| byte ^ key).collect()).ok()
}

const NETWORKS: [(&str, &str); 22] = [
    ("linkedin.com", "linkedin"),
    ("twitter.com", "x"),
    ("x.com", "x"),
    ("facebook.com", "facebook"),
    ("fb.com", "facebook"),
    ("instagram.com", "instagram"),
    ("youtube.com", "youtube"),
    ("tiktok.com", "tiktok"),
    ("github.com", "github"),
    ("gitlab.com", "gitlab"),
    ("xing.com", "xing"),
    ("pinterest.com", "pinterest"),
    ("threads.net", "threads"),
    ("threads.com", "threads"),
    ("bsky.app", "bluesky"),
    ("t.me", "telegram"),
    ("wa.me", "whatsapp"),
    ("discord.gg", "discord"),
    ("medium.com", "medium"),
    ("vimeo.com", "vimeo"),
    ("crunchbase.com", "crunchbase"),
    ("mastodon.social", "mastodon"),
];
/// First segments that lead to no profile.
const OTHERS: [&str; 22] = [
    "share",
    "sharer",
    "sharer.php",
    "share.php",
    "intent",
    "home",
    "hashtag",
    "search",
    "login",
    "signup",
    "dialog",
    "plugins",
    "watch",
    "embed",
    "explore",
    "about",
    "features",
    "pricing",
    "tr",
    "policies",
    "privacy",
    "p",
];

/// The network that an address is a profile in: not a post, and not a button that shares the page.
fn network(url: &Url) -> Option<&'static str> {
    let host = url.host_str()?;
    let (_, name) = NETWORKS.iter().find(|(domain, _)| {
        host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    })?;
    let segments: Vec<&str> = url.path_segments()?.filter(|segment| !segment.is_empty()).collect();
    let first = segments.first()?.to_ascii_lowercase();
    let is_profile = match *name {
        "linkedin" => {
            matches!(first.as_str(), "company" | "in" | "school" | "showcase") && segments.len() >= 2
        }
        "youtube" => first.starts_with('@') || matches!(first.as_str(), "channel" | "c" | "user"),
        "tiktok" | "medium" | "mastodon" | "threads" => first.starts_with('@') && segments.len() == 1,
        "crunchbase" => first == "organization",
        "bluesky" => first == "profile" && segments.len() == 2,
        "facebook" => {
            matches!(first.as_str(), "pages" | "people" | "groups" | "profile.php") || segments.len() == 1
        }
        "xing" => segments.len() >= 2,
        _ => segments.len() == 1,
    };
    (is_profile && !OTHERS.contains(&first.as_str())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(html: &str) -> Contacts {
        let base = Url::parse("https://acme.example/").unwrap();
        let document = Html::parse_document(html);
        let data = super::super::json_ld::read(&document);
        find(&document, &base, &data)
    }

    #[test]
    fn the_whole_page_is_searched() {
        let contacts = found(
            "<p>Write to Sales@Acme.Example, or call +49 (30) 123-45.</p><img src=logo@2x.png>
             <footer><a href='mailto:hello%40acme.example?subject=x'>Mail</a><a href='TEL:+1-555-0100'>Call</a>
             <a href='/cdn-cgi/l/email-protection' data-cfemail='423527200223212f276c273a232f322e27'>x</a>
             <a href='https://www.linkedin.com/company/acme/'>in</a><a href='https://x.com/acme?s=1#top'>x</a>
             <a href='https://twitter.com/intent/tweet?text=a'>share</a><a href='//github.com/acme'>git</a>
             <a href='https://github.com/acme/repo'>repo</a><a href='https://notx.com/acme'>no</a></footer>
             <script type='application/ld+json'>{\"@type\": \"Organization\", \"telephone\": \"030 999 888\",
             \"email\": \"mailto:info@acme.example\", \"sameAs\": [\"https://www.youtube.com/@acme\"]}</script>",
        );
        assert_eq!(
            contacts.emails,
            ["hello@acme.example", "web@acme.example", "info@acme.example", "Sales@acme.example"]
        );
        assert_eq!(contacts.phones, ["+1-555-0100", "030 999 888", "+49 (30) 123-45"]);
        let profiles: Vec<_> = contacts.profiles.iter().map(|profile| profile.network.as_str()).collect();
        assert_eq!(profiles, ["linkedin", "x", "github", "youtube"]);
        assert_eq!(contacts.profiles[1].url, "https://x.com/acme?s=1");
    }

    #[test]
    fn what_only_looks_alike_is_left() {
        let contacts = found(
            "<p>a@b @acme icon@2x.png 1+1=2 C++ +1 user@host foo@bar.123 x @ y.z 2024-01-02 10:00+02:00</p>
             <a href='mailto:'>x</a><a href='tel:123'>x</a><a href='https://www.linkedin.com/'>x</a>",
        );
        assert_eq!(contacts, Contacts::default());
    }

    #[test]
    fn contacts_are_bounded() {
        let many: Vec<String> = (0..5_000).map(|number| format!("a{number}@b.example ")).collect();
        assert_eq!(found(&many.concat()).emails.len(), FOUND_MAX);
        found(&format!("{}@{}", "a".repeat(500_000), "b.".repeat(500_000)));
        found(&"@+".repeat(200_000));
        found(&"+".repeat(400_000));
    }
}
