//! Which type the values of a column seem to have.

use std::collections::HashMap;

use super::amount::Amount;
use super::currency::currency_of;
use super::definition::{DateStyle, Format, FormatType};
use super::options::{OptionColor, SelectOption};
use super::{calendar, choice, contact};
use crate::value::{Value, elements, fold};

/// How many values are looked at.
pub const GUESS_VALUES_MAX: usize = 1_000;

/// A type that most values fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    pub format: Format,
    /// How many of the values fit, and how many do not. Empty ones are not counted.
    pub fits: usize,
    pub misfits: usize,
}

/// Guesses from a column's header and some of its values, as raw JSON. `None` if they are plain text, or nothing can be
/// told from them.
pub fn guess(header: &str, values: &[&str]) -> Option<Guess> {
    let filled: Vec<Value<'_>> = values
        .iter()
        .take(GUESS_VALUES_MAX)
        .map(|raw| Value::parse(raw))
        .filter(|value| !value.is_empty() && !value.text().trim().is_empty())
        .collect();
    let format = Samples { header: Words::of(header), values: &filled }.format()?;
    let raws = values.iter().copied().take(GUESS_VALUES_MAX).filter(|raw| !Value::parse(raw).is_empty());
    let (fitting, others): (Vec<&str>, Vec<&str>) = raws.partition(|raw| format.fits(raw));
    Some(Guess { format, fits: fitting.len(), misfits: others.len() })
}

/// Of ten values, nine must fit: a few are always misspelt.
fn are_most(count: usize, of: usize) -> bool {
    of > 0 && count * 10 >= of * 9
}

/// The words of a header.
struct Words(Vec<String>);

impl Words {
    fn of(header: &str) -> Self {
        // `zipCode` is two words.
        let mut spaced = String::new();
        let mut was_lower = false;
        for letter in header.chars() {
            if was_lower && letter.is_uppercase() {
                spaced.push(' ');
            }
            was_lower = letter.is_lowercase();
            spaced.push(letter);
        }
        Self(spaced.split(|c: char| !c.is_alphanumeric()).map(|word| fold(word).into_owned()).collect())
    }

    fn has_any(&self, words: &[&str]) -> bool {
        self.0.iter().any(|word| words.contains(&word.as_str()))
    }
}

/// Headers of numbers that name something and count nothing.
const NAMING: [&str; 20] = [
    "id",
    "ids",
    "zip",
    "postcode",
    "postal",
    "plz",
    "phone",
    "mobile",
    "tel",
    "telephone",
    "fax",
    "code",
    "nr",
    "no",
    "vat",
    "iban",
    "account",
    "sku",
    "isbn",
    "ssn",
];
const PHONES: [&str; 8] = ["phone", "phones", "mobile", "tel", "telephone", "telefon", "fax", "cell"];
const RATINGS: [&str; 3] = ["rating", "stars", "score"];
/// Headers of columns whose values are names, even if they repeat.
const NAMES: [&str; 9] =
    ["name", "company", "organization", "organisation", "title", "domain", "employer", "city", "street"];

/// A column counts as a choice if few short values repeat in it.
const CHOICES_MAX: usize = 12;
const CHOICE_CHARS_MAX: usize = 24;
const CHOICE_ROWS_MIN: usize = 8;
/// How often each choice occurs on average.
const CHOICE_REPEATS_MIN: usize = 3;
/// Texts that are longer than this on average are long texts.
const LONG_CHARS_MIN: usize = 160;

struct Samples<'a> {
    header: Words,
    values: &'a [Value<'a>],
}

