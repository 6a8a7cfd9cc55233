//! Checking one project: its document, its rows block by block, its counters and its indexes.

use std::collections::{BTreeMap, BTreeSet};

use rowmill_model::documents::{read_project, read_tally, read_views};
use rowmill_model::integration::connected_event;
use rowmill_model::plan::{Block, Mark, Phase, Plan, Tally, block_of, place_of, position_of};
use rowmill_model::record::Slot;
use rowmill_model::{CellStatus, Project, ProjectId, TeamId};

use super::live_counts::LiveCounts;
use super::report::{OnRows, ProblemKind, Report};
use super::stream::{PAGE_LIMIT, Stream};
use super::{rows, tally};
use crate::carry::{Items, Section};
use crate::changes::{CellClaim, Places};
use crate::error::{Result, StoreError};
use crate::inspect::{
    IndexEntry, IndexSizes, Inspect, InspectedCounters, InspectedProject, InspectedRow, InspectedSummary,
};
use crate::lookup;

/// Blocks read at once: one with many columns takes a hundred kilobytes.
const BLOCKS_AT_ONCE: u32 = 64;
/// Entries looked for in one go.
const ENTRIES_AT_ONCE: usize = 4_000;

pub(super) async fn check(
    store: &dyn Inspect,
    id: ProjectId,
    teams: Option<&BTreeSet<TeamId>>,
    report: &mut Report,
    on_rows: OnRows<'_>,
) -> Result<()> {
    let Some(stored) = store.project(id).await? else { return Ok(()) };
    report.projects += 1;
    let Some(project) = decode(&stored, id, teams, report) else { return Ok(()) };
    let Some(counters) = stored.counters else {
        report.add(ProblemKind::WrongCount, Some(id), "its counters are missing".to_owned());
        return Ok(());
    };
    let mut walk = Walk {
        store,
        id,
        plan: Plan::of(&project),
        lookup_slots: stored.lookup_slots,
        next_position: counters.next_position,
        blocks: Stream::new(Box::new(move |first| store.blocks(id, first, BLOCKS_AT_ONCE))),
        live: LiveCounts::of(store, id),
        claims: by_block(store.claims(id).await?),
        open: None,
        entries: Vec::new(),
        tally: Tally::default(),
        rows: 0,
        value_bytes: 0,
        index_sizes: IndexSizes::default(),
        report,
    };
    walk.rows(on_rows).await?;
    walk.finish(counters, stored.tally.as_deref()).await?;
    check_guests(store, id, counters.next_position, report).await
}

/// The project, if its document can be read.
fn decode(
    stored: &InspectedProject,
    id: ProjectId,
    teams: Option<&BTreeSet<TeamId>>,
    report: &mut Report,
) -> Option<Project> {
    if let Err(error) = read_views(&stored.views) {
        report.add(ProblemKind::Undecodable, Some(id), format!("its views cannot be read: {error}"));
    }
    let project = match read_project(&stored.document) {
        Ok(project) => project,
        Err(error) => {
            let words = format!("its document cannot be read, so its rows were not checked: {error}");
            report.add(ProblemKind::Undecodable, Some(id), words);
            return None;
        }
    };
    let summary = InspectedSummary {
        team: project.team,
        title: project.title.clone(),
        autoplay: project.autoplay,
        folder_id: project.folder_id.clone(),
        column_count: project.table.columns.len() as u64,
        created_at_ms: project.created_at_ms,
        event_id: connected_event(&project.metadata).map(str::to_owned),
    };
    if project.id != id || summary != stored.summary {
        let words = "what lists show of it is not what its document says".to_owned();
        report.add(ProblemKind::Index, Some(id), words);
    }
    if teams.is_some_and(|teams| !teams.contains(&project.team)) {
        report.add(ProblemKind::Stray, Some(id), "it belongs to a team that does not exist".to_owned());
    }
    Some(project)
}

fn by_block(claims: Vec<CellClaim>) -> BTreeMap<u64, Vec<CellClaim>> {
    let mut blocks: BTreeMap<u64, Vec<CellClaim>> = BTreeMap::new();
    for claim in claims {
        blocks.entry(claim.block).or_default().push(claim);
    }
    blocks
}

/// Going over a project's rows in order, and over all that is kept with them.
struct Walk<'a, 'r> {
    store: &'a dyn Inspect,
    id: ProjectId,
    plan: Plan,
    lookup_slots: Vec<Slot>,
    next_position: u64,
    blocks: Stream<'a, Vec<u8>>,
    live: LiveCounts<'a>,
    claims: BTreeMap<u64, Vec<CellClaim>>,
    open: Option<OpenBlock>,
    /// What must be found in indexes.
    entries: Vec<IndexEntry>,
    tally: Tally,
    rows: u64,
    value_bytes: i64,
    index_sizes: IndexSizes,
    report: &'r mut Report,
}

/// The block that the last row lies in.
struct OpenBlock {
    number: u64,
    block: Block,
    places: Places,
}

