//! The name that this program gives itself when a table makes a request.

use std::sync::Arc;

use reqwest::header::HeaderValue;

/// The name of providers' own APIs, and of pages unless the operator gives another one.
pub(super) const DEFAULT: &str = concat!("rowmill/", env!("CARGO_PKG_VERSION"));
const CHARS_MAX: usize = 200;
/// The product names of RFC 9309 are shorter.
const PRODUCT_CHARS_MAX: usize = 64;

/// Who asks: a program with a version, and where people can read about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserAgent {
    text: Arc<str>,
    product: Arc<str>,
}

impl Default for UserAgent {
    fn default() -> Self {
        Self { text: DEFAULT.into(), product: "rowmill".into() }
    }
}

impl UserAgent {
    /// Reads what an operator gives, such as `AcmeBot/1.0 (+https://acme.example/bot)`. Empty is the usual name.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self::default());
        }
        if text.chars().count() > CHARS_MAX || !text.is_ascii() || HeaderValue::from_str(text).is_err() {
            return Err(format!("a user agent is one line of at most {CHARS_MAX} ASCII characters"));
        }
        // Programs that must look like a browser say who they are in brackets.
        let own = match (text.starts_with("Mozilla/"), text.split_once("compatible;")) {
            (true, None) => {
                return Err("a user agent says who asks, and does not pretend to be a browser".to_owned());
            }
            (true, Some((_, own))) => own,
            (false, _) => text,
        };
        let product = own.trim().split(['/', ' ', ';', ')']).next().unwrap_or_default();
        let is_product = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
        if product.is_empty() || product.len() > PRODUCT_CHARS_MAX || !product.chars().all(is_product) {
            return Err(
                "a user agent begins with a name, such as AcmeBot/1.0 (+https://acme.example/bot)".to_owned()
            );
        }
        Ok(Self { text: text.into(), product: product.into() })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The name that the rules of a site (robots.txt) are for.
    pub(crate) fn product(&self) -> &str {
        &self.product
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_honest() {
        for (text, product) in [
            ("", Some("rowmill")),
            ("AcmeBot/1.0 (+https://acme.example/bot)", Some("AcmeBot")),
            (" acme-bot ", Some("acme-bot")),
            ("Mozilla/5.0 (compatible; AcmeBot/2.1; +https://acme.example/bot)", Some("AcmeBot")),
            ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36", None),
            ("Müller/1.0", None),
            ("a\nb", None),
            ("(nobody)", None),
            ("/1.0", None),
        ] {
            let read = UserAgent::parse(text);
            assert_eq!(read.as_ref().ok().map(UserAgent::product), product, "{text}: {read:?}");
        }
        assert!(UserAgent::parse(&"a".repeat(201)).is_err() && UserAgent::parse(&"a".repeat(100)).is_err());
    }
}
