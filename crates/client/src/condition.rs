//! Conditions as people write them: `City=Paris`.

use serde::Serialize;
use serde_json::value::RawValue;

/// A filter in short: `City=Paris`.
#[derive(Debug, Clone)]
pub(crate) struct Condition {
    /// As it was written.
    text: String,
    column: String,
    sign: &'static str,
    operator: &'static str,
    value: Option<Box<RawValue>>,
}

/// Signs with their operators. Of two that begin alike the longer comes first.
const SIGNS: &[(&str, &str)] = &[
    ("!=", "notEquals"),
    ("!~", "notContains"),
    (">=", "greaterThanOrEqual"),
    ("<=", "lessThanOrEqual"),
    ("=", "equals"),
    ("~", "contains"),
    (">", "greaterThan"),
    ("<", "lessThan"),
];

impl Condition {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let sign_at = |(at, _): (usize, char)| {
            let rest = text.get(at..)?;
            SIGNS
                .iter()
                .find(|(sign, _)| rest.starts_with(sign))
                .map(|(sign, operator)| (at, *sign, *operator))
        };
        let (at, sign, operator) = text
            .char_indices()
            .find_map(sign_at)
            .ok_or("write a column, one of = != > >= < <= ~ !~ and a value, such as 'City=Paris'")?;
        let column = text.get(..at).unwrap_or_default().trim().to_owned();
        let value = text.get(at + sign.len()..).unwrap_or_default().trim();
        if column.is_empty() {
            return Err(format!("there is no column before {sign}"));
        }
        let operator = match (sign, value) {
            ("=", "") => "isEmpty",
            ("!=", "") => "isNotEmpty",
            (_, "") => return Err(format!("there is no value after {sign}")),
            _ => operator,
        };
        let value = (!value.is_empty()).then(|| value_of(sign, value)).transpose()?;
        Ok(Self { text: text.to_owned(), column, sign, operator, value })
    }

    /// The column's id or header, as it was written.
    pub(crate) fn column(&self) -> &str {
        &self.column
    }

    /// The filter as the API takes it.
    pub(crate) fn filter(&self, column_id: String) -> serde_json::Result<Box<RawValue>> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Filter<'a> {
            column_id: String,
            operator: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            value: Option<&'a RawValue>,
        }

        let Self { operator, value, .. } = self;
        serde_json::value::to_raw_value(&Filter { column_id, operator, value: value.as_deref() })
    }

    /// Why the server does not take it.
    pub(crate) fn refused(&self, message: &str) -> String {
        let Self { text, sign, value, .. } = self;
        if !sign.starts_with(['<', '>']) {
            return format!("--where '{text}': {message}");
        }
        let value = value.as_deref().map(RawValue::get).unwrap_or_default();
        format!(
            "--where '{text}': {sign} compares numbers and dates, such as 10 or 2024-01-31, and {value} is neither. For text use \
             = (equal) or ~ (contains)"
        )
    }
}

/// Text, but a number where numbers are compared: with all its digits.
fn value_of(sign: &str, text: &str) -> Result<Box<RawValue>, String> {
    let is_compared = sign.starts_with(['<', '>']);
    let is_number = serde_json::from_str::<serde_json::Number>(text).is_ok();
    if is_compared && is_number {
        return RawValue::from_string(text.to_owned()).map_err(|error| error.to_string());
    }
    serde_json::value::to_raw_value(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_in_short() {
        let check = |text: &str, json: &str| {
            let condition = Condition::parse(text).unwrap();
            let column = condition.column().to_owned();
            assert_eq!(condition.filter(column).unwrap().get(), json, "{text}");
        };
        check("City=Paris", r#"{"columnId":"City","operator":"equals","value":"Paris"}"#);
        check("Full name != a=b", r#"{"columnId":"Full name","operator":"notEquals","value":"a=b"}"#);
        check("Größe>=1.50", r#"{"columnId":"Größe","operator":"greaterThanOrEqual","value":1.50}"#);
        check("At<2024-01-31", r#"{"columnId":"At","operator":"lessThan","value":"2024-01-31"}"#);
        check("Zip=007", r#"{"columnId":"Zip","operator":"equals","value":"007"}"#);
        check("City~ar", r#"{"columnId":"City","operator":"contains","value":"ar"}"#);
        check("City!~ar", r#"{"columnId":"City","operator":"notContains","value":"ar"}"#);
        check("City=", r#"{"columnId":"City","operator":"isEmpty"}"#);
        check("City!=", r#"{"columnId":"City","operator":"isNotEmpty"}"#);
        for bad in ["City", "=Paris", "City>", ""] {
            assert!(Condition::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_refusal_is_told_in_the_words_of_the_condition() {
        let refused = |text: &str| Condition::parse(text).unwrap().refused("`contains` takes text.");
        let told = refused("Name>x");
        assert!(
            told.starts_with("--where 'Name>x': > compares numbers and dates")
                && told.contains("\"x\" is neither")
        );
        assert_eq!(refused("Name~x"), "--where 'Name~x': `contains` takes text.");
    }
}
