//! A column's own configuration.

use serde_json::{Value, json};

use super::super::config;
use super::{check, check_refused, patch_in, patched, table, wire};

#[test]
fn a_text_over_its_limit_is_refused_after_its_headers_became_ids() {
    let table = table();
    let refused =
        |id: &str, body: Value, path: &str| check_refused(patch_in(&table, id, &body), &[path], &json!(id));
    let long = |chars: usize| "@{Manual}".to_owned() + &"é".repeat(chars - 9);
    refused(
        "col_ai-text",
        json!({"aiConfig": {"prompt": long(config::PROMPT_CHARS_MAX)}}),
        "aiConfig.prompt",
    );
    refused(
        "col_ai-text",
        json!({"aiConfig": {"system": long(config::PROMPT_CHARS_MAX)}}),
        "aiConfig.system",
    );
    refused("col_http-api", json!({"apiConfig": {"url": long(config::URL_CHARS_MAX)}}), "apiConfig.url");
    let url = long(config::URL_CHARS_MAX);
    refused(
        "col_web-scraper",
        json!({"taskConfig": {"webScraper": {"url": url}}}),
        "taskConfig.webScraper.url",
    );
    let fits = long(config::URL_CHARS_MAX - 4);
    assert_eq!(patched(&table, "col_http-api", &json!({"apiConfig": {"url": fits}})).fixes.len(), 2);
}

#[test]
fn a_fan_out_says_what_is_wrong_with_its_list_and_mapping() {
    let table = table();
    let refused = |config: Value, field: &str| {
        let body = json!({"taskConfig": {"fanOut": config}});
        let path = format!("taskConfig.fanOut.{field}");
        check_refused(patch_in(&table, "col_fan-out", &body), &[&path], &json!(field));
    };
    refused(json!({"list": "all"}), "list");
    refused(json!({"list": "@{Manual} and @{Ai-text}"}), "list");
    refused(json!({"mapping": {"Email": "$."}}), "mapping.Email");
    refused(json!({"mapping": {"Email": "x".repeat(10_001)}}), "mapping.Email");
    refused(json!({"limit": 0}), "limit");
    let many: serde_json::Map<_, _> = (0..101).map(|n| (format!("c{n}"), json!("$"))).collect();
    refused(json!({"mapping": many}), "mapping");
    let right = json!({"list": "@{Find-people}", "mapping": {"a": "$.email", "b": "@{Manual}", "c": ""}});
    let stored = json!({"list": "@{col_find-people}", "mapping": {"a": "$.email", "b": "@{col_manual}"}});
    let corrected = patched(&table, "col_fan-out", &json!({"taskConfig": {"fanOut": right}}));
    let shown = wire(&corrected.table, "col_fan-out");
    for field in ["list", "mapping"] {
        assert_eq!(shown["taskConfig"]["fanOut"][field], stored[field]);
    }
    let depended: Vec<&Value> =
        shown["dependencies"].as_array().unwrap().iter().map(|dependency| &dependency["columnId"]).collect();
    assert_eq!(depended, ["col_find-people", "col_manual"]);
}

#[test]
fn the_limits_of_texts_are_those_of_the_schema() {
    fn check<T: schemars::JsonSchema>(field: &str, chars_max: usize) {
        let schema = schemars::schema_for!(T);
        assert_eq!(schema.as_value()["properties"][field]["maxLength"], json!(chars_max), "{field}");
    }
    check::<crate::column::AiConfig>("prompt", config::PROMPT_CHARS_MAX);
    check::<crate::column::AiConfig>("system", config::PROMPT_CHARS_MAX);
    check::<crate::column::WebScraper>("url", config::URL_CHARS_MAX);
    check::<crate::column::ApiConfig>("url", config::URL_CHARS_MAX);
}

