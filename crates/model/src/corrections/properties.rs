//! The laws of the table, on random histories: whatever is sent, they hold, and what is stored needs
//! no correction.

use std::collections::{HashMap, HashSet};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::*;
use crate::column::WaterfallEmail;
use crate::reference::{Names, Reference, Secrets, for_each_template_at, references};
use crate::table::header_key;
use crate::template::TEMPLATES;

#[derive(Debug, Clone)]
enum TableEdit {
    Create(Map<String, Value>),
    Patch(usize, Map<String, Value>),
    Delete(usize),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_laws_hold_after_every_step(steps in vec(step(), 1..16)) {
        let mut table = Table::new();
        for step in &steps {
            let Ok(corrected) = apply(&table, step) else { continue };
            check_laws(&corrected.table)?;
            table = corrected.table;
            for column in &table.columns {
                let sent = to_document(&table, column);
                let again = patch(&table, column.id.as_str(), &sent, &Catalogue::default(), &Limits::default());
                let same = Corrected {
                    table: table.clone(),
                    column: column.id.clone(),
                    fixes: Vec::new(),
                    losses: Vec::new(),
                    refusals: Vec::new(),
                };
                prop_assert_eq!(again, Ok(same), "{:?} sent back after {:?}", column.id, step);
            }
        }
    }
}

fn apply(table: &Table, step: &TableEdit) -> Result<Corrected, Vec<Offence>> {
    let (catalogue, limits) = (Catalogue::default(), Limits { columns_max: 8, ..Limits::default() });
    let id_at = |at: &usize| table.columns[at % table.columns.len()].id.clone();
    match step {
        TableEdit::Create(body) => {
            let id = ColumnId::new(format!("col_{}", table.next_slot));
            create(table, body, id, &catalogue, &limits)
        }
        TableEdit::Patch(at, body) => patch(table, id_at(at).as_str(), body, &catalogue, &limits),
        TableEdit::Delete(at) => delete(table, id_at(at).as_str()),
    }
}

fn check_laws(table: &Table) -> Result<(), TestCaseError> {
    prop_assert!(table.columns[0].id.is_trigger());
    let ids: HashSet<&str> = table.columns.iter().map(|column| column.id.as_str()).collect();
    let headers: HashSet<String> = table.columns.iter().map(|column| header_key(&column.header)).collect();
    let slots: HashSet<u32> = table.columns.iter().map(|column| column.slot).collect();
    prop_assert_eq!(ids.len(), table.columns.len());
    prop_assert_eq!(headers.len(), table.columns.len());
    prop_assert_eq!(slots.len(), table.columns.len());
    prop_assert!(slots.iter().all(|slot| *slot < table.next_slot));
    for column in &table.columns {
        check_links(table, column)?;
        check_task(column)?;
        let config = Template::of(column).config(&Catalogue::default());
        let wire = to_document(table, column);
        for key in ["aiConfig", "taskConfig", "apiConfig", "referenceConfig"] {
            prop_assert_eq!(wire.contains_key(key), config.contains_key(key), "{} of {:?}", key, column.id);
        }
    }
    check_no_circle(table)
}

fn check_links(table: &Table, column: &Column) -> Result<(), TestCaseError> {
    let depended: Vec<&str> =
        column.dependencies.iter().map(|dependency| dependency.column_id.as_str()).collect();
    prop_assert_eq!(depended.iter().collect::<HashSet<_>>().len(), depended.len(), "twins");
    prop_assert!(depended.iter().all(|id| table.by_id(id).is_some()), "unknown: {:?}", depended);
    let names = Names::of(table);
    let mut failed = None;
    for_each_template_at(&mut column.clone(), |place, secrets, text| {
        for inner in references(text) {
            let resolved = names.resolve(inner, secrets);
            let fits = match resolved {
                Ok(Reference::Secret { .. }) => secrets == Secrets::Allowed,
                Ok(Reference::Column { id, .. }) => depended.contains(&id),
                Err(_) => false,
            };
            if !fits || resolved != Ok(Reference::read(inner)) {
                failed = Some(format!("{inner} in {place} of {:?}", column.id));
            }
        }
    });
    prop_assert_eq!(failed, None);
    let followed = column.reference_config.as_ref().map_or("", |config| config.column_id.as_str());
    prop_assert!(followed.is_empty() || depended.contains(&followed), "follows {}", followed);
    Ok(())
}

