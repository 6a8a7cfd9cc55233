//! The rows of a project as far as they are held in memory.

use fixedbitset::FixedBitSet;
use rowmill_model::weight::Weight;
use rowmill_store::Spans;

use crate::column::{Cell, Column, ColumnKey};
use crate::ranks::Ranks;
use crate::value_column::ValueColumn;
use crate::values::Full;

/// Columns of one project, row by row in order of creation. A row that is deleted keeps its place.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// Every change up to this one is in here.
    pub(crate) seq: u64,
    /// Something in here is as new as this change: before that is reached, not all is of one moment.
    pub(crate) newest: u64,
    /// Grows with each time all is read anew: what was known of rows by number means nothing then.
    pub(crate) generation: u64,
    pub(crate) is_loaded: bool,
    positions: Vec<u32>,
    live: FixedBitSet,
    dead: usize,
    columns: Vec<(ColumnKey, Column)>,
    changed: Vec<u32>,
    /// How many changed rows were forgotten.
    forgotten: u64,
    /// Which of the changed rows came or went, each with the change by number.
    came_or_went: Vec<(u64, u32)>,
}

/// Why a snapshot must be read anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PatchRejected;

/// Rows as they are now, with a cell for each of some columns.
#[derive(Debug, Default)]
pub(crate) struct Patch {
    /// Where rows were looked for: one that is not among them is gone.
    pub(crate) spans: Spans,
    pub(crate) names: Vec<ColumnKey>,
    /// In order.
    pub(crate) rows: Vec<(u64, Vec<Cell>)>,
}

/// Columns that were read while others may have brought the snapshot up to date.
#[derive(Debug)]
pub(crate) struct ScannedColumns {
    /// Of the snapshot at which its rows were looked at.
    pub(crate) generation: u64,
    /// The rows, and every change to them up to this one, are in here.
    pub(crate) oldest: u64,
    /// Nothing in here is newer than this.
    pub(crate) newest: u64,
    pub(crate) positions: Vec<u32>,
    pub(crate) columns: Vec<(ColumnKey, Column)>,
}

impl ScannedColumns {
    pub(crate) fn bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(|(_, column)| column.bytes()).sum();
        columns + self.positions.capacity() * 4
    }
}

impl Snapshot {
    /// Of so many changed rows it is remembered which they were, or of an eighth of all rows if that is more.
    const CHANGED_MAX: usize = 1 << 14;

    pub(crate) fn new(generation: u64, seq: u64, newest: u64, positions: Vec<u32>) -> Self {
        let mut live = FixedBitSet::with_capacity(positions.len());
        live.set_range(.., true);
        Self { seq, newest, generation, is_loaded: true, positions, live, ..Self::default() }
    }

    /// Takes in columns that were read. They are of no use if all was given up meanwhile.
    pub(crate) fn take_in(&mut self, scanned: ScannedColumns) -> Result<(), Full> {
        let ScannedColumns { generation, oldest, newest, positions, columns } = scanned;
        if self.generation != generation {
            return Ok(());
        }
        let rows_read = positions.len();
        if self.is_loaded {
            // What was brought up to date meanwhile is read again, for all columns. Until then the others are as new as they
            // were, and these are not.
            self.newest = newest.max(self.newest).max(self.seq);
            self.seq = oldest.min(self.seq);
        } else {
            *self = Self::new(generation + 1, oldest, newest, positions);
        }
        for (name, mut column) in columns {
            column.grow(self.positions.len() - rows_read)?;
            self.put_column(name, column);
        }
        Ok(())
    }

    /// Nothing, with what must go on.
    pub(crate) fn emptied(&self) -> Self {
        Self { generation: self.generation + 1, ..Self::default() }
    }

    /// How many rows there are, deleted ones included.
    pub(crate) fn len(&self) -> usize {
        self.positions.len()
    }

    pub(crate) fn live(&self) -> &FixedBitSet {
        &self.live
    }