#[test]
fn configuration_of_another_type_is_dropped() {
    let dropped = |what: &str, template: &str| {
        format!("Removed {what}, which columns of template \"{template}\" do not have.")
    };
    for (id, body, what) in [
        ("manual", json!({"aiConfig": {"prompt": "x"}}), "aiConfig"),
        ("manual", json!({"referenceConfig": 5}), "referenceConfig"),
        ("web-scraper", json!({"aiConfig": {"prompt": "x"}}), "aiConfig"),
        ("web-scraper", json!({"taskConfig": {"waterfallEmail": {}}}), "taskConfig.waterfallEmail"),
        ("waterfall-email", json!({"taskConfig": {"webScraper": {}}}), "taskConfig.webScraper"),
        ("ai-text", json!({"aiConfig": {"outputSchema": {}}}), "aiConfig.outputSchema"),
        ("reference", json!({"apiConfig": {}}), "apiConfig"),
        ("http-api", json!({"taskConfig": {}}), "taskConfig"),
    ] {
        let id_whole = format!("col_{id}");
        let before = wire(&table(), &id_whole);
        check(&id_whole, &body, &[&dropped(what, id)], &before);
    }
    check("col_manual", &json!({"aiConfig": null}), &[], &json!({}));
}

#[test]
fn missing_configuration_is_filled_from_the_template() {
    let table = table();
    for (id, body, filled) in [
        ("col_ai-text", json!({"aiConfig": null}), "aiConfig"),
        ("col_ai-text", json!({"aiConfig": {"prompt": null}}), "aiConfig.prompt"),
        ("col_ai-json", json!({"aiConfig": {"outputSchema": null}}), "aiConfig.outputSchema"),
        ("col_waterfall-email", json!({"taskConfig": null}), "taskConfig"),
        ("col_waterfall-email", json!({"taskConfig": {"taskType": null}}), "taskConfig.taskType"),
        (
            "col_waterfall-email",
            json!({"taskConfig": {"waterfallEmail": {"inputMapping": {"domain": null}}}}),
            "taskConfig.waterfallEmail.inputMapping.domain",
        ),
        ("col_web-scraper", json!({"taskConfig": {"webScraper": null}}), "taskConfig.webScraper"),
        ("col_http-api", json!({"apiConfig": {"headers": null}}), "apiConfig.headers"),
        ("col_reference", json!({"referenceConfig": null}), "referenceConfig"),
    ] {
        let fix = format!("Filled missing {filled} from the template.");
        check(id, &body, &[&fix], &wire(&table, id));
    }
}

#[test]
fn the_data_shape_is_one_the_column_may_have() {
    check("col_manual", &json!({"dataShape": "json"}), &[], &json!({"dataShape": "json"}));
    check(
        "col_ai-text",
        &json!({"dataShape": "json"}),
        &["Filled missing aiConfig.outputSchema from the template."],
        &json!({"dataShape": "json", "aiConfig": {"outputSchema": {"type": "object"}}}),
    );
    check(
        "col_ai-json",
        &json!({"dataShape": "text"}),
        &["Removed aiConfig.outputSchema, which columns of template \"ai-text\" do not have."],
        &json!({"dataShape": "text", "aiConfig": {"outputSchema": null}}),
    );
    for (id, sent, kept) in [
        ("col_manual", json!("waterfall"), "text"),
        ("col_manual", json!("nope"), "text"),
        ("col_ai-json", json!("vendor-scrape-result"), "json"),
        ("col_waterfall-email", json!("vendor-scrape-result"), "waterfall"),
        ("col_http-api", json!("text"), "json"),
        ("_trigger", json!("json"), "text"),
    ] {
        let fix = format!("Reset dataShape {sent} to \"{kept}\".");
        check(id, &json!({"dataShape": sent}), &[&fix], &json!({"dataShape": kept}));
    }
    check(
        "col_ai-json",
        &json!({"dataShape": null}),
        &["Reset dataShape \"\" to \"json\"."],
        &json!({"dataShape": "json"}),
    );
}

