//! Imports that run in the background, the oldest first.

use async_trait::async_trait;
use rowmill_model::{ImportId, ProjectId, TeamId};
use uuid::Uuid;

use super::MemoryStore;
use super::import_job::MemoryImport;
use super::state::State;
use crate::error::{Result, StoreError};
use crate::import_jobs::{
    ENDED_IMPORTS_MAX, ImportClaim, ImportJob, ImportPart, ImportProgress, ImportStatus, ImportStep,
    ImportStore, NewImport,
};

impl State {
    fn import_mut(&mut self, id: ImportId) -> Option<&mut MemoryImport> {
        self.imports.iter_mut().find(|import| import.job.id == id)
    }

    fn held_import(&mut self, id: ImportId, holder: Uuid) -> Option<&mut MemoryImport> {
        self.import_mut(id).filter(|import| import.holder == Some(holder) && import.runs())
    }

    fn waiting_imports(&self, team: TeamId) -> (u64, u64) {
        let open = self.imports.iter().filter(|import| import.job.team == team && import.is_open());
        open.fold((0, 0), |(count, bytes), import| (count + 1, bytes + import.job.file_bytes))
    }

    /// Notes how far an import has come. `written` is how many rows were inserted, updated and unchanged.
    pub(super) fn checkpoint_import(&mut self, step: &ImportStep, written: [u64; 3]) -> Result<()> {
        let import = self.held_import(step.id, step.holder).ok_or(StoreError::ImportLost)?;
        let ImportProgress { step: now, inserted, updated, unchanged, rejected, .. } = import.job.progress;
        if now != step.after {
            return Err(StoreError::ImportLost);
        }
        import.job.progress = ImportProgress {
            step: now + 1,
            rows_read: step.rows_read,
            bytes_read: step.bytes_read,
            inserted: inserted + written[0],
            updated: updated + written[1],
            unchanged: unchanged + written[2],
            rejected: rejected + step.rejected.as_ref().map_or(0, |(count, _)| *count),
        };
        import.job.claims = 0;
        import.rejections.extend(step.rejected.as_ref().map(|(_, rows)| rows.clone()));
        if step.fields.is_some() {
            import.job.fields.clone_from(&step.fields);
        }
        import.lease_until_ms = import.lease_until_ms.max(step.lease_until_ms);
        Ok(())
    }

    fn claim_import(&mut self, claim: ImportClaim) -> Option<ImportJob> {
        let ImportClaim { holder, now_ms, lease_until_ms, running_max } = claim;
        let sent: Vec<&MemoryImport> =
            self.imports.iter().filter(|import| !import.is_receiving && import.is_open()).collect();
        let place = |import: &MemoryImport| (import.job.created_at_ms, import.job.id);
        let is_next = |import: &&&MemoryImport| {
            let may_run = !import.runs() || import.lease_until_ms <= now_ms;
            let comes_first = |other: &&MemoryImport| other.runs() || place(other) < place(import);
            let mut others = sent
                .iter()
                .filter(|other| other.job.project == import.job.project && other.job.id != import.job.id);
            may_run && !others.any(comes_first)
        };
        let running = |team: TeamId| {
            let runs = |other: &&&MemoryImport| {
                other.job.team == team && other.runs() && other.lease_until_ms > now_ms
            };
            sent.iter().filter(runs).count()
        };
        let next = sent
            .iter()
            .filter(is_next)
            .filter(|import| running(import.job.team) <= running_max as usize)
            .min_by_key(|import| (running(import.job.team), place(import)));
        let id = next?.job.id;
        let import = self.import_mut(id)?;
        (import.holder, import.lease_until_ms) = (Some(holder), lease_until_ms);
        import.job.status = ImportStatus::Running;
        import.job.claims += 1;
        import.job.started_at_ms.get_or_insert(now_ms);
        Some(import.job.clone())
    }
}

#[async_trait]
impl ImportStore for MemoryStore {
    async fn create_import(&self, import: NewImport) -> Result<()> {
        self.write(|state, _| {
            let (count, bytes) = state.waiting_imports(import.team);
            if count >= u64::from(import.jobs_max) {
                return Err(StoreError::Full);
            }
            if bytes + import.bytes_expected > import.bytes_max {
                return Err(StoreError::BytesFull);
            }
            let job = ImportJob {
                id: import.id,
                team: import.team,
                project: import.project,
                status: ImportStatus::Queued,
                request: import.request,
                file_bytes: 0,
                created_at_ms: import.now_ms,
                started_at_ms: None,
                ended_at_ms: None,
                claims: 0,
                progress: ImportProgress::default(),
                fields: None,
                outcome: None,
            };
            state.imports.push(MemoryImport {
                job,
                is_receiving: true,
                holder: None,
                lease_until_ms: import.lease_until_ms,
                parts: Vec::new(),
                rejections: Vec::new(),
            });
            Ok(())
        })
    }