fn check_task(column: &Column) -> Result<(), TestCaseError> {
    let Some(task) = &column.task_config else { return Ok(()) };
    prop_assert_eq!(Some(task.task_type.as_str()), Template::of(column).task_type());
    if let Some(WaterfallEmail { waterfall_type, .. }) = &task.waterfall_email {
        prop_assert_eq!(waterfall_type, WaterfallEmail::TYPE);
    }
    let mut task = task.clone();
    for (task, providers, input_mapping) in task.lookups_mut() {
        let keys: Vec<&str> = input_mapping.keys().map(String::as_str).collect();
        let mut expected = task.input_keys().to_vec();
        expected.sort_unstable();
        prop_assert_eq!(keys, expected);
        let ids: HashSet<&str> = providers.iter().map(|provider| provider.id.as_str()).collect();
        prop_assert!(ids.len() == providers.len() && !ids.contains(""), "{:?}", ids);
        let mut orders: Vec<u32> = providers.iter().map(|provider| provider.order).collect();
        orders.sort_unstable();
        prop_assert!(orders.into_iter().eq((0..).take(providers.len())));
    }
    Ok(())
}

/// Takes away, again and again, the columns that wait for none of the others.
fn check_no_circle(table: &Table) -> Result<(), TestCaseError> {
    let mut waiting: HashMap<&str, &Column> =
        table.columns.iter().map(|column| (column.id.as_str(), column)).collect();
    loop {
        let ready: Vec<&str> = waiting
            .iter()
            .filter(|(_, column)| {
                column.dependencies.iter().all(|on| !waiting.contains_key(on.column_id.as_str()))
            })
            .map(|(id, _)| *id)
            .collect();
        if ready.is_empty() {
            break;
        }
        waiting.retain(|id, _| !ready.contains(id));
    }
    prop_assert!(waiting.is_empty(), "a circle among {:?}", waiting.keys());
    Ok(())
}

fn step() -> impl Strategy<Value = TableEdit> {
    let create = (select(&TEMPLATES[..]), any::<bool>(), body()).prop_map(|(template, is_v3, mut body)| {
        body.shift_remove("dataShape");
        let word = if is_v3 { template.v3_id } else { template.id };
        body.insert("templateId".to_owned(), json!(word));
        TableEdit::Create(body)
    });
    prop_oneof![
        3 => create,
        4 => (any::<usize>(), body()).prop_map(|(at, body)| TableEdit::Patch(at, body)),
        1 => any::<usize>().prop_map(TableEdit::Delete),
    ]
}

