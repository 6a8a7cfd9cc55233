//! Query strings, checked by the same schema that documents them.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use rowmill_model::Offence;
use rowmill_model::limits::OFFENCES_MAX;
use serde_json::{Map, Value};

use crate::check::Checker;
use crate::schema::{Param, SchemaLimits, TypeSchema};

/// Reads one operation's query.
#[derive(Debug)]
pub(crate) struct QueryReader {
    params: Vec<(String, Kind)>,
    checker: Checker,
}

/// A query that is refused.
#[derive(Debug)]
pub(crate) struct WrongQuery {
    pub offences: Vec<Offence>,
    /// The parameters that are right, by which the rest of the request can be checked.
    pub rest: Option<Value>,
}

/// How a parameter's text becomes a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
}

const NO_PARAMS: &str = "; this operation has no query parameters";

/// Refuses every parameter of a query: for operations that have none, and no types that say so.
pub(crate) fn refuse_all(query: Option<&str>) -> Result<(), Vec<Offence>> {
    let refused = |pair: &str| {
        let name = decode(pair.split_once('=').map_or(pair, |(name, _)| name));
        name.map_or_else(
            |message| Offence::new("", message),
            |name| Offence::new(name, format!("is not a known query parameter{NO_PARAMS}")),
        )
    };
    let offences: Vec<_> = pairs(query).take(OFFENCES_MAX).map(refused).collect();
    if offences.is_empty() { Ok(()) } else { Err(offences) }
}

fn pairs(query: Option<&str>) -> impl Iterator<Item = &str> {
    query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty())
}

impl QueryReader {
    pub(crate) fn new(limits: &SchemaLimits, query: TypeSchema) -> Result<Self, String> {
        let params =
            limits.params(query).into_iter().map(|Param { name, schema, .. }| (name, kind_of(&schema)));
        Ok(Self { params: params.collect(), checker: Checker::new(limits.checked(query))? })
    }

    /// The parameters as an object, or everything that is wrong with them.
    pub(crate) fn read(&self, query: Option<&str>) -> Result<Value, WrongQuery> {
        let mut offences = Vec::new();
        let mut values = Map::new();
        for pair in pairs(query) {
            if let Err(offence) = self.take(pair, &mut values) {
                offences.push(offence);
            }
        }
        let values = Value::Object(values);
        if offences.is_empty() && self.checker.is_valid(&values) {
            return Ok(values);
        }
        // A parameter that was refused already is not also reported as missing.
        let is_news = |offence: &Offence| offences.iter().all(|known: &Offence| known.path != offence.path);
        let more: Vec<_> = self.checker.offences(values.clone(), 0).into_iter().filter(is_news).collect();
        offences.extend(more);
        let rest = self.rest(values, &offences);
        Err(WrongQuery { offences, rest })
    }

    /// What is left without the parameters that are wrong, if that is a query.
    fn rest(&self, values: Value, offences: &[Offence]) -> Option<Value> {
        let Value::Object(mut values) = values else { return None };
        values.retain(|name, _| offences.iter().all(|offence| offence.path != *name));
        let rest = Value::Object(values);
        self.checker.is_valid(&rest).then_some(rest)
    }

    fn take(&self, pair: &str, values: &mut Map<String, Value>) -> Result<(), Offence> {
        let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decode(name).map_err(|message| Offence::new("", message))?;
        let Some((_, kind)) = self.params.iter().find(|(known, _)| *known == name) else {
            return Err(Offence::new(name, format!("is not a known query parameter{}", self.hint())));
        };
        let text = decode(text).map_err(|message| Offence::new(&name, message))?;
        if values.contains_key(&name) {
            return Err(Offence::new(name, "must be given only once"));
        }
        let value = kind.value(text).map_err(|message| Offence::new(&name, message))?;
        values.insert(name, value);
        Ok(())
    }

    fn hint(&self) -> String {
        let names: Vec<_> = self.params.iter().map(|(name, _)| name.as_str()).collect();
        if names.is_empty() { NO_PARAMS.to_owned() } else { format!("; known: {}", names.join(", ")) }
    }
}

