//! Whom a column pays, and what one of its cells may take.

use rowmill_model::{Column, ColumnType, Project};

use super::ai_model::{Choice, Model};
use super::{ProviderCalls, column_limit, waterfall};
use crate::call_limits::CallLimit;
use crate::cell_runner::Payees;
use crate::credentials::TeamCredentials;

/// What is taken for the text around a prompt, and for the values that are filled in.
const INPUT_BYTES: usize = 1_500;
/// What an answer is taken to have where the column sets no maximum.
const OUTPUT_TOKENS: u32 = 500;

impl ProviderCalls {
    pub(super) fn payees_of(column: &Column, credentials: &TeamCredentials) -> Payees {
        match column.kind {
            ColumnType::Ai => ai(column, credentials).unwrap_or_default(),
            ColumnType::Task => {
                let finders = waterfall::waterfall(column).map(waterfall::finder_ids).unwrap_or_default();
                Payees { providers: finders, ..Payees::default() }
            }
            ColumnType::Api | ColumnType::Manual | ColumnType::Reference => Payees::default(),
        }
    }
}

impl ProviderCalls {
    /// Whom a column pays, what limits its calls, and how many there can be at once.
    pub async fn forecast(&self, project: &Project, column: &Column) -> (Payees, Vec<CallLimit>, usize) {
        let at_once = self.config.at_once_max;
        let Ok(credentials) = self.credentials.of(project.team).await else {
            return (Payees::default(), Vec::new(), at_once);
        };
        let mut limits = match column.kind {
            ColumnType::Ai => self.ai_limits(column, &credentials),
            ColumnType::Api => self.api_limits(project.team, column),
            ColumnType::Task => self.finder_limits(column, &credentials).unwrap_or_default(),
            ColumnType::Manual | ColumnType::Reference => Vec::new(),
        };
        limits.extend(column_limit(project, column));
        (Self::payees_of(column, &credentials), limits, at_once)
    }
}

fn ai(column: &Column, credentials: &TeamCredentials) -> Option<Payees> {
    let config = column.ai_config.as_ref()?;
    let model = Model::choose(Choice::first(config), credentials).ok()?;
    let schema = config.output_schema.as_ref().map_or(0, |schema| schema.to_string().len());
    let bytes = config.prompt.len() + config.system.as_ref().map_or(0, String::len) + schema + INPUT_BYTES;
    Some(Payees {
        providers: vec![model.provider.about.id.to_owned()],
        model: model.name,
        // A token is three bytes at least, nearly always.
        input_tokens: f64::from(u32::try_from(bytes / 3).unwrap_or(u32::MAX)),
        output_tokens: f64::from(config.max_tokens.unwrap_or(OUTPUT_TOKENS)),
    })
}