    pub(crate) fn position(&self, row: u32) -> u64 {
        self.positions.get(row as usize).copied().map_or(u64::MAX, u64::from)
    }

    /// The row at a position, if it is not gone.
    pub(crate) fn row_at(&self, position: u64) -> Option<u32> {
        let position = u32::try_from(position).ok()?;
        let row = self.positions.binary_search(&position).ok()?;
        self.live.contains(row).then(|| u32::try_from(row).ok())?
    }

    /// How many rows come up to a position.
    pub(crate) fn rows_up_to(&self, position: u64) -> u32 {
        let rows = self.positions.partition_point(|other| u64::from(*other) <= position);
        u32::try_from(rows).unwrap_or(u32::MAX)
    }

    pub(crate) fn positions(&self) -> &[u32] {
        &self.positions
    }

    pub(crate) fn column(&self, name: &ColumnKey) -> Option<&Column> {
        self.columns.iter().find(|(other, _)| other == name).map(|(_, column)| column)
    }

    pub(crate) fn values(&self, name: &ColumnKey) -> Option<&ValueColumn> {
        match self.column(name)? {
            Column::Values(column) => Some(column),
            Column::States(_) => None,
        }
    }

    pub(crate) fn ranks(&self, name: &ColumnKey) -> Option<&Ranks> {
        self.values(name)?.ranks.as_ref()
    }

