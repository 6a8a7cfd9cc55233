//! The rows of a selection by their value in a column: how many have each, and what another column comes to in them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::sync::Arc;

use jiff::Timestamp;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_model::filter::Measure;
use rowmill_model::row::{RowView, Source};
use rowmill_model::sort::Sorting;
use rowmill_model::summary::{SummarySource, typed_key};
use rowmill_model::{Column, Format};
use rowmill_store::{Result, RowRef, StoredProject, WantedSlots};

use crate::chunked_list::ChunkedList;
use crate::column::ColumnKey;
use crate::parallel;
use crate::plan::value_name;
use crate::query::Query;
use crate::selection::Selection;
use crate::value_column::ValueColumn;
use crate::whole_order::Asked;

/// So many bytes of values are kept where the rows do not fit into memory.
const KEPT_BYTES_MAX: usize = if cfg!(test) { 64 } else { 16 * 1024 * 1024 };

/// What rows are grouped by.
#[derive(Debug, Clone, Copy)]
pub struct GroupBy<'c> {
    pub column: &'c Column,
    /// A column whose numbers are summed up in each group.
    pub total: Option<&'c Column>,
    /// How many groups are wanted: those with the most rows.
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    pub rows: u64,
    /// The largest first.
    pub groups: Vec<Group>,
    /// How many there are, those beyond the limit included.
    pub count: u64,
    /// The rows without a value.
    pub empty: GroupTally,
    /// Whether all groups were counted.
    pub is_complete: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Raw JSON: one of those that read as the same value.
    pub raw: Box<str>,
    pub tally: GroupTally,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GroupTally {
    pub rows: u64,
    /// How many of them have a number to be summed up.
    pub numbers: u64,
    pub total: f64,
}

impl GroupTally {
    fn add(&mut self, size: f64) {
        self.rows += 1;
        if !size.is_nan() {
            self.numbers += 1;
            self.total += size;
        }
    }

    fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        self.numbers += other.numbers;
        self.total += other.total;
    }
}

impl Query {
    /// The rows of a selection in groups.
    pub async fn group(
        &self,
        project: &StoredProject,
        selection: Selection,
        by: GroupBy<'_>,
        now: Timestamp,
    ) -> Result<Groups> {
        let selection = Selection { sorting: Sorting::default(), ..selection };
        let table = &project.project.table;
        let source = Source::compile(table, by.column);
        let format = by.column.format.clone().map(Arc::new);
        let total = by.total.map(|column| SummarySource::compile(table, column));
        // Dates have no sum.
        let total = total.filter(|of| of.measure == Some(Measure::Number));
        let key = value_name(&source, None);
        let total_key = total.as_ref().and_then(|of| Some((value_name(&of.source, None)?, of.measure?)));
        let needed: Vec<ColumnKey> =
            key.iter().chain(total_key.iter().map(|(key, _)| key)).cloned().collect();
        let until = SystemClock.monotonic() + self.patience;
        let asked = Asked { project, selection: &selection, now, until };
        let (of_memory, limit) = (format.clone(), by.limit);
        let groups = self.over_rows(asked, &needed, move |snapshot, rows| {
            let sizes = match &total_key {
                Some((key, measure)) => Some((snapshot.values(key)?, *measure)),
                None => None,
            };
            let Some(key) = &key else { return Some(all_empty(rows, sizes)) };
            Some(groups_of(snapshot.values(key)?, sizes, rows, of_memory.as_deref(), limit))
        });
        match groups.await? {
            Some(groups) => Ok(groups),
            None => self.scan_groups(asked, source, format, total, limit).await,
        }
    }

    /// The same for rows that do not fit into memory.
    async fn scan_groups(
        &self,
        asked: Asked<'_>,
        source: Source,
        format: Option<Arc<Format>>,
        total: Option<SummarySource>,
        limit: usize,
    ) -> Result<Groups> {
        let Asked { project, selection, now, until } = asked;
        let sources = std::iter::once(&source).chain(total.iter().map(|of| &of.source));
        let needed = WantedSlots::only(sources.filter_map(Source::slot));
        let fold = move |scanned: &mut Scanned, _: RowRef<'_>, view: &RowView<'_>| {
            let size = total.as_ref().and_then(|of| Some(of.measure?.of(&of.source.value(view)?)));
            let raw = source.value(view).unwrap_or_default();
            scanned.add(&raw, size.unwrap_or(f64::NAN), format.as_deref());
            ControlFlow::Continue(())
        };
        let stream = self.stream(project, until);
        let (scanned, _) = stream.select(selection, now, (None, &needed), Scanned::default(), fold).await?;
        Ok(scanned.finish(limit))
    }
}

