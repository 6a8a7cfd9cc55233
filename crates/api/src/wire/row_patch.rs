//! Updates of many rows on the wire.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rowmill_app::RowsPatched;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

/// Rows to update. It is read by hand.
#[derive(Debug)]
pub(crate) struct RowsPatch;

impl JsonSchema for RowsPatch {
    fn schema_name() -> Cow<'static, str> {
        "RowsPatch".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (batch, row) =
            (generator.subschema_for::<RowPatchBatch>(), generator.subschema_for::<RowPatch>());
        json_schema!({
            "description": "`{\"rows\": [rows]}`, or an array of rows.",
            "anyOf": [batch, { "type": "array", "items": row, "x-limit": { "maxItems": "insertRowsMax" } }],
        })
    }
}

#[derive(Debug)]
struct RowPatchBatch;

impl JsonSchema for RowPatchBatch {
    fn schema_name() -> Cow<'static, str> {
        "RowPatchBatch".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let row = generator.subschema_for::<RowPatch>();
        json_schema!({
            "type": "object",
            "description": "Rows to update.",
            "required": ["rows"],
            "additionalProperties": false,
            "properties": {
                "rows": { "type": "array", "items": row, "x-limit": { "maxItems": "insertRowsMax" } }
            },
        })
    }
}

#[derive(Debug)]
struct RowPatch;

impl JsonSchema for RowPatch {
    fn schema_name() -> Cow<'static, str> {
        "RowPatch".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "The row's id, and either fields beside it or `cells` alone, as in a row that was read. A field \
             names a column by id, or else by header. A column with the header \"id\" goes by its id, or into `cells`.",
            "required": ["id"],
            "properties": { "id": { "type": "string", "maxLength": 255 } },
            "additionalProperties": true,
        })
    }
}

/// The result of an update of rows.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RowsUpdated {
    /// Number of distinct rows that something was written into.
    updated_count: usize,
    /// Fields that do not name a column.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored_keys: Vec<String>,
    /// Fields of `ignoredKeys` that may be misspelt, and the headers they resemble.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    hints: BTreeMap<String, String>,
}

impl From<RowsPatched> for RowsUpdated {
    fn from(patched: RowsPatched) -> Self {
        let RowsPatched { updated_count, ignored_keys, hints } = patched;
        Self { updated_count, ignored_keys, hints }
    }
}
