//! Which company is meant, and whom of it to look for.

use crate::email::domain_of;

/// A company by its domain, or by its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CompanyQuery {
    domain: Option<String>,
    name: Option<String>,
}

/// The longest name of a company, or title of a person, that is asked for.
const NAME_CHARS_MAX: usize = 200;
/// How many titles are asked for.
const TITLES_MAX: usize = 20;

impl CompanyQuery {
    /// The domain may stand in a URL or an e-mail address. `None` if there is neither.
    pub fn new(domain: &str, name: &str) -> Option<Self> {
        let query = Self { domain: domain_of(domain), name: words(name) };
        (query.domain.is_some() || query.name.is_some()).then_some(query)
    }

    pub fn domain(&self) -> Option<&str> {
        self.domain.as_deref()
    }

    /// The name, which is asked for only where there is no domain.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

/// People of a company.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PeopleQuery {
    pub company: CompanyQuery,
    /// Whoever has a title with one of these in it; anybody if there are none.
    pub titles: Vec<String>,
    pub limit: usize,
}

impl PeopleQuery {
    /// `titles` are separated by commas.
    pub fn new(company: CompanyQuery, titles: &str, limit: usize) -> Self {
        let titles = titles.split([',', ';', '\n']).filter_map(words).take(TITLES_MAX).collect();
        Self { company, titles, limit }
    }
}

fn words(text: &str) -> Option<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then(|| text.chars().take(NAME_CHARS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_company_has_a_domain_or_a_name() {
        for (domain, name, expected) in [
            ("https://www.acme.com/about", " Acme  Inc ", Some((Some("acme.com"), Some("Acme Inc")))),
            ("ada@acme.com", "", Some((Some("acme.com"), None))),
            ("Acme", "Acme", Some((None, Some("Acme")))),
            ("", " ", None),
        ] {
            let query = CompanyQuery::new(domain, name);
            let found = query.as_ref().map(|query| (query.domain(), query.name()));
            assert_eq!(found, expected, "{domain} {name}");
        }
        let company = CompanyQuery::new("acme.com", "").unwrap();
        assert_eq!(PeopleQuery::new(company, "CEO, Head of  Sales,,", 5).titles, ["CEO", "Head of Sales"]);
    }
}
