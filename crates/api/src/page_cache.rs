//! A cache of rendered pages of rows, valid as long as nothing in their project changes.
//!
//! Tables are looked at more often than they change, and by several at once. Whether something changed is
//! asked of the store each time, so an answer is never older than one that is made anew. A page is kept
//! when it is asked for a second time: who reads a table from end to end drives nothing out.

use std::collections::HashMap;

use axum::body::Bytes;
use parking_lot::Mutex;
use rowmill_app::{Start, StoredProject};
use rowmill_model::ProjectId;

use crate::links::PageLinks;
use crate::wire::row::Shown;

/// Memory for all pages together. When it is full all are forgotten: those that are asked for often are
/// soon back.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// Larger pages are not kept: they would only drive out the others.
const PAGE_BYTES_MAX: usize = BYTES_MAX / 16;
/// What a name counts for, about.
const KEY_BYTES: usize = 256;

/// Everything that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct PageKey {
    pub(crate) project: ProjectId,
    pub(crate) start: Start,
    pub(crate) size: u32,
    pub(crate) shown: Shown,
    pub(crate) include_total: bool,
}

#[derive(Debug, Default)]
pub(crate) struct PageCache(Mutex<CacheEntries>);

#[derive(Debug, Default)]
struct CacheEntries {
    by_key: HashMap<PageKey, CachedPage>,
    bytes: usize,
}

#[derive(Debug)]
struct CachedPage {
    version: u64,
    change_seq: u64,
    /// None after the page was asked for once.
    page: Option<KeptPage>,
}

/// A page that was answered, and where the pages around it are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptPage {
    pub(crate) answer: Bytes,
    pub(crate) links: PageLinks,
}

impl CachedPage {
    fn is_of(&self, project: &StoredProject) -> bool {
        self.version == project.version && self.change_seq == project.change_seq
    }

    fn bytes(&self) -> usize {
        KEY_BYTES + self.page.as_ref().map_or(0, |page| page.answer.len())
    }
}

impl PageCache {
    /// The answer, if the project has not changed since.
    pub(crate) fn get(&self, name: &PageKey, now: &StoredProject) -> Option<KeptPage> {
        let pages = self.0.lock();
        pages.by_key.get(name).filter(|cached| cached.is_of(now))?.page.clone()
    }

    /// Notes an answer that was made from the project as it was `then`, or later.
    pub(crate) fn insert(&self, name: PageKey, then: &StoredProject, page: KeptPage) {
        if page.answer.len() > PAGE_BYTES_MAX {
            return;
        }
        let mut pages = self.0.lock();
        let is_second = pages.by_key.get(&name).is_some_and(|cached| cached.is_of(then));
        let page = is_second.then_some(page);
        let cached = CachedPage { version: then.version, change_seq: then.change_seq, page };
        if pages.bytes + cached.bytes() > BYTES_MAX {
            *pages = CacheEntries::default();
        }
        pages.bytes += cached.bytes();
        if let Some(old) = pages.by_key.insert(name, cached) {
            pages.bytes = pages.bytes.saturating_sub(old.bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rowmill_model::{Project, ProjectSettings, Table, TeamId};
    use uuid::Uuid;

    use super::*;

    fn project(version: u64, change_seq: u64) -> StoredProject {
        let project = Project {
            id: ProjectId::from_uuid(Uuid::from_u128(1)),
            team: TeamId(Uuid::from_u128(2)),
            title: "Leads".to_owned(),
            autoplay: false,
            folder_id: None,
            metadata: serde_json::Map::new(),
            settings: ProjectSettings::default(),
            table: Table::new(),
            trash: rowmill_model::Trash::default(),
            hooks: Vec::new(),
            created_at_ms: 0,
            updated_at_ms: 0,
        };
        StoredProject { project: Arc::new(project), views: Arc::default(), version, row_count: 0, change_seq }
    }

    fn name(offset: u64) -> PageKey {
        let start = Start::Offset(offset);
        let project = ProjectId::from_uuid(Uuid::from_u128(1));
        PageKey { project, start, size: 100, shown: Shown::Value, include_total: true }
    }

    fn kept(answer: impl Into<Bytes>) -> KeptPage {
        KeptPage { answer: answer.into(), links: PageLinks::Cursor(None) }
    }

    #[test]
    fn a_page_is_kept_when_it_is_asked_for_again_and_nothing_changed() {
        let pages = PageCache::default();
        let page = kept("{}");
        pages.insert(name(0), &project(1, 1), page.clone());
        assert_eq!(pages.get(&name(0), &project(1, 1)), None);
        pages.insert(name(0), &project(1, 1), page.clone());
        assert_eq!(pages.get(&name(0), &project(1, 1)), Some(page));
        assert_eq!(pages.get(&name(0), &project(1, 2)), None, "a row changed");
        assert_eq!(pages.get(&name(0), &project(2, 1)), None, "a column changed");
        assert_eq!(pages.get(&name(100), &project(1, 1)), None);
    }

    #[test]
    fn memory_is_bounded() {
        let pages = PageCache::default();
        let page = kept(vec![b' '; PAGE_BYTES_MAX]);
        for offset in 0..40 {
            pages.insert(name(offset), &project(1, 1), page.clone());
            pages.insert(name(offset), &project(1, 1), page.clone());
            let cached = pages.0.lock();
            assert_eq!(cached.bytes, cached.by_key.values().map(CachedPage::bytes).sum::<usize>());
            assert!(cached.bytes <= BYTES_MAX);
        }
        let larger = kept(vec![b' '; PAGE_BYTES_MAX + 1]);
        pages.insert(name(99), &project(1, 1), larger.clone());
        pages.insert(name(99), &project(1, 1), larger.clone());
        assert_eq!(pages.get(&name(99), &project(1, 1)), None);
    }
}
