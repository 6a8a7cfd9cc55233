//! What a stored value is, read as the column's type says.

use std::borrow::Cow;

use super::amount::Amount;
use super::choice::{quoted, scalar, truth};
use super::currency::{currency_of, is_sign_of};
use super::definition::{Format, FormatType};
use super::{calendar, contact};
use crate::value::{Number, Value};

/// A value read by a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading<'a> {
    Empty,
    /// The value as it compares: JSON. A number in text is that number, a date is in ISO 8601, an option is spelled as it
    /// is defined.
    Fits(Cow<'a, str>),
    Misfit,
}

impl Format {
    /// Reads a cell's raw JSON.
    pub fn read<'a>(&self, raw: &'a str) -> Reading<'a> {
        let value = Value::parse(raw);
        if value.is_empty() {
            return Reading::Empty;
        }
        self.fitting(raw, &value).map_or(Reading::Misfit, Reading::Fits)
    }

    /// Whether a value fits, or is empty.
    pub fn fits(&self, raw: &str) -> bool {
        self.read(raw) != Reading::Misfit
    }

    /// The value as filters compare it: as it is read, or as it is stored if it does not fit.
    pub fn comparable<'a>(&self, raw: &'a str) -> Cow<'a, str> {
        match self.read(raw) {
            Reading::Fits(read) => read,
            Reading::Empty | Reading::Misfit => Cow::Borrowed(raw),
        }
    }

    /// Why a strict column does not take a value, if it does not.
    pub fn refusal(&self, raw: &str) -> Option<String> {
        (self.strict && !self.fits(raw))
            .then(|| format!("does not fit the column, which is strict: it takes {}", self.expectation()))
    }

    fn fitting<'a>(&self, raw: &'a str, value: &Value<'a>) -> Option<Cow<'a, str>> {
        match self.kind {
            FormatType::Text | FormatType::LongText => scalar(value).map(|_| Cow::Borrowed(raw)),
            FormatType::Number | FormatType::Currency | FormatType::Percent => self.number(value),
            FormatType::Rating => self.rating(value),
            FormatType::Date | FormatType::DateTime => self.date(raw, value),
            FormatType::Checkbox => {
                let truth = match value {
                    Value::Bool(truth) => Some(*truth),
                    value => truth(&scalar(value)?),
                };
                truth.map(|truth| Cow::Borrowed(if truth { "true" } else { "false" }))
            }
            FormatType::Select => self.option_named(value).map(|option| quoted(&option)),
            FormatType::MultiSelect => {
                self.options_named(raw).map(|options| serde_json::Value::from(options).to_string().into())
            }
            FormatType::Url => text(value).filter(|text| contact::is_url(text)).map(|_| Cow::Borrowed(raw)),
            FormatType::Email => {
                text(value).filter(|text| contact::is_email(text)).map(|_| Cow::Borrowed(raw))
            }
            FormatType::Phone => contact::phone(&scalar(value)?).map(|phone| quoted(&phone)),
            FormatType::Json => match value {
                Value::Text(text) => serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok(),
                _ => true,
            }
            .then_some(Cow::Borrowed(raw)),
        }
    }

    fn number<'a>(&self, value: &Value<'a>) -> Option<Cow<'a, str>> {
        let text = match value {
            Value::Number(raw) => return is_finite(raw).then_some(Cow::Borrowed(*raw)),
            Value::Text(text) => text,
            _ => return None,
        };
        let Amount { number, sign } = Amount::read(text)?;
        let is_right = match self.kind {
            _ if sign.is_empty() => true,
            FormatType::Percent => sign == "%",
            FormatType::Currency => is_sign_of(sign, self.currency_code()),
            _ => sign == "%" || currency_of(sign).is_some(),
        };
        (is_right && is_finite(&number)).then(|| number.into())
    }

    fn rating<'a>(&self, value: &Value<'a>) -> Option<Cow<'a, str>> {
        let text = match value {
            Value::Number(raw) => Cow::Borrowed(*raw),
            Value::Text(text) => text.clone(),
            _ => return None,
        };
        let number = Number::parse(&text)?.nearest();
        let is_right = number.fract() == 0.0 && (0.0..=f64::from(self.rating_max())).contains(&number);
        // Formatted anew, so that `4.0` and `4` are the same.
        is_right.then(|| number.abs().to_string().into())
    }

    fn date<'a>(&self, raw: &'a str, value: &Value<'a>) -> Option<Cow<'a, str>> {
        let text = text(value)?;
        if calendar::is_iso(text) {
            return Some(Cow::Borrowed(raw));
        }
        calendar::to_iso(text, self.date_style.unwrap_or_default()).map(|iso| quoted(&iso))
    }

    /// What fits, to follow "it takes".
    fn expectation(&self) -> String {
        match self.kind {
            FormatType::Text | FormatType::LongText => "text, a number, or true or false".to_owned(),
            FormatType::Number => "a number, such as 1200 or \"1,200.50\"".to_owned(),
            FormatType::Currency => {
                let code = self.currency_code();
                format!("an amount in {code}, such as 12.5 or \"{code} 1,200\"")
            }
            FormatType::Percent => "a percentage, such as 12 or \"12 %\"".to_owned(),
            FormatType::Date => "a date, such as \"2024-01-31\"".to_owned(),
            FormatType::DateTime => "a date and time, such as \"2024-01-31T10:30:00Z\"".to_owned(),
            FormatType::Checkbox => "true or false".to_owned(),
            FormatType::Select => format!("one of its options: {}", self.some_options()),
            FormatType::MultiSelect => format!("an array of its options: {}", self.some_options()),
            FormatType::Url => "a web address, such as \"https://example.com\"".to_owned(),
            FormatType::Email => "an e-mail address, such as \"ada@example.com\"".to_owned(),
            FormatType::Phone => "a phone number, such as \"+1 415 555 0100\"".to_owned(),
            FormatType::Json => "JSON, or text that is JSON".to_owned(),
            FormatType::Rating => format!("a whole number from 0 to {}", self.rating_max()),
        }
    }

    fn some_options(&self) -> String {
        const SHOWN_MAX: usize = 10;
        let shown: Vec<String> =
            self.options().iter().take(SHOWN_MAX).map(|option| format!("{:?}", option.value)).collect();
        let more = if self.options().len() > SHOWN_MAX { ", …" } else { "" };
        format!("{}{more}", shown.join(", "))
    }
}

/// Whether it is a number for programs, too: `1e400` is infinite for most, and would end every sum.
fn is_finite(number: &str) -> bool {
    Number::parse(number).is_some_and(|number| number.nearest().is_finite())
}

fn text<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    if let Value::Text(text) = value { Some(text) } else { None }
}
