//! An LRU cache of rendered pages of rows, valid as long as nothing changes in the blocks that their rows lie in.
//!
//! Tables are looked at more often than they change, and by several at once. Whether something changed is
//! asked of the store each time, so an answer is never older than one that is made anew. A page is kept
//! when it is asked for a second time: who reads a table from end to end drives nothing out.
//!
//! A project that changed has a new change sequence. The page is still right if the store has told of every change up to that
//! one, and none was in its blocks ([`PageChanges`]). Only the number of all rows may be another: it stands at the end.

use axum::body::Bytes;
use hashlink::LinkedHashMap;
use parking_lot::Mutex;
use rowmill_app::{Change, Start, StoredProject};
use rowmill_model::ProjectId;

use crate::page_changes::{PageChanges, PageRows};
use crate::page_numbers::PageNumbers;
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
    /// Locked after the entries.
    changes: Mutex<PageChanges>,
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
    /// The last change up to which the page is known to be right.
    change_seq: u64,
    /// Where its rows lie; none for the last page, which every new row changes.
    rows: Option<PageRows>,
    /// None after the page was asked for once.
    page: Option<KeptPage>,
}

/// A page that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptPage {
    pub(crate) answer: Bytes,
    /// Where the rows end in it, and its numbers begin.
    pub(crate) rows_end: usize,
    pub(crate) numbers: PageNumbers,
}

impl KeptPage {
    fn has_total(&self, row_count: u64) -> bool {
        self.numbers.total.is_none_or(|total| total == row_count)
    }

    /// The page with another number of all rows.
    fn with_total(&self, row_count: u64) -> Option<Self> {
        let numbers = PageNumbers { total: Some(row_count), ..self.numbers.clone() };
        let mut answer = Vec::with_capacity(self.answer.len() + 32);
        answer.extend_from_slice(self.answer.get(..self.rows_end)?);
        numbers.write_tail(&mut answer).ok()?;
        Some(Self { answer: answer.into(), rows_end: self.rows_end, numbers })
    }
}

impl CachedPage {
    /// Whether the page is right for a project as it is now.
    fn is_of(&self, name: &PageKey, now: &StoredProject, changes: &Mutex<PageChanges>) -> bool {
        if self.version != now.version || self.change_seq > now.change_seq {
            return false;
        }
        let has_next = match name.start {
            Start::Offset(offset) => now.row_count > offset.saturating_add(u64::from(name.size)),
            Start::After(_) => true,
        };
        let are_apart =
            |rows: &PageRows| changes.lock().are_apart(name.project, rows, self.change_seq, now.change_seq);
        self.change_seq == now.change_seq || has_next && self.rows.as_ref().is_some_and(are_apart)
    }

    fn bytes(&self) -> usize {
        KEY_BYTES + self.page.as_ref().map_or(0, |page| page.answer.len())
    }
}

