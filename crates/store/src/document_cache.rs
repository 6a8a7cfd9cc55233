//! An LRU cache of the parsed documents of projects, bounded in bytes, and turns at reading those that are not in it.
//!
//! A document is read and parsed once for all who wait for it at the same time. Few are parsed at once, and teams take
//! turns, so that whoever asks for many large projects waits for themselves and takes the memory of a few.

use std::collections::HashMap;
use std::sync::Arc;

use hashlink::LinkedHashMap;
use parking_lot::Mutex;
use rowmill_fairness::{FairSemaphore, KeyGuard, KeyedMutex, Permit, Tenant};
use rowmill_model::documents::{read_project, read_views};
use rowmill_model::heap::views_bytes;
use rowmill_model::plan::Plan;
use rowmill_model::{Project, ProjectId, View};

use crate::error::{Result, StoreError};
use crate::types::StoredProject;

/// What all documents may take that nobody uses.
const BYTES_MAX: usize = 64 * 1024 * 1024;
const LEN_MAX: usize = 1_000;
/// What an entry takes besides its document.
const BYTES_EACH: usize = 1024;
/// How many documents are read and parsed at once, and how many of them for one tenant.
const PARSED_AT_ONCE_MAX: usize = 4;
const PARSED_AT_ONCE_EACH_MAX: usize = 2;

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
        let plan = Plan::of(&project);
        let mut views = read_views(views).map_err(damaged)?;
        views.shrink_to_fit();
        let bytes = BYTES_EACH + project.bytes() + views_bytes(&views) + plan.bytes();
        Ok(Self { version, project: Arc::new(project), plan: Arc::new(plan), views: Arc::new(views), bytes })
    }

    /// The project, with what changes without its document.
    pub fn stored(self, row_count: u64, change_seq: u64) -> StoredProject {
        let Self { version, project, views, .. } = self;
        StoredProject { project, views, version, row_count, change_seq }
    }

    /// Whether somebody has it besides the cache.
    fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.project) > 1
            || Arc::strong_count(&self.plan) > 1
            || Arc::strong_count(&self.views) > 1
    }
}

/// Parsed documents by the number that a store gives a project, and by version. A version's document never changes once
/// it is committed, and only committed ones are put in, so an entry is never wrong, only unused.
#[derive(Debug)]
pub struct DocumentCache {
    cached: Mutex<Cached>,
    /// Who waits for the same document.
    read: KeyedMutex<ProjectId>,
    /// Reads that have no connection yet.
    reads: Arc<FairSemaphore>,
    /// Whoever has a connection. Apart, because those who read wait for one while they have a turn.
    parses: Arc<FairSemaphore>,
}

impl Default for DocumentCache {
    fn default() -> Self {
        let turns = || FairSemaphore::new(PARSED_AT_ONCE_MAX, PARSED_AT_ONCE_EACH_MAX);
        Self { cached: Mutex::default(), read: KeyedMutex::default(), reads: turns(), parses: turns() }
    }
}

/// The right to read a document and to parse it.
#[derive(Debug)]
pub struct ReadTurn {
    _read: KeyGuard,
    _turn: Permit,
}

#[derive(Debug, Default)]
struct Cached {
    /// The least recently used first.
    parsed: LinkedHashMap<i64, ParsedDocument>,
    nums: HashMap<ProjectId, i64>,
    bytes: usize,
}

impl DocumentCache {
    pub fn get(&self, num: i64, version: u64) -> Option<ParsedDocument> {
        let mut cached = self.cached.lock();
        let parsed = cached.parsed.get(&num).filter(|parsed| parsed.version == version).cloned()?;
        cached.parsed.to_back(&num);
        cached.shrink();
        Some(parsed)
    }

    /// A project's number, if its document is cached. Numbers never change.
    pub fn num(&self, id: ProjectId) -> Option<i64> {
        self.cached.lock().nums.get(&id).copied()
    }

    pub fn put(&self, num: i64, parsed: ParsedDocument) {
        let mut cached = self.cached.lock();
        cached.bytes += parsed.bytes;
        cached.nums.insert(parsed.project.id, num);
        if let Some(old) = cached.parsed.insert(num, parsed) {
            cached.bytes -= old.bytes;
        }
        cached.shrink();
    }

    /// Waits for the turn to read a document that is not in the cache, with nothing in hand that others wait for. Somebody
    /// may have put it there meanwhile, so look again.
    pub async fn read_turn(&self, id: ProjectId) -> ReadTurn {
        let read = self.read.lock(id).await;
        ReadTurn { _read: read, _turn: self.reads.acquire(Tenant::current()).await }
    }

