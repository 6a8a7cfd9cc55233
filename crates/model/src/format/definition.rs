//! What a format is, and what it is called.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::{SelectOption, SelectOptions};

/// The most options that a select can have.
pub const OPTIONS_MAX: usize = 500;
/// The longest option, in characters.
pub const OPTION_CHARS_MAX: usize = 200;
/// The most digits that are shown after the decimal point.
pub const DECIMALS_MAX: u8 = 10;
/// The most stars that a rating can have.
pub const RATING_MAX: u8 = 10;

/// The type of a column's values, with its settings. The settings of other types are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Format {
    #[serde(rename = "type")]
    pub kind: FormatType,
    /// Whether values that do not fit are refused. Otherwise they are kept and marked. Results of processing are
    /// always kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Of `currency`: the ISO 4217 code. Default: `USD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = "^[A-Z]{3}$"), length(max = 3))]
    pub currency: Option<String>,
    /// Of `number`, `currency` and `percent`: how many digits are shown after the decimal point. Default: as written; of
    /// `currency` 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u8", range(min = 0, max = 10))]
    pub decimals: Option<u8>,
    /// Of `date` and `dateTime`: how dates are shown, and how `03/04/2024` is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DateStyle")]
    pub date_style: Option<DateStyle>,
    /// Of `select` and `multiSelect`: the options, in the order in which they sort. Without options, every text fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<SelectOption>", length(max = 500))]
    pub options: Option<SelectOptions>,
    /// Of `rating`: the highest rating. Default: 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u8", range(min = 1, max = 10))]
    pub max: Option<u8>,
}

/// What a column's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FormatType {
    Text,
    LongText,
    Number,
    Currency,
    Percent,
    Date,
    DateTime,
    Checkbox,
    Select,
    MultiSelect,
    Url,
    Email,
    Phone,
    Json,
    Rating,
}

/// How dates are shown. `us` is `01/31/2024`, `european` is `31/01/2024`, `iso` is `2024-01-31`, and `local` is what the
/// reader is used to. A date such as `03/04/2024` is read with the day first if the style is `european`, and with the
/// month first otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DateStyle {
    #[default]
    Local,
    Iso,
    Us,
    European,
}

impl FormatType {
    pub const ALL: [Self; 15] = [
        Self::Text,
        Self::LongText,
        Self::Number,
        Self::Currency,
        Self::Percent,
        Self::Date,
        Self::DateTime,
        Self::Checkbox,
        Self::Select,
        Self::MultiSelect,
        Self::Url,
        Self::Email,
        Self::Phone,
        Self::Json,
        Self::Rating,
    ];

    /// The word the API uses.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::LongText => "longText",
            Self::Number => "number",
            Self::Currency => "currency",
            Self::Percent => "percent",
            Self::Date => "date",
            Self::DateTime => "dateTime",
            Self::Checkbox => "checkbox",
            Self::Select => "select",
            Self::MultiSelect => "multiSelect",
            Self::Url => "url",
            Self::Email => "email",
            Self::Phone => "phone",
            Self::Json => "json",
            Self::Rating => "rating",
        }
    }
}

impl Format {
    /// A type without settings.
    pub fn new(kind: FormatType) -> Self {
        Self {
            kind,
            strict: false,
            currency: None,
            decimals: None,
            date_style: None,
            options: None,
            max: None,
        }
    }

    /// The code of the currency; that of another type does not matter.
    pub fn currency_code(&self) -> &str {
        self.currency.as_deref().unwrap_or("USD")
    }

    /// The highest rating.
    pub fn rating_max(&self) -> u8 {
        self.max.unwrap_or(5)
    }

    /// What it takes besides itself.
    pub fn bytes(&self) -> usize {
        let options = self.options().iter().map(|option| size_of::<SelectOption>() + option.value.len());
        // Their folded texts are kept beside them.
        2 * options.sum::<usize>() + self.currency.as_ref().map_or(0, String::len)
    }

    pub(crate) fn options(&self) -> &[SelectOption] {
        self.options.as_deref().unwrap_or_default()
    }
}
