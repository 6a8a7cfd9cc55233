//! Duplicating a project, with or without its rows.
//!
//! The copy is there at once. Its rows are copied by a task of this process, batch by batch. Until all are there, the
//! copy says so and can only be read and deleted ([`Copying`]). If the process dies, nobody renews the copy's lease: it
//! is removed by whoever asks for it, and by the next server that starts. So a copy is whole, or unfinished and soon
//! gone.

use std::sync::Arc;
use std::time::Duration;

use rowmill_fairness::{Permit, Tenant};
use rowmill_model::copying::{CopyIds, copy_of};
use rowmill_model::record::Slot;
use rowmill_model::{Copying, ProjectId, Record, RowId, ViewId};
use rowmill_query::SLICE_BYTES;
use rowmill_store::{
    KeptInput, NewRow, NewRows, PageStart, ProjectSave, RowsPage, SavedProject, StoreError, StoredProject,
    StoredRow,
};

use crate::app::App;
use crate::caller::Caller;
use crate::error::{Error, Noun, Result};
use crate::idempotency::IdempotencyKey;
use crate::ids::{column_id, uuids};
use crate::projects::{ATTEMPTS_MAX, check_name};

/// What a copy is to be.
#[derive(Debug, Clone, Default)]
pub struct CopyRequest {
    pub title: Option<String>,
    pub with_rows: bool,
}

/// How long a copy is left to its process without a word from it.
const LEASE_MS: i64 = 15_000;
/// How often that gives a word.
const RENEW_EVERY_MS: i64 = 3_000;
/// Rows that are copied in one transaction; fewer, if they are large.
const ROWS_AT_ONCE: u32 = 2_000;
/// How often it is looked whether the lease of a lost copy is over.
const LOOK_EVERY: Duration = Duration::from_secs(5);

impl App {
    /// Duplicates a project. Rows, if they are wanted, are copied after this has answered.
    pub async fn duplicate_project(
        self: &Arc<Self>,
        caller: Caller,
        id: &str,
        request: CopyRequest,
        once: Option<IdempotencyKey>,
    ) -> Result<SavedProject> {
        // It would make a project that it cannot see.
        caller.for_whole_team()?;
        let once = self.once(once);
        if let Some(saved) = self.recall(once.as_ref()).await? {
            return Ok(saved);
        }
        let stored = self.project_to_change(caller, id).await?;
        let mut offences = Vec::new();
        let title = request.title.map(|title| check_name("title", &title, &mut offences));
        if !offences.is_empty() {
            return Err(Error::invalid(offences));
        }
        let permit = if request.with_rows && stored.row_count > 0 {
            Some(self.copy_permit(&stored).await?)
        } else {
            None
        };
        let now_ms = self.clock.now_ms();
        let ids = copy_ids(&stored, now_ms)?;
        let (mut project, views) =
            copy_of(&stored.project, &stored.views, ids, title.as_deref(), now_ms).map_err(internal)?;
        project.copying = permit.as_ref().map(|_| Copying {
            copying_from: stored.project.id,
            rows: stored.row_count,
            lease_until_ms: now_ms + LEASE_MS,
        });
        self.check_project_size(&project, &views, None)?;
        let save = ProjectSave {
            project,
            views,
            version: None,
            row_count: None,
            subject: None,
            fixes: Vec::new(),
            once,
        };
        let saved = self.store.save_project(save).await?;
        if let Some(permit) = permit {
            let (app, copy) = (Arc::clone(self), saved.project.id);
            let work = async move { app.copy_rows_or_remove(stored.project.id, copy, permit).await };
            tokio::spawn(Tenant::current().scope(work));
        }
        Ok(saved)
    }

    /// The right to copy rows, if the team may have as many more.
    async fn copy_permit(&self, stored: &StoredProject) -> Result<Permit> {
        if let Some(max) = self.new_rows_max(stored.project.team).await?
            && stored.row_count > max
        {
            return Err(self.quota_error(StoreError::Full));
        }
        let copies_max = self.limits.copies_max;
        self.copies.try_acquire(Tenant::team(stored.project.team.0.as_u128())).ok_or_else(|| {
            Error::limit(
                "",
                format!(
                    "the rows of {copies_max} projects are being copied, or of half as many of this team (copiesMax); try \
                     again when one is finished"
                ),
            )
        })
    }

    async fn copy_rows_or_remove(&self, from: ProjectId, copy: ProjectId, permit: Permit) {
        if let Err(failure) = self.copy_rows(from, copy).await {
            tracing::warn!(%failure, %from, %copy, "the rows of a project were not copied; the copy is removed");
            if let Err(failure) = self.store.delete_project(copy, None).await {
                tracing::warn!(%failure, %copy, "an unfinished copy was not removed; it is when its lease is over");
            }
        }
        drop(permit);
    }

