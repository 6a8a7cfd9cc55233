//! What a column says of other columns, and what is left of it when one is deleted.

use serde_json::{Value, json};

use super::super::*;
use super::{
    check, check_holds, check_on, check_refused, create_in, created, patch_in, patched, table, wire,
};
use crate::row::REFERENCE_HOPS_MAX;

#[test]
fn dependencies_are_made_right() {
    let on = |id: &str, required: bool| json!({"columnId": id, "required": required});
    for (sent, fixes, kept) in [
        (
            json!([on("_trigger", true), on("col_manual", false)]),
            &[][..],
            json!([on("_trigger", true), on("col_manual", false)]),
        ),
        (json!([on("col_x", true)]), &["Removed dependency on unknown column \"col_x\"."], json!([])),
        (
            json!([on("Manaul", true)]),
            &["Removed dependency on unknown column \"Manaul\" (did you mean \"Manual\"?)."],
            json!([]),
        ),
        (json!([on("col_ai-text", true)]), &["Removed dependency on the column itself."], json!([])),
        (
            json!([on("_trigger", false), on("col_manual", false), on("_trigger", true)]),
            &["Removed duplicate dependency on \"_trigger\"."],
            json!([on("_trigger", true), on("col_manual", false)]),
        ),
        (
            json!([on(" manual", true), on("col_manual", false)]),
            &[
                "Rewrote dependency \" manual\" to \"col_manual\".",
                "Removed duplicate dependency on \"col_manual\".",
            ],
            json!([on("col_manual", true)]),
        ),
    ] {
        check("col_ai-text", &json!({"dependencies": sent}), fixes, &json!({"dependencies": kept}));
    }
}

#[test]
fn references_become_ids_and_dependencies() {
    let added = "Added required dependency on \"col_manual\", which the column refers to.";
    let prompt = |text: &str| json!({"aiConfig": {"prompt": text}});
    for (sent, fixes, kept) in [
        ("@{col_manual} @{", &[added][..], "@{col_manual} @{"),
        ("@{col_manual.a.b}", &[added], "@{col_manual.a.b}"),
        (
            "@{ mANUAL }!",
            &["Rewrote reference \"@{ mANUAL }\" to \"@{col_manual}\" in aiConfig.prompt.", added],
            "@{col_manual}!",
        ),
        ("a @{nope.x} b", &["Cleared reference to unknown column \"nope.x\" in aiConfig.prompt."], "a  b"),
        (
            "@{Manul}@{manuel.x}",
            &[
                "Cleared reference to unknown column \"Manul\" in aiConfig.prompt (did you mean \"Manual\"?).",
                "Cleared reference to unknown column \"manuel.x\" in aiConfig.prompt (did you mean \"Manual\"?).",
            ],
            "",
        ),
        ("@{nope}@{nope}", &["Cleared reference to unknown column \"nope\" in aiConfig.prompt."], ""),
        ("@{AI-text}", &["Cleared reference to the column itself in aiConfig.prompt."], ""),
        (
            "@{col_manual.a[}",
            &["Cleared reference \"col_manual.a[\" in aiConfig.prompt, because its path is not valid."],
            "",
        ),
        (
            "@{secret.KEY}",
            &[
                "Cleared reference \"secret.KEY\" in aiConfig.prompt, because secrets can be used in apiConfig only.",
            ],
            "",
        ),
        (
            "@@{x}{col_manual}",
            &["Cleared reference to unknown column \"x\" in aiConfig.prompt.", added],
            "@{col_manual}",
        ),
    ] {
        check("col_ai-text", &prompt(sent), fixes, &prompt(kept));
    }
    check(
        "col_http-api",
        &json!({"apiConfig": {"url": "@{secret.K}@{secret.a b}"}}),
        &["Cleared reference to unknown column \"secret.a b\" in apiConfig.url."],
        &json!({"apiConfig": {"url": "@{secret.K}"}}),
    );
    let table = patched(&table(), "col_ai-text", &prompt("@{col_manual}")).table;
    let required = json!([{"columnId": "col_manual", "required": true}]);
    check_on(&table, "col_ai-text", &prompt("nothing"), &[], &json!({"dependencies": required}));
    check_on(
        &table,
        "col_ai-text",
        &json!({"dependencies": []}),
        &[added],
        &json!({"dependencies": required}),
    );
    let optional = json!([{"columnId": "col_manual", "required": false}]);
    check_on(
        &table,
        "col_ai-text",
        &json!({"dependencies": optional}),
        &[],
        &json!({"dependencies": optional}),
    );
}

