//! Tables, cells and questions, made up.

use jiff::Timestamp;
use proptest::prelude::*;
use rowmill_model::column::Dependency;
use rowmill_model::filter::{Filters, Operator, Predicate, Search};
use rowmill_model::format::SelectOption;
use rowmill_model::project::ProjectSettings;
use rowmill_model::row::RowView;
use rowmill_model::sort::{Order, Sorting};
use rowmill_model::{ColumnId, ColumnType, Format, FormatType, Limits, Project, ProjectId, Table, TeamId};
use rowmill_store::{ProjectSave, Store, StoredProject, StoredRow};
use serde_json::{Value as Json, json};
use uuid::Uuid;

use crate::selection::Selection;

/// A Friday; its week began on 6 May.
pub(super) fn now() -> Timestamp {
    "2024-05-10T12:00:00Z".parse().unwrap()
}

/// `_trigger` (slot 0), `col_a` (1), `col_b` (2), the AI column `col_ai` (3), which needs `col_a`, and
/// references: `col_mail` into `_trigger`, `col_deep` into what `col_guest` finds there. The type of `col_b`
/// is a number, that of `col_mail` a select.
pub(super) fn project() -> Project {
    let mut table = Table::new();
    for id in ["col_a", "col_b", "col_ai", "col_mail", "col_guest", "col_deep"] {
        table.push_manual(ColumnId::new(id), id);
    }
    for column in &mut table.columns {
        column.format = format_of(column.id.as_str());
        let follows = match column.id.as_str() {
            "col_ai" => {
                column.kind = ColumnType::Ai;
                column.dependencies = vec![Dependency { column_id: ColumnId::new("col_a"), required: true }];
                continue;
            }
            "col_mail" => ("_trigger", "guest.email"),
            "col_guest" => ("_trigger", "guest"),
            "col_deep" => ("col_guest", "$.tags[*].name"),
            _ => continue,
        };
        column.kind = ColumnType::Reference;
        let (column_id, path) = (follows.0.to_owned(), follows.1.to_owned());
        column.reference_config = Some(rowmill_model::column::ReferenceConfig { column_id, path });
    }
    Project {
        id: ProjectId::from_uuid(Uuid::from_u128(1)),
        team: TeamId(Uuid::from_u128(1)),
        title: "Made up".to_owned(),
        autoplay: false,
        folder_id: None,
        metadata: serde_json::Map::new(),
        settings: ProjectSettings::default(),
        table,
        trash: rowmill_model::Trash::default(),
        hooks: Vec::new(),
        copying: None,
        created_at_ms: 1,
        updated_at_ms: 1,
    }
}

fn format_of(column: &str) -> Option<Format> {
    let option = |value: &str| SelectOption { value: value.to_owned(), color: None };
    match column {
        "col_b" => Some(Format::new(FormatType::Number)),
        "col_mail" => Some(Format {
            options: Some(vec![option("b"), option("A"), option("1")].into()),
            ..Format::new(FormatType::Select)
        }),
        _ => None,
    }
}

pub(super) async fn create(store: &dyn Store) -> ProjectId {
    let (project, views, fixes) = (project(), Vec::new(), Vec::new());
    let save =
        ProjectSave { project, views, version: None, row_count: None, subject: None, fixes, once: None };
    store.save_project(save).await.unwrap().project.id
}

/// Raw cells of every kind, some alike but for case, blanks, digits or offsets.
pub(super) fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => Just("null".to_owned()),
        1 => prop::sample::select(vec!["\"\"", "[]", "{ }", "true", "false", "\" \"", "\"true\"", "\"null\""])
            .prop_map(str::to_owned),
        3 => "\"[aAbBkK]{1,3}( [a-cA-C]{1,2})?\"",
        2 => "\"[aAb]{0,2}[0-9]{1,3}[ab]?\"",
        1 => prop::sample::select(vec![
            "\"Straße Ä\"", "\"STRASSE ä\"", "\"ΟΔΟΣ\"", "\"οδος\"", "\"\u{212a}a\"", "\"a\\\"b\"",
            "\"a\\nb\"", "\"\\u0061b\"", "\"a\\\\b\"", "\"\u{130}\"",
        ]).prop_map(str::to_owned),
        2 => "-?(0|[1-9][0-9]{0,2})(\\.[0-9]{1,2})?(e[0-2])?",
        1 => "\"[ +-]?[0-9]{1,2}(\\.0)?\"",
        1 => "\"\\$?[0-9]{1,2}(,[0-9]{3})?( %)?\"",
        2 => "\"20(23|24)-0[4-6]-(0[1-9]|1[0-9])\"",
        1 => "\"2024-05-(09|10|11)T(00|12|23):00(:00)?(Z|\\+02:00|)\"",
        1 => "\\[(1|\"a\"|\"B\"|true|null)(, ?(1\\.0|\"b\"|\"2024-05-10\"))?\\]",
        1 => "\\{\"name\": ?(1|\"a\"|null|\\[1,\"a\"\\])(,\"x\":\"A\")?\\}",
    ]
}

