//! The trash: rows, columns, views and projects that were deleted and can be restored.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rowmill_model::restoring::{restore_column, restore_view};
use rowmill_model::table::header_key;
use rowmill_model::{
    ColumnId, Deletion, KeyId, Offence, ProjectId, Restrictions, RowId, Scopes, TeamId, Trash, ViewId,
};
use rowmill_store::{
    ProjectPage, ProjectSave, Restored, StoreError, StoredProject, TrashPage, TrashPlace, TrashedProject,
};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::blocking::Effort;
use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::idempotency::IdempotencyKey;
use crate::projects::Change;

/// How many bytes of values a page of the trash has at most, unless a single row has more.
const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How often the trash is swept at most, and at least.
const SWEEP_EVERY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));
/// A pause between two slices, so that nobody waits for the sweep.
const SWEEP_PAUSE: Duration = Duration::from_millis(20);

/// What is in a project's trash.
#[derive(Debug)]
pub struct TrashListed {
    pub project: StoredProject,
    /// Columns and views, without those whose time is over.
    pub trash: Trash,
    pub rows: TrashPage,
    /// Where the next page of rows begins.
    pub next_cursor: Option<String>,
    pub key_names: KeyNames,
}

/// Projects in the trash.
#[derive(Debug)]
pub struct ProjectTrashListed {
    pub projects: Vec<TrashedProject>,
    pub total: u64,
    pub key_names: KeyNames,
}

/// The names of the API keys that deleted something, as far as they still exist.
#[derive(Debug, Default)]
pub struct KeyNames(HashMap<KeyId, String>);

impl KeyNames {
    pub fn get(&self, key: KeyId) -> Option<&str> {
        self.0.get(&key).map(String::as_str)
    }
}

/// What is to be restored.
#[derive(Debug, Clone, Default)]
pub struct RestoreItems {
    pub row_ids: Vec<String>,
    /// Ids or headers.
    pub column_ids: Vec<String>,
    pub view_ids: Vec<String>,
    pub once: Option<IdempotencyKey>,
}

/// What was restored.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ItemsRestored {
    pub rows: u64,
    pub columns: u64,
    pub views: u64,
    /// Rows that stay in the trash, because their guest has another row by now.
    pub guests_elsewhere: Vec<RowId>,
    pub fixes: Vec<String>,
}

impl App {
    /// For how long deleted things can be restored.
    pub fn keeps_deleted_for(&self) -> Duration {
        self.keeps_deleted_for
    }

    /// How something is deleted now; `None` if it is gone at once.
    pub(crate) fn deletion(&self, caller: Caller) -> Result<Option<Deletion>> {
        let key = caller.with_key()?.key;
        let deletion = Deletion { at_ms: self.clock.now_ms(), by: Some(key) };
        Ok((!self.keeps_deleted_for.is_zero()).then_some(deletion))
    }

    /// What was deleted then or before is not kept any more.
    pub(crate) fn deleted_until_ms(&self) -> i64 {
        let kept_ms = i64::try_from(self.keeps_deleted_for.as_millis()).unwrap_or(i64::MAX);
        self.clock.now_ms().saturating_sub(kept_ms)
    }

