//! How the document describes columns: whole, new, and changed.
//!
//! The fields are those of [`ColumnField`], by which the model parses a column. So the document has every field that
//! the parser takes, and no other.

use std::borrow::Cow;

use rowmill_model::column::{
    AiConfig, ApiConfig, Dependency, FanOut, FindCompany, FindPeople, LookupTask, RateLimit, ReferenceConfig,
    Retry, TaskConfig, VerifyEmail, WaterfallEmail, WebScraper,
};
use rowmill_model::corrections::{ColumnField, Writable};
use rowmill_model::{ColumnType, DataShape, Format};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::column::{ColumnCreate, ColumnFull, ColumnPatch};
use super::filter::FiltersSchema;
use super::patch::Patch;
use super::place::AnyPlace;
use super::variants::variants;

const CACHE_TTL_SECONDS_MAX: u32 = 31_536_000;
const DEPENDENCIES_MAX: u32 = 500;
const READ_ONLY: &str = "Read-only. If present, it must be unchanged.";

impl JsonSchema for ColumnFull {
    fn schema_name() -> Cow<'static, str> {
        "Column".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        variants(
            generator,
            "The `type` says which settings a column has.",
            "type",
            &COLUMN_TYPES,
            |kind, generator| {
                let fields = ColumnField::ALL.into_iter().filter(|field| is_shown(*field, kind));
                let properties =
                    properties(fields.map(|field| (field.name(), shown(field, kind, generator))));
                let always = ColumnField::ALL.into_iter().filter(|field| is_always_shown(*field, kind));
                let required: Vec<&str> = always.map(ColumnField::name).collect();
                let name = format!("{}Column", capitalized(kind.word()));
                let schema =
                    json_schema!({ "type": "object", "properties": properties, "required": required });
                (kind.word(), name, schema)
            },
        )
    }
}

const COLUMN_TYPES: [ColumnType; 5] =
    [ColumnType::Manual, ColumnType::Ai, ColumnType::Task, ColumnType::Api, ColumnType::Reference];

/// The task of a column that is shown: always exactly one.
struct TaskShown;

impl JsonSchema for TaskShown {
    fn schema_name() -> Cow<'static, str> {
        TaskConfig::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let tasks = [
            (LookupTask::WaterfallEmail.word(), "WaterfallTask"),
            (TaskConfig::WEB_SCRAPER, "ScraperTask"),
            (LookupTask::VerifyEmail.word(), "VerificationTask"),
            (LookupTask::FindCompany.word(), "CompanyTask"),
            (LookupTask::FindPeople.word(), "PeopleTask"),
            (FanOut::TASK, "FanOutTask"),
        ];
        variants(
            generator,
            "Configuration of a task column.",
            "taskType",
            &tasks,
            |(task, name), generator| {
                let config = match LookupTask::parse(task) {
                    Some(LookupTask::WaterfallEmail) => of::<WaterfallEmail>(generator),
                    Some(LookupTask::VerifyEmail) => of::<VerifyEmail>(generator),
                    Some(LookupTask::FindCompany) => of::<FindCompany>(generator),
                    Some(LookupTask::FindPeople) => of::<FindPeople>(generator),
                    None if task == FanOut::TASK => of::<FanOut>(generator),
                    None => of::<WebScraper>(generator),
                };
                let properties = properties([("taskType", only(task)), (task, config)].into_iter());
                let schema = json_schema!({
                    "type": "object", "properties": properties, "required": ["taskType", task],
                    "additionalProperties": false,
                });
                (task, name.to_owned(), schema)
            },
        )
    }
}

/// A text that has this value and no other.
fn only(word: &str) -> Schema {
    json_schema!({ "type": "string", "enum": [word] })
}

fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at_checked(1).unwrap_or_default();
    first.to_ascii_uppercase() + rest
}

