//! What a column asks, as one number, so that a change of it is noticed.

use serde::Serialize;
use serde_json::Value as Json;
use xxhash_rust::xxh3::xxh3_64;

use crate::column::{
    AiConfig, Column, ColumnType, FanOut, FindPeople, Lookup, LookupTask, TaskConfig, WaterfallEmail,
};
use crate::row::REFERENCE_HOPS_MAX;
use crate::table::Table;
use crate::value::{canonical, quote_long_numbers};

/// A number for all of a column that decides what its results are. What only says how often, how fast or how long
/// to ask is left out, and so are whom to ask if that fails and what the column is called.
pub(super) fn asking(column: &Column, table: &Table) -> u64 {
    let Column {
        id: _,
        slot: _,
        header: _,
        kind,
        data_shape,
        // It says how results are shown, not what they are.
        format: _,
        dependencies,
        ai_config,
        task_config,
        api_config,
        reference_config: _,
        run_condition,
        retry: _,
        rate_limit: _,
        cache_ttl_seconds: _,
    } = column;
    let inputs = dependencies.iter().filter_map(|dependency| table.by_id(dependency.column_id.as_str()));
    let references: Json = inputs.filter_map(|input| reference(input, table)).collect();
    let parts = [
        json(kind),
        json(data_shape),
        ai(ai_config.as_ref()),
        task_config.as_ref().map(task).unwrap_or_default(),
        without(exact(api_config), "timeoutSeconds"),
        exact(run_condition),
        references,
    ];
    xxh3_64(&canonical(&Json::from_iter(parts).to_string()))
}

fn json(part: &impl Serialize) -> Json {
    serde_json::to_value(part).unwrap_or_default()
}

/// The same where there may be raw JSON. Numbers that a value would round are text: so they stood in what older versions stored.
fn exact(part: &impl Serialize) -> Json {
    let text = serde_json::to_string(part).unwrap_or_default();
    serde_json::from_str(&quote_long_numbers(&text)).unwrap_or_default()
}

fn without(mut config: Json, field: &str) -> Json {
    if let Json::Object(fields) = &mut config {
        fields.remove(field);
    }
    config
}

/// Of research only what it may look at, not how much.
fn ai(config: Option<&AiConfig>) -> Json {
    let mut config = without(without(json(&config), "fallback"), "processing");
    if let Some(Json::Object(research)) = config.get_mut("research") {
        research.retain(|name, _| {
            ["searchProviders", "hostedSearch", "country", "includeSources"].contains(&name.as_str())
        });
    }
    config
}

/// Of providers only those that are asked, in order.
fn task(config: &TaskConfig) -> Json {
    let entries = |lookup: &Lookup<'_>| -> Vec<Json> {
        lookup.enabled().iter().map(|entry| json(&(&entry.id, &entry.task_type))).collect()
    };
    let waterfall = config.waterfall_email.as_ref().map(|waterfall| {
        let WaterfallEmail { waterfall_type, providers, input_mapping } = waterfall;
        let lookup = Lookup { task: LookupTask::WaterfallEmail, providers, input_mapping };
        json(&(waterfall_type, entries(&lookup), input_mapping))
    });
    let scraper = without(json(&config.web_scraper), "timeoutSeconds");
    let mut parts = vec![json(&config.task_type), json(&waterfall), scraper];
    // What older versions know stays as they number it.
    if let Some(lookup) = config.lookup().filter(|lookup| lookup.task != LookupTask::WaterfallEmail) {
        let limit = config.find_people.as_ref().map(|FindPeople { limit, .. }| *limit);
        parts.push(json(&(entries(&lookup), lookup.input_mapping, limit)));
    }
    if let Some(FanOut { list, target_project_id, mapping, match_on, limit: _ }) = config.fan_out() {
        parts.push(json(&(list, target_project_id, mapping, match_on)));
    }
    parts.into()
}

