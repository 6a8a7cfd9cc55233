//! Finding a text in the cells of a selection's rows: the next one, and how many there are.

use std::ops::ControlFlow;

use fixedbitset::FixedBitSet;
use jiff::Timestamp;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_model::Column;
use rowmill_model::filter::Search;
use rowmill_model::row::{RowView, Source, Sources};
use rowmill_store::{Result, RowRef, StoredProject, WantedSlots};

use crate::chunked_list::ChunkedList;
use crate::column::ColumnKey;
use crate::plan::{rows_with, value_name};
use crate::query::Query;
use crate::selection::Selection;
use crate::snapshot::Snapshot;
use crate::whole_order::Asked;

/// So many cells are found where the rows do not fit into memory.
const FOUND_MAX: usize = if cfg!(test) { 64 } else { 1 << 20 };

/// What is looked for, and from where.
#[derive(Debug, Clone)]
pub struct Find {
    /// Not empty.
    pub text: String,
    /// Places in the table's list of columns, in order.
    pub columns: Vec<usize>,
    /// From the first cell if it is missing, or from the last.
    pub from: Option<FindFrom>,
    pub direction: FindDirection,
}

/// Where a search starts.
#[derive(Debug, Clone, Copy)]
pub struct FindFrom {
    /// The row's number in the order of the selection, from 0.
    pub row: u64,
    /// The column's place in the table's list.
    pub column: usize,
    /// Whether this cell may be the one that is found.
    pub is_included: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FindDirection {
    #[default]
    Next,
    Previous,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// How many cells have the text.
    pub total: u64,
    /// Whether all of them were counted.
    pub is_complete: bool,
    /// Behind the last one comes the first again.
    pub cell: Option<FoundCell>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundCell {
    /// Its number among all that were found, from 1.
    pub number: u64,
    /// The row's number in the order of the selection, from 0.
    pub row: u64,
    pub position: u64,
    /// The column's place in the table's list.
    pub column: usize,
}

impl Query {
    /// The next cell of a selection that has a text.
    pub async fn find(
        &self,
        project: &StoredProject,
        selection: &Selection,
        find: Find,
        now: Timestamp,
    ) -> Result<Found> {
        let table = &project.project.table;
        let mut compiled = Sources::of(table);
        let search = Search::compile_with(&find.text, &mut compiled);
        let sources: Vec<(usize, Source)> = find
            .columns
            .iter()
            .filter_map(|place| {
                let column: &Column = table.columns.get(*place)?;
                Some((*place, compiled.source(column)))
            })
            .collect();
        let keys: Vec<(usize, ColumnKey)> =
            sources.iter().filter_map(|(place, source)| Some((*place, value_name(source, None)?))).collect();
        let needed: Vec<ColumnKey> = keys.iter().map(|(_, key)| key.clone()).collect();
        let until = SystemClock.monotonic() + self.patience;
        let asked = Asked { project, selection, now, until };
        let seeker = Seeker::new(&find);
        let (in_memory, search_again) = (seeker.clone(), search.clone());
        let work = move |snapshot: &Snapshot, rows: &ChunkedList| {
            let found = cells_with(&search, &keys, snapshot)?;
            Some(walk(in_memory.clone(), &found, snapshot, rows))
        };
        match self.over_rows(asked, &needed, work).await? {
            Some(seeker) => Ok(seeker.finish(true)),
            None => self.scan_for(asked, search_again, sources, seeker).await,
        }
    }

    /// The same for rows that do not fit into memory.
    async fn scan_for(
        &self,
        asked: Asked<'_>,
        search: Search,
        sources: Vec<(usize, Source)>,
        mut seeker: Seeker,
    ) -> Result<Found> {
        let Asked { project, selection, now, until } = asked;
        let stream = self.stream(project, until);
        let needed = WantedSlots::only(sources.iter().filter_map(|(_, source)| source.slot()));
        let fold = move |found: &mut Vec<(u64, usize)>, row: RowRef<'_>, view: &RowView<'_>| {
            for (place, source) in &sources {
                if found.len() < FOUND_MAX && source.value(view).is_some_and(|raw| search.is_in(&raw)) {
                    found.push((row.position, *place));
                }
            }
            if found.len() < FOUND_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let (found, _) = stream.select(selection, now, (None, &needed), Vec::new(), fold).await?;
        let positions = stream.positions(selection, now).await?;
        // Cells were found in order of creation; they are counted in the order of the selection.
        for (row, position) in (0..).zip(positions) {
            let from = found.partition_point(|(other, _)| *other < position);
            let of_row = found.get(from..).unwrap_or_default();
            for (_, column) in of_row.iter().take_while(|(other, _)| *other == position) {
                seeker.push(row, position, *column);
            }
        }
        Ok(seeker.finish(found.len() < FOUND_MAX))
    }
}

/// The rows in which each column has the text; `None` if a column is gone.
fn cells_with(
    search: &Search,
    keys: &[(usize, ColumnKey)],
    snapshot: &Snapshot,
) -> Option<Vec<(usize, FixedBitSet)>> {
    let len = snapshot.len();
    let found =
        keys.iter().map(|(place, key)| Some((*place, rows_with(Some(snapshot.values(key)?), len, search))));
    found.collect()
}

fn walk(
    mut seeker: Seeker,
    found: &[(usize, FixedBitSet)],
    snapshot: &Snapshot,
    rows: &ChunkedList,
) -> Seeker {
    let mut any = FixedBitSet::with_capacity(snapshot.len());
    for (_, rows) in found {
        any.union_with(rows);
    }
    for (number, row) in (0..).zip(rows.iter()).filter(|(_, row)| any.contains(*row as usize)) {
        for (column, _) in found.iter().filter(|(_, rows)| rows.contains(row as usize)) {
            seeker.push(number, snapshot.position(row), *column);
        }
    }
    seeker
}

/// Goes over all cells with the text, in order, and keeps the one that is wanted.
#[derive(Debug, Clone)]
struct Seeker {
    from: Option<FindFrom>,
    direction: FindDirection,
    total: u64,
    first: Option<FoundCell>,
    last: Option<FoundCell>,
    wanted: Option<FoundCell>,
}

impl Seeker {
    fn new(find: &Find) -> Self {
        let Find { from, direction, text: _, columns: _ } = find;
        Self { from: *from, direction: *direction, total: 0, first: None, last: None, wanted: None }
    }

    fn push(&mut self, row: u64, position: u64, column: usize) {
        self.total += 1;
        let cell = FoundCell { number: self.total, row, position, column };
        self.first.get_or_insert(cell);
        self.last = Some(cell);
        let Some(from) = self.from else { return };
        let place = (row, column).cmp(&(from.row, from.column));
        match self.direction {
            FindDirection::Next if self.wanted.is_some() => {}
            FindDirection::Next if place.is_gt() || from.is_included && place.is_eq() => {
                self.wanted = Some(cell);
            }
            FindDirection::Previous if place.is_lt() || from.is_included && place.is_eq() => {
                self.wanted = Some(cell);
            }
            FindDirection::Next | FindDirection::Previous => {}
        }
    }

    fn finish(self, is_complete: bool) -> Found {
        let around = match self.direction {
            FindDirection::Next => self.first,
            FindDirection::Previous => self.last,
        };
        Found { total: self.total, is_complete, cell: self.wanted.or(around) }
    }
}
