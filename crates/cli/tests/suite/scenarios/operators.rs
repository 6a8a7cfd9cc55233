//! Contract section 8: what each operator finds, and how rows are sorted, as a caller sees it.

use std::collections::BTreeSet;
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Api, Scenario, Table};

pub(crate) const SHARED: &[Scenario] = &scenarios!("operators", Versions:
    every_operator_finds_what_it_says,
    dates_compare_by_instant_and_in_their_zone,
    relative_dates_are_relative_to_now,
    states_are_found,
    sorting_is_by_kind_natural_stable_and_empty_last,
);

/// One row for each value, found again by its place.
struct Values<'a> {
    table: Table,
    values: &'a [Value],
}

impl<'a> Values<'a> {
    fn new(api: &Api, values: &'a [Value]) -> Self {
        let table = api.table(&["V"]);
        table.insert(values.iter().map(|value| json!({ "V": value })).collect());
        Self { table, values }
    }

    /// The places of the rows that a filter finds, and of those it finds in a view with that filter.
    #[track_caller]
    fn check(&self, operator: &str, extra: Value, expected: &[usize]) {
        let mut filter = json!({ "columnId": self.table.column("V"), "operator": operator });
        filter.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let expected: Vec<&Value> = expected.iter().map(|place| &self.values[*place]).collect();
        let filters = json!([filter]);
        let found = self.table.values("V", &[("filters", &filters.to_string()), ("pageSize", "1000")]);
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{filter}");
        let view = self.table.post("/views", json!({ "name": operator, "filters": filters })).created()["view"]["id"].clone();
        let found = self.table.values("V", &[("viewId", view.as_str().unwrap()), ("pageSize", "1000")]);
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{filter} in a view");
    }
}