/// Groups as rows are scanned.
#[derive(Debug, Default)]
struct Scanned {
    rows: u64,
    groups: HashMap<u64, Group>,
    bytes: usize,
    empty: GroupTally,
    is_full: bool,
}

impl Scanned {
    fn add(&mut self, raw: &str, size: f64, format: Option<&Format>) {
        self.rows += 1;
        let Some(key) = typed_key(raw, format) else { return self.empty.add(size) };
        match self.groups.entry(key) {
            Entry::Occupied(group) => {
                let group = group.into_mut();
                group.tally.add(size);
                if raw < &*group.raw {
                    group.raw = raw.into();
                }
            }
            Entry::Vacant(_) if self.bytes >= KEPT_BYTES_MAX => self.is_full = true,
            Entry::Vacant(place) => {
                self.bytes += raw.len() + size_of::<Group>();
                place.insert(Group { raw: raw.into(), tally: GroupTally::default() }).tally.add(size);
            }
        }
    }

    fn finish(self, limit: usize) -> Groups {
        let Self { rows, groups, empty, is_full, bytes: _ } = self;
        let count = groups.len() as u64;
        let mut groups: Vec<Group> = groups.into_values().collect();
        groups.sort_unstable_by(|a, b| b.tally.rows.cmp(&a.tally.rows).then_with(|| a.raw.cmp(&b.raw)));
        groups.truncate(limit);
        Groups { rows, groups, count, empty, is_complete: !is_full }
    }
}

type Sizes<'s> = Option<(&'s ValueColumn, Measure)>;

fn all_empty(rows: &ChunkedList, sizes: Sizes<'_>) -> Groups {
    let mut empty = GroupTally::default();
    let sizes = SizesByRow::of(sizes);
    rows.iter().for_each(|row| empty.add(sizes.size(row)));
    Groups { rows: empty.rows, groups: Vec::new(), count: 0, empty, is_complete: true }
}

/// How large the values of a column are, by row.
struct SizesByRow<'s>(Option<(&'s ValueColumn, &'s [f64])>);

impl<'s> SizesByRow<'s> {
    fn of(sizes: Sizes<'s>) -> Self {
        Self(sizes.map(|(column, measure)| (column, column.values.sizes(measure))))
    }

    fn size(&self, row: u32) -> f64 {
        let size = self.0.and_then(|(column, sizes)| sizes.get(column.number(row as usize)).copied());
        size.unwrap_or(f64::NAN)
    }
}

/// Groups in memory. Each value is looked at once, however many rows have it.
fn groups_of(
    column: &ValueColumn,
    sizes: Sizes<'_>,
    rows: &ChunkedList,
    format: Option<&Format>,
    limit: usize,
) -> Groups {
    let values = &column.values;
    let sizes = SizesByRow::of(sizes);
    let mut tallies = vec![GroupTally::default(); values.len()];
    for row in rows.iter() {
        if let Some(tally) = tallies.get_mut(column.number(row as usize)) {
            tally.add(sizes.size(row));
        }
    }
    let parts = parallel::map(&parallel::parts(values.len()), |part| {
        let counted = part.clone().zip(tallies.get(part.clone()).unwrap_or_default());
        let counted = counted.filter(|(_, tally)| tally.rows > 0);
        counted.map(|(number, _)| (typed_key(values.get(number), format), number)).collect::<Vec<_>>()
    });
    let mut keyed = parts.concat();
    keyed.sort_unstable();
    let (mut groups, mut empty) = (Vec::new(), GroupTally::default());
    for same in keyed.chunk_by(|a, b| a.0 == b.0) {
        let mut tally = GroupTally::default();
        for (_, number) in same {
            tally.merge(tallies.get(*number).copied().unwrap_or_default());
        }
        match same.first() {
            Some((None, _)) | None => empty = tally,
            Some((Some(_), _)) => {
                let raw = same.iter().map(|(_, number)| values.get(*number)).min().unwrap_or_default();
                groups.push((tally, raw));
            }
        }
    }
    groups.sort_unstable_by(|(a, raw), (b, other)| b.rows.cmp(&a.rows).then_with(|| raw.cmp(other)));
    let count = groups.len() as u64;
    groups.truncate(limit);
    let groups = groups.into_iter().map(|(tally, raw)| Group { raw: raw.into(), tally }).collect();
    Groups { rows: rows.len() as u64, groups, count, empty, is_complete: true }
}
