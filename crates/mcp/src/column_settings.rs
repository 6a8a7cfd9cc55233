//! A column's settings as one flat object, whichever configuration of the API they stand in.

use rowmill_model::column::{
    AiConfig, ApiConfig, FanOut, FindCompany, FindPeople, ReferenceConfig, VerifyEmail, WaterfallEmail,
    WebScraper,
};
use rowmill_model::corrections::ColumnField;
use rowmill_model::template::{Catalogue, TEMPLATES, Template};
use rowmill_model::{Offence, Table};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::arguments::unknown_name;
use crate::selection::filters;

/// Settings that every kind of column has.
pub(crate) const OPTIONS: [&str; 5] = ["format", "dependencies", "retry", "rateLimit", "cacheTtlSeconds"];

/// The fields of a new column in an argument.
const NEW_COLUMN: [&str; 6] = ["header", "kind", "settings", "runIf", "order", "options"];

pub(crate) fn template_named(path: &str, word: &str) -> Result<&'static Template, Offence> {
    let known = TEMPLATES.iter().map(|template| template.id);
    Template::named(word).ok_or_else(|| unknown_name(path, word, "a kind of column", known))
}

/// Where the settings of a kind stand in the API's column: such as `aiConfig`, or `taskConfig.webScraper`.
fn place(template: &Template) -> Vec<String> {
    let config = template.config(&Catalogue::default());
    let Some((key, value)) = config.iter().next() else { return Vec::new() };
    let task = value.get("taskType").and_then(Value::as_str);
    std::iter::once(key.clone()).chain(task.map(str::to_owned)).collect()
}

/// The settings of a kind by name, as JSON Schemas.
pub(crate) fn schemas(template: &Template) -> Map<String, Value> {
    let place = place(template);
    let mut schemas = match place.last().map(String::as_str) {
        Some("aiConfig") => properties::<AiConfig>(),
        Some("waterfallEmail") => properties::<WaterfallEmail>(),
        Some("webScraper") => properties::<WebScraper>(),
        Some("verifyEmail") => properties::<VerifyEmail>(),
        Some("findCompany") => properties::<FindCompany>(),
        Some("findPeople") => properties::<FindPeople>(),
        Some(FanOut::TASK) => properties::<FanOut>(),
        Some("apiConfig") => properties::<ApiConfig>(),
        Some("referenceConfig") => properties::<ReferenceConfig>(),
        _ => Map::new(),
    };
    let defaults = defaults(template, &Catalogue::default());
    if schemas.is_empty() {
        schemas = defaults.iter().map(|(name, _)| (name.clone(), Value::Object(Map::new()))).collect();
    }
    // Not every kind of AI column has a shape of answers, and only one researches.
    if place.last().is_some_and(|place| place == "aiConfig") && !template.is_research() {
        schemas.remove("research");
        if !defaults.contains_key("outputSchema") {
            schemas.remove("outputSchema");
        }
    }
    schemas
}

/// What a new column of a kind starts with.
pub(crate) fn defaults(template: &Template, catalogue: &Catalogue) -> Map<String, Value> {
    let mut config = Value::Object(template.config(catalogue));
    for key in place(template) {
        config = config.get_mut(&key).map(Value::take).unwrap_or_default();
    }
    match config {
        Value::Object(defaults) => defaults,
        _ => Map::new(),
    }
}

fn properties<T: JsonSchema>() -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let schema = settings.into_generator().into_root_schema_for::<T>();
    match schema.get("properties") {
        Some(Value::Object(properties)) => properties.clone(),
        _ => Map::new(),
    }
}

/// The settings of a column's document.
pub(crate) fn of_document(template: &Template, document: &Map<String, Value>) -> Map<String, Value> {
    let place = place(template);
    let mut found = None;
    for key in &place {
        found = match found {
            None => document.get(key),
            Some(value) => Value::get(value, key),
        };
    }
    found.and_then(Value::as_object).cloned().unwrap_or_default()
}

/// What a tool is told of a column, in its own words.
#[derive(Debug, Default)]
pub(crate) struct ColumnArguments {
    pub(crate) header: Option<Value>,
    pub(crate) settings: Option<Map<String, Value>>,
    pub(crate) run_if: Option<Value>,
    pub(crate) order: Option<Value>,
    pub(crate) options: Option<Map<String, Value>>,
}

impl ColumnArguments {
    /// The column as the API's documents have it. `path` is where it stands in the arguments.
    pub(crate) fn into_body(
        self,
        table: Option<&Table>,
        template: &Template,
        path: &str,
        problems: &mut Vec<Offence>,
    ) -> Map<String, Value> {
        let Self { header, settings, run_if, order, options } = self;
        let mut body = Map::new();
        if let Some(settings) = settings.filter(|settings| !settings.is_empty()) {
            let known = schemas(template);
            let what = format!("a setting of {}", template.id);
            for name in settings.keys().filter(|name| !known.contains_key(*name)) {
                let names = known.keys().map(String::as_str);
                problems.push(unknown_name(&format!("{path}settings.{name}"), name, &what, names));
            }
            body.extend(placed(template, settings));
        }
        for (name, value) in options.into_iter().flatten() {
            if OPTIONS.contains(&name.as_str()) {
                body.insert(name, value);
            } else {
                problems.push(unknown_name(
                    &format!("{path}options.{name}"),
                    &name,
                    "an option",
                    OPTIONS.into_iter(),
                ));
            }
        }
        if let Some(condition) = run_if {
            let condition = filters(table, condition, &format!("{path}runIf"), 0, problems);
            body.insert(ColumnField::RunCondition.name().to_owned(), condition);
        }
        let plain = [(ColumnField::Header, header), (ColumnField::Order, order)];
        for (field, value) in plain {
            body.extend(value.map(|value| (field.name().to_owned(), value)));
        }
        body
    }
}

