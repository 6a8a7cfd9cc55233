//! References are found, resolved, rewritten and rendered.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::column::{AiConfig, ApiConfig};
use crate::ids::ColumnId;

fn table() -> Table {
    let mut table = Table::new();
    for (id, header) in [
        ("col_a", "Company"),
        ("col_b", "company.name"),
        ("col_c", "secret"),
        ("col_d", "col_a"),
        ("col_e", "Ünïcode [x]"),
    ] {
        table.push_manual(ColumnId::new(id), header);
    }
    table
}

#[test]
fn a_text_is_taken_apart() {
    fn check(text: &str, expected: &[Piece<'_>]) {
        assert_eq!(pieces(text).collect::<Vec<_>>(), expected, "{text}");
    }
    use Piece::{Reference as R, Text as T};
    check("", &[]);
    check("plain", &[T("plain")]);
    check("@{a}", &[R("a")]);
    check("x@{a}@{b.c}y", &[T("x"), R("a"), R("b.c"), T("y")]);
    check("@{}", &[R("")]);
    check("@{never closed", &[T("@{never closed")]);
    check("@{a} @{b", &[R("a"), T(" @{b")]);
    check("a@b.c {d} @ {e} }", &[T("a@b.c {d} @ {e} }")]);
    check("@{a @{b}}", &[R("a @{b"), T("}")]);
    check("@@{ä}ß", &[T("@"), R("ä"), T("ß")]);
}

#[test]
fn a_name_is_resolved_by_id_then_header_then_with_a_path() {
    fn check(inner: &str, secrets: Secrets, expected: Result<&str, Unresolved>) {
        let table = table();
        let resolved = Names::of(&table).resolve(inner, secrets).map(Reference::inner);
        assert_eq!(resolved, expected.map(str::to_owned), "{inner}");
    }
    use Secrets::{Allowed, Refused};
    use Unresolved::{BadPath, NoColumn};
    for (inner, expected) in [
        ("_trigger", Ok("_trigger")),
        (" col_a ", Ok("col_a")),
        ("col_a", Ok("col_a")),
        ("COL_A", Ok("col_d")),
        ("col_a.guest.email", Ok("col_a.guest.email")),
        ("col_a[0].name", Ok("col_a[0].name")),
        ("col_a.[0]", Ok("col_a[0]")),
        ("col_a.$.x", Ok("col_a.$.x")),
        (" cOmPany ", Ok("col_a")),
        ("company.address", Ok("col_a.address")),
        ("Company.Name", Ok("col_b")),
        ("Company.Name.x[1]", Ok("col_b.x[1]")),
        ("ünïcode [X]", Ok("col_e")),
        ("Ünïcode [x][2]", Ok("col_e[2]")),
        ("secret.KEY", Ok("col_c.KEY")),
        ("secret", Ok("col_c")),
        ("col_a.", Err(BadPath)),
        ("col_a.x[", Err(BadPath)),
        ("", Err(NoColumn)),
        ("nope", Err(NoColumn)),
        ("nope.col_a", Err(NoColumn)),
        (".x", Err(NoColumn)),
    ] {
        check(inner, Refused, expected);
    }
    check("secret.KEY", Allowed, Ok("secret.KEY"));
    check(&format!("secret.{}", "k".repeat(64)), Allowed, Ok(&format!("secret.{}", "k".repeat(64))));
    check(&format!("secret.{}", "k".repeat(65)), Allowed, Ok(&format!("col_c.{}", "k".repeat(65))));
    check("secret.", Allowed, Err(BadPath));
    check("secret.a b", Allowed, Ok("col_c.a b"));
    check("secret", Allowed, Ok("col_c"));
}

#[test]
fn references_are_rewritten_and_blanked() {
    fn check(text: &str, expected: &str) {
        let rewritten = rewrite(text, |inner| match inner {
            "drop" => None,
            inner => Some(inner.to_uppercase()),
        });
        assert_eq!(rewritten, expected, "{text}");
    }
    check("plain @ {x}", "plain @ {x}");
    check("a @{b} c @{d", "a @{B} c @{d");
    check("a @{drop} c", "a  c");
    // A reference that blanking puts together is seen as well.
    check("@@{drop}{x}", "@{X}");
    check("@@@{drop}{drop}{drop}", "");
    check("@@{drop}{drop}@{x}", "@{X}");
    check("@@{drop}{x", "@{x");
    check("@{x}{y}", "@{X}{y}");
}

#[test]
fn a_stored_text_is_filled_in_once() {
    let text = "Hi @{col_a}, @{col_b.x[0]}@{col_c[1]} @{secret.KEY}@{";
    let rendered = render(text, |reference| match reference {
        Reference::Column { id, path } => format!("<{id}|{path}|@{{col_a}}>").into(),
        Reference::Secret { name } => name.into(),
    });
    assert_eq!(rendered, "Hi <col_a||@{col_a}>, <col_b|x[0]|@{col_a}><col_c|[1]|@{col_a}> KEY@{");
}

#[test]
fn every_templated_text_of_a_column_is_handed_out() {
    let mut column = table().columns.remove(0);
    let ai: AiConfig = serde_json::from_value(
        json!({"prompt": "1", "system": "2", "attachments": ["2a", "2b"], "model": "no"}),
    )
    .unwrap();
    let task: crate::column::TaskConfig = serde_json::from_value(json!({
        "taskType": "no",
        "waterfallEmail": {"providers": [{"id": "no"}], "inputMapping": {"domain": "3", "full_name": "4"}},
        "webScraper": {"url": "5"},
    }))
    .unwrap();
    let api: ApiConfig = serde_json::from_value(json!({
        "url": "6", "headers": {"no": "7"}, "query": {"no": "8"}, "responsePath": "no",
        "body": {"no": ["9", 1, null, {"no": {"no": "10"}}]},
    }))
    .unwrap();
    column.ai_config = Some(ai);
    column.task_config = Some(task);
    column.api_config = Some(api);
    let mut seen = Vec::new();
    for_each_template(&mut column, |text| {
        seen.push(text.clone());
        text.push('!');
    });
    assert_eq!(seen, ["1", "2", "2a", "2b", "3", "4", "5", "6", "7", "8", "9", "10"]);
    assert_eq!(
        column.api_config.unwrap().body.value(),
        json!({"no": ["9!", 1, null, {"no": {"no": "10!"}}]})
    );
}

proptest! {
    #[test]
    fn the_pieces_of_a_text_are_the_text(text in "[@{}a. é]{0,40}") {
        let whole: String = pieces(&text)
            .map(|piece| match piece {
                Piece::Text(text) => text.to_owned(),
                Piece::Reference(inner) => format!("@{{{inner}}}"),
            })
            .collect();
        prop_assert_eq!(whole, text.clone());
        prop_assert_eq!(rewrite(&text, |inner| Some(inner.to_owned())), text);
    }

    #[test]
    fn no_reference_escapes_a_rewrite(text in "[@{}ab]{0,40}") {
        let rewritten = rewrite(&text, |inner| (inner == "a").then(|| "ok".to_owned()));
        prop_assert!(references(&rewritten).all(|inner| inner == "ok"), "{} became {}", text, rewritten);
    }

    #[test]
    fn what_is_resolved_resolves_to_itself(inner in "(col_a|Company|company.name|secret|x)?[.\\[\\]0a $*]{0,6}") {
        let table = table();
        let names = Names::of(&table);
        if let Ok(reference) = names.resolve(&inner, Secrets::Refused) {
            let stored = reference.inner();
            prop_assert_eq!(names.resolve(&stored, Secrets::Refused), Ok(reference));
            prop_assert_eq!(Reference::read(&stored), reference);
        }
    }
}
