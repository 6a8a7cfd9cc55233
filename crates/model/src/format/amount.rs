//! Numbers as people write them: `1,200.50`, `1.200,50`, `$5`, `12 %`, `(3)`.

use crate::value::Number;

/// A number in text, and what is written beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Amount<'a> {
    /// A JSON number.
    pub(super) number: String,
    /// A currency's sign or code, `%`, or nothing.
    pub(super) sign: &'a str,
}

impl<'a> Amount<'a> {
    /// Reads a text that is one number. A comma or point is a decimal mark, or separates thousands: the last of two
    /// different ones is the decimal mark; one point alone is; one comma alone is, unless three digits follow it.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let text = text.trim();
        if Number::parse(text).is_some() {
            return Some(Self { number: text.strip_prefix('+').unwrap_or(text).to_owned(), sign: "" });
        }
        let (inner, is_in_brackets) = match text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            Some(inner) => (inner.trim(), true),
            None => (text, false),
        };
        let first = inner.find(|c: char| c.is_ascii_digit())?;
        let last = inner.rfind(|c: char| c.is_ascii_digit())?;
        let (before, after) = (inner.get(..first)?, inner.get(last + 1..)?.trim());
        let digits = inner.get(first..=last)?;
        let (before, has_minus) = without_sign(before)?;
        if is_in_brackets && has_minus {
            return None;
        }
        // `.5`
        let (before, whole) = match before {
            "." => ("", String::from("0.")),
            before => (before, String::new()),
        };
        let plain = plain_digits(digits).filter(|plain| whole.is_empty() || !plain.contains('.'))?;
        let sign = match (before, after) {
            (before, "") => before,
            ("", after) => after,
            _ => return None,
        };
        let minus = if has_minus || is_in_brackets { "-" } else { "" };
        Some(Self { number: format!("{minus}{whole}{plain}"), sign })
    }
}

/// What stands before the digits without a plus or minus, and whether it had a minus.
fn without_sign(before: &str) -> Option<(&str, bool)> {
    const SIGNS: [char; 3] = ['-', '\u{2212}', '+'];
    let before = before.trim();
    let is_minus = |sign: char| sign != '+';
    let (rest, sign) = match (before.chars().next(), before.chars().next_back()) {
        (Some(first), _) if SIGNS.contains(&first) => (before.strip_prefix(first)?, Some(first)),
        (_, Some(last)) if SIGNS.contains(&last) => (before.strip_suffix(last)?, Some(last)),
        _ => (before, None),
    };
    let rest = rest.trim();
    (!rest.contains(SIGNS)).then_some((rest, sign.is_some_and(is_minus)))
}

/// Digits with separators as the digits of a JSON number.
fn plain_digits(text: &str) -> Option<String> {
    let (points, commas) = (text.matches('.').count(), text.matches(',').count());
    let decimal = match (points, commas) {
        (0, 1) => (!is_thousands(text)).then_some(','),
        (1, 0) => Some('.'),
        (0, _) | (_, 0) => None,
        _ => {
            let last = text.chars().rev().find(|c| matches!(c, '.' | ','))?;
            (text.matches(last).count() == 1).then_some(last)
        }
    };
    let (whole, fraction) = match decimal {
        Some(mark) => text.split_once(mark).map(|(whole, fraction)| (whole, Some(fraction)))?,
        None => (text, None),
    };
    let whole = without_groups(whole)?;
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    match fraction {
        Some(fraction) if fraction.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(format!("{whole}.{fraction}"))
        }
        Some(_) => None,
        None => Some(whole.to_owned()),
    }
}

/// Whether the comma in a text separates thousands: `1,200` does, `0,125` and `1,5` do not.
fn is_thousands(text: &str) -> bool {
    text.split_once(',').is_some_and(|(before, after)| after.len() == 3 && !before.starts_with('0'))
}

/// Digits in groups as digits alone. The last group has three, those between two or three (as in India).
fn without_groups(text: &str) -> Option<String> {
    const MARKS: [char; 8] = ['.', ',', ' ', '\'', '\u{2019}', '\u{a0}', '\u{202f}', '\u{2009}'];
    let mark = text.chars().find(|c| !c.is_ascii_digit());
    let Some(mark) = mark else { return Some(text.to_owned()) };
    if !MARKS.contains(&mark) {
        return None;
    }
    let groups: Vec<&str> = text.split(mark).collect();
    let (last, others) = groups.split_last()?;
    let (first, between) = others.split_first()?;
    let is_group = |group: &str, most: usize| {
        (1..=most).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_right = is_group(first, 3)
        && between.iter().all(|group| group.len() >= 2 && is_group(group, 3))
        && last.len() == 3
        && is_group(last, 3);
    is_right.then(|| groups.concat())
}
