//! Filters and sorting, as the document describes them. The model parses them (`model/filter`, `model/sort`).

use std::borrow::Cow;

use rowmill_model::filter::{COLUMN_ID_CHARS_MAX, Conjunction, Operator, TIME_ZONE_CHARS_MAX};
use rowmill_model::limits::FILTER_DEPTH_MAX;
use rowmill_model::path::PATH_CHARS_MAX;
use rowmill_model::sort::{Direction, SORT_KEYS_MAX};
use rowmill_model::value::quote_long_numbers;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};
use serde_json::Value as Json;
use serde_json::value::RawValue;

/// Describes [`rowmill_model::filter::Filters`]. `x-limit` names the limit in force, for whoever writes the document.
pub(crate) struct FiltersSchema;

impl JsonSchema for FiltersSchema {
    fn schema_name() -> Cow<'static, str> {
        "Filters".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut filters = filter_list(generator);
        filters.insert("description".to_owned(), "Filters that must all match.".into());
        filters
    }
}

fn filter_list(generator: &mut SchemaGenerator) -> Schema {
    let (filter, group) = (generator.subschema_for::<Filter>(), generator.subschema_for::<FilterGroup>());
    json_schema!({
        "type": "array",
        "x-limit": { "maxItems": "filtersMax" },
        "items": { "anyOf": [filter, group] },
    })
}

struct Filter;

impl JsonSchema for Filter {
    fn schema_name() -> Cow<'static, str> {
        "Filter".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let operator = generator.subschema_for::<FilterOperator>();
        json_schema!({
            "type": "object",
            "description": "A condition on one column.",
            "additionalProperties": false,
            "required": ["columnId", "operator"],
            "properties": {
                "columnId": {
                    "type": "string", "maxLength": COLUMN_ID_CHARS_MAX,
                    "description": "The id or header of the column to test. Stored as the id.",
                },
                "operator": operator,
                "value": {
                    "description": "The value to compare with: any value for `equals` and `notEquals`; an array for `in`, \
                     `notIn`, `hasAnyOf`, `hasAllOf` and `hasNoneOf`; a string for text operators; a number or \
                     ISO 8601 date for comparisons and `[low, high]` for `between`; `{mode, n?}` for \
                     `isWithin`; statuses and error codes for cell state operators; no value for the others.",
                },
                "path": {
                    "type": "string", "maxLength": PATH_CHARS_MAX,
                    "description": "Tests a part of a JSON value: a dotted path, or JSONPath starting with `$`.",
                },
                "caseSensitive": { "type": "boolean", "default": false },
                "timeZone": {
                    "type": "string", "maxLength": TIME_ZONE_CHARS_MAX,
                    "description": "The IANA time zone for dates without an offset and for calendar days. Default: UTC.",
                },
            },
        })
    }
}

struct FilterOperator;

impl JsonSchema for FilterOperator {
    fn schema_name() -> Cow<'static, str> {
        "FilterOperator".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Operator::ALL.map(Operator::word).to_vec() })
    }
}

struct FilterGroup;

impl JsonSchema for FilterGroup {
    fn schema_name() -> Cow<'static, str> {
        "FilterGroup".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let filters = filter_list(generator);
        json_schema!({
            "type": "object",
            "description": format!(
                "A group of filters. `not` means that none of them matches. Groups are at most {FILTER_DEPTH_MAX} deep."
            ),
            "additionalProperties": false,
            "required": ["conjunction", "filters"],
            "properties": {
                "conjunction": { "type": "string", "enum": Conjunction::ALL.map(Conjunction::word) },
                "filters": filters,
            },
        })
    }
}

/// Describes [`rowmill_model::sort::Sorting`].
pub(crate) struct SortingSchema;

impl JsonSchema for SortingSchema {
    fn schema_name() -> Cow<'static, str> {
        "Sorting".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let key = generator.subschema_for::<SortKey>();
        json_schema!({
            "type": "array",
            "description": "Sort keys, the most important first.",
            "maxItems": SORT_KEYS_MAX,
            "items": key,
        })
    }
}

struct SortKey;

impl JsonSchema for SortKey {
    fn schema_name() -> Cow<'static, str> {
        "SortKey".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "additionalProperties": false,
            "required": ["columnId", "direction"],
            "properties": {
                "columnId": {
                    "type": "string", "maxLength": COLUMN_ID_CHARS_MAX,
                    "description": "The id or header of the column to sort by.",
                },
                "direction": { "type": "string", "enum": Direction::ALL.map(Direction::word) },
            },
        })
    }
}

/// Reads filters whose numbers keep all their digits: one that would be rounded is read as text, which filters take
/// for the same number.
pub(crate) fn exact_filters<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    serde_json::from_str(&quote_long_numbers(raw.get())).map(Some).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_bounds_every_string_and_array() {
        fn walk(schema: &Json, at: &str) {
            let plain_text = schema["type"] == "string" && schema.get("enum").is_none();
            assert!(!plain_text || schema["maxLength"].is_u64(), "{at} needs maxLength");
            let is_bounded = schema["maxItems"].is_u64() || schema["x-limit"]["maxItems"] == "filtersMax";
            assert!(schema["type"] != "array" || is_bounded, "{at} needs maxItems");
            match schema {
                Json::Object(members) => {
                    members.iter().for_each(|(name, part)| walk(part, &format!("{at}/{name}")));
                }
                Json::Array(parts) => parts.iter().for_each(|part| walk(part, at)),
                _ => {}
            }
        }
        let generator = || schemars::generate::SchemaSettings::openapi3().into_generator();
        for schema in [
            generator().into_root_schema_for::<FiltersSchema>(),
            generator().into_root_schema_for::<SortingSchema>(),
        ] {
            let schema = serde_json::to_value(schema).unwrap();
            assert_eq!(schema["type"], "array");
            walk(&schema, "");
        }
        let filters = serde_json::to_value(generator().into_root_schema_for::<FiltersSchema>()).unwrap();
        let names: Vec<_> = filters["components"]["schemas"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["Filter", "FilterOperator", "FilterGroup"]);
        let operators = &filters["components"]["schemas"]["FilterOperator"]["enum"];
        assert_eq!(operators.as_array().unwrap().len(), Operator::ALL.len());
    }
}