    async fn put_import_part(&self, part: ImportPart) -> Result<bool> {
        self.attempt(|state, _| {
            let Some(import) = state.import_mut(part.id).filter(|import| import.is_receiving) else {
                return Ok(false);
            };
            import.job.file_bytes += part.bytes.len() as u64;
            import.lease_until_ms = part.lease_until_ms;
            import.parts.push(part.bytes);
            let team = import.job.team;
            if state.waiting_imports(team).1 > part.bytes_max { Err(StoreError::BytesFull) } else { Ok(true) }
        })
    }

    async fn queue_import(&self, id: ImportId) -> Result<bool> {
        self.write(|state, _| {
            let import = state.import_mut(id).filter(|import| import.is_receiving);
            Ok(import.map(|import| import.is_receiving = false).is_some())
        })
    }

    async fn drop_import(&self, id: ImportId, _now_ms: i64) -> Result<()> {
        self.write(|state, _| {
            state.imports.retain(|import| import.job.id != id || !import.is_receiving);
            Ok(())
        })
    }

    async fn imports(&self, project: ProjectId) -> Result<Vec<ImportJob>> {
        self.read(|state| {
            let shown = |import: &&MemoryImport| import.job.project == project && !import.is_receiving;
            let mut jobs: Vec<ImportJob> =
                state.imports.iter().filter(shown).map(|import| import.job.clone()).collect();
            jobs.sort_by_key(|job| std::cmp::Reverse((job.created_at_ms, job.id)));
            Ok(jobs)
        })
    }

    async fn import(&self, project: ProjectId, id: ImportId) -> Result<Option<ImportJob>> {
        Ok(self.imports(project).await?.into_iter().find(|job| job.id == id))
    }

    async fn rejected_of_import(&self, id: ImportId) -> Result<Vec<String>> {
        self.write(|state, _| {
            Ok(state.import_mut(id).map(|import| import.rejections.clone()).unwrap_or_default())
        })
    }

    async fn import_part(&self, id: ImportId, number: u32) -> Result<Option<Vec<u8>>> {
        self.write(|state, _| {
            let import = state.import_mut(id);
            Ok(import.and_then(|import| import.parts.get(number as usize).cloned()))
        })
    }

    async fn claim_import(&self, claim: ImportClaim) -> Result<Option<ImportJob>> {
        self.write(|state, _| Ok(state.claim_import(claim)))
    }

    async fn renew_import(
        &self,
        id: ImportId,
        holder: Uuid,
        lease_until_ms: i64,
        forgives: bool,
    ) -> Result<bool> {
        self.write(|state, _| {
            let Some(import) = state.held_import(id, holder) else { return Ok(false) };
            import.lease_until_ms = lease_until_ms;
            import.job.claims = import.job.claims.saturating_sub(u32::from(forgives));
            Ok(true)
        })
    }

    async fn checkpoint_import(&self, step: ImportStep) -> Result<()> {
        self.attempt(|state, _| state.checkpoint_import(&step, [0; 3]))
    }

    async fn end_import(
        &self,
        id: ImportId,
        holder: Uuid,
        status: ImportStatus,
        outcome: String,
        now_ms: i64,
    ) -> Result<bool> {
        self.write(|state, _| {
            let Some(import) = state.held_import(id, holder) else { return Ok(false) };
            import.job.outcome = Some(outcome);
            import.end(status, now_ms);
            Ok(true)
        })
    }

    async fn cancel_import(&self, project: ProjectId, id: ImportId, now_ms: i64) -> Result<()> {
        self.write(|state, _| {
            let import = state.import_mut(id);
            let is_open = |import: &&mut MemoryImport| import.is_open() && !import.is_receiving;
            if let Some(import) = import.filter(|import| import.job.project == project).filter(is_open) {
                import.end(ImportStatus::Cancelled, now_ms);
            }
            Ok(())
        })
    }

    async fn leave_imports(&self, holder: Uuid) -> Result<()> {
        self.write(|state, _| {
            for import in state.imports.iter_mut().filter(|import| import.holder == Some(holder)) {
                import.lease_until_ms = 0;
                import.job.claims = import.job.claims.saturating_sub(1);
            }
            Ok(())
        })
    }

    async fn sweep_imports(&self, now_ms: i64, ended_before_ms: i64) -> Result<bool> {
        self.write(|state, _| {
            state.imports.retain(|import| !import.is_receiving || import.lease_until_ms > now_ms);
            let ends: Vec<(TeamId, i64)> = state
                .imports
                .iter()
                .filter_map(|import| Some((import.job.team, import.job.ended_at_ms?)))
                .collect();
            state.imports.retain_mut(|import| {
                let Some(ended_at_ms) = import.job.ended_at_ms else { return true };
                import.parts.clear();
                let newer = ends.iter().filter(|(team, at)| *team == import.job.team && *at > ended_at_ms);
                ended_at_ms >= ended_before_ms && newer.count() < ENDED_IMPORTS_MAX as usize
            });
            Ok(false)
        })
    }
}
