//! Web addresses, e-mail addresses and phone numbers.

/// Characters that an e-mail address does not have, written as people write it.
const NOT_IN_EMAIL: [char; 9] = ['@', '<', '>', ',', ';', ':', '"', '(', ')'];
const EMAIL_CHARS_MAX: usize = 320;

/// Whether a text is the address of a web page: with `http://` or `https://`, or beginning with a domain.
pub(super) fn is_url(text: &str) -> bool {
    let text = text.trim();
    if text.is_empty() || text.contains(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"')) {
        return false;
    }
    let scheme = ["http://", "https://"]
        .iter()
        .find(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let rest = scheme.map_or(text, |scheme| text.get(scheme.len()..).unwrap_or_default());
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if scheme.is_some() {
        return !host.is_empty();
    }
    is_domain(host)
}

/// A domain, perhaps with a port. Its last label has a letter first, so that `1.5` and `192.0.2.1` are none.
fn is_domain(host: &str) -> bool {
    let host = match host.split_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        Some(_) => return false,
        None => host,
    };
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
    };
    let Some((rest, last)) = host.rsplit_once('.') else { return false };
    let is_top = last.chars().count() >= 2 && last.chars().next().is_some_and(char::is_alphabetic);
    is_top && is_label(last) && rest.split('.').all(is_label)
}

/// Whether a text is an e-mail address.
pub(super) fn is_email(text: &str) -> bool {
    let text = text.trim();
    let is_part = |part: &str| {
        !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || NOT_IN_EMAIL.contains(&c))
    };
    let Some((name, domain)) = text.split_once('@') else { return false };
    let top = domain.rsplit_once('.').map(|(_, top)| top);
    text.chars().count() <= EMAIL_CHARS_MAX
        && is_part(name)
        && is_part(domain)
        && domain.split('.').all(|label| !label.is_empty())
        && top.is_some_and(|top| top.chars().count() >= 2)
}

/// A phone number without what is put between its digits, as `tel:+14155550100`, an extension behind `;ext=`.
pub(super) fn phone(text: &str) -> Option<String> {
    let lower = text.trim().to_ascii_lowercase();
    let (number, extension) = match lower.find(['e', 'x', '#']) {
        Some(start) => {
            let digits =
                lower.get(start..)?.trim_start_matches("ext").trim_start_matches(['.', 'x', '#', ' ']);
            let is_right =
                (1..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
            (lower.get(..start)?, Some(is_right.then_some(digits)?))
        }
        None => (lower.as_str(), None),
    };
    let number = number.trim().trim_end_matches(',');
    let is_right = |(place, c): (usize, char)| {
        c.is_ascii_digit()
            || (c == '+' && (place == 0 || number.starts_with("(+")))
            || matches!(c, '(' | ')' | '-' | '.' | '/' | ' ' | '\u{a0}' | '\u{2011}' | '\u{2013}')
    };
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    if !(6..=15).contains(&digits.len()) || !number.char_indices().all(is_right) {
        return None;
    }
    let plus = if number.contains('+') { "+" } else { "" };
    Some(extension.map_or_else(
        || format!("tel:{plus}{digits}"),
        |extension| format!("tel:{plus}{digits};ext={extension}"),
    ))
}
