//! A column as the API writes and reads it.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::column::{
    AiConfig, ApiConfig, Column, ColumnType, DataShape, Dependency, RateLimit, ReferenceConfig, Retry,
    TaskConfig,
};
use crate::filter::Filters;
use crate::offence::Offence;
use crate::table::Table;

/// What a new column may say, but for its template.
pub(super) const CREATED: [&str; 11] = [
    "header",
    "order",
    "dependencies",
    "aiConfig",
    "taskConfig",
    "apiConfig",
    "referenceConfig",
    "runCondition",
    "retry",
    "rateLimit",
    "cacheTtlSeconds",
];
/// What a change to a column may say besides. The first is writable.
pub(super) const PATCHED: [&str; 15] = {
    let [a, b, c, d, e, f, g, h, i, j, k] = CREATED;
    let [x, y, z] = READ_ONLY;
    ["dataShape", a, b, c, d, e, f, g, h, i, j, k, x, y, z]
};
const READ_ONLY: [&str; 3] = ["id", "type", "trigger"];

/// The full column as the API shows it. Where a setting of every type is not set, it is shown so;
/// configuration is there for the column's own type only.
pub fn to_wire(table: &Table, column: &Column) -> Map<String, Value> {
    let Column {
        id,
        slot: _,
        header,
        kind,
        data_shape,
        dependencies,
        ai_config,
        task_config,
        api_config,
        reference_config,
        run_condition,
        retry,
        rate_limit,
        cache_ttl_seconds,
    } = column;
    let wire = Wire {
        id: id.as_str(),
        header,
        kind: *kind,
        data_shape: *data_shape,
        order: table.position(id.as_str()).unwrap_or(table.columns.len()),
        trigger: id.is_trigger(),
        dependencies,
        ai_config: ai_config.as_ref(),
        task_config: task_config.as_ref(),
        api_config: api_config.as_ref(),
        reference_config: reference_config.as_ref(),
        run_condition,
        retry,
        rate_limit: rate_limit.as_ref(),
        cache_ttl_seconds: *cache_ttl_seconds,
    };
    match serde_json::to_value(wire) {
        Ok(Value::Object(wire)) => wire,
        // Not reached: nothing in a column is without a JSON form.
        _ => Map::new(),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    id: &'a str,
    header: &'a str,
    #[serde(rename = "type")]
    kind: ColumnType,
    data_shape: DataShape,
    order: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    trigger: bool,
    dependencies: &'a [Dependency],
    #[serde(skip_serializing_if = "Option::is_none")]
    ai_config: Option<&'a AiConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_config: Option<&'a TaskConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_config: Option<&'a ApiConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference_config: Option<&'a ReferenceConfig>,
    run_condition: &'a Filters,
    retry: &'a Retry,
    rate_limit: Option<&'a RateLimit>,
    cache_ttl_seconds: u32,
}

/// Reads a whole column out of its wire form. What cannot be written (id, slot, type), and the run
/// condition, which needs the table, are the stored column's.
pub(super) fn read(wire: &Map<String, Value>, stored: &Column, offences: &mut Vec<Offence>) -> Column {
    let mut reader = Reader { wire, offences };
    Column {
        id: stored.id.clone(),
        slot: stored.slot,
        kind: stored.kind,
        run_condition: stored.run_condition.clone(),
        header: reader.field("header").unwrap_or_default(),
        data_shape: reader.field("dataShape").unwrap_or(stored.data_shape),
        dependencies: reader.field("dependencies").unwrap_or_default(),
        ai_config: reader.object("aiConfig"),
        task_config: reader.object("taskConfig"),
        api_config: reader.object("apiConfig"),
        reference_config: reader.object("referenceConfig"),
        retry: reader.object("retry").unwrap_or_default(),
        rate_limit: reader.object("rateLimit"),
        cache_ttl_seconds: reader.field("cacheTtlSeconds").unwrap_or_default(),
    }
}

pub(super) fn unknown_fields(body: &Map<String, Value>, known: &[&str]) -> Vec<Offence> {
    let unknown = body.keys().filter(|key| !known.contains(&key.as_str()));
    unknown.map(|key| Offence::new(key, "is not a known field")).collect()
}

/// The read-only fields that were sent with another value than they have.
pub(super) fn changed_read_only(body: &Map<String, Value>, column: &Column) -> Vec<Offence> {
    let stored = |key: &str| match key {
        "id" => Value::from(column.id.as_str()),
        "type" => Value::from(column.kind.word()),
        _ => Value::from(column.id.is_trigger()),
    };
    let changed = |key: &&str| body.get(*key).is_some_and(|sent| *sent != stored(key));
    READ_ONLY
        .into_iter()
        .filter(changed)
        .map(|key| Offence::new(key, format!("is read-only; leave it out or send {}", stored(key))))
        .collect()
}

struct Reader<'a> {
    wire: &'a Map<String, Value>,
    offences: &'a mut Vec<Offence>,
}

impl Reader<'_> {
    /// An object; serde alone would read a struct from an array, too.
    fn object<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        if self.wire.get(key).is_some_and(|value| !value.is_object() && !value.is_null()) {
            self.offences.push(Offence::new(key, "must be an object"));
            return None;
        }
        self.field(key)
    }

    fn field<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let value = self.wire.get(key).filter(|value| !value.is_null())?;
        T::deserialize(value).map_err(|error| self.offences.push(Offence::new(key, error.to_string()))).ok()
    }
}