impl Kind {
    fn value(self, text: String) -> Result<Value, &'static str> {
        match self {
            Self::Text => Ok(Value::String(text)),
            Self::Boolean => text.parse::<bool>().map(Value::from).map_err(|_| "must be true or false"),
            Self::Integer => integer(&text).ok_or("must be an integer"),
            Self::Number => {
                let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
                number.map(Value::from).ok_or("must be a number")
            }
        }
    }
}

/// Digits with or without a minus. Digits beyond any machine integer are still an integer, only one
/// that no bound allows: as a float it meets the bound's own words.
fn integer(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let float = |_| text.parse::<f64>().map(|number| Value::from(number.clamp(f64::MIN, f64::MAX)));
    text.parse::<i64>().map(Value::from).or_else(float).ok()
}

fn kind_of(schema: &Value) -> Kind {
    match schema.get("type").and_then(Value::as_str) {
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        _ => Kind::Text,
    }
}

fn decode(text: &str) -> Result<String, &'static str> {
    let spaced = if text.contains('+') { text.replace('+', " ").into() } else { Cow::Borrowed(text) };
    let decoded = percent_decode_str(&spaced).decode_utf8().map_err(|_| "must be valid UTF-8")?;
    if decoded.contains('\0') {
        return Err("must not contain the character U+0000");
    }
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use rowmill_model::Limits;
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Listing {
        #[schemars(range(min = 1))]
        page: Option<u32>,
        #[schemars(range(min = 1), extend("x-limit" = { "maximum": "pageSizeMax" }))]
        page_size: Option<u32>,
        search: Option<String>,
        #[serde(default)]
        with_status: bool,
    }

    fn read(query: &str) -> Result<Listing, Vec<String>> {
        let limits = SchemaLimits::new(&Limits::default());
        let listing = TypeSchema::of::<Listing>();
        let reader = QueryReader::new(&limits, listing).unwrap();
        let values = reader.read(Some(query)).map_err(|wrong| -> Vec<String> {
            wrong.offences.into_iter().map(|Offence { path, message }| format!("{path} {message}")).collect()
        })?;
        Ok(serde_json::from_value(values).unwrap())
    }

    #[test]
    fn reads_each_type() {
        let page = read("page=2&search=a%20b+c%C3%A9&withStatus=true&").unwrap();
        let search = Some("a b cé".to_owned());
        assert_eq!(page, Listing { page: Some(2), page_size: None, search, with_status: true });
        assert_eq!(
            read("").unwrap(),
            Listing { page: None, page_size: None, search: None, with_status: false }
        );
        assert_eq!(read("search=").unwrap().search.as_deref(), Some(""));
    }

    #[test]
    fn names_every_offence() {
        let check =
            |query: &str, expected: &[&str]| assert_eq!(read(query).unwrap_err(), expected, "{query}");
        check("page=abc", &["page must be an integer"]);
        check("page=", &["page must be an integer"]);
        check("page=1.5", &["page must be an integer"]);
        check("page=0", &["page must be at least 1"]);
        check("page=99999999999", &["page must be at most 4294967295"]);
        check("page=99999999999999999999999", &["page must be at most 4294967295"]);
        check(&format!("page={}", "9".repeat(400)), &["page must be at most 4294967295"]);
        check(
            "pageSize=1001&page=-1",
            &["pageSize must be at most 1000 (pageSizeMax)", "page must be at least 1"],
        );
        check("page=1&page=2", &["page must be given only once"]);
        check("withStatus=yes", &["withStatus must be true or false"]);
        check("search=%00", &["search must not contain the character U+0000"]);
        check("search=%ff", &["search must be valid UTF-8"]);
        let known = "known: page, pageSize, search, withStatus";
        check(
            "colour=1&page=x",
            &[&format!("colour is not a known query parameter; {known}"), "page must be an integer"],
        );
    }
}