impl Walk<'_, '_> {
    async fn rows(&mut self, on_rows: OnRows<'_>) -> Result<()> {
        let mut first = 0;
        loop {
            let page = self.store.rows(self.id, first, PAGE_LIMIT).await?;
            let Some(last) = page.last() else { break };
            first = last.position + 1;
            for row in &page {
                self.row(row).await?;
            }
            self.look_for_entries().await?;
            self.report.rows += page.len() as u64;
            on_rows(self.report.rows);
        }
        self.close_block().await?;
        self.blocks_without_rows(u64::MAX).await
    }

    async fn row(&mut self, row: &InspectedRow) -> Result<()> {
        let (position, number) = (row.position, block_of(row.position));
        if self.open.as_ref().is_none_or(|open| open.number != number) {
            self.close_block().await?;
            self.open_block(number).await?;
        }
        self.rows += 1;
        let bytes = row.values.as_ref().map_or(0, |values| values.len());
        self.value_bytes = self.value_bytes.saturating_add_unsigned(bytes as u64);
        if let Some(open) = &mut self.open {
            open.places.insert(place_of(position));
        }
        if position >= self.next_position {
            let words = format!(
                "there is a row at position {position}, but the next position is {}",
                self.next_position
            );
            self.problem(ProblemKind::WrongCount, words);
        }
        match row.id {
            Some(id) => self.entries.push(IndexEntry::Id(id, position)),
            None => self.undecodable(row, "its id is not an id"),
        }
        match rows::values(row) {
            Ok(cells) => {
                self.report.cells += cells.iter().count() as u64;
                for slot in &self.lookup_slots {
                    if let Some(hash) = lookup::hash_of(*slot, &cells) {
                        self.entries.push(IndexEntry::Lookup(*slot, hash, position));
                        self.index_sizes.lookups += 1;
                    }
                }
            }
            Err(words) => self.undecodable(row, &words),
        }
        let details = match rows::details(row) {
            Ok(details) => details,
            Err(words) => {
                self.undecodable(row, &words);
                return Ok(());
            }
        };
        let Some(open) = &self.open else { return Ok(()) };
        for slot in self.plan.slots() {
            let mark = open.block.get(slot, place_of(position));
            if mark.status == CellStatus::Queued
                && mark.phase == Phase::Later
                && let Some(trying) = details.trying(slot)
            {
                self.entries.push(IndexEntry::Retry(trying.retry_at_ms, slot, position));
            }
        }
        Ok(())
    }

    async fn open_block(&mut self, number: u64) -> Result<()> {
        if let Some(before) = number.checked_sub(1) {
            self.blocks_without_rows(before).await?;
        }
        let marks = self.blocks.next_up_to(number).await?;
        let block = marks.map(|(number, marks)| self.decode_block(number, &marks)).unwrap_or_default();
        self.open = Some(OpenBlock { number, block, places: Places::default() });
        Ok(())
    }

    async fn blocks_without_rows(&mut self, last: u64) -> Result<()> {
        while let Some((number, marks)) = self.blocks.next_up_to(last).await? {
            let block = self.decode_block(number, &marks);
            self.block(&OpenBlock { number, block, places: Places::default() });
            self.look_for_entries().await?;
        }
        Ok(())
    }

    fn decode_block(&mut self, number: u64, marks: &[u8]) -> Block {
        Block::decode(marks).unwrap_or_else(|_| {
            let words =
                format!("the cell states of rows {} to {} cannot be read", number << 8, number << 8 | 255);
            self.problem(ProblemKind::Undecodable, words);
            Block::default()
        })
    }

    async fn close_block(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        self.block(&open);
        let first = position_of(open.number, 0);
        self.live.add(first, open.places.count(), self.id, self.report).await
    }

    /// Compares a block with its rows and with what workers hold of it, and counts its cells.
    fn block(&mut self, open: &OpenBlock) {
        let OpenBlock { number, block, places } = open;
        for place in 0..=u8::MAX {
            self.tally.add(&self.plan, block, place);
            let is_marked = || block.slots().any(|slot| block.get(slot, place) != Mark::default());
            if !places.contains(place) && is_marked() {
                let words = format!(
                    "there are cell states for a row at position {}, but no row",
                    position_of(*number, place)
                );
                self.problem(ProblemKind::Stray, words);
            }
        }
        let claims = self.claims.remove(number).unwrap_or_default();
        let slots: Vec<Slot> = self.plan.slots().collect();
        for slot in slots {
            if block.ready(slot).next().is_some() {
                self.entries.push(IndexEntry::Ready(slot, *number));
                self.index_sizes.ready += 1;
            }
            let runs = |place: u8| block.get(slot, place).status == CellStatus::Generating;
            let is_held =
                |place: u8| claims.iter().any(|claim| claim.slot == slot && claim.places.contains(place));
            for place in (0..=u8::MAX).filter(|place| runs(*place) != is_held(*place)) {
                let position = position_of(*number, place);
                let words = if runs(place) {
                    format!(
                        "the cell at position {position}, column slot {slot}, runs, but no worker holds it"
                    )
                } else {
                    format!(
                        "a worker holds the cell at position {position}, column slot {slot}, but it does not run"
                    )
                };
                self.problem(ProblemKind::Index, words);
            }
        }
    }

