//! The settings of a format: which type has which, and what is wrong with them.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::definition::{DECIMALS_MAX, Format, FormatType, OPTION_CHARS_MAX, OPTIONS_MAX, RATING_MAX};
use super::options::SelectOption;
use crate::offence::Offence;
use crate::value::fold;

impl Format {
    /// Reads a format that was sent. `base` is where it stands.
    pub fn parse(json: &Json, base: &str) -> Result<Self, Vec<Offence>> {
        let mut format: Self = serde_json::from_value(json.clone()).map_err(|error| {
            vec![Offence::new(
                base,
                format!("is not a type of values, such as {{\"type\": \"number\"}} ({error})"),
            )]
        })?;
        format.drop_foreign();
        format.clean_options();
        let offences = format.offences(base);
        if offences.is_empty() { Ok(format) } else { Err(offences) }
    }

    /// Drops the settings that the type does not have; says which.
    pub(crate) fn drop_foreign(&mut self) -> Vec<&'static str> {
        let Self { kind, strict: _, currency, decimals, date_style, options, max } = self;
        let is_amount = matches!(kind, FormatType::Number | FormatType::Currency | FormatType::Percent);
        let is_date = matches!(kind, FormatType::Date | FormatType::DateTime);
        let is_choice = matches!(kind, FormatType::Select | FormatType::MultiSelect);
        let mut dropped = Vec::new();
        let mut tell = |name: &'static str, was_set: bool| {
            if was_set {
                dropped.push(name);
            }
        };
        tell("currency", *kind != FormatType::Currency && currency.take().is_some());
        tell("decimals", !is_amount && decimals.take().is_some());
        tell("dateStyle", !is_date && date_style.take().is_some());
        tell("options", !is_choice && options.take().is_some());
        tell("max", *kind != FormatType::Rating && max.take().is_some());
        dropped
    }

    /// Trims options and drops those that are empty or there twice; says which.
    pub(crate) fn clean_options(&mut self) -> Vec<String> {
        let Some(options) = &mut self.options else { return Vec::new() };
        let (mut seen, mut kept, mut dropped) = (HashSet::new(), Vec::new(), Vec::new());
        for SelectOption { value, color } in options.iter() {
            let value = value.trim().to_owned();
            if !value.is_empty() && seen.insert(fold(&value).into_owned()) {
                kept.push(SelectOption { value, color: *color });
            } else {
                dropped.push(value);
            }
        }
        *options = kept.into();
        dropped
    }

    /// What no correction mends.
    pub(crate) fn offences(&self, base: &str) -> Vec<Offence> {
        let mut offences = Vec::new();
        let mut refuse =
            |path: String, message: String| offences.push(Offence::new(format!("{base}.{path}"), message));
        if let Some(code) = &self.currency
            && !(code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase()))
        {
            refuse("currency".to_owned(), "must be an ISO 4217 code, such as USD".to_owned());
        }
        if self.decimals.is_some_and(|decimals| decimals > DECIMALS_MAX) {
            refuse("decimals".to_owned(), format!("must be from 0 to {DECIMALS_MAX}"));
        }
        if self.max.is_some_and(|max| !(1..=RATING_MAX).contains(&max)) {
            refuse("max".to_owned(), format!("must be from 1 to {RATING_MAX}"));
        }
        if self.options().len() > OPTIONS_MAX {
            refuse("options".to_owned(), format!("can have at most {OPTIONS_MAX} entries"));
        }
        for (index, option) in self.options().iter().enumerate().take(OPTIONS_MAX) {
            if option.value.chars().count() > OPTION_CHARS_MAX {
                let message = format!("must have at most {OPTION_CHARS_MAX} characters");
                refuse(format!("options[{index}].value"), message);
            }
        }
        offences
    }
}
