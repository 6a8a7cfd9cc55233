//! An address that is to be verified.

use email_address::{EmailAddress, Options};
use url::Host;

/// An e-mail address that is written as addresses are (RFC 5321), its domain in lower case and IDNA-encoded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    email: String,
    at: usize,
}

/// The longest whole address (RFC 5321).
const BYTES_MAX: usize = 254;

impl Address {
    /// Reads an address as it stands in a cell: `ada@acme.com`, `mailto:ada@acme.com`, `Ada <ada@acme.com>`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = bare(text);
        let options =
            Options::default().with_minimum_sub_domains(2).without_domain_literal().without_display_text();
        EmailAddress::parse_with_options(text, options).ok()?;
        let (local, domain) = text.rsplit_once('@')?;
        let Ok(Host::Domain(domain)) = Host::parse(domain) else { return None };
        let domain = domain.trim_end_matches('.').to_lowercase();
        let email = format!("{local}@{domain}");
        let fits = email.len() <= BYTES_MAX && domain.contains('.');
        fits.then_some(Self { at: local.len(), email })
    }

    pub fn email(&self) -> &str {
        &self.email
    }

    pub(super) fn local(&self) -> &str {
        self.email.get(..self.at).unwrap_or_default()
    }

    pub(super) fn domain(&self) -> &str {
        self.email.get(self.at + 1..).unwrap_or_default()
    }
}

/// The text without what people put around an address.
fn bare(text: &str) -> &str {
    let text = text.trim();
    // Before the bracket stands a name, and no second address.
    let named = text.strip_suffix('>').and_then(|text| text.rsplit_once('<'));
    let inner =
        named.filter(|(name, _)| !name.contains(['@', '\r', '\n', '<'])).map(|(_, inner)| inner.trim());
    let text = inner.unwrap_or(text);
    let is_link = text.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("mailto:"));
    if is_link { text.get(7..).unwrap_or_default().trim() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_an_address() {
        for (text, expected) in [
            ("ada@acme.com", Some("ada@acme.com")),
            (" Ada.L+x@ACME.com \n", Some("Ada.L+x@acme.com")),
            ("mailto:ada@acme.com", Some("ada@acme.com")),
            ("Ada Lovelace <ada@acme.com>", Some("ada@acme.com")),
            ("jürgen@müller.de", Some("jürgen@xn--mller-kva.de")),
            ("", None),
            ("ada", None),
            ("@acme.com", None),
            ("ada@", None),
            ("ada@acme", None),
            ("ada@acme..com", None),
            (".ada@acme.com", None),
            ("ada lovelace@acme.com", None),
            ("ada@[127.0.0.1]", None),
            ("ada@127.0.0.1", None),
            ("a@b.com, c@d.com", None),
            ("ada@acme.com\r\nRCPT TO:<x@y.z>", None),
        ] {
            let address = Address::parse(text);
            assert_eq!(address.as_ref().map(Address::email), expected, "{text:?}");
        }
        assert_eq!(Address::parse(&format!("{}@acme.com", "a".repeat(65))), None);
        assert_eq!(Address::parse(&format!("ada@{}.com", "a.".repeat(130))), None);
        let address = Address::parse("ada@acme.com").unwrap();
        assert_eq!((address.local(), address.domain()), ("ada", "acme.com"));
    }
}