/// Cells of the input column, into which references and paths lead.
pub(super) fn input() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => cell(),
        3 => (cell(), cell()).prop_map(|(email, name)| {
            format!("{{\"guest\": {{\"email\": {email}, \"tags\": [{{\"name\": {name}}}, {{\"name\": 1}}]}}}}")
        }),
    ]
}

const COLUMNS: [&str; 7] = ["_trigger", "col_a", "col_b", "col_ai", "col_mail", "col_guest", "col_deep"];

fn column() -> impl Strategy<Value = &'static str> {
    prop::sample::select(COLUMNS.to_vec())
}

fn json_of(raw: &str) -> Json {
    serde_json::from_str(raw).unwrap()
}

const STATUSES: &[&str] = &["idle", "queued", "generating", "completed", "error", "skipped"];
const CODES: &[&str] = &["missing_input", "rate_limited", "provider_error", "timed_out"];

/// A value that an operator may take.
fn operand(operator: Operator) -> BoxedStrategy<Json> {
    use Operator as O;
    let any = || cell().prop_map(|raw| json_of(&raw));
    let text = || {
        prop::sample::select(vec!["", "a", "A", "ab", "b ", "1", "ä", "ς", "k", "\"", "\\", "0", "[", "e"])
    };
    let number =
        || (-20..300_i32, 0..3_u8).prop_map(|(n, tenths)| json!(f64::from(n) + f64::from(tenths) / 10.0));
    let date = || {
        prop::sample::select(vec![
            "2024-05-10",
            "2024-05-09T22:00:00Z",
            "2024-05-10T00:00+02:00",
            "2023-04-01",
            "2024-05-10T12:00",
        ])
        .prop_map(|date| json!(date))
    };
    let word = |words: &'static [&'static str]| prop::sample::select(words.to_vec());
    match operator {
        O::IsEmpty
        | O::IsNotEmpty
        | O::IsTrue
        | O::IsFalse
        | O::IsStale
        | O::IsManual
        | O::IsInvalid
        | O::IsValid => Just(Json::Null).boxed(),
        O::Equals | O::NotEquals => any().boxed(),
        O::In | O::NotIn | O::HasAnyOf | O::HasAllOf | O::HasNoneOf => {
            prop::collection::vec(any(), 0..4).prop_map(Json::Array).boxed()
        }
        O::Contains | O::NotContains | O::StartsWith | O::EndsWith => {
            text().prop_map(|text| json!(text)).boxed()
        }
        O::Matches => {
            let patterns = vec!["^a", "b$", "[0-9]+", "", "a*", "(?-i)A", "ß|ä", "^$", "\\d{4}-\\d\\d"];
            prop::sample::select(patterns).prop_map(|pattern| json!(pattern)).boxed()
        }
        O::GreaterThan | O::GreaterThanOrEqual | O::LessThan | O::LessThanOrEqual => {
            prop_oneof![number(), date()].boxed()
        }
        O::Between => prop_oneof![
            (number(), number()).prop_map(|(low, high)| json!([low, high])),
            (date(), date()).prop_map(|(low, high)| json!([low, high])),
        ]
        .boxed(),
        O::Before | O::After | O::OnOrBefore | O::OnOrAfter => date().boxed(),
        O::IsWithin => prop_oneof![
            prop::sample::select(vec!["today", "thisWeek", "thisMonth", "thisYear"])
                .prop_map(|mode| json!({ "mode": mode })),
            (prop::sample::select(vec!["pastDays", "nextDays"]), 1..60)
                .prop_map(|(mode, n)| json!({ "mode": mode, "n": n })),
        ]
        .boxed(),
        O::StatusIs => word(STATUSES).prop_map(|word| json!(word)).boxed(),
        O::StatusIn => prop::collection::vec(word(STATUSES), 0..3).prop_map(|words| json!(words)).boxed(),
        O::ErrorCodeIn => prop::collection::vec(word(CODES), 0..3).prop_map(|words| json!(words)).boxed(),
    }
}