#[test]
fn every_text_with_references_is_made_right() {
    let blanked = |place: &str| format!("Cleared reference to unknown column \"x\" in {place}.");
    for (id, body, places) in [
        ("col_ai-text", json!({"aiConfig": {"system": "@{x}"}}), &["aiConfig.system"][..]),
        (
            "col_waterfall-email",
            json!({"taskConfig": {"waterfallEmail": {"inputMapping": {"domain": "@{x}"}}}}),
            &["taskConfig.waterfallEmail.inputMapping.domain"],
        ),
        (
            "col_web-scraper",
            json!({"taskConfig": {"webScraper": {"url": "@{x}"}}}),
            &["taskConfig.webScraper.url"],
        ),
        (
            "col_http-api",
            json!({"apiConfig": {"url": "@{x}@{secret.K}", "headers": {"A": "@{x}"}, "query": {"b": "@{x}"},
                "body": {"@{x}": ["@{x}"]}}}),
            &["apiConfig.url", "apiConfig.headers.A", "apiConfig.query.b", "apiConfig.body"],
        ),
    ] {
        let fixes: Vec<String> = places.iter().map(|place| blanked(place)).collect();
        let fixes: Vec<&str> = fixes.iter().map(String::as_str).collect();
        check(id, &body, &fixes, &json!({}));
    }
}

#[test]
fn a_reference_column_follows_a_column_that_is_there() {
    let added = "Added required dependency on \"col_manual\", which the column refers to.";
    let follow = |id: &str| json!({"referenceConfig": {"columnId": id, "path": "a.b[0]"}});
    for (sent, fixes, kept) in [
        ("col_manual", &[added][..], "col_manual"),
        (
            "Manual",
            &["Rewrote \"Manual\" to \"col_manual\" in referenceConfig.columnId.", added],
            "col_manual",
        ),
        ("nope", &["Cleared reference to unknown column \"nope\" in referenceConfig.columnId."], ""),
        ("col_reference", &["Cleared reference to the column itself in referenceConfig.columnId."], ""),
    ] {
        check("col_reference", &follow(sent), fixes, &follow(kept));
    }
}

#[test]
fn references_follow_each_other_up_to_a_limit() {
    let follow = |id: &str| json!({"referenceConfig": {"columnId": id, "path": "a"}});
    let new = |id: &str| {
        let mut body = follow(id);
        body["templateId"] = json!("reference");
        body
    };
    let mut table = table();
    let mut last = "col_manual".to_owned();
    for hop in 1..=REFERENCE_HOPS_MAX {
        let id = format!("col_hop_{hop}");
        table = created(&table, &id, &new(&last)).table;
        last = id;
    }
    let refused = |result: Result<Corrected, Vec<Offence>>| {
        let offences = result.unwrap_err();
        let [offence] = offences.as_slice() else { panic!("{offences:?}") };
        assert_eq!(offence.path, "referenceConfig.columnId");
        assert!(offence.message.starts_with("more than 32 reference columns would follow"), "{offence:?}");
    };
    refused(create_in(&table, "col_one_more", &new(&last)));
    // One in front of the chain makes it longer, too.
    table = patched(&table, "col_reference", &follow("col_manual")).table;
    refused(patch_in(&table, "col_hop_1", &follow("col_reference")));
    patched(&table, "col_hop_2", &follow("col_reference"));
    // A chain that is too long already can be renamed, and made shorter.
    let config = table.columns.iter_mut().find(|column| column.id.as_str() == "col_hop_1");
    config.unwrap().reference_config.as_mut().unwrap().column_id = "col_reference".to_owned();
    patched(&table, &last, &json!({"header": "Renamed"}));
    patched(&table, &last, &follow("col_hop_1"));
}