#[test]
fn a_task_says_of_itself_what_it_is() {
    check(
        "col_waterfall-email",
        &json!({"taskConfig": {"taskType": "webScraper", "waterfallEmail": {"waterfallType": "phone",
            "inputMapping": {"company": "@{col_manual}", "domain": "d"}}}}),
        &[
            "Set taskConfig.taskType \"webScraper\" to \"waterfallEmail\".",
            "Set waterfallEmail.waterfallType \"phone\" to \"email\".",
            "Removed the unknown key \"company\" from inputMapping.",
        ],
        &json!({"dependencies": [], "taskConfig": {"taskType": "waterfallEmail", "waterfallEmail": {
            "waterfallType": "email", "inputMapping": {"company": null, "domain": "d", "full_name": ""}}}}),
    );
    check(
        "col_web-scraper",
        &json!({"taskConfig": {"taskType": ""}}),
        &["Set taskConfig.taskType \"\" to \"webScraper\"."],
        &json!({"taskConfig": {"taskType": "webScraper"}}),
    );
}

#[test]
fn providers_are_made_right() {
    fn provider(id: &str, task_type: &str, enabled: bool, order: u32) -> Value {
        json!({"id": id, "taskType": task_type, "enabled": enabled, "order": order})
    }
    let config = |providers: &Value| json!({"taskConfig": {"waterfallEmail": {"providers": providers}}});
    let renumbered = "Renumbered the order of providers from 0.";
    for (sent, fixes, kept) in [
        (json!([]), &[][..], json!([])),
        (
            json!([provider("b", "hunter", true, 1), provider("a", "snov", false, 0)]),
            &[],
            json!([provider("b", "hunter", true, 1), provider("a", "snov", false, 0)]),
        ),
        (
            json!([
                provider("a", "hunter", true, 7),
                provider("b", "snov", true, 3),
                provider("c", "wiza", true, 7)
            ]),
            &[renumbered],
            json!([
                provider("a", "hunter", true, 1),
                provider("b", "snov", true, 0),
                provider("c", "wiza", true, 2)
            ]),
        ),
        (
            json!([{"taskType": "hunter"}, provider(" ", "snov", true, 0), provider("a", "snov", true, 0)]),
            &["Removed a provider without an id."],
            json!([provider("a", "snov", true, 0)]),
        ),
        (
            json!([provider("a", "hunter", false, 0), provider("a", "snov", true, 1)]),
            &["Merged the providers with the id \"a\"."],
            json!([provider("a", "hunter", true, 0)]),
        ),
        (
            json!([provider("a", "nope", true, 0), {"id": "b", "enabled": false, "order": 1}]),
            &["Disabled provider \"a\", because its taskType \"nope\" is unknown."],
            json!([provider("a", "nope", false, 0), provider("b", "", false, 1)]),
        ),
    ] {
        check("col_waterfall-email", &config(&sent), fixes, &config(&kept));
    }
}

#[test]
fn the_input_column_may_be_renamed_and_stays_plain() {
    check(
        "_trigger",
        &json!({"header": "Guest"}),
        &[],
        &json!({"header": "Guest", "trigger": true, "order": 0}),
    );
    let dropped = |what: &str| format!("Removed {what}, which the input column does not have.");
    for (body, what) in [
        (json!({"dependencies": [{"columnId": "col_manual"}]}), "dependencies"),
        (json!({"runCondition": [{"columnId": "col_manual", "operator": "isEmpty"}]}), "runCondition"),
        (json!({"retry": {"maxAttempts": 3}}), "retry"),
        (json!({"rateLimit": {"requests": 1, "perSeconds": 1}}), "rateLimit"),
        (json!({"cacheTtlSeconds": 5}), "cacheTtlSeconds"),
    ] {
        check("_trigger", &body, &[&dropped(what)], &wire(&table(), "_trigger"));
    }
}