/// The paths that a reference column follows to its value.
fn reference(column: &Column, table: &Table) -> Option<Json> {
    let mut links = Vec::new();
    let mut current = Some(column);
    while let Some(column) = current.filter(|column| column.kind == ColumnType::Reference)
        && links.len() <= REFERENCE_HOPS_MAX
    {
        links.push(json(&(&column.id, &column.reference_config)));
        let next = column.reference_config.as_ref();
        current = next.and_then(|config| table.by_id(&config.column_id));
    }
    (!links.is_empty()).then(|| links.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ids::ColumnId;

    #[test]
    fn what_decides_the_results_counts_and_nothing_else() {
        let mut table = Table::new();
        table.push_manual(ColumnId::new("run"), "Run");
        let base = json!({
            "id": "run", "slot": 1, "header": "Run", "type": "task", "dataShape": "text",
            "aiConfig": {"prompt": "Who is @{_trigger}?", "outputSchema": {"a": 1, "b": 2}},
            "apiConfig": {"url": "http://a", "timeoutSeconds": 30},
            "taskConfig": {"taskType": "waterfallEmail", "waterfallEmail": {"waterfallType": "email",
                "providers": [{"id": "x", "taskType": "hunter", "enabled": true, "order": 0},
                    {"id": "y", "taskType": "wiza", "enabled": false, "order": 1}],
                "inputMapping": {"domain": "@{_trigger}"}}},
        });
        let asked = |column: &Json| asking(&serde_json::from_value(column.clone()).unwrap(), &table);
        for (path, value, counts) in [
            ("/aiConfig/prompt", json!("What is @{_trigger}?"), true),
            ("/aiConfig/model", json!("big"), true),
            ("/aiConfig/provider", json!("anthropic"), true),
            ("/aiConfig/system", json!("Be brief."), true),
            ("/aiConfig/temperature", json!(0.5), true),
            ("/aiConfig/maxTokens", json!(5), true),
            ("/aiConfig/outputSchema", json!({"a": 1}), true),
            ("/aiConfig/outputSchema", json!({"b": 2, "a": 1}), false),
            ("/aiConfig/fallback", json!({"model": "small"}), false),
            ("/aiConfig/processing", json!("batch"), false),
            ("/aiConfig/attachments", json!(["@{_trigger}"]), true),
            ("/aiConfig/attachments", json!([]), false),
            ("/aiConfig/research", json!({}), true),
            ("/apiConfig/url", json!("http://b"), true),
            ("/apiConfig/method", json!("POST"), true),
            ("/apiConfig/headers", json!({"X": "1"}), true),
            ("/apiConfig/query", json!({"q": "1"}), true),
            ("/apiConfig/body", json!({"q": "1"}), true),
            ("/apiConfig/responsePath", json!("a.b"), true),
            ("/apiConfig/timeoutSeconds", json!(60), false),
            ("/taskConfig/waterfallEmail/providers/1/enabled", json!(true), true),
            ("/taskConfig/waterfallEmail/providers/1/id", json!("z"), false),
            ("/taskConfig/waterfallEmail/inputMapping/domain", json!(""), true),
            ("/taskConfig/webScraper", json!({"maxChars": 9}), true),
            ("/taskConfig/verifyEmail", json!({"inputMapping": {"email": "@{_trigger}"}}), false),
            ("/taskConfig/webScraper", json!({"selectors": {"exclude": ["nav"]}}), true),
            ("/taskConfig/webScraper", json!({"crawl": {"maxPages": 9}}), true),
            ("/runCondition", json!([{"columnId": "_trigger", "operator": "isNotEmpty"}]), true),
            ("/dataShape", json!("json"), true),
            ("/header", json!("Walk"), false),
            ("/retry", json!({"maxAttempts": 9}), false),
            ("/rateLimit", json!({"requests": 9, "perSeconds": 1}), false),
            ("/cacheTtlSeconds", json!(9), false),
        ] {
            let mut column = base.clone();
            let (parent, key) = path.rsplit_once('/').unwrap();
            column.pointer_mut(parent).unwrap()[key] = value.clone();
            assert_eq!(asked(&base) != asked(&column), counts, "{path} {value}");
        }
    }
}