impl Samples<'_> {
    fn format(&self) -> Option<Format> {
        self.checkbox()
            .or_else(|| self.most(FormatType::Email, contact::is_email))
            .or_else(|| self.most(FormatType::Url, contact::is_url))
            .or_else(|| self.date())
            .or_else(|| self.phone())
            .or_else(|| self.amount())
            .or_else(|| self.container())
            .or_else(|| self.select())
            .or_else(|| self.long_text())
    }

    fn count(&self, is: impl Fn(&Value<'_>) -> bool) -> usize {
        self.values.iter().filter(|value| is(value)).count()
    }

    fn are_most(&self, is: impl Fn(&Value<'_>) -> bool) -> bool {
        are_most(self.count(is), self.values.len())
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.values
            .iter()
            .filter_map(|value| if let Value::Text(text) = value { Some(text.as_ref()) } else { None })
    }

    fn most(&self, kind: FormatType, is: impl Fn(&str) -> bool) -> Option<Format> {
        let is = |value: &Value<'_>| matches!(value, Value::Text(text) if is(text));
        self.are_most(is).then(|| Format::new(kind))
    }

    /// Digits are numbers: 0 and 1 say nothing.
    fn checkbox(&self) -> Option<Format> {
        let is_truth = |value: &Value<'_>| match value {
            Value::Bool(_) => true,
            Value::Text(text) => choice::truth(text).is_some() && text.trim().parse::<u8>().is_err(),
            _ => false,
        };
        self.are_most(is_truth).then(|| Format::new(FormatType::Checkbox))
    }

    fn date(&self) -> Option<Format> {
        let is_date =
            |text: &str| calendar::is_iso(text) || calendar::to_iso(text, DateStyle::Local).is_some();
        self.most(FormatType::Date, is_date)?;
        let has_time = self.texts().any(|text| text.contains(':'));
        let kind = if has_time { FormatType::DateTime } else { FormatType::Date };
        let date_style = self.texts().find_map(calendar::known_style);
        Some(Format { date_style, ..Format::new(kind) })
    }

    fn phone(&self) -> Option<Format> {
        let is_named = self.header.has_any(&PHONES);
        let is_phone = |value: &Value<'_>| match value {
            Value::Text(text) => {
                (is_named || text.trim().starts_with(['+', '('])) && contact::phone(text).is_some()
            }
            Value::Number(digits) => is_named && contact::phone(digits).is_some(),
            _ => false,
        };
        // An amount in brackets is no phone number.
        let has_blank = is_named || self.texts().any(|text| text.trim().len() > 8);
        (has_blank && self.are_most(is_phone)).then(|| Format::new(FormatType::Phone))
    }

    fn amount(&self) -> Option<Format> {
        let amounts: Vec<Amount<'_>> = self.values.iter().filter_map(amount).collect();
        if !are_most(amounts.len(), self.values.len()) {
            return None;
        }
        let mut signs: HashMap<&str, usize> = HashMap::new();
        for amount in amounts.iter().filter(|amount| !amount.sign.is_empty()) {
            *signs.entry(amount.sign).or_default() += 1;
        }
        if let Some((sign, count)) = signs.iter().max_by_key(|(sign, count)| (**count, **sign)) {
            if !are_most(signs.values().sum(), amounts.len()) || !are_most(*count, amounts.len()) {
                return None;
            }
            if *sign == "%" {
                return Some(Format::new(FormatType::Percent));
            }
            let currency = Some(currency_of(sign)?.to_owned());
            return Some(Format { currency, ..Format::new(FormatType::Currency) });
        }
        if self.header.has_any(&NAMING) {
            return None;
        }
        if self.header.has_any(&RATINGS) && self.count(is_small) == self.values.len() {
            return Some(Format::new(FormatType::Rating));
        }
        Some(Format::new(FormatType::Number))
    }

    fn container(&self) -> Option<Format> {
        let is_list = |value: &Value<'_>| {
            match value {
            Value::Array(raw) => elements(raw).iter().all(|raw| {
                matches!(Value::parse(raw), Value::Text(text) if text.chars().count() <= CHOICE_CHARS_MAX)
            }),
            _ => false,
        }
        };
        let is_json = |value: &Value<'_>| match value {
            Value::Array(_) | Value::Object(_) => true,
            Value::Text(text) => {
                text.trim_start().starts_with(['{', '['])
                    && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
            }
            _ => false,
        };
        let kind = if self.are_most(is_list) { FormatType::MultiSelect } else { FormatType::Json };
        self.are_most(is_json).then(|| Format::new(kind))
    }

    fn select(&self) -> Option<Format> {
        let is_choice = |text: &str| {
            text.chars().count() <= CHOICE_CHARS_MAX
                && !text.contains(['@', '\n'])
                && text.bytes().filter(u8::is_ascii_digit).count() < 3
        };
        let texts: Vec<&str> = self.texts().map(str::trim).collect();
        if texts.len() < CHOICE_ROWS_MIN
            || texts.len() < self.values.len()
            || self.header.has_any(&NAMES)
            || !texts.iter().all(|text| is_choice(text))
        {
            return None;
        }
        let mut options: Vec<SelectOption> = Vec::new();
        for text in &texts {
            let is_known = options.iter().any(|option| fold(&option.value) == fold(text));
            if !is_known {
                let color =
                    Some(OptionColor::CHOICES.get(options.len() % OptionColor::CHOICES.len()).copied()?);
                options.push(SelectOption { value: (*text).to_owned(), color });
            }
            if options.len() > CHOICES_MAX {
                return None;
            }
        }
        let repeat = options.len() > 1 && texts.len() >= options.len() * CHOICE_REPEATS_MIN;
        repeat.then(|| Format { options: Some(options.into()), ..Format::new(FormatType::Select) })
    }

    fn long_text(&self) -> Option<Format> {
        let (count, chars) =
            self.texts().fold((0, 0), |(count, chars), text| (count + 1, chars + text.len()));
        let has_lines = self.texts().any(|text| text.trim().contains('\n'));
        let is_long = count > 0 && (has_lines || chars / count > LONG_CHARS_MIN);
        is_long.then(|| Format::new(FormatType::LongText))
    }
}

impl OptionColor {
    /// Those that options get by themselves, in turn.
    const CHOICES: [Self; 8] =
        [Self::Teal, Self::Blue, Self::Orange, Self::Red, Self::Purple, Self::Green, Self::Pink, Self::Cyan];
}

/// A value as an amount. Text with leading zeros names something: it is none.
fn amount<'a>(value: &'a Value<'_>) -> Option<Amount<'a>> {
    match value {
        Value::Number(digits) => Amount::read(digits),
        Value::Text(text) => {
            let text = text.trim();
            let names =
                text.len() > 1 && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
            if names { None } else { Amount::read(text).filter(|amount| is_usual(amount.sign)) }
        }
        _ => None,
    }
}

fn is_usual(sign: &str) -> bool {
    sign.is_empty() || sign == "%" || currency_of(sign).is_some()
}

fn is_small(value: &Value<'_>) -> bool {
    matches!(value.text().trim(), "0" | "1" | "2" | "3" | "4" | "5")
}
