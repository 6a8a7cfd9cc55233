//! An LRU cache of the parsed documents of projects, bounded in bytes.

use std::collections::HashMap;
use std::sync::Arc;

use hashlink::LinkedHashMap;
use parking_lot::Mutex;
use rowmill_model::documents::{read_project, read_views};
use rowmill_model::plan::Plan;
use rowmill_model::{Project, ProjectId, View};

use crate::error::{Result, StoreError};
use crate::types::StoredProject;

/// What all documents may take.
const BYTES_MAX: usize = 64 * 1024 * 1024;
const LEN_MAX: usize = 1_000;
/// A parsed document takes some three times its JSON, and this besides. What its plan takes is counted.
const BYTES_PER_BYTE: usize = 3;
const BYTES_EACH: usize = 4 * 1024;

/// A project's document as it is in one version, and what is made of it.
#[derive(Debug, Clone)]
pub struct ParsedDocument {
    pub version: u64,
    pub project: Arc<Project>,
    pub plan: Arc<Plan>,
    pub views: Arc<Vec<View>>,
    bytes: usize,
}

impl ParsedDocument {
    pub fn parse(version: u64, document: &str, views: &str) -> Result<Self> {
        let damaged = |error: serde_json::Error| StoreError::Damaged(error.to_string());
        let project = read_project(document).map_err(damaged)?;
        let plan = Arc::new(Plan::of(&project));
        let bytes = (document.len() + views.len()) * BYTES_PER_BYTE + BYTES_EACH + plan.bytes();
        let views = Arc::new(read_views(views).map_err(damaged)?);
        Ok(Self { version, project: Arc::new(project), plan, views, bytes })
    }

    /// The project, with what changes without its document.
    pub fn stored(self, row_count: u64, change_seq: u64) -> StoredProject {
        let Self { version, project, views, .. } = self;
        StoredProject { project, views, version, row_count, change_seq }
    }
}

/// Parsed documents by the number that a store gives a project, and by version. A version's document never changes once
/// it is committed, and only committed ones are put in, so an entry is never wrong, only unused.
#[derive(Debug, Default)]
pub struct DocumentCache(Mutex<Cached>);

#[derive(Debug, Default)]
struct Cached {
    /// The least recently used first.
    parsed: LinkedHashMap<i64, ParsedDocument>,
    nums: HashMap<ProjectId, i64>,
    bytes: usize,
}

impl DocumentCache {
    pub fn get(&self, num: i64, version: u64) -> Option<ParsedDocument> {
        let mut cached = self.0.lock();
        let parsed = cached.parsed.get(&num).filter(|parsed| parsed.version == version).cloned()?;
        cached.parsed.to_back(&num);
        Some(parsed)
    }

    /// A project's number, if its document is cached. Numbers never change.
    pub fn num(&self, id: ProjectId) -> Option<i64> {
        self.0.lock().nums.get(&id).copied()
    }

    pub fn put(&self, num: i64, parsed: ParsedDocument) {
        let mut cached = self.0.lock();
        cached.bytes += parsed.bytes;
        cached.nums.insert(parsed.project.id, num);
        if let Some(old) = cached.parsed.insert(num, parsed) {
            cached.bytes -= old.bytes;
        }
        // The one that was just read is about to be used.
        while cached.parsed.len() > 1 && (cached.bytes > BYTES_MAX || cached.parsed.len() > LEN_MAX) {
            let Some((_, oldest)) = cached.parsed.pop_front() else { break };
            cached.bytes -= oldest.bytes;
            cached.nums.remove(&oldest.project.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use rowmill_model::documents::write_project;
    use rowmill_model::{ProjectSettings, Table, TeamId, Trash};
    use uuid::Uuid;

    use super::*;

    fn parsed(num: i64, version: u64, title_bytes: usize) -> ParsedDocument {
        let project = Project {
            id: ProjectId::from_uuid(Uuid::from_u128(num.unsigned_abs().into())),
            team: TeamId(Uuid::nil()),
            title: "x".repeat(title_bytes),
            autoplay: false,
            folder_id: None,
            metadata: serde_json::Map::new(),
            settings: ProjectSettings::default(),
            table: Table::new(),
            trash: Trash::default(),
            hooks: Vec::new(),
            copying: None,
            created_at_ms: 0,
            updated_at_ms: 0,
        };
        ParsedDocument::parse(version, &write_project(&project).unwrap(), "[]").unwrap()
    }

    #[test]
    fn documents_are_bounded_in_bytes_and_the_least_used_go_first() {
        let cache = DocumentCache::default();
        for num in 1..=40 {
            cache.put(num, parsed(num, 1, 1024 * 1024));
            assert!(cache.get(1, 1).is_some(), "1 is used all the time");
        }
        let kept: Vec<i64> = (1..=40).filter(|num| cache.get(*num, 1).is_some()).collect();
        assert!(kept.len() < 25 && kept.contains(&40), "{kept:?}");
        let bytes = cache.0.lock().bytes;
        assert!(bytes <= BYTES_MAX && bytes > BYTES_MAX / 2, "{bytes}");
        assert_eq!(cache.0.lock().nums.len(), kept.len());
    }

    #[test]
    fn one_that_is_larger_than_all_may_be_stays_until_the_next() {
        let cache = DocumentCache::default();
        cache.put(1, parsed(1, 1, BYTES_MAX));
        assert!(cache.get(1, 1).is_some() && cache.get(1, 2).is_none());
        cache.put(2, parsed(2, 1, 1));
        assert!(cache.get(1, 1).is_none() && cache.get(2, 1).is_some());
        cache.put(2, parsed(2, 2, 1));
        assert!(cache.get(2, 1).is_none() && cache.get(2, 2).is_some());
    }
}