    pub(crate) fn names(&self) -> Vec<ColumnKey> {
        self.columns.iter().map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn put_column(&mut self, name: ColumnKey, mut column: Column) {
        self.drop_columns(|other| *other == name);
        if let Column::Values(column) = &mut column {
            column.replaced.start(self.epoch());
        }
        self.columns.push((name, column));
    }

    pub(crate) fn put_ranks(&mut self, name: &ColumnKey, ranks: Ranks) {
        let epoch = self.epoch();
        let found = self.columns.iter_mut().find(|(other, _)| other == name);
        if let Some((_, Column::Values(column))) = found {
            column.replaced.start(epoch);
            column.ranks = Some(ranks);
            if let Some(ranks) = &mut column.ranks {
                ranks.extend(&column.values);
            }
        }
    }

    pub(crate) fn drop_columns(&mut self, is_dropped: impl Fn(&ColumnKey) -> bool) {
        self.columns.retain(|(name, _)| !is_dropped(name));
    }

    /// Counts the rows that have changed so far.
    pub(crate) fn epoch(&self) -> u64 {
        self.forgotten + self.changed.len() as u64
    }

    /// The rows that have changed since, some of them more than once; `None` if that is not known.
    pub(crate) fn changed_since(&self, epoch: u64) -> Option<&[u32]> {
        let from = usize::try_from(epoch.checked_sub(self.forgotten)?).ok()?;
        self.changed.get(from..)
    }

    /// Those of them that came, went, or have another value in one of these columns; `None` if that is not known.
    pub(crate) fn changed_in(&self, names: &[ColumnKey], epoch: u64) -> Option<Vec<u32>> {
        self.changed_since(epoch)?;
        let from = self.came_or_went.partition_point(|(change, _)| *change < epoch);
        let mut rows: Vec<u32> = self.came_or_went.iter().skip(from).map(|(_, row)| *row).collect();
        for name in names {
            rows.extend(self.values(name)?.replaced.since(epoch)?.iter().map(|previous| previous.row));
        }
        Some(rows)
    }

    /// Brings rows up to date.
    pub(crate) fn apply(&mut self, patch: &Patch) -> Result<(), PatchRejected> {
        let Patch { spans, names, rows } = patch;
        let mut found = rows.iter().peekable();
        for (first, last) in spans.clone().tidied().iter() {
            let start = self.positions.partition_point(|position| u64::from(*position) < first);
            let end = self.positions.partition_point(|position| u64::from(*position) <= last);
            for row in start..end {
                let position = self.positions.get(row).copied().map_or(u64::MAX, u64::from);
                match found.next_if(|(at, _)| *at == position) {
                    Some((_, cells)) => {
                        self.revive(row);
                        self.set(row, names, cells)?;
                    }
                    None => self.bury(row)?,
                }
            }
            while let Some((position, cells)) = found.next_if(|(at, _)| *at <= last) {
                self.append(*position, names, cells)?;
            }
        }
        for (_, column) in &mut self.columns {
            if let Column::Values(column) = column
                && let ValueColumn { values, ranks: Some(ranks), .. } = &mut **column
            {
                ranks.extend(values);
            }
        }
        self.forget_changed();
        let wasted = self.columns.iter().any(|(_, column)| match column {
            Column::Values(column) => column.wasted() > self.positions.len().max(Self::CHANGED_MAX),
            Column::States(_) => false,
        });
        let is_full_of_holes = self.dead > self.positions.len() / 2 + Self::CHANGED_MAX;
        if wasted || is_full_of_holes { Err(PatchRejected) } else { Ok(()) }
    }

    fn set(&mut self, row: usize, names: &[ColumnKey], cells: &[Cell]) -> Result<(), PatchRejected> {
        let epoch = self.epoch();
        for (name, cell) in names.iter().zip(cells) {
            if let Some((_, column)) = self.columns.iter_mut().find(|(other, _)| other == name) {
                column.set(row, cell, epoch).map_err(|_| PatchRejected)?;
            }
        }
        self.changed.push(u32::try_from(row).map_err(|_| PatchRejected)?);
        Ok(())
    }

    fn bury(&mut self, row: usize) -> Result<(), PatchRejected> {
        if self.live.contains(row) {
            self.live.set(row, false);
            self.dead += 1;
            let row = u32::try_from(row).map_err(|_| PatchRejected)?;
            self.came_or_went.push((self.epoch(), row));
            self.changed.push(row);
        }
        Ok(())
    }

    /// A row came back from the trash.
    fn revive(&mut self, row: usize) {
        if !self.live.contains(row) {
            self.came_or_went.push((self.epoch(), u32::try_from(row).unwrap_or(u32::MAX)));
            self.live.insert(row);
            self.dead = self.dead.saturating_sub(1);
        }
    }

    fn append(&mut self, position: u64, names: &[ColumnKey], cells: &[Cell]) -> Result<(), PatchRejected> {
        let position = u32::try_from(position).map_err(|_| PatchRejected)?;
        // New rows come behind all others. One that came back from the trash and was not here when this was read does not.
        if self.positions.last().is_some_and(|last| *last >= position) {
            return Err(PatchRejected);
        }
        let row = self.positions.len();
        self.positions.push(position);
        self.live.grow_and_insert(row);
        self.came_or_went.push((self.epoch(), u32::try_from(row).map_err(|_| PatchRejected)?));
        self.set(row, names, cells)
    }

    /// Forgets the older half of the changed rows when they are too many: what is up to date stays so.
    fn forget_changed(&mut self) {
        if self.changed.len() > Self::CHANGED_MAX.max(self.positions.len() / 8) {
            let gone = self.changed.len() / 2;
            self.changed.drain(..gone);
            self.forgotten += gone as u64;
            let forgotten = self.forgotten;
            self.came_or_went.retain(|(change, _)| *change >= forgotten);
            for (_, column) in &mut self.columns {
                if let Column::Values(column) = column {
                    column.replaced.forget_before(self.forgotten);
                }
            }
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(|(_, column)| column.bytes()).sum();
        let mut names = Weight::default();
        self.columns.iter().for_each(|(name, _)| name.weigh(&mut names));
        let came_or_went = self.came_or_went.capacity() * size_of::<(u64, u32)>();
        columns
            + names.bytes()
            + came_or_went
            + (self.positions.capacity() + self.changed.capacity()) * 4
            + self.live.len() / 8
    }
}
