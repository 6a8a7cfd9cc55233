//! Columns.

use rowmill_model::corrections::{self, Corrected};
use rowmill_model::{Column, ColumnId, Offence, Project, restoring};
use serde_json::{Map, Value};

use crate::app::App;
use crate::blocking::Effort;
use crate::caller::Caller;
use crate::correcting::{Correcting, allowed};
use crate::error::{Error, Noun, Result};
use crate::fan_out_targets::FanOutTargets;
use crate::guards::{self, ProjectGuard};
use crate::idempotency::IdempotencyKey;
use crate::ids::column_id;
use crate::missing_columns::{hooks_without, webhooks_without};
use crate::pattern_checks::effort;
use crate::projects::Change;

/// A column as it is now, in its project.
#[derive(Debug, Clone)]
pub struct ColumnChanged {
    pub project: Project,
    pub column: ColumnId,
    pub fixes: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct ColumnDeleted {
    pub fixes: Vec<String>,
}

impl App {
    pub async fn create_column(
        &self,
        caller: Caller,
        project: &str,
        body: &Map<String, Value>,
        correcting: Correcting,
        once: Option<IdempotencyKey>,
    ) -> Result<ColumnChanged> {
        let id = column_id()?;
        let catalogue = self.credentials(caller.team()).await?.catalogue();
        let targets = self.fan_out_targets(caller, Some(project), std::slice::from_ref(body)).await?;
        let saved = self
            .change(effort([body]), caller, project, once, |stored| {
                let table = &stored.project.table;
                self.check_room(table.columns.len() + 1)?;
                self.check_size("", body)?;
                let corrected = corrections::create(table, body, id.clone(), &catalogue, &self.limits);
                let corrected = settled(&targets, allowed(corrected, correcting), None)?;
                corrected_change(Change::from(stored), Ok(corrected))
            })
            .await?;
        changed(saved)
    }

    pub async fn patch_column(
        &self,
        caller: Caller,
        project: &str,
        column: &str,
        body: &Map<String, Value>,
        correcting: Correcting,
        guard: Option<ProjectGuard<'_>>,
    ) -> Result<ColumnChanged> {
        let catalogue = self.credentials(caller.team()).await?.catalogue();
        let targets = self.fan_out_target_of(caller, project, column, body).await?;
        let saved = self
            .change(effort([body]), caller, project, None, |stored| {
                let table = &stored.project.table;
                let before = table.by_id(column).ok_or(Error::NotFound(Noun::Column))?;
                guards::check(guard, stored)?;
                self.check_size("", body)?;
                let corrected = corrections::patch(table, column, body, &catalogue, &self.limits);
                let corrected = settled(&targets, allowed(corrected, correcting), Some(before))?;
                corrected_change(Change::from(stored), Ok(corrected))
            })
            .await?;
        changed(saved)
    }

    pub async fn delete_column(
        &self,
        caller: Caller,
        project: &str,
        column: &str,
        guard: Option<ProjectGuard<'_>>,
    ) -> Result<ColumnDeleted> {
        let deletion = self.deletion(caller)?;
        let webhooks = self.store.webhooks(caller.team()).await?.webhooks;
        let fan_outs = self.fan_outs_without(caller, project, column, deletion.is_some()).await?;
        let saved = self
            .change(Effort::Quick, caller, project, None, |stored| {
                let table = &stored.project.table;
                let doomed = table.by_id(column).ok_or(Error::NotFound(Noun::Column))?;
                guards::check(guard, stored)?;
                let mut change = corrected_change(Change::from(stored), corrections::delete(table, column))?;
                for view in &mut change.views {
                    change.fixes.extend(corrections::forget_in_view(view, column, &doomed.header));
                }
                let hooks = &stored.project.hooks;
                change.fixes.extend(hooks_without(hooks, doomed, deletion.is_some()));
                change.fixes.extend(webhooks_without(&webhooks, doomed, deletion.is_some()));
                if let Some(deletion) = deletion {
                    let (old, most) = ((table, stored.views.as_slice()), self.limits.columns_max);
                    let most = usize::try_from(most).unwrap_or(usize::MAX);
                    restoring::trash_column(&mut change.project, &change.views, old, column, deletion, most);
                }
                Ok(change)
            })
            .await?;
        Ok(ColumnDeleted { fixes: [saved.fixes, fan_outs].concat() })
    }
}

impl App {
    /// That a project may have this many columns.
    pub(crate) fn check_room(&self, columns: usize) -> Result<()> {
        let most = self.limits.columns_max;
        if columns <= usize::try_from(most).unwrap_or(usize::MAX) {
            return Ok(());
        }
        let message =
            format!("a project can have at most {most} columns, including the input column (columnsMax)");
        Err(Error::limit("", message))
    }
}

/// A corrected column whose target, if it has one, is one that the caller may write to.
fn settled(
    targets: &FanOutTargets,
    corrected: Result<Corrected, Vec<Offence>>,
    before: Option<&Column>,
) -> Result<Corrected> {
    let mut corrected = corrected.map_err(Error::invalid)?;
    corrected.fixes.extend(targets.settle(&mut corrected.table, corrected.column.as_str(), before)?);
    Ok(corrected)
}

fn corrected_change(mut change: Change, corrected: Result<Corrected, Vec<Offence>>) -> Result<Change> {
    let Corrected { table, column, fixes, losses: _, refusals: _ } = corrected.map_err(Error::invalid)?;
    change.project.table = table;
    change.subject = Some(column.as_str().to_owned());
    change.fixes.extend(fixes);
    Ok(change)
}

fn changed(saved: rowmill_store::SavedProject) -> Result<ColumnChanged> {
    let column = saved.subject.ok_or_else(|| Error::Internal("a saved column has no id".into()))?;
    Ok(ColumnChanged { project: saved.project, column: ColumnId::new(column), fixes: saved.fixes })
}
