//! An LRU cache of rendered pages of rows, valid as long as nothing in their project changes.
//!
//! Tables are looked at more often than they change, and by several at once. Whether something changed is
//! asked of the store each time, so an answer is never older than one that is made anew. A page is kept
//! when it is asked for a second time: who reads a table from end to end drives nothing out.

use axum::body::Bytes;
use hashlink::LinkedHashMap;
use parking_lot::Mutex;
use rowmill_app::{Start, StoredProject};
use rowmill_model::ProjectId;

use crate::links::PageLinks;
use crate::wire::row::Shown;

/// A page that takes a larger part than this of the memory for all is not kept: it would only drive out the others.
const PAGE_SHARE: usize = 16;
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

#[derive(Debug)]
pub(crate) struct PageCache {
    /// Memory for all pages together.
    bytes_max: usize,
    entries: Mutex<CacheEntries>,
}

#[derive(Debug, Default)]
struct CacheEntries {
    /// The least recently used first.
    by_key: LinkedHashMap<PageKey, CachedPage>,
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
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, entries: Mutex::default() }
    }

    /// The answer, if the project has not changed since.
    pub(crate) fn get(&self, name: &PageKey, now: &StoredProject) -> Option<KeptPage> {
        let mut pages = self.entries.lock();
        let page = pages.by_key.get(name).filter(|cached| cached.is_of(now));
        let page = page.and_then(|cached| cached.page.clone());
        if page.is_some() {
            pages.by_key.to_back(name);
        }
        drop(pages);
        let result = if page.is_some() { "hit" } else { "miss" };
        metrics::counter!("rowmill_cache_lookups_total", "cache" => "pages", "result" => result).increment(1);
        page
    }

    /// Notes an answer that was made from the project as it was `then`, or later.
    pub(crate) fn insert(&self, name: PageKey, then: &StoredProject, page: KeptPage) {
        if page.answer.len() > self.bytes_max / PAGE_SHARE {
            return;
        }
        let mut pages = self.entries.lock();
        let is_second = pages.by_key.get(&name).is_some_and(|cached| cached.is_of(then));
        let page = is_second.then_some(page);
        let cached = CachedPage { version: then.version, change_seq: then.change_seq, page };
        pages.bytes += cached.bytes();
        if let Some(old) = pages.by_key.insert(name, cached) {
            pages.bytes = pages.bytes.saturating_sub(old.bytes());
        }
        while pages.bytes > self.bytes_max {
            let Some((_, oldest)) = pages.by_key.pop_front() else { break };
            pages.bytes = pages.bytes.saturating_sub(oldest.bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rowmill_model::{Project, ProjectSettings, Table, TeamId};
    use uuid::Uuid;

    use super::*;

    const BYTES_MAX: usize = 1 << 20;
    const PAGE_BYTES_MAX: usize = BYTES_MAX / PAGE_SHARE;

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
            copying: None,
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
        let pages = PageCache::new(BYTES_MAX);
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
        let pages = PageCache::new(BYTES_MAX);
        let page = kept(vec![b' '; PAGE_BYTES_MAX]);
        for offset in 0..40 {
            pages.insert(name(offset), &project(1, 1), page.clone());
            pages.insert(name(offset), &project(1, 1), page.clone());
            let cached = pages.entries.lock();
            assert_eq!(cached.bytes, cached.by_key.values().map(CachedPage::bytes).sum::<usize>());
            assert!(cached.bytes <= BYTES_MAX);
        }
        let is_kept = |offset| pages.get(&name(offset), &project(1, 1)).is_some();
        assert!(
            is_kept(39) && is_kept(30) && !is_kept(20),
            "the least recently used are gone, and no others"
        );
        assert!(is_kept(30));
        for offset in 40..50 {
            pages.insert(name(offset), &project(1, 1), page.clone());
            pages.insert(name(offset), &project(1, 1), page.clone());
        }
        assert!(is_kept(30) && !is_kept(31), "what is used stays");
        let larger = kept(vec![b' '; PAGE_BYTES_MAX + 1]);
        pages.insert(name(99), &project(1, 1), larger.clone());
        pages.insert(name(99), &project(1, 1), larger.clone());
        assert_eq!(pages.get(&name(99), &project(1, 1)), None);
    }
}