impl JsonSchema for ColumnCreate {
    fn schema_name() -> Cow<'static, str> {
        "ColumnCreate".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let template = ("templateId", template_id());
        let fields = ColumnField::in_new_column().map(|field| (field.name(), created(field, generator)));
        let properties = properties(std::iter::once(template).chain(fields));
        json_schema!({
            "type": "object",
            "required": ["templateId"],
            "properties": properties,
            "additionalProperties": false,
        })
    }
}

impl JsonSchema for ColumnPatch {
    fn schema_name() -> Cow<'static, str> {
        "ColumnPatch".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Patch::<Changed>::json_schema(generator)
    }
}

/// All fields that a change may have, before [`Patch`] makes them nullable.
struct Changed;

impl JsonSchema for Changed {
    fn schema_name() -> Cow<'static, str> {
        "Changed".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut fields: Vec<ColumnField> = ColumnField::in_change().collect();
        fields.sort_by_key(|field| match field.writable() {
            Writable::Never => 0,
            Writable::InChange => 1,
            Writable::Always => 2,
        });
        let fields = fields.into_iter().map(|field| (field.name(), changed(field, generator)));
        json_schema!({
            "type": "object",
            "properties": properties(fields),
            "additionalProperties": false,
        })
    }
}

fn properties<'f>(fields: impl Iterator<Item = (&'f str, Schema)>) -> Map<String, Value> {
    fields.map(|(name, schema)| (name.to_owned(), schema.to_value())).collect()
}

/// The type whose columns have this field, if it is not for all.
fn type_with(field: ColumnField) -> Option<ColumnType> {
    match field {
        ColumnField::Trigger => Some(ColumnType::Manual),
        ColumnField::AiConfig => Some(ColumnType::Ai),
        ColumnField::TaskConfig => Some(ColumnType::Task),
        ColumnField::ApiConfig => Some(ColumnType::Api),
        ColumnField::ReferenceConfig => Some(ColumnType::Reference),
        ColumnField::Id
        | ColumnField::Header
        | ColumnField::Type
        | ColumnField::DataShape
        | ColumnField::Format
        | ColumnField::Order
        | ColumnField::Dependencies
        | ColumnField::RunCondition
        | ColumnField::Retry
        | ColumnField::RateLimit
        | ColumnField::CacheTtlSeconds => None,
    }
}

fn is_shown(field: ColumnField, kind: ColumnType) -> bool {
    type_with(field).is_none_or(|only| only == kind)
}

/// Whether a field is in every column of a type, also where it is not set.
fn is_always_shown(field: ColumnField, kind: ColumnType) -> bool {
    is_shown(field, kind) && !matches!(field, ColumnField::Trigger | ColumnField::Format)
}

/// A field of a whole column.
fn shown(field: ColumnField, kind: ColumnType, generator: &mut SchemaGenerator) -> Schema {
    match field {
        ColumnField::Id => with(of::<String>(generator), json!({ "maxLength": 64 })),
        ColumnField::Header => with(of::<String>(generator), json!({ "minLength": 1, "maxLength": 255 })),
        ColumnField::Type => only(kind.word()),
        ColumnField::DataShape => of::<DataShape>(generator),
        ColumnField::Format => of::<Format>(generator),
        ColumnField::Order => {
            with(of::<u32>(generator), described("The column's position. The input column is 0."))
        }
        ColumnField::Trigger => {
            with(of::<bool>(generator), described("Present and true on the input column."))
        }
        ColumnField::Dependencies => of::<Vec<Dependency>>(generator),
        ColumnField::AiConfig => of::<AiConfig>(generator),
        ColumnField::TaskConfig => of::<TaskShown>(generator),
        ColumnField::ApiConfig => of::<ApiConfig>(generator),
        ColumnField::ReferenceConfig => of::<ReferenceConfig>(generator),
        ColumnField::RunCondition => of::<FiltersSchema>(generator),
        ColumnField::Retry => of::<Retry>(generator),
        ColumnField::RateLimit => of::<Option<RateLimit>>(generator),
        ColumnField::CacheTtlSeconds => of::<u32>(generator),
    }
}

