//! What is told of bodies that do not fit.

use rowmill_model::Limits;
use schemars::JsonSchema;
use serde_json::json;

use super::*;
use crate::schema::{SchemaLimits, TypeSchema};

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Batch {
    #[schemars(length(max = 3))]
    cells: Vec<Cell>,
    title: Option<String>,
    options: Option<Options>,
    #[serde(default)]
    target: Option<Target>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Cell {
    #[schemars(length(min = 1, max = 5))]
    row_id: String,
    value: Value,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Options {
    #[schemars(range(min = 1, max = 9))]
    retries: u32,
    direction: Option<Direction>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is of interest")]
enum Direction {
    Asc,
    Desc,
}

#[derive(JsonSchema)]
#[schemars(tag = "type", rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is of interest")]
enum Target {
    Mail { address: String },
    Page { url: String },
}

#[track_caller]
fn check(body: Value, expected: &[&str]) {
    let checker =
        Checker::new(SchemaLimits::new(&Limits::default()).checked(TypeSchema::of::<Batch>())).unwrap();
    let offences: Vec<_> = checker
        .offences(body, 0)
        .into_iter()
        .map(|offence| format!("{} {}", offence.path, offence.message))
        .collect();
    assert_eq!(offences, expected);
}

#[test]
fn what_fits() {
    check(json!({ "cells": [] }), &[]);
    check(json!({ "cells": [{ "rowId": "a", "value": null }], "title": null, "options": null }), &[]);
    check(json!({ "cells": [], "options": { "retries": 9, "direction": "asc" } }), &[]);
    check(json!({ "cells": [], "target": { "type": "page", "url": "x" } }), &[]);
}

#[test]
fn every_offence_has_its_place() {
    let cells = json!([{ "rowId": "a", "value": 1 }, { "value": 2 }, { "rowId": 7, "value": 3 }]);
    check(json!({ "cells": cells }), &["cells[1].rowId is required", "cells[2].rowId must be a string"]);
    let cells = json!([{ "rowId": "", "value": 1 }, { "rowId": "abcdef", "value": 1, "colour": 2 }]);
    check(
        json!({ "cells": cells, "title": 5 }),
        &[
            "cells[0].rowId must not be empty",
            "cells[1].rowId must be at most 5 characters",
            "cells[1].colour is not a known field; known: rowId, value",
            "title must be a string or null",
        ],
    );
}

#[test]
fn shapes() {
    check(json!([1]), &[" must be an object"]);
    check(json!({}), &["cells is required"]);
    check(json!({ "cells": {} }), &["cells must be an array"]);
    let cell = json!({ "rowId": "a", "value": 1 });
    check(json!({ "cells": [cell, cell, cell, cell] }), &["cells must have at most 3 entries"]);
    check(
        json!({ "cells": [], "nope": 1 }),
        &["nope is not a known field; known: cells, title, options, target"],
    );
}

#[test]
fn long_lists_are_looked_at_in_pieces() {
    let schema = json!({ "type": "object", "properties": {
        "ids": { "type": "array", "items": { "type": "string" } }, "count": { "type": "integer" },
    } });
    let checker = Checker::new(schema).unwrap();
    let mut ids: Vec<Value> = (0..5_000).map(|number| number.to_string().into()).collect();
    for index in [3, 1_500, 4_999] {
        ids[index] = json!({ "deep": 1 });
    }
    for (text_bytes, expected) in
        [(0, "ids[3] ids[1500] ids[4999]"), (usize::MAX, "ids[3] ids[1500] ids[4999]")]
    {
        let offences = checker.offences(json!({ "ids": ids, "count": 1 }), text_bytes);
        let paths: Vec<_> = offences.iter().map(|offence| offence.path.as_str()).collect();
        assert_eq!(paths.join(" "), expected);
    }
    let offences = checker.offences(json!({ "ids": vec![0; 5_000], "count": "x" }), 0);
    assert_eq!(offences.len(), OFFENCES_MAX);
    assert_eq!(checker.offences(json!({ "ids": ["x"], "count": 1.5 }), 0).len(), 1);
}

#[test]
fn offences_inside_what_may_be_null() {
    check(json!({ "cells": [], "options": { "retries": 0 } }), &["options.retries must be at least 1"]);
    check(json!({ "cells": [], "options": { "retries": 1.5 } }), &["options.retries must be an integer"]);
    check(json!({ "cells": [], "options": 3 }), &["options must be an object or null"]);
    let options = json!({ "retries": 2, "direction": "up" });
    check(
        json!({ "cells": [], "options": options }),
        &[r#"options.direction must be one of "asc", "desc" or null"#],
    );
}

#[test]
fn patterns_are_told_in_plain_words() {
    let schema = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    let told =
        |pattern: &str| Checker::new(schema(pattern)).unwrap().offences(json!("!"), 0).remove(0).message;
    for (pattern, words) in PATTERNS {
        assert_eq!(told(pattern), format!("{words} (pattern {pattern})"));
    }
    assert_eq!(told("^x$"), "must match the pattern ^x$");
}

#[test]
fn offences_inside_tagged_forms() {
    check(json!({ "cells": [], "target": { "type": "page" } }), &["target.url is required"]);
    check(json!({ "cells": [], "target": { "type": "page", "url": 1 } }), &["target.url must be a string"]);
}