impl PageCache {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, entries: Mutex::default(), changes: Mutex::default() }
    }

    /// Told of every change before whoever made it is answered.
    pub(crate) fn record(&self, change: &Change) {
        self.changes.lock().record(change);
    }

    /// The answer, if it is still right.
    pub(crate) fn get(&self, name: &PageKey, now: &StoredProject) -> Option<KeptPage> {
        let page = self.find(name, now).and_then(|page| self.counted(name, now, page));
        let result = if page.is_some() { "hit" } else { "miss" };
        metrics::counter!("rowmill_cache_lookups_total", "cache" => "pages", "result" => result).increment(1);
        page
    }

    fn find(&self, name: &PageKey, now: &StoredProject) -> Option<KeptPage> {
        let mut pages = self.entries.lock();
        let cached = pages.by_key.get_mut(name).filter(|cached| cached.is_of(name, now, &self.changes))?;
        cached.change_seq = now.change_seq;
        let page = cached.page.clone()?;
        pages.by_key.to_back(name);
        Some(page)
    }

    /// A page with the number of all rows as it is now.
    fn counted(&self, name: &PageKey, now: &StoredProject, page: KeptPage) -> Option<KeptPage> {
        if page.has_total(now.row_count) {
            return Some(page);
        }
        let page = page.with_total(now.row_count)?;
        let mut pages = self.entries.lock();
        let CacheEntries { by_key, bytes } = &mut *pages;
        if let Some(cached) = by_key.get_mut(name).filter(|cached| cached.change_seq == now.change_seq) {
            *bytes -= cached.bytes();
            cached.page = Some(page.clone());
            *bytes += cached.bytes();
        }
        Some(page)
    }

    /// Notes an answer that was made from the project as it was `then`, or later. `rows` says where its rows lie.
    pub(crate) fn insert(&self, name: PageKey, then: &StoredProject, rows: Option<PageRows>, page: KeptPage) {
        if page.answer.len() > self.bytes_max / PAGE_SHARE {
            return;
        }
        let mut pages = self.entries.lock();
        let is_second =
            pages.by_key.get(&name).is_some_and(|cached| cached.is_of(&name, then, &self.changes));
        self.changes.lock().watch(name.project, then.change_seq);
        let page = is_second.then_some(page);
        let cached = CachedPage { version: then.version, change_seq: then.change_seq, rows, page };
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

    use rowmill_app::{ChangedRows, Cursor, Spans};
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
        StoredProject {
            project: Arc::new(project),
            views: Arc::default(),
            version,
            row_count: 1_000,
            change_seq,
        }
    }

    fn name(offset: u64) -> PageKey {
        let start = Start::Offset(offset);
        let project = ProjectId::from_uuid(Uuid::from_u128(1));
        PageKey { project, start, size: 100, shown: Shown::Value, include_total: true }
    }

    fn kept(rows: impl Into<Vec<u8>>) -> KeptPage {
        let mut answer = rows.into();
        let (rows_end, next) = (answer.len(), Cursor::parse("c99-100"));
        let numbers = PageNumbers { page: 1, page_size: 100, is_numbered: true, total: Some(1_000), next };
        numbers.write_tail(&mut answer).unwrap();
        KeptPage { answer: answer.into(), rows_end, numbers }
    }

    /// Puts a page in as if it had been asked for twice.
    fn insert(pages: &PageCache, offset: u64, then: &StoredProject, page: &KeptPage) {
        let rows = PageRows { first: offset, last: offset + 99, is_at_offset: true, has_states: false };
        pages.insert(name(offset), then, Some(rows), page.clone());
        pages.insert(name(offset), then, Some(rows), page.clone());
    }

    fn change(seq: u64, position: u64) -> Change {
        Change {
            project: ProjectId::from_uuid(Uuid::from_u128(1)),
            seq,
            rows: ChangedRows::Many,
            touched: Spans::run(position, position),
            moved_from: None,
            restated: false,
            revoked: Vec::new(),
            ready: false,
            told: false,
        }
    }

    #[test]
    fn a_page_is_kept_when_it_is_asked_for_again_and_nothing_changed() {
        let pages = PageCache::new(BYTES_MAX);
        let page = kept("{}");
        pages.insert(name(0), &project(1, 1), None, page.clone());
        assert_eq!(pages.get(&name(0), &project(1, 1)), None);
        pages.insert(name(0), &project(1, 1), None, page.clone());
        assert_eq!(pages.get(&name(0), &project(1, 1)), Some(page));
        assert_eq!(pages.get(&name(0), &project(1, 2)), None, "a row changed, and nobody told which");
        assert_eq!(pages.get(&name(0), &project(2, 1)), None, "a column changed");
        assert_eq!(pages.get(&name(100), &project(1, 1)), None);
    }

    #[test]
    fn a_page_is_kept_while_rows_elsewhere_change() {
        let pages = PageCache::new(BYTES_MAX);
        let page = kept("{}");
        insert(&pages, 0, &project(1, 1), &page);
        insert(&pages, 300, &project(1, 1), &page);
        pages.record(&change(2, 5));
        assert_eq!(pages.get(&name(0), &project(1, 2)), None, "it shows the row");
        assert_eq!(pages.get(&name(300), &project(1, 2)), Some(page.clone()));
        assert_eq!(pages.get(&name(300), &project(1, 3)), None, "the third change was not told yet");
        assert_eq!(pages.get(&name(300), &project(1, 1)), None, "it may be newer than this");
        pages.record(&Change { moved_from: Some(5), ..change(3, 5) });
        assert_eq!(pages.get(&name(300), &project(1, 3)), None, "other rows have its offset");
        insert(&pages, 300, &project(1, 3), &page);
        pages.record(&Change { moved_from: Some(700), ..change(4, 700) });
        let fewer = StoredProject { row_count: 400, ..project(1, 4) };
        assert_eq!(pages.get(&name(300), &fewer), None, "it is the last now");
        assert!(pages.get(&name(300), &project(1, 4)).is_some());
    }

    #[test]
    fn the_number_of_rows_is_as_it_is_now() {
        let pages = PageCache::new(BYTES_MAX);
        insert(&pages, 0, &project(1, 1), &kept("{}"));
        pages.record(&change(2, 1_000));
        let more = StoredProject { row_count: 1_001, ..project(1, 2) };
        let expected = kept("{}").with_total(1_001).unwrap();
        let text = String::from_utf8(expected.answer.to_vec()).unwrap();
        assert!(text.starts_with(r#"{}],"pagination":{"#) && text.contains(r#""totalRows":1001,"#), "{text}");
        assert_eq!(pages.get(&name(0), &more), Some(expected.clone()));
        let again = pages.get(&name(0), &more).unwrap();
        assert_eq!(
            again.answer.as_ptr(),
            pages.get(&name(0), &more).unwrap().answer.as_ptr(),
            "it is kept so"
        );
        assert_eq!(again, expected);
    }

    #[test]
    fn memory_is_bounded() {
        let pages = PageCache::new(BYTES_MAX);
        let tail = kept("").answer.len();
        let page = kept(vec![b' '; PAGE_BYTES_MAX - tail]);
        for offset in 0..40 {
            insert(&pages, offset, &project(1, 1), &page);
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
            insert(&pages, offset, &project(1, 1), &page);
        }
        assert!(is_kept(30) && !is_kept(31), "what is used stays");
        insert(&pages, 99, &project(1, 1), &kept(vec![b' '; PAGE_BYTES_MAX + 1]));
        assert_eq!(pages.get(&name(99), &project(1, 1)), None);
    }
}