fn every_operator_finds_what_it_says(api: &Api) {
    let all = [
        json!("Apple"),                  // 0
        json!("apple pie"),              // 1
        json!("10"),                     // 2
        json!(10),                       // 3
        json!(9.5),                      // 4
        json!(true),                     // 5
        json!(false),                    // 6
        json!(["red", "Blue", 3]),       // 7
        json!({ "a": { "b": "deep" } }), // 8
        json!("2024-05-01"),             // 9
        json!(null),                     // 10
        json!(""),                       // 11
        json!([]),                       // 12
        json!({}),                       // 13
    ];
    let values = Values::new(api, &all);
    let value = |value: Value| json!({ "value": value });
    let mut tried = BTreeSet::new();
    let mut check = |operator: &'static str, extra: Value, expected: &[usize]| {
        tried.insert(operator);
        values.check(operator, extra, expected);
    };
    check("equals", value(json!("APPLE")), &[0]);
    check("equals", json!({ "value": "APPLE", "caseSensitive": true }), &[]);
    check("equals", value(json!(10)), &[2, 3]);
    check("equals", value(json!("10.0")), &[2, 3]);
    check("equals", value(json!(true)), &[5]);
    check("equals", json!({ "value": "deep", "path": "a.b" }), &[8]);
    check("equals", json!({ "value": "deep", "path": "$.a.b" }), &[8]);
    check("notEquals", value(json!("apple")), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
    check("isEmpty", json!({}), &[10, 11, 12, 13]);
    check("isNotEmpty", json!({}), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    check("in", value(json!(["apple", 9.5, false])), &[0, 4, 6]);
    check("notIn", value(json!(["apple", 9.5, false])), &[1, 2, 3, 5, 7, 8, 9, 10, 11, 12, 13]);
    check("contains", value(json!("PPLE")), &[0, 1]);
    check("contains", json!({ "value": "App", "caseSensitive": true }), &[0]);
    check("notContains", value(json!("e")), &[2, 3, 4, 9, 10, 11, 12, 13]);
    check("startsWith", value(json!("apple")), &[0, 1]);
    check("endsWith", value(json!("PIE")), &[1]);
    check("matches", value(json!("^app.*e$")), &[0, 1]);
    check("matches", json!({ "value": "^A", "caseSensitive": true }), &[0]);
    check("greaterThan", value(json!(9.5)), &[2, 3]);
    check("greaterThanOrEqual", value(json!(9.5)), &[2, 3, 4]);
    check("lessThan", value(json!(10)), &[4]);
    check("lessThanOrEqual", value(json!(10)), &[2, 3, 4]);
    check("between", value(json!([9.5, 10])), &[2, 3, 4]);
    check("between", value(json!([9.6, 9.9])), &[]);
    check("before", value(json!("2024-05-02")), &[9]);
    check("after", value(json!("2024-04-30")), &[9]);
    check("onOrBefore", value(json!("2024-05-01")), &[9]);
    check("onOrAfter", value(json!("2024-05-01")), &[9]);
    check("isWithin", value(json!({ "mode": "today" })), &[]);
    check("isTrue", json!({}), &[5]);
    check("isFalse", json!({}), &[6]);
    check("hasAnyOf", value(json!(["RED", "green"])), &[7]);
    check("hasAllOf", value(json!(["blue", 3])), &[7]);
    check("hasAllOf", value(json!(["blue", 4])), &[]);
    check("hasNoneOf", value(json!(["red"])), &[0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13]);
    check("statusIs", value(json!("idle")), &(0..14).collect::<Vec<_>>());
    check("statusIn", value(json!(["queued", "error"])), &[]);
    check("errorCodeIn", value(json!(["timed_out", "missing_input"])), &[]);
    check("isStale", json!({}), &[]);
    check("isManual", json!({}), &[]);
    // A column without a type takes everything.
    check("isInvalid", json!({}), &[]);
    check("isValid", json!({}), &(0..14).collect::<Vec<_>>());
    let documented = api.document()["components"]["schemas"]["FilterOperator"]["enum"].clone();
    let documented: BTreeSet<&str> =
        documented.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(tried, documented);
}

fn dates_compare_by_instant_and_in_their_zone(api: &Api) {
    let all = [
        json!("2024-05-01T12:00:00Z"),      // 0
        json!("2024-05-01T14:00:00+02:00"), // 1: the same instant
        json!("2024-05-01T12:00:00.500Z"),  // 2
        json!("2024-05-01"),                // 3: midnight, in the zone of the filter
        json!("May 1st"),                   // 4
    ];
    let values = Values::new(api, &all);
    values.check("equals", json!({ "value": "2024-05-01T12:00:00Z" }), &[0, 1]);
    values.check("after", json!({ "value": "2024-05-01T12:00:00Z" }), &[2]);
    values.check("onOrBefore", json!({ "value": "2024-05-01T13:00:00+01:00" }), &[0, 1, 3]);
    values.check("lessThan", json!({ "value": "2024-05-01T12:00:00.500Z" }), &[0, 1, 3]);
    values.check("between", json!({ "value": ["2024-05-01T12:00:00Z", "2024-05-01T12:00:01Z"] }), &[0, 1, 2]);
    values.check("before", json!({ "value": "2024-05-01T00:00:00Z" }), &[]);
    values.check("before", json!({ "value": "2024-05-01T00:00:00Z", "timeZone": "Asia/Tokyo" }), &[3]);
}

/// A day as the API writes it, so many days from today in UTC.
fn day(days_from_now: i64) -> Value {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let days = i64::try_from(now.as_secs() / 86_400).unwrap() + days_from_now;
    // Days to a civil date, after Howard Hinnant.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    json!(format!("{year:04}-{month:02}-{day:02}T12:00:00Z"))
}

fn relative_dates_are_relative_to_now(api: &Api) {
    let all = [day(0), day(-3), day(3), day(-40), day(40), day(-800), day(800)];
    let values = Values::new(api, &all);
    let within = |mode: &str, n: Option<u32>| match n {
        Some(n) => json!({ "value": { "mode": mode, "n": n } }),
        None => json!({ "value": { "mode": mode } }),
    };
    values.check("isWithin", within("today", None), &[0]);
    let found = |mode: &str, n: Option<u32>| {
        let filter = json!([{ "columnId": values.table.column("V"), "operator": "isWithin", "value": within(mode, n)["value"] }]);
        values.table.values("V", &[("filters", &filter.to_string())])
    };
    // Noon today may be before or after now, so it is left out of account.
    let others = |mode: &str, n: u32| {
        found(mode, Some(n)).into_iter().filter(|value| *value != all[0]).collect::<Vec<_>>()
    };
    assert_eq!(others("pastDays", 5), [all[1].clone()]);
    assert_eq!(others("nextDays", 5), [all[2].clone()]);
    assert_eq!(others("pastDays", 60), [all[1].clone(), all[3].clone()]);
    for mode in ["thisWeek", "thisMonth", "thisYear"] {
        let found = found(mode, None);
        assert!(found.contains(&all[0]), "{mode}");
        assert!(!found.contains(&all[5]) && !found.contains(&all[6]), "{mode}");
    }
    assert!(!found("thisWeek", None).contains(&all[3]) && !found("thisMonth", None).contains(&all[4]));
}

fn states_are_found(api: &Api) {
    let table = api.table(&["V"]);
    let ai = table.add_column(json!({ "templateId": "ai-text" }));
    table.insert(json!([{ "V": "by hand", ai.clone(): "x" }, { "V": "never run" }]));
    let found = |operator: &str, value: Value| {
        let filters = json!([{ "columnId": ai, "operator": operator, "value": value }]).to_string();
        table.values("V", &[("filters", &filters)])
    };
    assert_eq!(found("statusIs", json!("completed")), ["by hand"]);
    assert_eq!(found("statusIs", json!("idle")), ["never run"]);
    assert_eq!(found("statusIn", json!(["idle", "completed"])), ["by hand", "never run"]);
    assert_eq!(found("isManual", json!(null)), ["by hand"]);
    assert_eq!(found("isStale", json!(null)), [Value::Null; 0]);
    assert_eq!(found("errorCodeIn", json!(["timed_out"])), [Value::Null; 0]);
}

fn sorting_is_by_kind_natural_stable_and_empty_last(api: &Api) {
    let sorted = [
        json!(-5),
        json!("2"),
        json!(10.5),
        json!("2023-12-31"),
        json!("2024-01-01T00:00:00Z"),
        json!("apple"),
        json!("Banana"),
        json!("item 2"),
        json!("Item 10"),
    ];
    // Sent in another order, with empty values between, and each with its place of creation.
    let order = [8, 3, 0, 6, 1, 5, 2, 7, 4];
    let table = api.table(&["V", "Place"]);
    let mut rows = vec![json!({ "V": null, "Place": "empty 1" })];
    rows.extend(order.iter().map(|place| json!({ "V": sorted[*place], "Place": place })));
    rows.push(json!({ "V": "", "Place": "empty 2" }));
    rows.push(json!({ "V": "APPLE", "Place": "tie" }));
    table.insert(json!(rows));
    let places = |sorting: Value| {
        let places = table.values("Place", &[("sorting", &sorting.to_string())]);
        places.iter().map(|place| place.to_string().replace('"', "")).collect::<Vec<_>>().join(" ")
    };
    let (v, place) = (table.column("V"), table.column("Place"));
    let by = |column: &str, direction: &str| json!({ "columnId": column, "direction": direction });
    assert_eq!(places(json!([by(v, "asc")])), "0 1 2 3 4 5 tie 6 7 8 empty 1 empty 2");
    assert_eq!(places(json!([by(v, "desc")])), "8 7 6 5 tie 4 3 2 1 0 empty 1 empty 2");
    assert_eq!(places(json!([by(v, "asc"), by(place, "desc")])), "0 1 2 3 4 tie 5 6 7 8 empty 2 empty 1");
    assert_eq!(places(json!([])), "empty 1 8 3 0 6 1 5 2 7 4 empty 2 tie");
}
