//! Bytes to text, by whatever says best which characters they are.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Where a page may declare its characters; browsers look no further.
const DECLARATION_BYTES_MAX: usize = 4096;

/// Reads a body as text: its byte order mark counts first, then what the `Content-Type` header says, then
/// what the page says itself, then what its letters look like in the country of its host.
pub(super) fn decode(body: &[u8], content_type: &str, host: Option<&str>) -> String {
    let encoding = Encoding::for_bom(body)
        .map(|(encoding, _)| encoding)
        .or_else(|| of_content_type(content_type))
        .or_else(|| declared(body))
        .unwrap_or_else(|| guessed(body, host));
    let (text, _, _) = encoding.decode(body);
    text.into_owned()
}

fn of_content_type(content_type: &str) -> Option<&'static Encoding> {
    let mut parameters = content_type.split(';').skip(1);
    parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let label = value.trim().trim_matches(['"', '\'']);
        name.trim().eq_ignore_ascii_case("charset").then(|| Encoding::for_label(label.as_bytes()))?
    })
}

/// `<meta charset=…>`, `<meta http-equiv … content="…; charset=…">` or `<?xml encoding="…"?>`.
fn declared(body: &[u8]) -> Option<&'static Encoding> {
    let head = body.get(..DECLARATION_BYTES_MAX).unwrap_or(body);
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let xml = head.trim_start().strip_prefix("<?xml").and_then(|rest| rest.split('>').next());
    let tags = head.match_indices("<meta").filter_map(|(start, _)| head.get(start..)?.split('>').next());
    let labels = xml
        .and_then(|declaration| after(declaration, "encoding"))
        .into_iter()
        .chain(tags.filter_map(|tag| after(tag, "charset")));
    labels.filter_map(|label| Encoding::for_label(label.as_bytes())).map(plausible).next()
}

/// The value after a name and an equals sign, quoted or not.
fn after<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(name)?;
    let value = rest.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    value.split(['"', '\'', ';', ' ', '/', '\n', '\r', '\t']).next()
}

/// A declaration that could be read as ASCII does not stand in UTF-16, whatever it says.
fn plausible(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding.name() == "x-user-defined" {
        WINDOWS_1252
    } else {
        encoding
    }
}

fn guessed(body: &[u8], host: Option<&str>) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(body, true);
    let country = host.and_then(|host| host.rsplit('.').next()).filter(|label| is_country(label));
    detector.guess(country.map(str::as_bytes), Utf8Detection::Allow)
}

/// The detector wants a label as it stands in DNS, in lower case.
fn is_country(label: &str) -> bool {
    !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_witness_is_heard() {
        let cases: [(&[u8], &str, &str); 12] = [
            (b"\xef\xbb\xbfd\xc3\xa9j\xc3\xa0", "text/html; charset=latin1", "d\u{e9}j\u{e0}"),
            (b"\xff\xfea\0\xe9\0", "text/html", "a\u{e9}"),
            (b"caf\xe9", "text/html; charset=ISO-8859-1", "caf\u{e9}"),
            (b"caf\xe9", "text/html;version=1; Charset = \"windows-1252\" ", "caf\u{e9}"),
            (b"<meta charset=koi8-r>\xc1", "text/html", "<meta charset=koi8-r>\u{430}"),
            (b"<META content='text/html; charset=shift_jis'>\x82\xa0", "", "\u{3042}"),
            (b"<?xml version='1.0' encoding='iso-8859-15'?>\xa4", "text/xml", "\u{20ac}"),
            (b"<meta charset=utf-16>\xc3\xa9", "", "\u{e9}"),
            (b"<meta charset=nonsense>caf\xc3\xa9", "text/html; charset=nonsense", "caf\u{e9}"),
            ("Grüße aus Köln".as_bytes(), "", "Grüße aus Köln"),
            (b"", "", ""),
            (b"a\xffb", "text/html; charset=utf-8", "a\u{fffd}b"),
        ];
        for (body, content_type, expected) in cases {
            let text = decode(body, content_type, None);
            assert!(text.ends_with(expected), "{text} is not {expected}");
        }
    }

    #[test]
    fn letters_are_guessed() {
        let (russian, _, _) = encoding_rs::WINDOWS_1251.encode("Съешь же ещё этих мягких французских булок");
        assert!(decode(&russian, "text/html", Some("example.ru")).starts_with("Съешь"));
        let (greek, _, _) = encoding_rs::ISO_8859_7.encode("Καλημέρα κόσμε, τι κάνετε σήμερα;");
        assert!(decode(&greek, "text/html", Some("example.gr")).starts_with("Καλημέρα"));
    }
}