    async fn copy_rows(&self, from: ProjectId, copy: ProjectId) -> Result<()> {
        let mut stored = self.unfinished(copy).await?;
        let slots: Vec<Slot> = stored.project.table.columns.iter().map(|column| column.slot).collect();
        let mut start = PageStart::Offset(0);
        let mut renewed_at_ms = self.clock.now_ms();
        let rows_max = ROWS_AT_ONCE.min(self.limits.insert_rows_max);
        loop {
            let page = self.store.rows_within(from, start, rows_max, SLICE_BYTES.into()).await?;
            let RowsPage { rows, rest, more, .. } = page;
            if let Some(last) = rows.last() {
                start = PageStart::After(last.position);
                self.insert_copies(&stored, &rows, &slots).await?;
            }
            if rest.is_empty() && !more {
                return self.set_lease(&stored, None).await;
            }
            let now_ms = self.clock.now_ms();
            if now_ms - renewed_at_ms >= RENEW_EVERY_MS {
                self.set_lease(&stored, Some(now_ms + LEASE_MS)).await?;
                (renewed_at_ms, stored) = (now_ms, self.unfinished(copy).await?);
            }
        }
    }

    /// A copy that is not finished. One that somebody deleted is not found.
    async fn unfinished(&self, copy: ProjectId) -> Result<StoredProject> {
        self.store.project(copy).await?.ok_or(Error::NotFound(Noun::Project))
    }

    async fn insert_copies(&self, copy: &StoredProject, rows: &[StoredRow], slots: &[Slot]) -> Result<()> {
        let now_ms = self.clock.now_ms();
        let ids = uuids(now_ms)?.map(RowId::from_uuid);
        let mut copies = Vec::with_capacity(rows.len());
        for (row, id) in rows.iter().zip(ids) {
            let cells = row.values.cells()?;
            // What deleted columns left behind stays behind.
            let kept = cells.iter().filter(|(slot, _)| slots.contains(slot));
            let values = Record::pack(kept);
            copies.push(NewRow { id, values, cleared: Vec::new(), leftover_bytes_max: None });
        }
        let team = copy.project.team;
        let batch = NewRows {
            project: copy.project.id,
            version: copy.version,
            rows: copies,
            match_on: None,
            project_save: None,
            ignored_keys: Vec::new(),
            new_rows_max: self.new_rows_max(team).await?,
            new_bytes_max: self.new_bytes_max(team).await?,
            kept_input: KeptInput::default(),
            now_ms,
            once: None,
            import: None,
        };
        self.store.insert_rows(batch).await.map_err(|error| self.quota_error(error))?;
        Ok(())
    }

    /// Renews the lease of a copy, or ends the copy.
    async fn set_lease(&self, copy: &StoredProject, lease_until_ms: Option<i64>) -> Result<()> {
        let mut copy = copy.clone();
        for _ in 0..ATTEMPTS_MAX {
            let mut project = (*copy.project).clone();
            project.copying = match (project.copying, lease_until_ms) {
                (Some(copying), Some(lease_until_ms)) => Some(Copying { lease_until_ms, ..copying }),
                _ => None,
            };
            let save = ProjectSave {
                project,
                views: (*copy.views).clone(),
                version: Some(copy.version),
                row_count: None,
                subject: None,
                fixes: Vec::new(),
                once: None,
            };
            match self.store.save_project(save).await {
                Err(StoreError::Stale) => copy = self.unfinished(copy.project.id).await?,
                outcome => return outcome.map(|_| ()).map_err(Error::from),
            }
        }
        Err(Error::Internal("a copy changed repeatedly while it was made; gave up".into()))
    }

    /// Removes a copy that nobody goes on with: it is as if it were not there.
    pub(crate) async fn without_lost_copy(
        &self,
        found: Option<StoredProject>,
    ) -> Result<Option<StoredProject>> {
        let Some(stored) = found else { return Ok(None) };
        if !self.is_lost(&stored) {
            return Ok(Some(stored));
        }
        self.store.delete_project(stored.project.id, None).await?;
        Ok(None)
    }

    fn is_lost(&self, stored: &StoredProject) -> bool {
        let copying = stored.project.copying.as_ref();
        copying.is_some_and(|copying| copying.lease_until_ms < self.clock.now_ms())
    }

    /// Removes the copies that other processes left unfinished when they ended.
    pub async fn remove_lost_copies(&self) {
        let mut unfinished = match self.store.projects_with_text(Copying::MARK.to_owned()).await {
            Ok(unfinished) => unfinished,
            Err(failure) => {
                tracing::warn!(%failure, "could not look for unfinished copies; each is removed when it is opened");
                return;
            }
        };
        while !unfinished.is_empty() {
            let mut left = Vec::new();
            for id in unfinished {
                match self.store.project(id).await {
                    Ok(found) => match self.without_lost_copy(found).await {
                        Ok(Some(stored)) if stored.project.copying.is_none() => {}
                        Ok(None) => tracing::info!(project = %id, "removed a copy that was not finished"),
                        Ok(Some(_)) | Err(_) => left.push(id),
                    },
                    Err(_) => left.push(id),
                }
            }
            unfinished = left;
            if !unfinished.is_empty() {
                self.clock.sleep(LOOK_EVERY).await;
            }
        }
    }
}

fn copy_ids(stored: &StoredProject, now_ms: i64) -> Result<CopyIds> {
    let mut ids = uuids(now_ms)?;
    let project = ProjectId::from_uuid(ids.next().unwrap_or_default());
    let columns = stored.project.table.columns.iter().map(|_| column_id()).collect::<Result<_>>()?;
    let views = stored.views.iter().zip(ids).map(|(_, id)| ViewId::from_uuid(id)).collect();
    Ok(CopyIds { project, columns, views })
}

fn internal(error: serde_json::Error) -> Error {
    Error::Internal(error.into())
}
