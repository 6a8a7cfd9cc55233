//! A column as a JSON document: the form in which it is read, and in which changes are merged into it.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::fields::{ColumnField, Writable};
use crate::column::Column;
use crate::offence::Offence;
use crate::table::Table;

/// The full column as the API shows it. Where a setting of every type is not set, it is shown so;
/// configuration is there for the column's own type only.
pub fn to_document(table: &Table, column: &Column) -> Map<String, Value> {
    let Column {
        id,
        slot: _,
        header,
        kind,
        data_shape,
        format,
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
    let value_of = |field| match field {
        ColumnField::Id => json(id.as_str()),
        ColumnField::Header => json(header),
        ColumnField::Type => json(kind),
        ColumnField::DataShape => json(data_shape),
        ColumnField::Format => format.as_ref().and_then(json),
        ColumnField::Order => json(&table.position(id.as_str()).unwrap_or(table.columns.len())),
        ColumnField::Trigger => id.is_trigger().then_some(Value::Bool(true)),
        ColumnField::Dependencies => json(dependencies),
        ColumnField::AiConfig => ai_config.as_ref().and_then(json),
        ColumnField::TaskConfig => task_config.as_ref().and_then(json),
        ColumnField::ApiConfig => api_config.as_ref().and_then(json),
        ColumnField::ReferenceConfig => reference_config.as_ref().and_then(json),
        ColumnField::RunCondition => json(run_condition),
        ColumnField::Retry => json(retry),
        ColumnField::RateLimit => json(rate_limit),
        ColumnField::CacheTtlSeconds => json(cache_ttl_seconds),
    };
    let fields = ColumnField::ALL.into_iter();
    fields.filter_map(|field| Some((field.name().to_owned(), value_of(field)?))).collect()
}

/// Never `None`: nothing in a column is without a JSON form.
fn json<T: Serialize + ?Sized>(value: &T) -> Option<Value> {
    serde_json::to_value(value).ok()
}

/// Parses a whole column. What cannot be written (id, slot, type), and the run
/// condition, which needs the table, are the stored column's.
pub(super) fn read(document: &Map<String, Value>, stored: &Column, offences: &mut Vec<Offence>) -> Column {
    let mut reader = Reader { document, offences };
    Column {
        id: stored.id.clone(),
        slot: stored.slot,
        kind: stored.kind,
        run_condition: stored.run_condition.clone(),
        header: reader.field(ColumnField::Header).unwrap_or_default(),
        data_shape: reader.field(ColumnField::DataShape).unwrap_or(stored.data_shape),
        format: reader.object(ColumnField::Format),
        dependencies: reader.field(ColumnField::Dependencies).unwrap_or_default(),
        ai_config: reader.object(ColumnField::AiConfig),
        task_config: reader.object(ColumnField::TaskConfig),
        api_config: reader.object(ColumnField::ApiConfig),
        reference_config: reader.object(ColumnField::ReferenceConfig),
        retry: reader.object(ColumnField::Retry).unwrap_or_default(),
        rate_limit: reader.object(ColumnField::RateLimit),
        cache_ttl_seconds: reader.field(ColumnField::CacheTtlSeconds).unwrap_or_default(),
    }
}

/// The fields that are not among these.
pub(super) fn unknown_fields(
    body: &Map<String, Value>,
    known: impl Iterator<Item = ColumnField>,
) -> Vec<Offence> {
    let known: Vec<&str> = known.map(ColumnField::name).collect();
    let unknown = body.keys().filter(|key| !known.contains(&key.as_str()));
    unknown.map(|key| Offence::new(key, "is not a known field")).collect()
}

/// The read-only fields that were sent with another value than they have.
pub(super) fn changed_read_only(body: &Map<String, Value>, column: &Column) -> Vec<Offence> {
    let stored = |field| match field {
        ColumnField::Id => json(column.id.as_str()),
        ColumnField::Type => json(&column.kind),
        ColumnField::Trigger => json(&column.id.is_trigger()),
        _ => None,
    };
    let read_only = ColumnField::ALL.into_iter().filter(|field| field.writable() == Writable::Never);
    read_only
        .filter_map(|field| {
            let stored = stored(field)?;
            let is_changed = body.get(field.name()).is_some_and(|sent| *sent != stored);
            let message = format!("is read-only; leave it out or send {stored}");
            is_changed.then(|| Offence::new(field.name(), message))
        })
        .collect()
}

struct Reader<'a> {
    document: &'a Map<String, Value>,
    offences: &'a mut Vec<Offence>,
}

impl Reader<'_> {
    /// An object; serde alone would read a struct from an array, too.
    fn object<T: DeserializeOwned>(&mut self, field: ColumnField) -> Option<T> {
        if self.document.get(field.name()).is_some_and(|value| !value.is_object() && !value.is_null()) {
            self.offences.push(Offence::new(field.name(), "must be an object"));
            return None;
        }
        self.field(field)
    }

    fn field<T: DeserializeOwned>(&mut self, field: ColumnField) -> Option<T> {
        let value = self.document.get(field.name()).filter(|value| !value.is_null())?;
        let parsed = T::deserialize(value);
        parsed.map_err(|error| self.offences.push(offence(field, &error.to_string()))).ok()
    }
}

/// What cannot be read of a field. A part that is missing is named where it should be.
fn offence(field: ColumnField, error: &str) -> Offence {
    let missing = error.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    match missing.filter(|_| field == ColumnField::RateLimit) {
        Some(part) => Offence::new(format!("{}.{part}", field.name()), "is required"),
        None => Offence::new(field.name(), error),
    }
}
