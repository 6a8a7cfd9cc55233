//! What a server loads into memory after a start, before anybody asks: the columns of the last questions and of saved
//! views.
//!
//! Which columns were asked for is a hint and not data. It says nothing of what somebody typed: no value of a filter and
//! no text that was searched for.

use async_trait::async_trait;
use rowmill_model::sort::Direction;
use rowmill_model::{ColumnId, ProjectId};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// How many columns of a project are noted, and how many bytes they take. The newest stay.
pub const ASKED_COLUMNS_MAX: usize = 64;
const ASKED_BYTES_MAX: usize = 16 * 1024;
/// For as long as this a column that was noted is not noted again.
pub const NOTED_FOR_MS: i64 = 24 * 60 * 60 * 1000;
/// What nobody asked for in so long is not loaded.
pub const ASKED_FOR_MS: i64 = 30 * NOTED_FOR_MS;

/// A column that questions about a project look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedColumn {
    pub column: ColumnId,
    /// The part of its values that is looked at, unless it is all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub part: ColumnPart,
}

/// What a question looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ColumnPart {
    Values,
    /// The values as the column's type reads them.
    Typed,
    States,
    /// The values, in order.
    Sorted(Direction),
}

/// The columns of a project that questions asked for, the last ones first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedColumns {
    pub project: ProjectId,
    pub columns: Vec<AskedColumn>,
}

/// What is noted of a column.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Noted {
    #[serde(flatten)]
    asked: AskedColumn,
    /// When it was noted last.
    at: i64,
}

/// Knows what to load after a start.
#[async_trait]
pub trait WarmUpStore: Send + Sync {
    /// Notes which columns of a project were asked for. Nothing is written if all of them were noted within the last
    /// day, or if there is no such project.
    async fn note_asked(&self, project: ProjectId, asked: Vec<AskedColumn>, now_ms: i64) -> Result<()>;

    /// The columns that were asked for and not too long ago, of so many projects at most: first those of the project
    /// that was asked about last.
    async fn asked_columns(&self, limit: u32, now_ms: i64) -> Result<Vec<AskedColumns>>;

    /// Projects with saved views and at least so many rows; those that were changed last come first. It goes over all
    /// documents: only for the start of a server.
    async fn projects_with_views(&self, rows_min: u64, limit: u32) -> Result<Vec<ProjectId>>;
}

fn read(text: &str) -> Vec<Noted> {
    // What an older or newer version wrote is no more than a hint that is lost.
    serde_json::from_str(text).unwrap_or_default()
}

fn is_within(at: i64, now_ms: i64, time_ms: i64) -> bool {
    // A clock may have been wrong in either direction.
    at.abs_diff(now_ms) < time_ms.unsigned_abs()
}

/// What is to be written for a project, given what is there; `None` if that says it already.
pub fn noted(text: Option<&str>, asked: &[AskedColumn], now_ms: i64) -> Option<String> {
    let known = text.map(read).unwrap_or_default();
    let is_noted = |asked: &AskedColumn| {
        known.iter().any(|noted| noted.asked == *asked && is_within(noted.at, now_ms, NOTED_FOR_MS))
    };
    if asked.iter().all(is_noted) {
        return None;
    }
    let new = asked.iter().map(|asked| Noted { asked: asked.clone(), at: now_ms });
    let others = known.into_iter().filter(|noted| !asked.contains(&noted.asked));
    let others = others.filter(|noted| is_within(noted.at, now_ms, ASKED_FOR_MS));
    let mut texts = Vec::new();
    let mut bytes = 2;
    for noted in new.chain(others).take(ASKED_COLUMNS_MAX) {
        let text = serde_json::to_string(&noted).ok()?;
        bytes += text.len() + 1;
        if bytes > ASKED_BYTES_MAX {
            break;
        }
        texts.push(text);
    }
    Some(format!("[{}]", texts.join(",")))
}

/// The columns in what was written, without those that nobody asked for in too long.
pub fn asked_in(text: &str, now_ms: i64) -> Vec<AskedColumn> {
    let recent = read(text).into_iter().filter(|noted| is_within(noted.at, now_ms, ASKED_FOR_MS));
    recent.map(|noted| noted.asked).take(ASKED_COLUMNS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: i64 = NOTED_FOR_MS;

    fn column(id: &str, part: ColumnPart) -> AskedColumn {
        AskedColumn { column: ColumnId::new(id), path: None, part }
    }

    #[test]
    fn what_is_noted_is_read_again() {
        let asked = [
            column("col_a", ColumnPart::Values),
            AskedColumn { path: Some("a.b".to_owned()), ..column("col_a", ColumnPart::Values) },
            column("col_b", ColumnPart::States),
            column("col_b", ColumnPart::Sorted(Direction::Desc)),
        ];
        let text = noted(None, &asked, 5).unwrap();
        assert_eq!(asked_in(&text, 5), asked);
        assert_eq!(asked_in(&text, 5 + ASKED_FOR_MS), []);
        assert_eq!(asked_in("[{\"column\":1}]", 5), []);
    }

    #[test]
    fn nothing_is_written_again_within_a_day() {
        let (a, b) = (column("col_a", ColumnPart::Values), column("col_b", ColumnPart::Values));
        let text = noted(None, &[a.clone(), b.clone()], 0).unwrap();
        assert_eq!(noted(Some(&text), std::slice::from_ref(&b), DAY_MS - 1), None);
        assert_eq!(noted(Some(&text), &[], DAY_MS * 9), None);
        let text = noted(Some(&text), std::slice::from_ref(&b), DAY_MS).unwrap();
        assert_eq!(asked_in(&text, DAY_MS), [b.clone(), a], "the newest comes first");
        assert_eq!(asked_in(&text, ASKED_FOR_MS), std::slice::from_ref(&b), "each has its own time");
        // A clock that was ahead does not keep a column for ever.
        let text = noted(None, std::slice::from_ref(&b), DAY_MS * 900).unwrap();
        assert_eq!(asked_in(&text, 0), []);
        assert!(noted(Some(&text), &[b], 0).is_some());
    }

    #[test]
    fn no_more_is_kept_than_may_be() {
        let many = |path: &str| -> Vec<AskedColumn> {
            let of = |number| AskedColumn {
                path: Some(path.to_owned()),
                ..column(&format!("col_{number}"), ColumnPart::Values)
            };
            (0..ASKED_COLUMNS_MAX + 9).map(of).collect()
        };
        let text = noted(None, &many("a"), 1).unwrap();
        let newest = column("col_new", ColumnPart::Values);
        let text = noted(Some(&text), std::slice::from_ref(&newest), 2).unwrap();
        let columns = asked_in(&text, 2);
        assert_eq!((columns.len(), columns.first()), (ASKED_COLUMNS_MAX, Some(&newest)));
        let text = noted(None, &many(&"x".repeat(900)), 1).unwrap();
        assert!(text.len() <= ASKED_BYTES_MAX && asked_in(&text, 1).len() > 9, "{}", text.len());
    }
}
