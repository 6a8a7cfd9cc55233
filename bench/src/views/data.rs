//! The table and the questions.

use std::ops::Range;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::any_result::AnyResult;
use crate::load::{self, Until};
use crate::random::Random;
use crate::rowmill::{Project, Rowmill};

pub(super) const HEADERS: [&str; 4] = ["Name", "Company", "Note", "City"];
pub(super) const PAGE_ROWS: usize = 100;
pub(super) const CITIES: usize = 50;
const CALL_ROWS: usize = 10_000;

/// What is asked of the table. Each number makes another question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// All but the rows of one city, by name: 98 of 100.
    Most(usize),
    /// Companies with two letters somewhere, by name, backwards: 3 of 100.
    Few(usize),
}

impl Question {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Most(_) => "98 % of the rows",
            Self::Few(_) => "3 % of the rows",
        }
    }

    pub(super) fn city(number: usize) -> String {
        format!("City {}", number % CITIES)
    }

    /// Two letters.
    pub(super) fn part(number: usize) -> String {
        let letter = |number: usize| char::from(b'a' + u8::try_from(number % 26).unwrap_or_default());
        [letter(number), letter(number / 26 + 11)].iter().collect()
    }

    pub(super) fn path(self, project: &Project, page: usize) -> AnyResult<String> {
        let name = project.column_id("Name")?;
        let (filter, direction) = match self {
            Self::Most(number) => (
                json!({ "columnId": project.column_id("City")?, "operator": "notEquals", "value": Self::city(number) }),
                "asc",
            ),
            Self::Few(number) => (
                json!({ "columnId": project.column_id("Company")?, "operator": "contains", "value": Self::part(number) }),
                "desc",
            ),
        };
        let sorting = json!([{ "columnId": name, "direction": direction }]);
        Ok(format!(
            "{}?page={page}&pageSize={PAGE_ROWS}&filters={}&sorting={}",
            project.rows_path(),
            encoded(&json!([filter])),
            encoded(&sorting)
        ))
    }
}

/// One row's cells.
pub(super) fn row(index: usize) -> [String; 4] {
    let mut random = Random::new(u64::try_from(index).unwrap_or_default());
    [letters(&mut random), letters(&mut random), letters(&mut random), Question::city(random.below(CITIES))]
}

/// A text of 20 letters.
pub(super) fn letters(random: &mut Random) -> String {
    let letter = |_| char::from(b'a' + u8::try_from(random.below(26)).unwrap_or_default());
    let text: String = (0..20).map(letter).collect();
    text.get(..1).map(str::to_uppercase).unwrap_or_default() + text.get(1..).unwrap_or_default()
}

/// Inserts rows; gives their ids in order.
pub(super) fn insert(
    rowmill: &Rowmill,
    project: &Project,
    rows: Range<usize>,
    clients: usize,
) -> AnyResult<Vec<String>> {
    let mut ids = Vec::with_capacity(rows.len());
    // Some at a time, so that a large table is not made in memory first.
    for first in rows.clone().step_by(CALL_ROWS * 20) {
        let requests = requests(rowmill, project, first..rows.end.min(first + CALL_ROWS * 20));
        let answers = Mutex::new(vec![Vec::new(); requests.len()]);
        let keep = |index: usize, body: &[u8]| {
            if let Some(answer) = answers.lock().get_mut(index) {
                *answer = body.to_vec();
            }
        };
        load::run(rowmill.address, clients, &requests, Until::Done, &keep)?;
        for answer in answers.into_inner() {
            let answer: Value = serde_json::from_slice(&answer)?;
            let rows = answer.get("rows").and_then(Value::as_array).ok_or("an insert answered no ids")?;
            ids.extend(rows.iter().filter_map(|id| id.as_str().map(str::to_owned)));
        }
    }
    Ok(ids)
}

/// Calls that insert rows.
pub(super) fn requests(rowmill: &Rowmill, project: &Project, rows: Range<usize>) -> Vec<Vec<u8>> {
    let call = |first: usize| {
        let rows = (first..rows.end.min(first + CALL_ROWS)).map(|index| {
            let [name, company, note, city] = row(index);
            format!(r#"{{"Name":"{name}","Company":"{company}","Note":"{note}","City":"{city}"}}"#)
        });
        let body = format!("[{}]", rows.collect::<Vec<_>>().join(","));
        rowmill.request("POST", &project.rows_path(), &body)
    };
    rows.clone().step_by(CALL_ROWS).map(call).collect()
}

/// JSON as it stands in a query.
pub(crate) fn encoded(json: &Value) -> String {
    let byte = |byte: u8| {
        if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    json.to_string().bytes().map(byte).collect()
}