    /// Waits for the turn to parse a document, on a connection.
    pub async fn parse_turn(&self) -> Permit {
        self.parses.acquire(Tenant::current()).await
    }
}

impl Cached {
    /// Forgets the least recently used, but those that somebody uses: they would take as much, and be parsed again for the
    /// next who asks.
    fn shrink(&mut self) {
        let is_too_much = |cached: &Self| cached.bytes > BYTES_MAX || cached.parsed.len() > LEN_MAX;
        if !is_too_much(self) {
            return;
        }
        // The one that was just read is about to be used.
        let others = self.parsed.iter().take(self.parsed.len().saturating_sub(1));
        let unused = others.filter(|(_, parsed)| !parsed.is_in_use()).map(|(num, _)| *num);
        for num in unused.collect::<Vec<_>>() {
            if !is_too_much(self) {
                break;
            }
            if let Some(oldest) = self.parsed.remove(&num) {
                self.bytes -= oldest.bytes;
                self.nums.remove(&oldest.project.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use rowmill_model::documents::write_project;
    use rowmill_model::{ProjectSettings, Table, TeamId, Trash};
    use uuid::Uuid;

    use super::*;

    fn id(num: i64) -> ProjectId {
        ProjectId::from_uuid(Uuid::from_u128(num.unsigned_abs().into()))
    }

    fn parsed(num: i64, version: u64, title_bytes: usize) -> ParsedDocument {
        with_views(num, version, title_bytes, "[]")
    }

    fn with_views(num: i64, version: u64, title_bytes: usize, views: &str) -> ParsedDocument {
        let project = Project {
            id: id(num),
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
        ParsedDocument::parse(version, &write_project(&project).unwrap(), views).unwrap()
    }

    #[test]
    fn documents_are_bounded_in_bytes_and_the_least_used_go_first() {
        let cache = DocumentCache::default();
        for num in 1..=100 {
            cache.put(num, parsed(num, 1, 1024 * 1024));
            assert!(cache.get(1, 1).is_some(), "1 is used all the time");
        }
        let kept: Vec<i64> = (1..=100).filter(|num| cache.get(*num, 1).is_some()).collect();
        assert!(kept.len() < 65 && kept.contains(&100), "{kept:?}");
        let bytes = cache.cached.lock().bytes;
        assert!(bytes <= BYTES_MAX && bytes > BYTES_MAX / 2, "{bytes}");
        assert_eq!(cache.cached.lock().nums.len(), kept.len());
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

    #[test]
    fn one_that_is_in_use_stays_for_others() {
        let cache = DocumentCache::default();
        cache.put(1, parsed(1, 1, BYTES_MAX));
        let first = cache.get(1, 1);
        cache.put(2, parsed(2, 1, BYTES_MAX));
        let second = cache.get(2, 1);
        assert!(first.is_some() && second.is_some() && cache.get(1, 1).is_some());
        drop((first, second));
        assert!(cache.get(2, 1).is_some() && cache.get(1, 1).is_none());
    }

    #[test]
    fn small_values_take_what_their_text_takes() {
        let filter = format!(r#"{{"columnId":"_trigger","operator":"in","value":[{}0]}}"#, "0,".repeat(999));
        let view = |num: u32| {
            let filters = [filter.as_str(); 100].join(",");
            format!(
                r#"{{"id":"view_{num:032x}","name":"a","emoji":"b","createdAt":0,"filters":[{filters}]}}"#
            )
        };
        let views = format!("[{}]", (0..20).map(view).collect::<Vec<_>>().join(","));
        let parsed = with_views(1, 1, 1, &views);
        assert!(parsed.bytes > views.len() && parsed.bytes < views.len() * 3 / 2, "{}", parsed.bytes);
    }

    #[tokio::test]
    async fn a_document_is_read_once_and_few_at_a_time() {
        let cache = DocumentCache::default();
        let team = Tenant::team(1);
        let first = team.scope(cache.read_turn(id(1))).await;
        let mut same = Box::pin(team.scope(cache.read_turn(id(1))));
        assert!(same.as_mut().now_or_never().is_none(), "somebody reads it");
        let second = team.scope(cache.read_turn(id(2))).await;
        let mut third = Box::pin(team.scope(cache.read_turn(id(3))));
        assert!(third.as_mut().now_or_never().is_none(), "the team has its share");
        assert!(Tenant::team(2).scope(cache.read_turn(id(4))).now_or_never().is_some());
        drop(second);
        assert!(third.as_mut().now_or_never().is_some());
        drop((first, third));
        assert!(same.as_mut().now_or_never().is_some());
    }
}