/// A body of the right shape, with any of the fields in it.
fn body() -> impl Strategy<Value = Map<String, Value>> {
    // An unknown name here refuses the whole body, so most are known.
    let condition_name = prop_oneof![9 => Just("_trigger".to_owned()), 1 => name()];
    let fields: Vec<(&str, BoxedStrategy<Value>)> = vec![
        (
            "header",
            select(vec!["Input", "A", "a.b", "B 2", " b ", "AI text", "secret"])
                .prop_map(Value::from)
                .boxed(),
        ),
        ("order", (0..10_u32).prop_map(Value::from).boxed()),
        (
            "dataShape",
            or_null(
                select(vec!["text", "json", "waterfall", "vendor-scrape-result", "x"]).prop_map(Value::from),
            ),
        ),
        ("dependencies", or_null(vec((name(), any::<bool>()), 0..4).prop_map(dependencies))),
        (
            "aiConfig",
            or_null(some_of(vec![
                ("prompt", or_null(text())),
                ("system", or_null(text())),
                ("outputSchema", or_null(Just(json!({"type": "array"})))),
                ("research", or_null(Just(json!({"maxSteps": 3})))),
            ])),
        ),
        ("taskConfig", or_null(task_config())),
        (
            "apiConfig",
            or_null(some_of(vec![
                ("url", or_null(text())),
                ("headers", or_null(some_of(vec![("X-A", or_null(text())), ("X-B", or_null(text()))]))),
                ("query", or_null(some_of(vec![("q", or_null(text()))]))),
                ("body", or_null(text().prop_map(|text| json!({"deep": [text, {"@{A}": null}]})))),
            ])),
        ),
        (
            "referenceConfig",
            or_null(some_of(vec![
                ("columnId", or_null(name().prop_map(Value::from))),
                ("path", or_null(Just(json!("a.b[0]")))),
            ])),
        ),
        ("runCondition", or_null(vec(condition_name, 0..3).prop_map(run_condition))),
        ("rateLimit", or_null(Just(json!({"requests": 1, "perSeconds": 2})))),
        ("retry", or_null(Just(json!({"maxAttempts": 3})))),
        ("cacheTtlSeconds", or_null((0..3_u32).prop_map(Value::from))),
    ];
    some_of(fields).prop_map(|body| match body {
        Value::Object(body) => body,
        _ => Map::new(),
    })
}

fn task_config() -> impl Strategy<Value = Value> {
    let provider = (select(vec!["", "a", "b", "c"]), select(vec!["hunter", "nope", "pattern"]), any::<bool>(), 0..4_u32)
        .prop_map(|(id, task_type, enabled, order)| {
            json!({"id": id, "taskType": task_type, "enabled": enabled, "order": order})
        });
    let waterfall = some_of(vec![
        ("waterfallType", or_null(Just(json!("phone")))),
        ("providers", or_null(vec(provider, 0..4).prop_map(Value::from))),
        ("inputMapping", or_null(some_of(vec![("domain", or_null(text())), ("other", or_null(text()))]))),
    ]);
    let scraper = some_of(vec![("url", or_null(text())), ("formats", or_null(Just(json!(["html"]))))]);
    some_of(vec![
        ("taskType", or_null(select(vec!["waterfallEmail", "webScraper", "x"]).prop_map(Value::from))),
        ("waterfallEmail", or_null(waterfall)),
        ("webScraper", or_null(scraper)),
    ])
}

fn dependencies(on: Vec<(String, bool)>) -> Value {
    on.into_iter().map(|(id, required)| json!({"columnId": id, "required": required})).collect()
}

fn run_condition(on: Vec<String>) -> Value {
    on.into_iter().map(|id| json!({"columnId": id, "operator": "isEmpty"})).collect()
}

/// Names of columns, most of which are there at some time.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        9 => (1..8_u32).prop_map(|number| format!("col_{number}")),
        3 => select(vec!["_trigger", "Input", "a", "A.b", "b 2", "ai text"]).prop_map(str::to_owned),
        1 => Just("nope".to_owned()),
    ]
}

/// Texts that are mostly references, whole and broken.
fn text() -> impl Strategy<Value = Value> {
    let reference = (name(), select(vec!["", "", ".x", "[0].y", ".z[", "."]))
        .prop_map(|(name, path)| format!("@{{{name}{path}}}"));
    let shard =
        select(vec!["@", "{", "}", "@{", " ", "x", "@{secret.K}", "@{nope}", "{col_1}", "@@{nope}{col_2}"]);
    vec(prop_oneof![reference, shard.prop_map(str::to_owned)], 0..6)
        .prop_map(|pieces| Value::from(pieces.concat()))
}

fn or_null(value: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    prop_oneof![6 => value, 1 => Just(Value::Null)].boxed()
}

/// An object with some of the fields.
fn some_of(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(key, value)| proptest::option::weighted(0.4, value).prop_map(move |value| (key, value)))
        .collect();
    fields
        .prop_map(|fields| {
            let sent = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
            Value::Object(sent.collect())
        })
        .boxed()
}
