//! Values that are one of a few: yes or no, options.

use std::borrow::Cow;

use super::definition::{Format, FormatType};
use super::options::SelectOption;
use crate::value::{Value, elements, fold};

/// What a text says as a checkbox.
pub(super) fn truth(text: &str) -> Option<bool> {
    match fold(text.trim()).as_ref() {
        "true" | "yes" | "y" | "on" | "1" | "✓" | "✔" | "☑" => Some(true),
        "false" | "no" | "n" | "off" | "0" | "✗" | "✘" | "☐" => Some(false),
        _ => None,
    }
}

impl Format {
    /// The place of the option that a text names, without regard to case and outer blanks.
    pub(super) fn option_place(&self, text: &str) -> Option<usize> {
        self.options.as_ref()?.place(text)
    }

    /// A scalar as the option it names, as text.
    pub(super) fn option_named<'a>(&'a self, value: &Value<'a>) -> Option<Cow<'a, str>> {
        let text = scalar(value)?;
        if self.options().is_empty() {
            return Some(text);
        }
        let place = self.option_place(&text)?;
        self.options().get(place).map(|SelectOption { value, .. }| Cow::Borrowed(value.as_str()))
    }

    /// Whether values are options: one of them, or several.
    pub(crate) fn has_options(&self) -> bool {
        matches!(self.kind, FormatType::Select | FormatType::MultiSelect)
    }

    /// A value as the option it names, as raw JSON; what names none stays as it is.
    pub(crate) fn as_option<'a>(&self, raw: &'a str) -> Cow<'a, str> {
        let option = self.option_named(&Value::parse(raw));
        option.map_or(Cow::Borrowed(raw), |option| quoted(&option))
    }

    /// The options of a cell, each as raw JSON. One option alone is a list of one.
    pub(crate) fn options_in<'a>(&self, raw: &'a str) -> Vec<Cow<'a, str>> {
        match Value::parse(raw) {
            value if value.is_empty() => Vec::new(),
            Value::Array(raw) => elements(raw).into_iter().map(|raw| self.as_option(raw)).collect(),
            _ if self.kind == FormatType::Select => vec![self.as_option(raw)],
            _ => self.options_named(raw).unwrap_or_default().iter().map(|option| quoted(option)).collect(),
        }
    }

    /// Several options: those of an array, or of a text with commas or semicolons between them.
    pub(super) fn options_named(&self, raw: &str) -> Option<Vec<String>> {
        match Value::parse(raw) {
            Value::Array(raw) => {
                let named = elements(raw).into_iter().map(|raw| {
                    let value = Value::parse(raw);
                    self.option_named(&value).map(Cow::into_owned)
                });
                named.collect()
            }
            value => {
                if let Some(whole) = self.option_named(&value)
                    && !self.options().is_empty()
                {
                    return Some(vec![whole.into_owned()]);
                }
                let text = scalar(&value)?;
                let parts = text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty());
                parts.map(|part| self.option_named(&Value::Text(part.into())).map(Cow::into_owned)).collect()
            }
        }
    }
}

/// A text as raw JSON.
pub(super) fn quoted<'a>(text: &str) -> Cow<'a, str> {
    serde_json::Value::from(text).to_string().into()
}

/// The text of a value that is neither an array nor an object.
pub(super) fn scalar<'a>(value: &Value<'a>) -> Option<Cow<'a, str>> {
    (!matches!(value, Value::Array(_) | Value::Object(_))).then(|| value.text())
}