/// Of a new column: the template that it is made from.
fn template_id() -> Schema {
    json_schema!({
        "type": "string",
        "description": "The id of a template. The ids of all API versions are accepted.",
        "x-document": { "enum": [
            "manual", "ai", "ai-text", "ai-json", "ai-research", "waterfall-email", "web-scraper", "verify-email",
            "find-company", "find-people", "fan-out", "http-api", "reference"
        ] },
    })
}

/// A field of a new column. Null means the template's own value.
fn created(field: ColumnField, generator: &mut SchemaGenerator) -> Schema {
    match field {
        ColumnField::Header => {
            let rule = "1 to 255 characters, not counting leading and trailing spaces. Default: the template's label.";
            with(of::<Option<String>>(generator), header(rule))
        }
        ColumnField::Order => with(
            of::<Option<AnyPlace>>(generator),
            described("The column's position; later columns move up. Default: the end."),
        ),
        ColumnField::Dependencies => {
            with(of::<Option<Vec<Dependency>>>(generator), json!({ "maxItems": DEPENDENCIES_MAX }))
        }
        ColumnField::RunCondition => with(
            of::<Option<FiltersSchema>>(generator),
            json!({
                "description": "The column runs only in rows that match these filters. Columns can be named by header.",
                "x-unchecked": true,
            }),
        ),
        ColumnField::Retry => of::<Option<Retry>>(generator),
        ColumnField::CacheTtlSeconds => with(
            of::<Option<u32>>(generator),
            json!({
                "description": "How long the result of an identical call is reused.",
                "maximum": CACHE_TTL_SECONDS_MAX,
            }),
        ),
        ColumnField::Format => of::<Option<Format>>(generator),
        ColumnField::AiConfig => of::<Option<AiConfig>>(generator),
        ColumnField::TaskConfig => of::<Option<TaskConfig>>(generator),
        ColumnField::ApiConfig => of::<Option<ApiConfig>>(generator),
        ColumnField::ReferenceConfig => of::<Option<ReferenceConfig>>(generator),
        ColumnField::RateLimit => of::<Option<RateLimit>>(generator),
        // Not in a new column.
        ColumnField::Id | ColumnField::Type | ColumnField::DataShape | ColumnField::Trigger => {
            Schema::from(false)
        }
    }
}

