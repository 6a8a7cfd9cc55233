//! Dates as people write them: `31.01.2024`, `1/31/2024`, `Jan 31, 2024`, with a time or without.

use jiff::civil;
use jiff::tz::TimeZone;

use super::definition::DateStyle;
use crate::value::Date;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// A date that is not in ISO 8601, as ISO 8601; `None` if the text is none, or is in ISO 8601 already.
pub(super) fn to_iso(text: &str, style: DateStyle) -> Option<String> {
    let text = text.trim();
    // Longer texts name no date; most cells are not looked at twice.
    if text.len() > 40 || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (date, time) = match split_time(text) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let day = numeric_day(date, style).or_else(|| named_day(date))?;
    Some(match time {
        Some(time) => format!("{day}T{time}"),
        None => day.to_string(),
    })
}

/// Whether a text is a date in ISO 8601.
pub(super) fn is_iso(text: &str) -> bool {
    Date::parse(text, &TimeZone::UTC).is_some()
}

/// Of a date in numbers with slashes or hyphens: which of day and month comes first, if only one can.
pub(super) fn known_style(text: &str) -> Option<DateStyle> {
    let date = split_time(text.trim()).map_or(text.trim(), |(date, _)| date);
    let (mark, [first, second, _]) = numbers(date)?;
    match (mark, first, second) {
        ('.', ..) => None,
        (_, 13..=31, 1..=12) => Some(DateStyle::European),
        (_, 1..=12, 13..=31) => Some(DateStyle::Us),
        _ => None,
    }
}

/// Takes a time off the end: `10:30`, `10:30:15`, `10:30 AM`.
fn split_time(text: &str) -> Option<(&str, civil::Time)> {
    let colon = text.find(':')?;
    let start = text.get(..colon)?.rfind(|c: char| !c.is_ascii_digit())?;
    let (date, time) = (text.get(..start)?, text.get(start + 1..)?);
    // Only a blank, a comma or a T may stand between.
    if !text.get(start..)?.starts_with([' ', 'T', ',']) {
        return None;
    }
    let (clock, half) = match time.trim_end_matches('.').to_ascii_lowercase() {
        time if time.ends_with('m') => {
            let half = time.get(time.len().checked_sub(2)?..)?.to_owned();
            (time.get(..time.len() - 2)?.trim_end().to_owned(), Some(half))
        }
        time => (time, None),
    };
    let parts: Vec<i8> = clock.split(':').map(two_digits).collect::<Option<_>>()?;
    let (hour, minute, second) = match parts.as_slice() {
        [hour, minute] => (*hour, *minute, 0),
        [hour, minute, second] => (*hour, *minute, *second),
        _ => return None,
    };
    let hour = match (half.as_deref(), hour) {
        (None, hour) => hour,
        (Some("am"), 12) => 0,
        (Some("am"), 1..=11) => hour,
        (Some("pm"), 12) => 12,
        (Some("pm"), 1..=11) => hour + 12,
        _ => return None,
    };
    let time = civil::Time::new(hour, minute, second, 0).ok()?;
    Some((date.trim_end().trim_end_matches(',').trim_end(), time))
}

fn two_digits(text: &str) -> Option<i8> {
    let is_short = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_short.then(|| text.parse().ok()).flatten()
}

/// Three numbers with the same mark between them, the year first or last.
fn numbers(text: &str) -> Option<(char, [i16; 3])> {
    let mark = text.chars().find(|c| !c.is_ascii_digit()).filter(|c| matches!(c, '.' | '/' | '-'))?;
    let parts: Vec<&str> = text.split(mark).map(str::trim).collect();
    let [first, second, third] = parts.as_slice() else { return None };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !(is_number(first) && is_number(second) && is_number(third)) {
        return None;
    }
    let has_year_last = first.len() <= 2 && second.len() <= 2 && third.len() == 4;
    let has_year_first = first.len() == 4 && second.len() <= 2 && third.len() <= 2;
    (has_year_last || has_year_first).then_some(())?;
    Some((mark, [first.parse().ok()?, second.parse().ok()?, third.parse().ok()?]))
}

fn numeric_day(text: &str, style: DateStyle) -> Option<civil::Date> {
    let (mark, [first, second, third]) = numbers(text)?;
    if first > 31 {
        return date(first, second, third);
    }
    let is_day_first = mark == '.' || first > 12 || (style == DateStyle::European && second <= 12);
    if is_day_first { date(third, second, first) } else { date(third, first, second) }
}

/// `Jan 31, 2024`, `31 January 2024`, `31. Jan 2024`, `January 31st 2024`, `31-Jan-2024`.
fn named_day(text: &str) -> Option<civil::Date> {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '-'))
        .filter(|word| !word.is_empty())
        .collect();
    let [first, second, year] = words.as_slice() else { return None };
    let year: i16 = Some(*year).filter(|year| year.len() == 4)?.parse().ok()?;
    let named = |month: &str, day: &str| date(year, month_named(month)?, day_of(day)?);
    named(first, second).or_else(|| named(second, first))
}

fn month_named(word: &str) -> Option<i16> {
    let word = word.trim_end_matches('.').to_ascii_lowercase();
    let place = MONTHS.iter().position(|month| word.len() >= 3 && month.starts_with(&word))?;
    // `sept` is usual, too, and a beginning of its name.
    i16::try_from(place + 1).ok()
}

fn day_of(word: &str) -> Option<i16> {
    let word = word.trim_end_matches('.').to_ascii_lowercase();
    let digits =
        ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(&word);
    two_digits(digits).map(i16::from)
}

fn date(year: i16, month: i16, day: i16) -> Option<civil::Date> {
    civil::Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}
