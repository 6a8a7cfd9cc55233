//! What each type reads, and which type is guessed.

use serde_json::{Value as Json, json};

use super::*;
use crate::value::{FOLDED_BYTES, fold};

/// `cases.json` is also read by the tests of the web app.
#[test]
fn values_are_read_as_the_cases_say() {
    let cases: Vec<Json> = serde_json::from_str(include_str!("cases.json")).unwrap();
    for case in &cases {
        let format: Format = serde_json::from_value(case["format"].clone()).unwrap();
        let list = |name: &str| case.get(name).and_then(Json::as_array).cloned().unwrap_or_default();
        let read = |value: &Json| match format.read(&value.to_string()) {
            Reading::Empty => json!("empty"),
            Reading::Misfit => json!("misfit"),
            Reading::Fits(read) => serde_json::from_str(&read).unwrap(),
        };
        for pair in list("reads") {
            let (value, expected) = (&pair[0], &pair[1]);
            let seen = read(value);
            let is_same = match (seen.as_f64(), expected.as_f64()) {
                (Some(seen), Some(expected)) => (seen - expected).abs() < 1e-9,
                _ => seen == *expected,
            };
            assert!(is_same, "{value} in {}: {seen}", case["format"]);
        }
        for value in list("fits") {
            assert_eq!(read(&value), value, "{value} in {}", case["format"]);
        }
        for value in list("misfits") {
            assert_eq!(read(&value), "misfit", "{value} in {}", case["format"]);
        }
        for value in list("empty") {
            assert_eq!(read(&value), "empty", "{value} in {}", case["format"]);
        }
    }
}

#[test]
fn digits_are_never_rounded() {
    let number = Format::new(FormatType::Number);
    assert_eq!(number.comparable("\"$12,345,678,901,234,567,890.10\""), "12345678901234567890.10");
}

#[test]
fn only_strict_formats_refuse() {
    let mut format = Format::new(FormatType::Rating);
    assert_eq!(format.refusal("\"good\""), None);
    format.strict = true;
    assert!(format.refusal("\"good\"").unwrap().contains("a whole number from 0 to 5"));
    for raw in ["3", "null", "\"\""] {
        assert_eq!(format.refusal(raw), None, "{raw}");
    }
}

#[test]
fn types_are_guessed() {
    fn check(header: &str, values: &Json, expected: &Json) {
        let raws: Vec<String> = values.as_array().unwrap().iter().map(Json::to_string).collect();
        let raws: Vec<&str> = raws.iter().map(String::as_str).collect();
        let guessed = guess(header, &raws).map(|guess| serde_json::to_value(guess.format).unwrap());
        assert_eq!(guessed.unwrap_or_default(), *expected, "{header}: {values}");
    }
    check("A", &json!([]), &Json::Null);
    check("A", &json!([null, ""]), &Json::Null);
    check("Name", &json!(["Ada", "Grace"]), &Json::Null);
    check("Employees", &json!(["12", "1,200", ""]), &json!({ "type": "number" }));
    check("Zip", &json!(["12345", "54321"]), &Json::Null);
    check("Zip", &json!(["01234", "00321"]), &Json::Null);
    check("customerId", &json!([1, 2]), &Json::Null);
    check("Revenue", &json!(["$5", "$1,200.50"]), &json!({ "type": "currency", "currency": "USD" }));
    check("Revenue", &json!(["5 €", "7,50 €"]), &json!({ "type": "currency", "currency": "EUR" }));
    check("Revenue", &json!(["$5", "€5"]), &Json::Null);
    check("Growth", &json!(["12 %", "7%"]), &json!({ "type": "percent" }));
    check("Rating", &json!([5, 4, 3]), &json!({ "type": "rating" }));
    check("Founded", &json!(["2024-01-31", "2023-05-01"]), &json!({ "type": "date" }));
    check(
        "Founded",
        &json!(["31/01/2024", "02/03/2024"]),
        &json!({ "type": "date", "dateStyle": "european" }),
    );
    check(
        "Seen",
        &json!(["1/31/2024 10:30", "2/1/2024 9:00"]),
        &json!({ "type": "dateTime", "dateStyle": "us" }),
    );
    check("Active", &json!(["yes", "no"]), &json!({ "type": "checkbox" }));
    check("Active", &json!([true, false]), &json!({ "type": "checkbox" }));
    check("Count", &json!([0, 1]), &json!({ "type": "number" }));
    check("Contact", &json!(["a@b.co", "c@d.com"]), &json!({ "type": "email" }));
    check("Website", &json!(["acme.com", "https://x.io"]), &json!({ "type": "url" }));
    check("Phone", &json!(["415 555 0100", "0151 234567"]), &json!({ "type": "phone" }));
    check("Call", &json!(["+1 415 555 0100"]), &json!({ "type": "phone" }));
    check("Facts", &json!([{ "a": 1 }, { "a": 2 }]), &json!({ "type": "json" }));
    check("Tags", &json!([["a", "b"], ["c"]]), &json!({ "type": "multiSelect" }));
    check("Notes", &json!(["one\ntwo", "three"]), &json!({ "type": "longText" }));
    check(
        "Stage",
        &json!(["New", "Won", "New", "new", "Won", "New", "Won", "New"]),
        &json!({ "type": "select", "options": [{ "value": "New", "color": "teal" }, { "value": "Won", "color": "blue" }] }),
    );
    check("Company", &json!(["A", "B", "A", "A", "B", "A", "B", "A"]), &Json::Null);
}

