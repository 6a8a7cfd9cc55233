//! What to load after a start.

use async_trait::async_trait;
use rowmill_model::ProjectId;

use super::MemoryStore;
use super::project::MemoryProject;
use crate::error::Result;
use crate::warm_up::{AskedColumn, AskedColumns, WarmUpStore, asked_in, noted};

#[async_trait]
impl WarmUpStore for MemoryStore {
    async fn note_asked(&self, project: ProjectId, asked: Vec<AskedColumn>, now_ms: i64) -> Result<()> {
        self.write(|state, _| {
            let known = state.asked_columns.get(&project).map(|(_, text)| text.as_str());
            if state.projects.contains_key(&project)
                && let Some(text) = noted(known, &asked, now_ms)
            {
                state.asked_columns.insert(project, (now_ms, text));
            }
            Ok(())
        })
    }

    async fn asked_columns(&self, limit: u32, now_ms: i64) -> Result<Vec<AskedColumns>> {
        self.read(|state| {
            let noted = state.asked_columns.iter().filter(|(id, _)| state.projects.contains_key(id));
            let mut noted: Vec<_> = noted.collect();
            noted.sort_by_key(|(_, (at_ms, _))| std::cmp::Reverse(*at_ms));
            let read = |(id, (_, text)): (&ProjectId, &(i64, String))| AskedColumns {
                project: *id,
                columns: asked_in(text, now_ms),
            };
            let read = noted.into_iter().take(limit as usize).map(read);
            Ok(read.filter(|asked| !asked.columns.is_empty()).collect())
        })
    }

    async fn projects_with_views(&self, rows_min: u64, limit: u32) -> Result<Vec<ProjectId>> {
        self.read(|state| {
            let has = |entry: &&MemoryProject| !entry.views.is_empty() && entry.row_count() >= rows_min;
            let mut found: Vec<&MemoryProject> = state.projects.values().filter(has).collect();
            found.sort_by_key(|entry| std::cmp::Reverse((entry.project.updated_at_ms, entry.number)));
            Ok(found.into_iter().take(limit as usize).map(|entry| entry.project.id).collect())
        })
    }
}