#[test]
fn the_edge_that_would_close_a_circle_is_removed() {
    // col_ai-json waits for col_ai-text, and col_reference for col_ai-json.
    let table = patched(&table(), "col_ai-json", &json!({"aiConfig": {"prompt": "@{col_ai-text}"}})).table;
    let table =
        patched(&table, "col_reference", &json!({"referenceConfig": {"columnId": "col_ai-json"}})).table;
    check_on(
        &table,
        "col_ai-text",
        &json!({"dependencies": [{"columnId": "col_reference", "required": true}, {"columnId": "col_manual"}]}),
        &["Removed dependency on \"col_reference\", because it would create a cycle."],
        &json!({"dependencies": [{"columnId": "col_manual", "required": false}]}),
    );
    check_on(
        &table,
        "col_ai-text",
        &json!({"aiConfig": {"prompt": "a @{col_reference} @{Ai-json.x} b"}}),
        &[
            "Cleared reference to \"col_reference\" in aiConfig.prompt, because it would create a cycle.",
            "Cleared reference to \"col_ai-json\" in aiConfig.prompt, because it would create a cycle.",
        ],
        &json!({"aiConfig": {"prompt": "a   b"}, "dependencies": []}),
    );
    let table = patched(&table, "col_ai-text", &json!({"dependencies": [{"columnId": "col_manual"}]})).table;
    let table =
        patched(&table, "col_web-scraper", &json!({"dependencies": [{"columnId": "col_reference"}]})).table;
    check_on(
        &table,
        "col_manual",
        &json!({"dependencies": [{"columnId": "col_web-scraper"}, {"columnId": "_trigger"}]}),
        &["Removed dependency on \"col_web-scraper\", because it would create a cycle."],
        &json!({"dependencies": [{"columnId": "_trigger", "required": false}]}),
    );
    let table =
        patched(&super::table(), "col_manual", &json!({"dependencies": [{"columnId": "col_reference"}]}))
            .table;
    check_on(
        &table,
        "col_reference",
        &json!({"referenceConfig": {"columnId": "Manual", "path": "p"}}),
        &[
            "Cleared reference to \"col_manual\" in referenceConfig.columnId, because it would create a cycle.",
        ],
        &json!({"referenceConfig": {"columnId": "", "path": "p"}, "dependencies": []}),
    );
}