#[test]
fn a_guess_counts_what_does_not_fit() {
    let mut raws = vec!["\"12\""; 19];
    raws.extend(["\"n/a\"", "null"]);
    let guess = guess("Employees", &raws).unwrap();
    assert_eq!((guess.format.kind, guess.fits, guess.misfits), (FormatType::Number, 19, 1));
}

#[test]
fn settings_of_other_types_and_twin_options_are_dropped() {
    let option = |value: &str| SelectOption { value: value.to_owned(), color: None };
    let mut format = Format {
        currency: Some("EUR".to_owned()),
        max: Some(3),
        options: Some(vec![option(" A "), option("a"), option("")].into()),
        ..Format::new(FormatType::Select)
    };
    assert_eq!(format.drop_foreign(), ["currency", "max"]);
    assert_eq!(format.clean_options(), ["a", ""]);
    assert_eq!(format.options, Some(vec![option("A")].into()));
    assert!(format.offences("format").is_empty());
    let wrong = Format { decimals: Some(11), ..Format::new(FormatType::Number) };
    assert_eq!(wrong.offences("format").len(), 1);
}

/// A multi-select with as many options as there can be, as long as they can be, and one short one.
fn largest_select() -> Format {
    let long = |place: usize| json!({ "value": format!("{place}{}", "Ä".repeat(OPTION_CHARS_MAX - 4)) });
    let options: Vec<Json> = (1..OPTIONS_MAX).map(long).chain([json!({ "value": "z" })]).collect();
    serde_json::from_value(json!({ "type": "multiSelect", "options": options })).unwrap()
}

#[test]
fn options_are_folded_once_for_all_values() {
    let format = largest_select();
    let options_bytes: usize = format.options().iter().map(|option| option.value.len()).sum();
    let raw = format!("\"{}\"", "z,".repeat(5_000));
    let before = FOLDED_BYTES.get();
    // Copies know what the first has learnt.
    for format in [format.clone(), format] {
        assert!(matches!(format.read(&raw), Reading::Fits(_)));
        assert_eq!(format.options_in(&raw).len(), 5_000);
    }
    let folded = FOLDED_BYTES.get() - before;
    assert!(folded <= options_bytes + 10 * raw.len(), "{folded} bytes for {} and {options_bytes}", raw.len());
}

proptest::proptest! {
    #[test]
    fn an_option_is_the_first_that_folds_alike(
        values in proptest::collection::vec("[aAäÄςΣ ]{0,2}", 0..8),
        text in "[aAäÄςΣ ]{0,3}",
    ) {
        let options: Vec<_> = values.into_iter().map(|value| SelectOption { value, color: None }).collect();
        let expected = options.iter().position(|option| fold(&option.value) == fold(text.trim()));
        let format = Format { options: Some(options.into()), ..Format::new(FormatType::Select) };
        proptest::prop_assert_eq!(format.option_place(&text), expected);
    }
}