    /// Looks for what was gathered, and tells of what is missing.
    async fn look_for_entries(&mut self) -> Result<()> {
        let entries = std::mem::take(&mut self.entries);
        for entries in entries.chunks(ENTRIES_AT_ONCE) {
            for missing in self.store.missing(self.id, entries.to_vec()).await? {
                let words = match missing {
                    IndexEntry::Id(id, position) => {
                        format!("the row {id} at position {position} is not found by its id")
                    }
                    IndexEntry::Lookup(index, _, position) => {
                        self.index_sizes.lookups = self.index_sizes.lookups.saturating_sub(1);
                        let slot = lookup::column_of(index);
                        format!("the match index of column slot {slot} lacks the row at position {position}")
                    }
                    IndexEntry::Ready(slot, block) => {
                        self.index_sizes.ready = self.index_sizes.ready.saturating_sub(1);
                        format!(
                            "column slot {slot} has cells to run in rows {} to {}, but no worker would find them",
                            position_of(block, 0),
                            position_of(block, u8::MAX)
                        )
                    }
                    IndexEntry::Retry(_, slot, position) => format!(
                        "the cell at position {position}, column slot {slot}, waits for another try that is not scheduled"
                    ),
                };
                self.problem(ProblemKind::Index, words);
            }
        }
        Ok(())
    }

    /// Compares what was counted with what is stored.
    async fn finish(mut self, counters: InspectedCounters, tally: Option<&str>) -> Result<()> {
        self.look_for_entries().await?;
        let claims: Vec<u64> = self.claims.keys().copied().collect();
        for block in claims {
            let words =
                format!("a worker holds cells of rows from {}, which do not run", position_of(block, 0));
            self.problem(ProblemKind::Index, words);
        }
        if counters.row_count != self.rows {
            let words = format!("the row count is {}, but there are {} rows", counters.row_count, self.rows);
            self.problem(ProblemKind::WrongCount, words);
        }
        self.compare_sizes(counters).await?;
        self.compare_tally(tally);
        let IndexSizes { lookups, ready } = self.store.index_sizes(self.id).await?;
        for (index, found, counted) in [
            ("match indexes", lookups, self.index_sizes.lookups),
            ("index of cells to run", ready, self.index_sizes.ready),
        ] {
            if found > counted {
                let words = format!("the {index} has {} entries too many", found - counted);
                self.problem(ProblemKind::Index, words);
            }
        }
        self.live.finish(self.id, self.report).await
    }

    async fn compare_sizes(&mut self, counters: InspectedCounters) -> Result<()> {
        if let Some(stored) = counters.value_bytes.filter(|stored| *stored != self.value_bytes) {
            let words = format!("the values take {} bytes, but {stored} are counted", self.value_bytes);
            self.problem(ProblemKind::WrongCount, words);
        }
        let trashed = self.store.trashed_rows(self.id).await?;
        if counters.trashed_count != trashed {
            let stored = counters.trashed_count;
            let words = format!("the trash has {trashed} rows, but {stored} are counted");
            self.problem(ProblemKind::WrongCount, words);
        }
        Ok(())
    }

    fn compare_tally(&mut self, stored: Option<&str>) {
        match stored.map(read_tally).transpose() {
            Ok(stored) => {
                let stored = stored.unwrap_or_default();
                tally::compare(&stored, &self.tally, &self.plan, (self.id, self.rows), self.report);
            }
            Err(error) => {
                self.problem(ProblemKind::Undecodable, format!("its counts cannot be read: {error}"));
            }
        }
    }

    fn undecodable(&mut self, row: &InspectedRow, words: &str) {
        let id = row.id.map(|id| format!(" {id}")).unwrap_or_default();
        let words = format!("the row{id} at position {} cannot be decoded: {words}", row.position);
        self.problem(ProblemKind::Undecodable, words);
    }

    fn problem(&mut self, kind: ProblemKind, message: String) {
        self.report.add(kind, Some(self.id), message);
    }
}

/// A guest whose row was deleted keeps its entry; but no entry is ahead of the rows.
async fn check_guests(
    store: &dyn Inspect,
    id: ProjectId,
    next_position: u64,
    report: &mut Report,
) -> Result<()> {
    for section in [Section::Guests(id), Section::Retries(id)] {
        let mut after = None;
        loop {
            let page = store.read(section, after, PAGE_LIMIT).await?;
            after = page.last();
            let positions: Vec<u64> = match page {
                Items::Guests(page) => page.iter().map(|guest| guest.position).collect(),
                Items::Retries(page) => page.iter().map(|retry| retry.position).collect(),
                _ => return Err(StoreError::Damaged("another section was read".to_owned())),
            };
            for position in positions.into_iter().filter(|position| *position >= next_position) {
                let words = format!("{} name a row at position {position}, which never was", section.word());
                report.add(ProblemKind::Stray, Some(id), words);
            }
            if after.is_none() {
                break;
            }
        }
    }
    Ok(())
}
