//! Summaries of columns over the rows of a selection.

use std::collections::HashSet;
use std::ops::ControlFlow;

use jiff::Timestamp;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_model::row::{RowView, Sources};
use rowmill_model::sort::Sorting;
use rowmill_model::summary::{ColumnSummary, SummarySource, typed_key};
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

/// So many different values of a column are counted where the rows do not fit into memory.
const DISTINCT_MAX: usize = if cfg!(test) { 8 } else { 1 << 20 };

/// What columns come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Summaries {
    pub rows: u64,
    /// In the order they were asked for.
    pub columns: Vec<ColumnSummary>,
}

impl Query {
    /// What some columns come to in the rows of a selection.
    pub async fn summarize(
        &self,
        project: &StoredProject,
        selection: Selection,
        columns: &[&Column],
        now: Timestamp,
    ) -> Result<Summaries> {
        // In which order values are added up is no matter.
        let selection = Selection { sorting: Sorting::default(), ..selection };
        let table = &project.project.table;
        let mut compiled = Sources::of(table);
        let sources: Vec<SummarySource> =
            columns.iter().map(|column| SummarySource::compile_with(&mut compiled, column)).collect();
        let names: Vec<Option<ColumnKey>> = sources.iter().map(|of| value_name(&of.source, None)).collect();
        let needed: Vec<ColumnKey> = names.iter().flatten().cloned().collect();
        let until = SystemClock.monotonic() + self.patience;
        let asked = Asked { project, selection: &selection, now, until };
        let of_memory = sources.clone();
        let summaries = self.over_rows(asked, &needed, move |snapshot, rows| {
            let columns = names.iter().zip(&of_memory).map(|(name, of)| match name {
                Some(name) => Some(summary_of(snapshot.values(name)?, of, rows)),
                None => Some(ColumnSummary::default().with_unique(Some(0))),
            });
            let columns = columns.collect::<Option<_>>()?;
            Some(Summaries { rows: rows.len() as u64, columns })
        });
        match summaries.await? {
            Some(summaries) => Ok(summaries),
            None => self.scan_summaries(asked, sources).await,
        }
    }

    /// The same for rows that do not fit into memory.
    async fn scan_summaries(&self, asked: Asked<'_>, sources: Vec<SummarySource>) -> Result<Summaries> {
        let Asked { project, selection, now, until } = asked;
        let needed = WantedSlots::only(sources.iter().filter_map(|of| of.source.slot()));
        let columns: Vec<Scanned> = sources.iter().map(|_| Scanned::default()).collect();
        let fold = move |(rows, columns): &mut (u64, Vec<Scanned>), _: RowRef<'_>, view: &RowView<'_>| {
            *rows += 1;
            for (scanned, of) in columns.iter_mut().zip(&sources) {
                if let Some(raw) = of.source.value(view) {
                    scanned.add(&raw, of);
                }
            }
            ControlFlow::Continue(())
        };
        let stream = self.stream(project, until);
        let ((rows, columns), _) = stream.select(selection, now, (None, &needed), (0, columns), fold).await?;
        Ok(Summaries { rows, columns: columns.into_iter().map(Scanned::finish).collect() })
    }
}

/// A column as its rows are scanned.
#[derive(Debug, Default)]
struct Scanned {
    summary: ColumnSummary,
    distinct: HashSet<u64>,
    is_full: bool,
}

impl Scanned {
    fn add(&mut self, raw: &str, of: &SummarySource) {
        let size = of.measure.map_or(f64::NAN, |measure| measure.of(raw));
        self.summary.add(raw, size, 1);
        if !self.is_full {
            self.distinct.extend(typed_key(raw, of.format.as_deref()));
            self.is_full = self.distinct.len() > DISTINCT_MAX;
        }
    }

    fn finish(self) -> ColumnSummary {
        let unique = (!self.is_full).then_some(self.distinct.len() as u64);
        self.summary.with_unique(unique)
    }
}

/// What a column in memory comes to. Each value is looked at once, however many rows have it.
fn summary_of(column: &ValueColumn, of: &SummarySource, rows: &ChunkedList) -> ColumnSummary {
    let format: Option<&Format> = of.format.as_deref();
    let values = &column.values;
    let mut counts = vec![0_u32; values.len()];
    for row in rows.iter() {
        if let Some(count) = counts.get_mut(column.number(row as usize)) {
            *count += 1;
        }
    }
    let sizes = of.measure.map(|measure| values.sizes(measure));
    let parts = parallel::map(&parallel::parts(values.len()), |part| {
        let (mut summary, mut keys) = (ColumnSummary::default(), Vec::new());
        let counted = part.clone().zip(counts.get(part.clone()).unwrap_or_default());
        for (number, count) in counted.filter(|(_, count)| **count > 0) {
            let raw = values.get(number);
            let size = sizes.and_then(|sizes| sizes.get(number)).copied().unwrap_or(f64::NAN);
            summary.add(raw, size, u64::from(*count));
            keys.extend(typed_key(raw, format));
        }
        (summary, keys)
    });
    let (mut summary, mut keys) = (ColumnSummary::default(), Vec::new());
    for (part, part_keys) in parts {
        summary.merge(part);
        keys.extend(part_keys);
    }
    keys.sort_unstable();
    keys.dedup();
    summary.with_unique(Some(keys.len() as u64))
}
