//! Fan-out: writing the rows that a column of one project makes in another.

use std::collections::HashSet;

use rowmill_model::value::MatchCase;
use rowmill_model::{CellError, Column, ErrorCode, Offence, Project, ProjectId, TeamId};
use rowmill_store::{StoreError, StoredProject};

use crate::app::App;
use crate::blocking::off_async;
use crate::error::{Error, Noun, Result};
use crate::projects::ATTEMPTS_MAX;
use crate::rows::layout::Leftover;
use crate::rows::{InsertRows, kept_changing};

/// Rows for another project of the team.
#[derive(Debug, Clone, Copy)]
pub struct FanOutRows<'a> {
    pub team: TeamId,
    /// The project whose column makes the rows.
    pub source: ProjectId,
    /// The id of the project that gets them.
    pub target: &'a str,
    /// The id of the target's column by which rows are found again.
    pub match_on: &'a str,
    /// Each a JSON object of column ids and values.
    pub rows: &'a [String],
}

/// Why rows were not written, as the cell tells it.
#[derive(Debug)]
pub struct FanOutRefusal {
    pub error: CellError,
    /// Whether another try may succeed.
    pub is_transient: bool,
}

/// Projects of a chain, at most. A longer one is taken for a circle.
const CHAIN_MAX: usize = 1_000;

impl App {
    /// Writes rows as if they had been posted, all or none. Says how many were created, updated and unchanged.
    pub async fn write_fan_out(&self, rows: FanOutRows<'_>) -> Result<[u64; 3], FanOutRefusal> {
        for _ in 0..ATTEMPTS_MAX {
            let target = self.target_now(rows).await?;
            // The columns may change meanwhile: then the values are laid out anew.
            if let Some(counts) = self.write_into(&target, rows).await? {
                return Ok(counts);
            }
        }
        Err(kept_changing().into())
    }

    /// The target as it is now. It may have been deleted, or have got fan-out columns, since the column was made.
    async fn target_now(&self, rows: FanOutRows<'_>) -> Result<StoredProject, FanOutRefusal> {
        let found = match ProjectId::parse(rows.target) {
            Some(id) => self.store.project(id).await.map_err(Error::from)?,
            None => None,
        };
        let found = self.without_lost_copy(found).await?;
        let Some(stored) = found.filter(|found| found.project.team == rows.team) else {
            return Err(refusal(
                "The target project does not exist any more. Choose another in the column settings.",
            ));
        };
        if stored.project.copying.is_some() {
            return Err(Error::Copying.into());
        }
        if !stored.project.settings.api.enabled {
            return Err(refusal(
                "The API is turned off for the target project. Turn it on in the project's settings.",
            ));
        }
        if stored.project.id == rows.source || self.fans_out_to(&stored.project, rows.source).await? {
            return Err(refusal(
                "The target project fans out to this project again, so the rows would go in a circle. Change one of the \
                 fan-out columns.",
            ));
        }
        Ok(stored)
    }

    /// `None` if the project changed meanwhile.
    async fn write_into(
        &self,
        target: &StoredProject,
        rows: FanOutRows<'_>,
    ) -> Result<Option<[u64; 3]>, FanOutRefusal> {
        let insert = InsertRows {
            entries: rows.rows.iter().map(String::as_str).collect(),
            batch: Some(""),
            match_on: Some(rows.match_on.to_owned()),
            match_case: MatchCase::Counts,
            strict: true,
            once: None,
        };
        let laid_out = off_async(insert.bytes(), || self.lay_out(target, &insert, Leftover::Refused, &[]));
        let mut batch = laid_out.map_err(|error| unfit(&target.project, error))?;
        batch.new_rows_max = self.new_rows_max(rows.team).await?;
        batch.new_bytes_max = self.new_bytes_max(rows.team).await?;
        match self.store.insert_rows(batch).await {
            Ok(inserted) => Ok(Some(inserted.counts())),
            Err(StoreError::Stale | StoreError::UnknownProject) => Ok(None),
            Err(StoreError::AmbiguousMatch(indexes)) => {
                let column = target.project.table.by_id(rows.match_on);
                let header = column.map_or(rows.match_on, |column| column.header.as_str());
                let message = format!(
                    "{} items match several rows of the target project. Make the values in its column \"{header}\" unique.",
                    indexes.len()
                );
                Err(refusal(message))
            }
            Err(error) => Err(self.quota_error(error).into()),
        }
    }

    /// Whether rows of a project lead on to rows of another, through however many fan-out columns.
    pub(crate) async fn fans_out_to(&self, from: &Project, to: ProjectId) -> Result<bool> {
        let mut seen = HashSet::from([from.id]);
        let mut next = targets_of(from);
        while let Some(id) = next.pop() {
            if id == to || seen.len() > CHAIN_MAX {
                return Ok(true);
            }
            if !seen.insert(id) {
                continue;
            }
            let found = self.store.project(id).await?;
            if let Some(found) = found.filter(|found| found.project.team == from.team) {
                next.extend(targets_of(&found.project));
            }
        }
        Ok(false)
    }
}

/// The projects that a project's columns write to.
fn targets_of(project: &Project) -> Vec<ProjectId> {
    let target =
        |column: &Column| ProjectId::parse(&column.task_config.as_ref()?.fan_out()?.target_project_id);
    project.table.columns.iter().filter_map(target).collect()
}

fn refusal(message: impl Into<String>) -> FanOutRefusal {
    let error = CellError { code: ErrorCode::InvalidInput, message: message.into() };
    FanOutRefusal { error, is_transient: false }
}

/// Says which column cannot take its value.
fn unfit(target: &Project, error: Error) -> FanOutRefusal {
    let (Error::Invalid { details, .. } | Error::LimitExceeded { details, .. }) = &error else {
        return error.into();
    };
    let Some(Offence { path, message }) = details.first() else { return error.into() };
    let column = path.rsplit("].").next().unwrap_or(path);
    let Some(column) = target.table.by_id(column) else {
        return refusal(
            "A column of the target project that the mapping names was deleted. Choose another in the column settings.",
        );
    };
    let header = &column.header;
    refusal(format!("A value does not fit into the column \"{header}\" of the target project: it {message}."))
}

impl From<Error> for FanOutRefusal {
    fn from(error: Error) -> Self {
        let (code, is_transient) = match &error {
            Error::QuotaExceeded(_) | Error::LimitExceeded { .. } => (ErrorCode::TooLarge, false),
            Error::Invalid { .. } | Error::NotFound(Noun::Project) => (ErrorCode::InvalidInput, false),
            // The database, or somebody who is busy with the project.
            _ => (ErrorCode::ProviderError, true),
        };
        let message = match &error {
            Error::Internal(cause) => {
                tracing::warn!(%cause, "the rows of a fan-out column were not written");
                "The rows could not be written because of an internal error. See the server log.".to_owned()
            }
            Error::Copying => "The rows of the target project are still being copied.".to_owned(),
            error => format!("{error}."),
        };
        Self { error: CellError { code, message }, is_transient }
    }
}
