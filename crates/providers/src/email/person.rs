//! Who is looked for.

use serde_json::{Map, Value};
use url::{Host, Url};

/// A person with a domain and a name, as finders want them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Person {
    first: String,
    /// Empty if only one word of the name is known.
    last: String,
    full: String,
    domain: String,
}

impl Person {
    /// Makes a person of what a row holds, each part possibly empty. A missing full name is joined from
    /// its parts, missing parts are split from it, and the domain is taken out of a URL or an e-mail
    /// address. `None` if that leaves no domain, or neither a full name nor both parts.
    pub fn new(first: &str, last: &str, full: &str, domain: &str) -> Option<Self> {
        let domain = domain_of(domain)?;
        let (first, last, full) = (spaced(first), spaced(last), spaced(full));
        if full.is_empty() && (first.is_empty() || last.is_empty()) {
            return None;
        }
        let full = if full.is_empty() { format!("{first} {last}") } else { full };
        if !first.is_empty() && !last.is_empty() {
            return Some(Self { first, last, full, domain });
        }
        let (split_first, split_last) = split(&full);
        let first = if first.is_empty() { split_first } else { first };
        let last = if last.is_empty() { split_last } else { last };
        Some(Self { first, last, full, domain })
    }

    pub fn first(&self) -> &str {
        &self.first
    }

    pub fn last(&self) -> &str {
        &self.last
    }

    pub fn full(&self) -> &str {
        &self.full
    }

    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The name as parameters: both parts if both are known, else the whole under the given key.
    pub(super) fn name_pairs<'a>(&'a self, full_key: &'a str) -> Vec<(&'a str, &'a str)> {
        if self.first.is_empty() || self.last.is_empty() {
            return vec![(full_key, &self.full)];
        }
        vec![("first_name", &self.first), ("last_name", &self.last)]
    }

    pub(super) fn name_map(&self, full_key: &str) -> Map<String, Value> {
        let pairs = self.name_pairs(full_key);
        pairs.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect()
    }
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Words that belong to the family name after them.
const PARTICLES: [&str; 20] = [
    "al", "ben", "bin", "da", "de", "del", "della", "den", "der", "di", "do", "dos", "du", "el", "la", "le",
    "ter", "van", "von", "zu",
];
/// Words about a person that are no part of the name.
const TITLES: [&str; 16] = [
    "dr", "ing", "jr", "md", "mba", "miss", "mr", "mrs", "ms", "mx", "phd", "prof", "sir", "sr", "ii", "iii",
];

/// First and family name: the first word and the last, with the particles before it. Middle names are
/// left out, as they are in most addresses. `Lovelace, Ada` is turned round.
fn split(full: &str) -> (String, String) {
    if let Some((last, first)) = full.split_once(',') {
        let (first, last) = (words(first), words(last));
        if let (Some(first), false) = (first.first(), last.is_empty()) {
            return ((*first).to_owned(), last.join(" "));
        }
    }
    let words = words(full);
    let (Some(first), Some(rest)) = (words.first(), words.get(1..)) else { return Default::default() };
    let is_particle = |word: &&str| PARTICLES.contains(&word.to_lowercase().as_str());
    let before_last = rest.get(..rest.len().saturating_sub(1)).unwrap_or_default();
    let particles = before_last.iter().rev().take_while(|word| is_particle(word)).count();
    let last = rest.get(rest.len().saturating_sub(particles + 1)..).unwrap_or_default();
    ((*first).to_owned(), last.join(" "))
}

fn words(text: &str) -> Vec<&str> {
    let is_title = |word: &str| {
        let bare: String = word.chars().filter(|character| character.is_alphanumeric()).collect();
        bare.is_empty() || TITLES.contains(&bare.to_lowercase().as_str())
    };
    text.split([' ', ',']).filter(|word| !is_title(word)).collect()
}

/// The domain in a domain, a URL or an e-mail address, in lower case, IDNA-encoded, without `www.`.
pub(crate) fn domain_of(text: &str) -> Option<String> {
    let text = text.trim();
    let is_url = text.contains("://");
    let bare = match text.rsplit_once('@') {
        Some((_, after)) if !is_url => after.trim_end_matches(['>', ')', ' ']),
        _ => text,
    };
    let address = if is_url { bare.to_owned() } else { format!("http://{}", bare.trim_start_matches('/')) };
    let url = Url::parse(&address).ok()?;
    // Only http and its like have their host read as a domain.
    let Some(Host::Domain(host)) = url.host() else { return None };
    let host = host.trim_end_matches('.').to_lowercase();
    let host = host.strip_prefix("www.").filter(|rest| rest.contains('.')).unwrap_or(&host);
    let is_label = |label: &str| {
        let fits = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
        !label.is_empty() && label.len() <= 63 && label.chars().all(fits)
    };
    (host.contains('.') && host.len() <= 253 && host.split('.').all(is_label)).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_taken_out_of_what_people_have() {
        for (text, expected) in [
            ("acme.com", Some("acme.com")),
            (" WWW.Acme.COM. ", Some("acme.com")),
            ("https://www.acme.com/about?x=a@b.c", Some("acme.com")),
            ("http://user@acme.com:8080/", Some("acme.com")),
            ("//acme.com/x", Some("acme.com")),
            ("acme.com/team", Some("acme.com")),
            ("ada@acme.com", Some("acme.com")),
            ("Ada Lovelace <ada@acme.co.uk>", Some("acme.co.uk")),
            ("mailto:ada@acme.com", Some("acme.com")),
            ("shop.acme.com", Some("shop.acme.com")),
            ("bücher.example", Some("xn--bcher-kva.example")),
            ("www.com", Some("www.com")),
            ("localhost", None),
            ("127.0.0.1", None),
            ("http://[::1]/", None),
            ("Acme Inc", None),
            ("a..com", None),
            ("@", None),
            ("", None),
        ] {
            assert_eq!(domain_of(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn names_are_joined_and_split() {
        for (given, expected) in [
            (["Ada", "Lovelace", ""], Some(["Ada", "Lovelace", "Ada Lovelace"])),
            (["", "", "Ada Lovelace"], Some(["Ada", "Lovelace", "Ada Lovelace"])),
            (["Ada", "", " Ada  King  Lovelace "], Some(["Ada", "Lovelace", "Ada King Lovelace"])),
            (["", "King", "Ada Lovelace"], Some(["Ada", "King", "Ada Lovelace"])),
            (["A", "B", "C D"], Some(["A", "B", "C D"])),
            (["", "", "Ludwig van Beethoven"], Some(["Ludwig", "van Beethoven", "Ludwig van Beethoven"])),
            (["", "", "Oscar de la Renta"], Some(["Oscar", "de la Renta", "Oscar de la Renta"])),
            (["", "", "Lovelace, Ada"], Some(["Ada", "Lovelace", "Lovelace, Ada"])),
            (["", "", "Dr. Ada Lovelace, PhD"], Some(["Ada", "Lovelace", "Dr. Ada Lovelace, PhD"])),
            (["", "", "Madonna"], Some(["Madonna", "", "Madonna"])),
            (["Ada", "", ""], None),
            (["", "Lovelace", ""], None),
            (["", "", " "], None),
        ] {
            let [first, last, full] = given;
            let person = Person::new(first, last, full, "acme.com");
            let found = person.as_ref().map(|person| [person.first(), person.last(), person.full()]);
            assert_eq!(found, expected, "{given:?}");
        }
        assert_eq!(Person::new("Ada", "Lovelace", "", "Acme"), None);
    }
}
