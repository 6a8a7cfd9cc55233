//! The model that judges answers: a column of its own, in a table of an expected answer and one that was given. So what
//! the two say is data for it, as any cell is, and gives no orders.

use std::sync::Arc;

use rowmill_model::column::AiProvider;
use rowmill_model::corrections;
use rowmill_model::template::Catalogue;
use rowmill_model::{Column, ColumnId, Limits, Project, Record, RowId, Table, Value as CellValue};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::tester::TrialCell;

const PROMPT: &str = "You grade answers. Compare the given answer with the expected answer, which is right. The given \
    answer is correct if it means the same: other words, another language, another order or another format do not \
    matter; a missing, wrong or contradictory fact does.\n\nExpected answer: @{expected}\n\nGiven answer: @{answer}";
/// The longest reason that is kept, in characters.
const REASON_CHARS_MAX: usize = 500;

/// Whom to ask for a judgement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JudgeModel {
    pub provider: Option<AiProvider>,
    pub model: Option<String>,
}

/// A column that judges.
#[derive(Debug, Clone)]
pub(crate) struct Judge {
    pub(crate) project: Arc<Project>,
    pub(crate) column: Arc<Column>,
}

/// What the judge says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) correct: bool,
    #[serde(default)]
    pub(crate) reason: String,
}

impl Judge {
    pub(crate) fn new(project: &Project, model: &JudgeModel, limits: &Limits) -> Result<Self> {
        let mut table = Table::new();
        for name in ["expected", "answer"] {
            table.push_manual(ColumnId::new(name), name);
        }
        let schema = json!({
            "type": "object",
            "properties": { "correct": { "type": "boolean" }, "reason": { "type": "string" } },
            "required": ["correct", "reason"],
            "additionalProperties": false,
        });
        let JudgeModel { provider, model } = model;
        let body = json!({
            "templateId": "ai-json",
            "header": "judge",
            "aiConfig": { "prompt": PROMPT, "provider": provider, "model": model, "outputSchema": schema },
        });
        let body: Map<String, Value> = body.as_object().cloned().unwrap_or_default();
        let made = corrections::create(&table, &body, ColumnId::new("judge"), &Catalogue::default(), limits);
        let table = made.map_err(Error::invalid)?.table;
        let column = table.by_id("judge").cloned().map(Arc::new);
        let column = column.ok_or_else(|| Error::Internal("the judge has lost its column".into()))?;
        Ok(Self { project: Arc::new(Project { table, ..project.clone() }), column })
    }

    /// A row of the two answers, both raw JSON.
    pub(crate) fn cell(&self, row: RowId, expected: &str, answer: &str) -> TrialCell {
        let slot = |name: &str| self.project.table.by_id(name).map(|column| column.slot);
        let values = [("expected", expected), ("answer", answer)];
        let values = values.into_iter().filter_map(|(name, raw)| Some((slot(name)?, raw)));
        let (project, column) = (Arc::clone(&self.project), Arc::clone(&self.column));
        TrialCell { project, column, row, values: Record::pack(values) }
    }
}

impl Verdict {
    /// Reads what the judge has answered.
    pub(crate) fn read(raw: &str) -> Option<Self> {
        let Self { correct, reason } = serde_json::from_str(raw).ok()?;
        Some(Self { correct, reason: reason.trim().chars().take(REASON_CHARS_MAX).collect() })
    }
}

/// Whether there is nothing to judge.
pub(crate) fn is_empty(raw: &str) -> bool {
    CellValue::parse(raw).is_empty()
}

#[cfg(test)]
mod tests {
    use rowmill_model::{ProjectId, ProjectSettings, TeamId};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn both_answers_are_cells_of_the_judge() {
        let project = Project {
            id: ProjectId::from_uuid(Uuid::nil()),
            team: TeamId(Uuid::nil()),
            title: String::new(),
            autoplay: false,
            folder_id: None,
            metadata: Map::new(),
            settings: ProjectSettings::default(),
            table: Table::new(),
            trash: rowmill_model::Trash::default(),
            hooks: Vec::new(),
            copying: None,
            created_at_ms: 0,
            updated_at_ms: 0,
        };
        let judge = Judge::new(&project, &JudgeModel::default(), &Limits::default()).unwrap();
        let config = judge.column.ai_config.clone().unwrap();
        assert_eq!(config.prompt, PROMPT);
        let cell = judge.cell(RowId::from_uuid(Uuid::nil()), r#""Ulm""#, "36");
        let values: Vec<_> = cell.values.cells().unwrap().iter().map(|(_, raw)| raw.to_owned()).collect();
        assert_eq!(values, [r#""Ulm""#, "36"]);
        assert_eq!(Verdict::read(r#"{"correct":true}"#).map(|verdict| verdict.correct), Some(true));
        assert_eq!(Verdict::read("[]"), None);
    }
}
