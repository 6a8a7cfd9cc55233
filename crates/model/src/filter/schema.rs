//! How filters are described in the API's document.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value as Json, json};

use super::reader::{COLUMN_ID_CHARS_MAX, TIME_ZONE_CHARS_MAX};
use super::{Conjunction, Filters, Operator};
use crate::limits::FILTER_DEPTH_MAX;
use crate::path::PATH_CHARS_MAX;

/// Groups are written out to the depth they may have: no schema refers to itself. `x-limit` names the
/// limit in force, for whoever writes the document.
impl JsonSchema for Filters {
    fn schema_name() -> Cow<'static, str> {
        "Filters".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "description": "Filters that must all match.",
            "x-limit": { "maxItems": "filtersMax" },
            "items": node(FILTER_DEPTH_MAX),
        })
    }
}

fn node(groups_left: usize) -> Json {
    if groups_left == 0 {
        return filter();
    }
    json!({ "anyOf": [filter(), group(groups_left)] })
}

fn group(groups_left: usize) -> Json {
    json!({
        "type": "object",
        "description": "A group of filters. `not` means that none of them matches.",
        "additionalProperties": false,
        "required": ["conjunction", "filters"],
        "properties": {
            "conjunction": { "type": "string", "enum": Conjunction::ALL.map(Conjunction::word) },
            "filters": { "type": "array", "x-limit": { "maxItems": "filtersMax" }, "items": node(groups_left - 1) },
        },
    })
}

fn filter() -> Json {
    json!({
        "type": "object",
        "description": "A condition on one column.",
        "additionalProperties": false,
        "required": ["columnId", "operator"],
        "properties": {
            "columnId": {
                "type": "string", "maxLength": COLUMN_ID_CHARS_MAX,
                "description": "The id of the column to test.",
            },
            "operator": { "type": "string", "enum": Operator::ALL.map(Operator::word) },
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