/// Settings in the configuration they belong to.
fn placed(template: &Template, settings: Map<String, Value>) -> Option<(String, Value)> {
    let place = place(template);
    let (first, inner) = place.split_first()?;
    let mut value = Value::Object(settings);
    for key in inner.iter().rev() {
        let task = [("taskType".to_owned(), Value::from(key.as_str())), (key.clone(), value)];
        value = Value::Object(Map::from_iter(task));
    }
    Some((first.clone(), value))
}

/// The body of a new column from one entry of a list.
pub(crate) fn new_column(
    mut sent: Map<String, Value>,
    path: &str,
    problems: &mut Vec<Offence>,
) -> Map<String, Value> {
    sent.retain(|_, value| !value.is_null());
    for name in sent.keys().filter(|name| !NEW_COLUMN.contains(&name.as_str())) {
        problems.push(unknown_name(
            &format!("{path}{name}"),
            name,
            "a field of a column",
            NEW_COLUMN.into_iter(),
        ));
    }
    let kind = sent.get("kind").and_then(Value::as_str).unwrap_or("manual");
    let template = match template_named(&format!("{path}kind"), kind) {
        Ok(template) => template,
        Err(problem) => {
            problems.push(problem);
            return Map::new();
        }
    };
    let mut object = |name: &str| match sent.shift_remove(name) {
        Some(Value::Object(object)) => Some(object),
        Some(_) => {
            problems.push(Offence::new(format!("{path}{name}"), "must be an object"));
            None
        }
        None => None,
    };
    let (settings, options) = (object("settings"), object("options"));
    let arguments = ColumnArguments {
        header: sent.shift_remove("header"),
        settings,
        run_if: sent.shift_remove("runIf"),
        order: sent.shift_remove("order"),
        options,
    };
    let mut body = arguments.into_body(None, template, path, problems);
    body.insert("templateId".to_owned(), template.id.into());
    body
}

/// Names the place of a problem as the tools do: `aiConfig.prompt` is `settings.prompt`.
pub(crate) fn renamed(path: &str) -> String {
    let (before, field) = match path.rfind("].") {
        Some(end) if path.starts_with("columns[") => path.split_at(end + 2),
        _ => path.strip_prefix("column.").map_or(("", path), |field| ("", field)),
    };
    let mut places =
        TEMPLATES.iter().map(|template| place(template).join(".")).filter(|place| !place.is_empty());
    let named = places.find_map(|place| field.strip_prefix(&place).map(str::to_owned));
    let field = match named {
        Some(rest) => format!("settings{rest}"),
        None => field.replace("runCondition", "runIf").replace("templateId", "kind"),
    };
    format!(
        "{before}{}",
        field.replace(".columnId", ".column").replace("settings.column", "settings.columnId")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn settings_go_where_the_api_has_them() {
        let check = |kind: &str, settings: Value, expected: Value| {
            let mut problems = Vec::new();
            let sent = object(&json!({ "header": "A", "kind": kind, "settings": settings }));
            let body = new_column(sent, "", &mut problems);
            assert_eq!(problems, []);
            let mut expected = object(&expected);
            expected.insert("header".to_owned(), "A".into());
            expected.insert("templateId".to_owned(), kind.into());
            assert_eq!(body, expected);
        };
        check("ai-text", json!({ "prompt": "Hi" }), json!({ "aiConfig": { "prompt": "Hi" } }));
        check(
            "web-scraper",
            json!({ "url": "@{Input}" }),
            json!({ "taskConfig": { "taskType": "webScraper", "webScraper": { "url": "@{Input}" } } }),
        );
        check("manual", json!({}), json!({}));
    }

    #[test]
    fn unknown_settings_are_refused_with_the_nearest_name() {
        let mut problems = Vec::new();
        let sent = object(&json!({
            "headr": "A", "kind": "ai-text", "settings": { "promt": "Hi", "outputSchema": {} }, "options": { "retries": 1 },
        }));
        new_column(sent, "columns[0].", &mut problems);
        let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "columns[0].headr",
                "columns[0].settings.promt",
                "columns[0].settings.outputSchema",
                "columns[0].options.retries"
            ]
        );
        assert!(problems[1].message.ends_with("did you mean \"prompt\"?"), "{:?}", problems[1]);
    }

    #[test]
    fn every_kind_has_its_settings_described() {
        for template in &TEMPLATES {
            let (known, defaults) = (schemas(template), defaults(template, &Catalogue::default()));
            for name in defaults.keys() {
                assert!(known.contains_key(name), "{} {name}", template.id);
            }
        }
    }

    #[test]
    fn problems_are_told_where_the_agent_wrote() {
        for (theirs, ours) in [
            ("aiConfig.prompt", "settings.prompt"),
            ("columns[3].aiConfig.prompt", "columns[3].settings.prompt"),
            ("column.taskConfig.webScraper.url", "settings.url"),
            ("taskConfig.verifyEmail.inputMapping.email", "settings.inputMapping.email"),
            ("runCondition[0].columnId", "runIf[0].column"),
            ("templateId", "kind"),
            ("referenceConfig.columnId", "settings.columnId"),
            ("header", "header"),
        ] {
            assert_eq!(renamed(theirs), ours);
        }
    }
}