    pub async fn list_trash(
        &self,
        caller: Caller,
        project: &str,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<TrashListed> {
        let project = self.project_to_change(caller, project).await?;
        let refuse =
            || Error::invalid(vec![Offence::new("cursor", "must be a nextCursor from a page of this trash")]);
        let after = cursor.map(|text| place_of(text).ok_or_else(refuse)).transpose()?;
        let rows = self.store.trashed_rows(project.project.id, after, limit, PAGE_BYTES_MAX).await?;
        let mut trash = project.project.trash.clone();
        trash.forget_until(self.deleted_until_ms());
        let columns = trash.columns.iter().map(|trashed| trashed.deletion);
        let views = trash.views.iter().map(|trashed| trashed.deletion);
        let deletions = rows.rows.iter().map(|row| row.deletion).chain(columns).chain(views);
        let key_names = self.key_names(caller.team(), deletions).await?;
        let last = rows.rows.last().filter(|_| rows.more).map(|row| row.place);
        let next_cursor = last.map(|TrashPlace { batch, position }| format!("{batch}.{position}"));
        Ok(TrashListed { project, trash, rows, next_cursor, key_names })
    }

    /// Restores columns and views, then rows. What is not in the trash is not counted.
    pub async fn restore_items(
        &self,
        caller: Caller,
        project: &str,
        items: RestoreItems,
    ) -> Result<ItemsRestored> {
        self.only_once(items.once, async || {
            if !items.column_ids.is_empty() || !items.view_ids.is_empty() {
                caller.needs(Scopes::SCHEMA)?;
            }
            let stored = self.project_to_change(caller, project).await?;
            let mut restored = self.restore_columns_and_views(caller, project, &items).await?;
            let mut seen = BTreeSet::new();
            let rows: Vec<RowId> = items
                .row_ids
                .iter()
                .filter_map(|id| RowId::parse(id))
                .filter(|id| seen.insert(*id))
                .collect();
            if !rows.is_empty() {
                let now_ms = self.clock.now_ms();
                let Restored { rows, guests_elsewhere } =
                    self.store.restore_rows(stored.project.id, rows, now_ms).await?;
                (restored.rows, restored.guests_elsewhere) = (rows, guests_elsewhere);
            }
            Ok(restored)
        })
        .await
    }

    async fn restore_columns_and_views(
        &self,
        caller: Caller,
        project: &str,
        items: &RestoreItems,
    ) -> Result<ItemsRestored> {
        if items.column_ids.is_empty() && items.view_ids.is_empty() {
            return Ok(ItemsRestored::default());
        }
        let catalogue = self.credentials(caller.team()).await?.catalogue();
        let counts = (AtomicU64::new(0), AtomicU64::new(0));
        let saved = self
            .change(Effort::Quick, caller, project, None, |stored| {
                let mut change = Change::from(stored);
                change.project.trash.forget_until(self.deleted_until_ms());
                let (mut columns, mut views) = (0, 0);
                for id in column_ids(&change.project.trash, &items.column_ids) {
                    let Change { project, views, fixes, .. } = &mut change;
                    let restored = restore_column(project, views, &id, &catalogue, &self.limits);
                    fixes.extend(restored.map_err(Error::invalid)?.unwrap_or_default());
                    columns += 1;
                }
                for id in view_ids(&change.project.trash, &items.view_ids) {
                    let restored = restore_view(&mut change.project, &mut change.views, id);
                    change.fixes.extend(restored.unwrap_or_default());
                    views += 1;
                }
                self.check_restored(&change, columns, views)?;
                counts.0.store(columns, Ordering::Relaxed);
                counts.1.store(views, Ordering::Relaxed);
                Ok(change)
            })
            .await?;
        let (columns, views) = (counts.0.into_inner(), counts.1.into_inner());
        Ok(ItemsRestored { columns, views, fixes: saved.fixes, ..ItemsRestored::default() })
    }

    /// That a project has room for what is restored.
    fn check_restored(&self, change: &Change, columns: u64, views: u64) -> Result<()> {
        let mut offences = Vec::new();
        for (path, what, restored, count, most, limit) in [
            (
                "columnIds",
                "columns",
                columns,
                change.project.table.columns.len(),
                self.limits.columns_max,
                "columnsMax",
            ),
            ("viewIds", "views", views, change.views.len(), self.limits.views_max, "viewsMax"),
        ] {
            if restored > 0 && count > usize::try_from(most).unwrap_or(usize::MAX) {
                let message = format!(
                    "cannot be restored: the project would have {count} {what}, and the limit is {most} ({limit}). \
                     Delete some {what} first"
                );
                offences.push(Offence::new(path, message));
            }
        }
        if offences.is_empty() { Ok(()) } else { Err(Error::invalid(offences).into_limit()) }
    }

    /// Removes everything in a project's trash for good; says how many rows, columns and views.
    pub async fn empty_trash(&self, caller: Caller, project: &str) -> Result<u64> {
        let until_ms = self.deleted_until_ms();
        let stored = self.project_to_change(caller, project).await?;
        let mut trash = stored.project.trash.clone();
        trash.forget_until(until_ms);
        let count = (trash.columns.len() + trash.views.len()) as u64;
        self.change(Effort::Quick, caller, project, None, |stored| {
            let mut change = Change::from(stored);
            change.project.trash = Trash::default();
            Ok(change)
        })
        .await?;
        Ok(count + self.store.empty_trash(stored.project.id).await?)
    }

    pub async fn list_project_trash(
        &self,
        caller: Caller,
        page: u64,
        page_size: u32,
    ) -> Result<ProjectTrashListed> {
        let team = caller.with_key()?.team;
        let offset = page.saturating_sub(1).saturating_mul(u64::from(page_size)).min(i64::MAX.unsigned_abs());
        let page = ProjectPage { offset, limit: page_size };
        let (projects, total) = match self.project_limits(caller).await? {
            Some(limits) => self.limited_project_trash(team, &limits, page).await?,
            None => (
                self.store.trashed_projects(team, page).await?,
                self.store.count_trashed_projects(team).await?,
            ),
        };
        let key_names = self.key_names(team, projects.iter().map(|project| project.deletion)).await?;
        Ok(ProjectTrashListed { projects, total, key_names })
    }

    /// Those that a key which is limited to some projects sees.
    async fn limited_project_trash(
        &self,
        team: TeamId,
        limits: &Restrictions,
        page: ProjectPage,
    ) -> Result<(Vec<TrashedProject>, u64)> {
        let mut projects = self.store.trashed_projects(team, ProjectPage::ALL).await?;
        projects.retain(|trashed| limits.allows_project(trashed.summary.id));
        let total = projects.len() as u64;
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let shown = projects.into_iter().skip(number(page.offset)).take(number(page.limit.into()));
        Ok((shown.collect(), total))
    }

    /// Says how many projects were restored. Ids that are not in the team's trash are not counted.
    pub async fn restore_projects(
        &self,
        caller: Caller,
        ids: &[String],
        once: Option<IdempotencyKey>,
    ) -> Result<u64> {
        let team = caller.with_key()?.team;
        let limits = self.project_limits(caller).await?;
        let is_reached = |id: &ProjectId| limits.as_ref().is_none_or(|limits| limits.allows_project(*id));
        self.only_once(once, async || {
            let mut restored = 0;
            for id in ids.iter().filter_map(|id| ProjectId::parse(id)).filter(is_reached) {
                restored += u64::from(self.store.restore_project(team, id, self.clock.now_ms()).await?);
            }
            Ok(restored)
        })
        .await
    }

    /// Removes the team's projects in the trash for good; says how many.
    pub async fn empty_project_trash(&self, caller: Caller) -> Result<u64> {
        Ok(self.store.empty_project_trash(caller.for_whole_team()?.team).await?)
    }

    /// Sweeps up what has been in the trash for long enough, for as long as the process runs.
    pub async fn keep_trash_swept(&self) {
        let (often, seldom) = SWEEP_EVERY;
        let pause = if self.keeps_deleted_for.is_zero() { seldom } else { self.keeps_deleted_for / 10 };
        loop {
            match self.sweep_some().await {
                Ok(true) => self.clock.sleep(SWEEP_PAUSE).await,
                Ok(false) => self.clock.sleep(pause.clamp(often, seldom)).await,
                Err(failure) => {
                    tracing::warn!(%failure, "could not sweep the trash; it is tried again");
                    self.clock.sleep(seldom).await;
                }
            }
        }
    }

    /// Sweeps up some of what has been in the trash for long enough. Says whether there may be more.
    async fn sweep_some(&self) -> Result<bool> {
        let until_ms = self.deleted_until_ms();
        for id in self.store.projects_to_sweep(until_ms).await? {
            let Some(stored) = self.store.project(id).await? else { continue };
            let mut project = (*stored.project).clone();
            project.trash.forget_until(until_ms);
            let save = ProjectSave {
                project,
                views: (*stored.views).clone(),
                version: Some(stored.version),
                row_count: None,
                subject: None,
                fixes: Vec::new(),
                once: None,
            };
            match self.store.save_project(save).await {
                // Whoever was quicker has swept, too.
                Ok(_) | Err(StoreError::Stale | StoreError::UnknownProject) => {}
                Err(failure) => return Err(failure.into()),
            }
        }
        Ok(self.store.sweep_trash(until_ms).await?)
    }

    async fn key_names(
        &self,
        team: TeamId,
        deletions: impl Iterator<Item = Deletion> + Send,
    ) -> Result<KeyNames> {
        let keys: BTreeSet<KeyId> = deletions.filter_map(|deletion| deletion.by).collect();
        let mut names = HashMap::new();
        for id in keys {
            if let Some(key) = self.store.key(id).await?.filter(|key| key.team == team) {
                names.insert(id, key.name);
            }
        }
        Ok(KeyNames(names))
    }
}

/// Those of these ids or headers that are in the trash, the last deleted first: what was deleted last may refer to
/// what was there then.
fn column_ids(trash: &Trash, wanted: &[String]) -> Vec<ColumnId> {
    let ids: HashSet<&str> = wanted.iter().map(String::as_str).collect();
    let headers: HashSet<String> = wanted.iter().map(|wanted| header_key(wanted)).collect();
    let is_wanted = |id: &str, header: &str| ids.contains(id) || headers.contains(&header_key(header));
    let columns = trash.columns.iter().rev().map(|trashed| &trashed.column);
    let wanted = columns.filter(|column| is_wanted(column.id.as_str(), &column.header));
    wanted.map(|column| column.id.clone()).collect()
}

fn view_ids(trash: &Trash, wanted: &[String]) -> Vec<ViewId> {
    let wanted: Vec<ViewId> = wanted.iter().filter_map(|id| ViewId::parse(id)).collect();
    trash.views.iter().rev().map(|trashed| trashed.view.id).filter(|id| wanted.contains(id)).collect()
}

fn place_of(cursor: &str) -> Option<TrashPlace> {
    let (batch, position) = cursor.split_once('.')?;
    let place = TrashPlace { batch: batch.parse().ok()?, position: position.parse().ok()? };
    let most = i64::MAX.unsigned_abs();
    (place.batch <= most && place.position <= most).then_some(place)
}