#[test]
fn a_deleted_column_is_forgotten_everywhere() {
    let mut table = table();
    for (id, body) in [
        (
            "col_ai-text",
            json!({"aiConfig": {"prompt": "a @{col_manual.x}@{_trigger}", "system": "@{col_manual}"}}),
        ),
        ("col_reference", json!({"referenceConfig": {"columnId": "col_manual", "path": "p"}})),
        (
            "col_http-api",
            json!({"runCondition": [{"columnId": "col_manual", "operator": "isEmpty"},
            {"columnId": "_trigger", "operator": "isEmpty"}]}),
        ),
        (
            "col_web-scraper",
            json!({"dependencies": [{"columnId": "col_manual"}, {"columnId": "col_ai-text"}]}),
        ),
    ] {
        table = patched(&table, id, &body).table;
    }
    let deleted = delete(&table, "col_manual").unwrap();
    assert_eq!(deleted.column, ColumnId::new("col_manual"));
    assert_eq!(
        deleted.fixes,
        [
            "Removed dependency on deleted column \"Manual\" in column \"Ai-text\".",
            "Cleared reference to deleted column \"Manual\" in aiConfig.prompt in column \"Ai-text\".",
            "Cleared reference to deleted column \"Manual\" in aiConfig.system in column \"Ai-text\".",
            "Removed dependency on deleted column \"Manual\" in column \"Web-scraper\".",
            "Removed the run condition on deleted column \"Manual\" in column \"Http-api\".",
            "Removed dependency on deleted column \"Manual\" in column \"Reference\".",
            "Cleared reference to deleted column \"Manual\" in referenceConfig.columnId in column \"Reference\".",
        ]
    );
    for (id, expected) in [
        (
            "col_ai-text",
            json!({"order": 1, "aiConfig": {"prompt": "a @{_trigger}", "system": ""},
            "dependencies": [{"columnId": "_trigger", "required": true}]}),
        ),
        ("col_reference", json!({"referenceConfig": {"columnId": "", "path": "p"}, "dependencies": []})),
        ("col_http-api", json!({"runCondition": [{"columnId": "_trigger", "operator": "isEmpty"}]})),
        ("col_web-scraper", json!({"dependencies": [{"columnId": "col_ai-text", "required": false}]})),
    ] {
        check_holds(&wire(&deleted.table, id), &expected, id);
    }
    let only = json!({"runCondition": [{"columnId": "col_manual", "operator": "isEmpty"}]});
    let fixes = delete(&patched(&table, "col_http-api", &only).table, "col_manual").unwrap().fixes;
    let told = "Removed the run condition on deleted column \"Manual\", so that all rows run, in column \"Http-api\".";
    assert!(fixes.iter().any(|fix| fix == told), "{fixes:?}");
    check_refused(delete(&table, "_trigger"), &["columnId"], &json!("_trigger"));
    check_refused(delete(&table, "col_nope"), &["columnId"], &json!("col_nope"));
}

#[test]
fn a_deleted_column_is_forgotten_in_views() {
    let view = |body: Value| -> View {
        let mut view = json!({"id": format!("view_{:032x}", 1), "name": "V", "emoji": "", "createdAt": 0});
        merge_patch(&mut view, &body);
        serde_json::from_value(view).unwrap()
    };
    let mut seen = view(json!({
        "filters": [{"columnId": "col_a", "operator": "isEmpty"}, {"columnId": "col_b", "operator": "isEmpty"}],
        "sorting": [{"columnId": "col_a", "direction": "asc"}, {"columnId": "col_b", "direction": "asc"}],
        "columnVisibility": {"col_a": true, "col_b": false},
    }));
    let fixes = forget_in_view(&mut seen, "col_a", "Alpha");
    assert_eq!(
        fixes,
        [
            "Removed the filter on deleted column \"Alpha\" from view \"V\".",
            "Removed the sorting by deleted column \"Alpha\" from view \"V\".",
            "Removed the visibility of deleted column \"Alpha\" from view \"V\".",
        ]
    );
    let expected = view(json!({
        "filters": [{"columnId": "col_b", "operator": "isEmpty"}],
        "sorting": [{"columnId": "col_b", "direction": "asc"}],
        "columnVisibility": {"col_b": false},
    }));
    assert_eq!(seen, expected);
    assert_eq!(forget_in_view(&mut seen, "col_a", "Alpha"), [""; 0]);
}

#[test]
fn sentences_stay_readable_however_long_the_text() {
    let fixes = patched(
        &table(),
        "col_ai-text",
        &json!({"aiConfig": {"prompt": format!("@{{{}}}", "é".repeat(5000))}}),
    )
    .fixes;
    assert_eq!(fixes.len(), 1);
    assert!(fixes[0].chars().count() < 200, "{}", fixes[0]);
}

#[test]
fn so_many_misspelt_names_are_compared() {
    let names: Vec<String> = (0..25).map(|number| format!("@{{Manua{number}}}")).collect();
    let table = table();
    let sent = json!({"aiConfig": {"prompt": names.join(" ")}});
    let fixes = patched(&table, "col_ai-text", &sent).fixes;
    let hinted = fixes.iter().filter(|fix| fix.contains("did you mean \"Manual\"?")).count();
    assert_eq!((fixes.len(), hinted), (25, 20));
}
