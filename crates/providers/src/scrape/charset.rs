//! Bytes to text, by whatever says best which characters they are.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Where a page may declare its characters; browsers look no further.
const DECLARATION_BYTES_MAX: usize = 4096;

/// So many characters are not UTF-8 by chance, whatever encoding they may be written in.
const SEQUENCES_CERTAIN: usize = 8;

/// Reads a body as text: its byte order mark counts first, then what the `Content-Type` header says, then
/// what the page says itself, then what its letters look like in the country of its host.
///
/// Servers name an encoding for all pages, whichever they are written in. So the bytes have a say: what is UTF-8 by
/// all its rules is read as UTF-8, and what breaks them is not.
pub(super) fn decode(body: &[u8], content_type: &str, host: Option<&str>) -> String {
    let marked = Encoding::for_bom(body).map(|(encoding, _)| encoding);
    let (text, _, _) = marked.unwrap_or_else(|| unmarked(body, content_type, host)).decode(body);
    text.into_owned()
}

fn unmarked(body: &[u8], content_type: &str, host: Option<&str>) -> &'static Encoding {
    let Utf8 { sequences, flaws } = Utf8::count(body);
    let mut told = of_content_type(content_type).into_iter().chain(declared(body));
    let is_utf8 = sequences > 0 && flaws == 0;
    let fits = |encoding: &&'static Encoding| {
        if *encoding == UTF_8 {
            // A few bytes may be broken.
            flaws <= sequences
        } else if is_utf8 {
            let is_by_chance = sequences < SEQUENCES_CERTAIN && !encoding.is_single_byte();
            is_by_chance && encoding.decode_without_bom_handling_and_without_replacement(body).is_some()
        } else {
            true
        }
    };
    match told.find(fits) {
        Some(encoding) => encoding,
        // Nobody says what it is, and nearly all of it is this.
        None if sequences > 0 && flaws * 10 <= sequences => UTF_8,
        None => {
            guessed(body, host, if flaws > sequences { Utf8Detection::Deny } else { Utf8Detection::Allow })
        }
    }
}

/// How a body would do as UTF-8.
struct Utf8 {
    /// Characters of more than one byte.
    sequences: usize,
    /// Places that break the rules. An end that is cut off is none.
    flaws: usize,
}

impl Utf8 {
    fn count(body: &[u8]) -> Self {
        let mut found = Self { sequences: 0, flaws: 0 };
        let mut chunks = body.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            found.sequences += chunk.valid().chars().filter(|letter| !letter.is_ascii()).count();
            let is_last = chunks.peek().is_none();
            let is_cut_off = || {
                is_last
                    && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none())
            };
            found.flaws += usize::from(!chunk.invalid().is_empty() && !is_cut_off());
        }
        found
    }
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

fn guessed(body: &[u8], host: Option<&str>, utf8: Utf8Detection) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(body, true);
    let country = host.and_then(|host| host.rsplit('.').next()).filter(|label| is_country(label));
    detector.guess(country.map(str::as_bytes), utf8)
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
        let cases: [(&[u8], &str, &str); 11] = [
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
        ];
        for (body, content_type, expected) in cases {
            let text = decode(body, content_type, None);
            assert!(text.ends_with(expected), "{text} is not {expected}");
        }
    }

    #[test]
    fn bytes_are_believed_before_words() {
        let long = "Grüße aus Köln ".repeat(20);
        let broken = [long.as_bytes(), b"\xff", long.as_bytes()].concat();
        let cut = [long.as_bytes(), b"\xc3"].concat();
        let (gbk, _, _) = encoding_rs::GBK.encode("联通");
        let cases: [(&[u8], &str, &str); 12] = [
            ("Müller".as_bytes(), "text/html; charset=iso-8859-1", "Müller"),
            ("<meta charset=windows-1252>Müller".as_bytes(), "text/html", "Müller"),
            ("<meta charset=iso-8859-1>Müller".as_bytes(), "text/html; charset=utf-8", "Müller"),
            (b"M\xfcller", "text/html; charset=utf-8", "Müller"),
            (b"<meta charset=utf-8>M\xfcller", "text/html", "Müller"),
            (b"<meta charset=utf-8>M\xfcller", "text/html; charset=iso-8859-1", "Müller"),
            (b"<meta charset=koi8-r>\xc1", "text/html; charset=utf-8", "\u{430}"),
            (&broken, "text/html; charset=utf-8", &long),
            (&cut, "text/html; charset=iso-8859-1", "Köln \u{fffd}"),
            (&gbk, "text/html; charset=gbk", "联通"),
            ("水車は川のそばに".as_bytes(), "text/html; charset=shift_jis", "水車は川のそばに"),
            (b"a\0b\0", "text/html; charset=utf-16le", "ab"),
        ];
        for (body, content_type, expected) in cases {
            let text = decode(body, content_type, None);
            assert!(text.ends_with(expected), "{content_type}: {text} is not {expected}");
        }
        assert_eq!(decode(&broken, "", None).matches('\u{fffd}').count(), 1);
    }

    #[test]
    fn letters_are_guessed() {
        let (russian, _, _) = encoding_rs::WINDOWS_1251.encode("Съешь же ещё этих мягких французских булок");
        assert!(decode(&russian, "text/html", Some("example.ru")).starts_with("Съешь"));
        let (greek, _, _) = encoding_rs::ISO_8859_7.encode("Καλημέρα κόσμε, τι κάνετε σήμερα;");
        assert!(decode(&greek, "text/html", Some("example.gr")).starts_with("Καλημέρα"));
    }
}