/// A filter with this operator, as it is sent.
pub(super) fn filter_with(operator: Operator) -> impl Strategy<Value = Json> {
    let path = prop::option::weighted(
        0.3,
        prop::sample::select(vec!["name", "guest.email", "$.guest.tags[*].name", "[0]", "$..name", ""]),
    );
    let zone = prop::option::weighted(0.3, prop::sample::select(vec!["Europe/Berlin", "America/New_York"]));
    (column(), operand(operator), path, any::<bool>(), zone).prop_map(
        move |(column, value, path, case_sensitive, zone)| {
            let mut filter = json!({ "columnId": column, "operator": operator.word() });
            if operator.takes_value() {
                filter["value"] = value;
            }
            if let Some(path) = path {
                filter["path"] = json!(path);
            }
            if case_sensitive {
                filter["caseSensitive"] = json!(true);
            }
            if let Some(zone) = zone {
                filter["timeZone"] = json!(zone);
            }
            filter
        },
    )
}

fn filter() -> impl Strategy<Value = Json> {
    prop::sample::select(Operator::ALL.to_vec()).prop_flat_map(filter_with)
}

fn filters() -> impl Strategy<Value = Json> {
    let node = filter().prop_recursive(3, 12, 3, |inner| {
        (prop::sample::select(vec!["and", "or", "not"]), prop::collection::vec(inner, 0..4))
            .prop_map(|(conjunction, filters)| json!({ "conjunction": conjunction, "filters": filters }))
    });
    prop::collection::vec(node, 0..3).prop_map(Json::Array)
}

fn sorting() -> impl Strategy<Value = Json> {
    let key = (column(), prop::sample::select(vec!["asc", "desc"]));
    prop::collection::vec(key, 0..3).prop_map(|keys| {
        let mut seen = std::collections::HashSet::new();
        let keys = keys.into_iter().filter(|(column, _)| seen.insert(*column));
        keys.map(|(column, direction)| json!({ "columnId": column, "direction": direction })).collect()
    })
}

pub(super) fn selection_of(filters: &Json, sorting: &Json, search: Option<&str>) -> Selection {
    let table = project().table;
    let limits = Limits::default();
    Selection {
        filters: Filters::parse(filters, "filters", &table, &limits)
            .unwrap_or_else(|offences| panic!("{filters}: {offences:?}")),
        sorting: Sorting::parse(sorting, "sorting", &table)
            .unwrap_or_else(|offences| panic!("{sorting}: {offences:?}")),
        search: search.map(str::to_owned),
    }
}

pub(super) fn selection() -> impl Strategy<Value = Selection> {
    let search = prop::option::weighted(0.2, prop::sample::select(vec!["a", "B", "1", "ä", "", "name", "k"]));
    (filters(), sorting(), search)
        .prop_map(|(filters, sorting, search)| selection_of(&filters, &sorting, search))
}

/// Where the rows of a selection lie, in its order, told row by row by `model`.
pub(super) fn expected(project: &StoredProject, rows: &[StoredRow], selection: &Selection) -> Vec<u64> {
    let table = &project.project.table;
    let predicate = Predicate::compile(&selection.filters, table);
    let search = Search::new(selection.search.as_deref().unwrap_or_default(), table);
    let order = Order::compile(&selection.sorting, table);
    let mut found = Vec::new();
    for row in rows {
        let view = RowView::new(table, row.values.cells().unwrap(), &row.states);
        if predicate.holds(&view, now()) && search.matches(&view) {
            found.push((order.key(&view), row.position));
        }
    }
    found.sort_by(|a, b| order.compare(&a.0, &b.0).then(a.1.cmp(&b.1)));
    found.into_iter().map(|(_, position)| position).collect()
}