/// A field of a change.
fn changed(field: ColumnField, generator: &mut SchemaGenerator) -> Schema {
    match field {
        ColumnField::Id => {
            with(of::<String>(generator), json!({ "description": READ_ONLY, "maxLength": 64 }))
        }
        ColumnField::Type => with(of::<ColumnType>(generator), described(READ_ONLY)),
        ColumnField::Trigger => with(of::<bool>(generator), described(READ_ONLY)),
        ColumnField::DataShape => {
            let rule = "Corrected to a value that the column's type allows.";
            with(of::<String>(generator), json!({ "description": rule, "maxLength": 64 }))
        }
        ColumnField::Header => {
            let rule = "1 to 255 characters, not counting leading and trailing spaces.";
            with(of::<String>(generator), header(rule))
        }
        ColumnField::Order => of::<AnyPlace>(generator),
        ColumnField::Dependencies => {
            with(of::<Vec<Dependency>>(generator), json!({ "maxItems": DEPENDENCIES_MAX }))
        }
        ColumnField::Format => of::<Format>(generator),
        ColumnField::AiConfig => of::<AiConfig>(generator),
        ColumnField::TaskConfig => of::<TaskConfig>(generator),
        ColumnField::ApiConfig => of::<ApiConfig>(generator),
        ColumnField::ReferenceConfig => of::<ReferenceConfig>(generator),
        ColumnField::RunCondition => with(of::<FiltersSchema>(generator), json!({ "x-unchecked": true })),
        ColumnField::Retry => of::<Retry>(generator),
        ColumnField::RateLimit => of::<RateLimit>(generator),
        ColumnField::CacheTtlSeconds => {
            with(of::<u32>(generator), json!({ "maximum": CACHE_TTL_SECONDS_MAX }))
        }
    }
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn described(text: &str) -> Value {
    json!({ "description": text })
}

fn header(rule: &str) -> Value {
    json!({ "description": rule, "x-document": { "minLength": 1, "maxLength": 255, "pattern": "\\S" } })
}

/// A schema with more keywords.
fn with(mut schema: Schema, keywords: Value) -> Schema {
    if let Value::Object(keywords) = keywords {
        schema.ensure_object().extend(keywords);
    }
    schema
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rowmill_model::corrections::{self, Corrected};
    use rowmill_model::template::{Catalogue, TEMPLATES};
    use rowmill_model::{ColumnId, Limits, Offence, Table};

    use super::*;
    use crate::check::Checker;
    use crate::schema::{SchemaLimits, TypeSchema};

    fn checked<T: JsonSchema>() -> Value {
        SchemaLimits::new(&Limits::default()).checked(TypeSchema::of::<T>())
    }

    fn property_names<T: JsonSchema>() -> Vec<String> {
        checked::<T>()["properties"].as_object().unwrap().keys().cloned().collect()
    }

    fn create(table: &Table, id: &str, body: &Map<String, Value>) -> Result<Corrected, Vec<Offence>> {
        corrections::create(table, body, ColumnId::new(id), &Catalogue::default(), &Limits::default())
    }

    /// Whether the model's parser knows a field by this name.
    fn is_known<T>(name: &str, parsed: Result<T, Vec<Offence>>) -> bool {
        let offences = parsed.err().unwrap_or_default();
        !offences.iter().any(|offence| offence.path == name && offence.message == "is not a known field")
    }

    #[test]
    fn the_document_has_the_fields_that_the_parser_takes_and_no_others() {
        let (created, changed) = (property_names::<ColumnCreate>(), property_names::<ColumnPatch>());
        let table = Table::new();
        let fields = ColumnField::ALL.map(|field| field.name().to_owned());
        for name in fields.iter().chain(&created).chain(&changed).chain(&["slot".to_owned()]) {
            let mut body = Map::from_iter([(name.clone(), Value::Null)]);
            let patched =
                corrections::patch(&table, "_trigger", &body, &Catalogue::default(), &Limits::default());
            assert_eq!(changed.contains(name), is_known(name, patched), "{name} in a change");
            body.insert("templateId".to_owned(), "manual".into());
            let made = create(&table, "col_new", &body);
            assert_eq!(created.contains(name), is_known(name, made), "{name} in a new column");
        }
        let all = checked::<ColumnFull>();
        let forms = all["$defs"].as_object().unwrap();
        let forms = forms.iter().filter(|(name, _)| name.ends_with("Column")).map(|(_, form)| form);
        let shown: BTreeSet<&String> =
            forms.flat_map(|form| form["properties"].as_object().unwrap().keys()).collect();
        assert_eq!(shown, fields.iter().collect());
    }

    #[test]
    fn columns_are_shown_as_the_document_says_and_taken_back() {
        let full = Checker::new(checked::<ColumnFull>()).unwrap();
        let change = Checker::new(checked::<ColumnPatch>()).unwrap();
        let mut table = Table::new();
        for template in &TEMPLATES {
            let body = Map::from_iter([("templateId".to_owned(), template.id.into())]);
            table = create(&table, &format!("col_{}", template.id), &body).unwrap().table;
        }
        for column in &table.columns {
            let shown = Value::Object(corrections::to_document(&table, column));
            assert_eq!(full.offences(shown.clone(), 0), [], "{shown}");
            assert_eq!(change.offences(shown.clone(), 0), [], "{shown}");
        }
    }
}
